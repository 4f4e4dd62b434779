import { test as base, expect } from "@playwright/test";
import { startTestServer } from "pm-api/testing";

// A server for each worker, at its seed for each test. Pages under test get its address and token.
const test = base.extend({
  started: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the names of the fixtures that are used.
    async ({}, use) => {
      const server = await startTestServer({ seed: new URL("./seed.json", import.meta.url) });
      await use(server);
      await server.close();
    },
    { scope: "worker" },
  ],
  server: async ({ started }, use) => {
    await started.reset();
    await use(started);
  },
});

test("creates a label", async ({ request, server }) => {
  const address = `${server.url}/api/v4/groups/acme/labels`;
  const headers = { "private-token": server.token };
  const created = await request.post(address, { headers, data: { name: "new", color: "#cc0000" } });
  expect(created.status()).toBe(201);
  expect(await (await request.get(address, { headers })).json()).toHaveLength(2);
});

test("starts from the seed again", async ({ request, server }) => {
  const headers = { "private-token": server.token };
  const labels = await request.get(`${server.url}/api/v4/groups/acme/labels`, { headers });
  expect(await labels.json()).toHaveLength(1);
});
