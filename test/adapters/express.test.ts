import { once } from "node:events";
import type { AddressInfo } from "node:net";
import express from "express";
import { createMiddleware } from "../../src/node.ts";
import { testApp } from "../helpers.ts";
import { adapterTests } from "./_tests.ts";

adapterTests({
  name: "Express 5, mounted under a prefix",
  start: async () => {
    const app = await testApp();
    const host = express()
      .use("/tools/pm", createMiddleware(app))
      .use((_req, res) => res.status(404).json({ error: "404 Not Found" }));
    const server = host.listen(0, "127.0.0.1");
    await once(server, "listening");
    return {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/tools/pm`,
      close: async () => {
        server.closeAllConnections();
        server.close();
        await app.dispose();
      },
    };
  },
});
