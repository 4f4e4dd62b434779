// Serves an application, and says where: to be killed by a test.
import { createApp } from "../../src/app.ts";
import { serve } from "../../src/node.ts";

const [database, secretKey] = process.argv.slice(2) as [string, string];
const app = await createApp({ database, secretKey, background: false });
const server = await serve(app, { port: 0, connectionsPerAddress: false });
process.stdout.write(server.url);
