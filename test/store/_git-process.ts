// Serves a database in its own process until killed; prints its address when it has begun.
import { createApp } from "../../src/app.ts";
import { serve } from "../../src/node.ts";

const [database] = process.argv.slice(2) as [string];
const app = await createApp({ database, secretKey: "00".repeat(32), background: false });
const { url } = await serve(app, { port: 0 });
console.log(url);
