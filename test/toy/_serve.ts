// Serves an application with the toys, with this runtime's adapter, until the end of the input. The first line is the seed.
import { createInterface } from "node:readline";
import { createAppOn } from "../../src/app.ts";
import { openStore } from "../../src/store/open.ts";
import { toys } from "./index.ts";

const [database = ""] = process.argv.slice(2);
const { serve } = await (process.versions["bun"]
  ? import("../../src/bun.ts")
  : import("../../src/deno.ts"));
const onError = () => undefined;
const app = await createAppOn(await openStore(database), { database, onError }, toys);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
await app.admin.seed(JSON.parse((await lines.next()).value));
const server = await serve(app, { port: 0, grace: 100 });
console.log(server.url);
await lines.next();
await server.close();
await app.close();
process.exit(0);
