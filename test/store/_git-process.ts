// Serves a database in its own process until killed; prints its address when it has begun. If it is told how many
// milliseconds its clock is ahead, it works in the background, too, and prints every now and then how much memory it has had
// at most, in kilobytes.
import { createApp } from "../../src/app.ts";
import { serve } from "../../src/node.ts";

const [database, ahead] = process.argv.slice(2) as [string, string | undefined];
const isWorking = ahead !== undefined;
const app = await createApp({
  database,
  secretKey: "00".repeat(32),
  background: isWorking,
  now: () => Date.now() + Number(ahead ?? 0),
  webhooks: { deliver: isWorking, allowLocalRequests: true, interval: 10 },
});
const { url } = await serve(app, { port: 0 });
console.log(url);
if (isWorking) setInterval(() => console.log(process.resourceUsage().maxRSS), 200);
