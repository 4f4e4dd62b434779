import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { startTestServer } from "pm-api/testing";
import { copyLabels } from "./copy-labels.mjs";

let server;
before(async () => {
  server = await startTestServer({ seed: new URL("./seed.json", import.meta.url) });
});
afterEach(() => server.reset());
after(() => server.close());

const run = (options) =>
  copyLabels({ host: server.url, token: server.token, from: "template", to: "acme", ...options });

test("copies missing labels", async () => {
  assert.equal(await run(), 2);
});

test("starts from the seed again", async () => {
  assert.equal(await run(), 2);
});

test("gives up if the server is broken", async () => {
  server.faults.add({ status: 500 });
  await assert.rejects(run(), /500 Internal Server Error/);
});
