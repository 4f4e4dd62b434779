import { serve } from "../../src/node.ts";
import { testApp } from "../helpers.ts";
import { adapterTests } from "./_tests.ts";

adapterTests({
  name: "serve of pm-api/node",
  alone: true,
  start: async () => {
    const app = await testApp();
    const server = await serve(app, { port: 0 });
    return {
      url: server.url,
      close: async () => {
        await server.close();
        await app.dispose();
      },
    };
  },
});
