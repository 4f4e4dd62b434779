// Opens an application on the database it is given, in a process of its own, and makes a user named after the process.
import { createApp } from "../../src/app.ts";

const app = await createApp({ database: process.argv[2] as string });
const username = `user${process.pid}`;
await app.admin.createUser({ username, name: username, email: `${username}@example.com` });
await app.close();
