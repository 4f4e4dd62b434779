import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer } from "@hattip/adapter-node/native-fetch";
import { testApp } from "../helpers.ts";
import { adapterTests } from "./_tests.ts";

adapterTests({
  name: "hattip's own adapter",
  withoutLength: "HEAD",
  start: async () => {
    const app = await testApp();
    const server = createServer(app.handler).listen(0, "127.0.0.1");
    await once(server, "listening");
    return {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      close: async () => {
        server.closeAllConnections();
        server.close();
        await app.dispose();
      },
    };
  },
});
