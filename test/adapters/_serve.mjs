// Serves an application with this runtime's adapter and prints the address. The first line on standard input is the
// seed; each further one asks how much was read of files; the end closes the server, and prints whether that was soon.
// With `linger`, it then waits for a signal before it exits.
import { createInterface } from "node:readline";
import { createApp } from "pm-api";

const { serve } = await (process.versions.bun ? import("pm-api/bun") : import("pm-api/deno"));
/** Less than the milliseconds that a closing server gives its clients by default. */
const SOON = 8000;
const { linger = false, ...options } = JSON.parse(process.argv[2]);

const told = linger ? new Promise((resolve) => process.once("SIGTERM", resolve)) : undefined;
if (linger) setInterval(() => undefined, 1000);

const app = await createApp();
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
await app.admin.seed(JSON.parse((await lines.next()).value));

let pieces = 0;
let ended = 0;
const server = await serve({ respond }, { port: 0, ...options });
console.log(server.url);
while (!(await lines.next()).done) console.log(JSON.stringify({ pieces, ended }));
const late = new Promise((resolve) => setTimeout(resolve, SOON, "late"));
console.log(await Promise.race([server.close().then(() => "soon"), late]));
await app.close();
await told;
process.exit(0);

async function respond(incoming) {
  if (incoming.path === "/slow") await new Promise((resolve) => setTimeout(resolve, 500));
  if (incoming.path === "/ip") return { status: 200, headers: {}, body: incoming.ip };
  const reply = await app.respond(incoming);
  if (typeof reply?.body?.chunks !== "function") return reply;
  const { body } = reply;
  async function* chunks() {
    try {
      for await (const chunk of body.chunks()) {
        pieces += 1;
        yield chunk;
      }
    } finally {
      ended += 1;
    }
  }
  return { ...reply, body: { length: body.length, chunks } };
}
