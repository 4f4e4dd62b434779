// This application as the package serves it.
import { createApp } from "../../../dist/index.js";
import { serve } from "../../../dist/node.js";
import { ready } from "./control.mjs";

const [database, port = "0"] = process.argv.slice(2);
const app = await createApp({ database });
const { url } = await serve(app, { port: Number(port) });
ready(url, () => app.admin.purgeEvents());
