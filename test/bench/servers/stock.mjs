// Serves this application with hattip's own adapter for Node; with `fast`, with the faster of its entries.
import { ready } from "./control.mjs";

const [database, entry] = process.argv.slice(2);
// It replaces the global Response, which all later code uses.
if (entry === "fast") await import("@hattip/adapter-node/fast-fetch");
const { createServer } = await import("@hattip/adapter-node/native-fetch");
const { createApp } = await import("../../../dist/index.js");

const { handler } = await createApp({ database, background: false });
const server = createServer(handler);
server.listen(0, "127.0.0.1", () => ready(`http://127.0.0.1:${server.address().port}`));
