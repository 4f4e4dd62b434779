import { Gitlab } from "@gitbeaker/rest";
import { startTestServer } from "pm-api/testing";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { copyLabels } from "./copy-labels.mjs";

let server;
beforeAll(async () => {
  server = await startTestServer({
    seed: new URL("./seed.json", import.meta.url),
    limits: { perPage: 2 },
  });
});
afterEach(() => server.reset());
afterAll(() => server.close());

const run = (options) =>
  copyLabels({ host: server.url, token: server.token, from: "template", to: "acme", ...options });

test("copies missing labels from all pages", async () => {
  expect(await run()).toBe(2);
  const gitlab = new Gitlab({ host: server.url, token: server.token });
  const labels = await gitlab.GroupLabels.all("acme");
  expect(labels.map((label) => label.name)).toEqual(["bug", "feature", "question"]);
});

test("copies nothing twice", async () => {
  await run();
  expect(await run()).toBe(0);
});

test("retries when rate-limited", async () => {
  server.faults.add({ method: "POST", path: "/api/v4/groups/acme/labels", status: 429 });
  expect(await run()).toBe(2);
  const posts = server.requests.filter(({ method }) => method === "POST");
  expect(posts.map(({ status }) => status)).toEqual([429, 201, 201]);
});

test("reports missing permissions", async () => {
  await expect(run({ token: "guest-token" })).rejects.toThrow("403 Forbidden");
});
