// Serves this application with its background work, which may call webhooks on this machine.
import { createApp } from "../../../dist/index.js";
import { serve } from "../../../dist/node.js";
import { ready } from "./control.mjs";

const [database, secretKey] = process.argv.slice(2);
const app = await createApp({ database, secretKey, webhooks: { allowLocalRequests: true } });
const { url } = await serve(app, { port: 0 });
ready(url);
