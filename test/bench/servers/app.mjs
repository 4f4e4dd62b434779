// Serves this application as the package does, on the current runtime.
import { createApp } from "../../../dist/index.js";
import { ready } from "./control.mjs";

const { bun, deno } = process.versions;
const { serve } = await (bun
  ? import("../../../dist/bun.js")
  : deno
    ? import("../../../dist/deno.js")
    : import("../../../dist/node.js"));
const [database, port = "0", sshPort] = process.argv.slice(2);
const ssh = sshPort === undefined ? {} : { ssh: { port: Number(sshPort) } };
const app = await createApp({ database, background: false, ...ssh });
const { url } = await serve(app, { port: Number(port) });
ready(url, () => app.admin.maintenance.purgeEvents());
