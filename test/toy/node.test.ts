import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import middie from "@fastify/middie";
import { createServer as createHattipServer } from "@hattip/adapter-node/native-fetch";
import { getRequestListener } from "@hono/node-server";
import express from "express";
import fastify from "fastify";
import { createMiddleware, serve } from "../../src/node.ts";
import { type TestApp, testApp } from "../helpers.ts";
import { toyTests } from "./_tests.ts";
import { toys } from "./index.ts";

const newApp = () => testApp({ extra: toys, onError: () => undefined });

async function listen(app: TestApp, server: ReturnType<typeof createServer>, prefix = "") {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${prefix}`,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await app.dispose();
    },
  };
}

toyTests("serve of pm-api/node", async () => {
  const app = await newApp();
  const server = await serve(app, { port: 0 });
  const close = async () => {
    await server.close();
    await app.dispose();
  };
  return { url: server.url, close };
});

toyTests("Express 5", async () => {
  const app = await newApp();
  const host = express().use("/tools/pm", createMiddleware(app));
  return listen(app, createServer(host), "/tools/pm");
});

toyTests("Fastify with middie", async () => {
  const app = await newApp();
  const host = fastify();
  await host.register(middie);
  host.use("/tools/pm", createMiddleware(app));
  await host.ready();
  return listen(app, host.server, "/tools/pm");
});

toyTests("hattip's own adapter", async () => {
  const app = await newApp();
  return listen(app, createHattipServer(app.handler));
});

toyTests("fetch, on Hono's server for Node", async () => {
  const app = await newApp();
  const listener = getRequestListener((request) => app.fetch(request), {
    overrideGlobalObjects: false,
  });
  return listen(app, createServer(listener));
});
