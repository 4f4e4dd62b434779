import assert from "node:assert/strict";
import { startTestServer } from "pm-api/testing";
import { copyLabels } from "./copy-labels.mjs";

describe("copyLabels", () => {
  let server;
  before(async () => {
    server = await startTestServer({ seed: new URL("./seed.json", import.meta.url) });
  });
  afterEach(() => server.reset());
  after(() => server.close());

  const run = () =>
    copyLabels({ host: server.url, token: server.token, from: "template", to: "acme" });

  it("copies missing labels", async () => {
    assert.equal(await run(), 2);
  });

  it("starts from the seed again", async () => {
    assert.equal(await run(), 2);
  });
});
