// This application as the package serves it.
import { createApp } from "../../../dist/index.js";
import { serve } from "../../../dist/node.js";
import { ready } from "./control.mjs";

const [database, port = "0"] = process.argv.slice(2);
const { url } = await serve(await createApp({ database }), { port: Number(port) });
ready(url);
