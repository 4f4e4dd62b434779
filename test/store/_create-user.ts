// Opens an application on the given database in its own process, and creates a user named after the process.
import { createApp } from "../../src/app.ts";

const app = await createApp({ database: process.argv[2] as string });
const username = `user${process.pid}`;
await app.admin.users.create({ username, name: username, email: `${username}@example.com` });
await app.close();
