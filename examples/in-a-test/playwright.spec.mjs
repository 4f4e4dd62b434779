import { expect, test } from "@playwright/test";
import { startTestServer } from "pm-api/testing";

// Pages under test get the server's address and token.
let server;
test.beforeAll(async () => {
  server = await startTestServer({ seed: new URL("./seed.json", import.meta.url) });
});
test.afterEach(() => server.reset());
test.afterAll(() => server.close());

test("creates a label", async ({ request }) => {
  const address = `${server.url}/api/v4/groups/acme/labels`;
  const headers = { "private-token": server.token };
  const created = await request.post(address, { headers, data: { name: "new", color: "#cc0000" } });
  expect(created.status()).toBe(201);
  expect(await (await request.get(address, { headers })).json()).toHaveLength(2);
});

test("starts from the seed again", async ({ request }) => {
  const headers = { "private-token": server.token };
  const labels = await request.get(`${server.url}/api/v4/groups/acme/labels`, { headers });
  expect(await labels.json()).toHaveLength(1);
});
