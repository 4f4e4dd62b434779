import { afterAll, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../src/testing.ts";
import { slowness } from "../slowness.ts";

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
  const took = async (work: () => Promise<unknown>) => {
    const started = performance.now();
    await work();
    return performance.now() - started;
  };
  const server = await start();
  // The fastest of several, in case the machine is busy.
  const starts: number[] = [];
  const resets: number[] = [];
  for (let at = 0; at < 5; at += 1) {
    starts.push(await took(start));
    resets.push(await took(server.reset));
  }
  const most = 100 * slowness();
  expect(Math.min(...starts)).toBeLessThan(most);
  expect(Math.min(...resets)).toBeLessThan(most);
});
