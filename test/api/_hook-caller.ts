// Calls the webhooks of the given database in its own process until killed; prints a line when ready.
import { createApp } from "../../src/app.ts";

const [database, secretKey] = process.argv.slice(2) as [string, string];
await createApp({
  database,
  secretKey,
  url: "https://pm.example.com",
  webhooks: { allowLocalRequests: true, interval: 10 },
});
console.log("ready");
// Calling hooks keeps no process alive.
setInterval(() => undefined, 60_000);
