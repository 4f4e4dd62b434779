// Opens an application on the given database in its own process, and prints how many users it has.
import { createApp } from "../../src/app.ts";

const app = await createApp({ database: process.argv[2] as string });
const users = await app.admin.users.list();
await app.close();
console.log(users.length);
