import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
  const json = { title: "t", source_branch: "a", target_branch: "b" };
  await app.call(`POST ${SITE}/merge_requests`, { as: "developer", json });
  await app.call(`POST ${SITE}/issues`, { as: "developer", json });
});
afterAll(() => app.dispose());

const SITE = "/projects/acme%2Fsite";

describe.each(["issues/1", "merge_requests/1"])("subscriptions to %s", (path) => {
  const act = (as: Person, verb: "subscribe" | "unsubscribe") =>
    app.call(`POST ${SITE}/${path}/${verb}`, { as });
  const subscribed = async (as: Person) =>
    (await app.call(`GET ${SITE}/${path}`, { as })).json.subscribed;

  it("change once, and answer 304 when nothing changes", async () => {
    expect(await subscribed("guest")).toBe(false);
    expect((await act("guest", "unsubscribe")).status).toBe(304);
    const first = await act("guest", "subscribe");
    expect([first.status, first.json.subscribed, first.json.title]).toEqual([201, true, "t"]);
    const again = await act("guest", "subscribe");
    expect([again.status, again.text]).toEqual([304, ""]);
    expect(await subscribed("guest")).toBe(true);
    const off = await act("guest", "unsubscribe");
    expect([off.status, off.json.subscribed]).toEqual([201, false]);
    expect((await act("guest", "unsubscribe")).status).toBe(304);
  });

  it("exist for participants until they unsubscribe", async () => {
    expect(await subscribed("developer")).toBe(true);
    expect((await act("developer", "subscribe")).status).toBe(304);
    await app.call(`POST ${SITE}/${path}/notes`, { as: "reporter", json: { body: "@stranger" } });
    expect(await subscribed("reporter")).toBe(true);
    expect(await subscribed("stranger")).toBe(true);
    expect((await act("developer", "unsubscribe")).json.subscribed).toBe(false);
    expect(await subscribed("developer")).toBe(false);
  });

  it("are 401 for anonymous callers and 404 for missing records", async () => {
    expect(await subscribed("anonymous")).toBe(false);
    expect((await act("anonymous", "subscribe")).status).toBe(401);
    const kind = path.split("/")[0];
    const unknown = await app.call(`POST ${SITE}/${kind}/999/subscribe`, { as: "guest" });
    expect([unknown.status, unknown.json]).toEqual([404, { message: "404 Not found" }]);
  });
});
