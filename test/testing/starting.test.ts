import { afterAll, it } from "vitest";
import { startTestServer, type TestServer } from "../../src/testing.ts";
import { expectQuick } from "../relative-time.ts";

const running: TestServer[] = [];
async function start(): Promise<TestServer> {
  const server = await startTestServer();
  running.push(server);
  return server;
}
afterAll(async () => {
  for (const server of running) await server.close();
});

it("Starting a test server takes milliseconds, as does a reset", async () => {
  const server = await start();
  await expectQuick(start, 25, "starting");
  await expectQuick(server.reset, 25, "a reset");
});
