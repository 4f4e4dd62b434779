// Sends the mail of the database it is given, in a process of its own, until it is killed; begins with a line when ready.
import { createApp } from "../../src/app.ts";

const [database, smtp] = process.argv.slice(2) as [string, string];
await createApp({
  database,
  url: "https://pm.example.com",
  mail: { smtp, from: "pm@example.com", interval: 10 },
});
console.log("ready");
