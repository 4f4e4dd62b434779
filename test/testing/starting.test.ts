import { afterAll, expect, it } from "vitest";
import { startTestServer, type TestServer, type TestServerOptions } from "../../src/testing.ts";
import { expectQuick } from "../relative-time.ts";

const running: TestServer[] = [];
async function start(options: TestServerOptions = {}): Promise<TestServer> {
  const server = await startTestServer(options);
  running.push(server);
  return server;
}
afterAll(async () => {
  for (const server of running) await server.close();
});

it("Another test server starts in milliseconds", async () => {
  await start();
  await expectQuick(() => start(), 10, "starting");
});

it("A reset takes a fraction of a millisecond, whatever the seed, also after many changes", async () => {
  const issues = Array.from({ length: 2000 }, (_, at) => ({ title: `${at}`, author: "root" }));
  const many = await start({
    seed: {
      users: [{ username: "root", admin: true }],
      groups: [{ path: "acme", members: { root: "owner" }, projects: [{ path: "site", issues }] }],
    },
  });
  for (const server of [await start(), many]) {
    const resets = async () => {
      for (let time = 0; time < 10; time += 1) await server.reset();
    };
    await expectQuick(resets, 2, "ten resets");
  }
  const before = await many.changes({ all: true });
  for (let iid = 1; iid <= 200; iid += 1) {
    await many.app.fetch(`${many.url}/api/v4/projects/1/issues/${iid}?title=new`, {
      method: "PUT",
      headers: { "private-token": many.token },
    });
  }
  expect((await many.changes()).updated).toHaveLength(200);
  await expectQuick(many.reset, 1, "a reset after 200 changes");
  expect(await many.changes({ all: true })).toEqual(before);
});
