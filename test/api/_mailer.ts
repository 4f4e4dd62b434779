// Sends the mail of the given database in its own process until killed; prints a line when ready.
import { createApp } from "../../src/app.ts";

const [database, smtp] = process.argv.slice(2) as [string, string];
await createApp({
  database,
  url: "https://pm.example.com",
  mail: { smtp, from: "pm@example.com", interval: 10 },
});
console.log("ready");
