import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";

const FLAGS = [
  "new_note",
  "new_issue",
  "reopen_issue",
  "close_issue",
  "reassign_issue",
  "issue_due",
  "new_merge_request",
  "push_to_merge_request",
  "reopen_merge_request",
  "close_merge_request",
  "reassign_merge_request",
  "merge_merge_request",
  "failed_pipeline",
  "success_pipeline",
];

let app: TestApp;
let premium: TestApp;
beforeAll(async () => {
  [app, premium] = await Promise.all([testApp(), testApp({ tier: "premium" })]);
});
afterAll(() => Promise.all([app.dispose(), premium.dispose()]));

describe("/notification_settings", () => {
  it("is 401 without a token", async () => {
    expect((await app.call("GET /notification_settings")).status).toBe(401);
    expect((await app.call("PUT /notification_settings")).status).toBe(401);
  });

  it("is participating by default, with the user's own address", async () => {
    const { status, json } = await app.call("GET /notification_settings", { as: "guest" });
    expect([status, json]).toEqual([
      200,
      { level: "participating", notification_email: "guest@example.com" },
    ]);
  });

  it("changes only what is sent", async () => {
    const put = (json: object) => app.call("PUT /notification_settings", { as: "owner", json });
    const changed = { level: "watch", notification_email: "owner@example.com" };
    expect((await put({ level: "watch" })).json).toEqual(changed);
    expect((await put({})).json).toEqual(changed);
    expect((await put({ notification_email: "owner@example.com" })).status).toBe(200);
    expect((await put({ notification_email: "" })).json).toEqual(changed);
    expect((await app.call("GET /notification_settings", { as: "owner" })).json).toEqual(changed);
  });

  it("never shows events, not even at the level custom", async () => {
    const { json } = await app.call("PUT /notification_settings", {
      as: "developer",
      json: { level: "custom", new_note: true },
    });
    expect(json).toEqual({ level: "custom", notification_email: "developer@example.com" });
  });

  it("refuses an address that isn't the user's, and changes nothing then", async () => {
    const { status, json } = await app.call("PUT /notification_settings", {
      as: "reporter",
      json: { level: "watch", notification_email: "invalid@example.com" },
    });
    expect([status, json]).toEqual([
      400,
      { message: { notification_email: ["is not an email you own"] } },
    ]);
    const { json: after } = await app.call("GET /notification_settings", { as: "reporter" });
    expect(after.level).toBe("participating");
  });

  it("names an invalid level", async () => {
    const { status, json } = await app.call("PUT /notification_settings", {
      as: "reporter",
      json: { level: "invalid" },
    });
    expect([status, json]).toEqual([400, { message: "'invalid' is not a valid level" }]);
  });
});

describe.each([
  ["group", "/groups/acme", "/groups/secret", "404 Group Not Found"],
  ["project", "/projects/acme%2Fsite", "/projects/secret%2Fvault", "404 Project Not Found"],
])("%s notification settings", (_kind, open, secret, notFound) => {
  const path = `${open}/notification_settings`;

  it("default to global, without events", async () => {
    const { status, json } = await app.call(`GET ${path}`, { as: "guest" });
    expect([status, json]).toEqual([200, { level: "global" }]);
  });

  it.each(["disabled", "participating", "watch", "global", "mention"])("take %s", async (level) => {
    const { status, json } = await app.call(`PUT ${path}`, { as: "owner", form: { level } });
    expect([status, json]).toEqual([200, { level }]);
    expect((await app.call(`GET ${path}`, { as: "owner" })).json).toEqual({ level });
  });

  it("show every event as a boolean at the level custom", async () => {
    const { json } = await app.call(`PUT ${path}`, {
      as: "maintainer",
      form: { level: "custom", new_note: "true" },
    });
    expect(json.level).toBe("custom");
    expect(Object.keys(json.events)).toEqual([...FLAGS, "new_epic"]);
    for (const flag of FLAGS) expect(json.events[flag]).toBe(flag === "new_note");
  });

  it("have new_epic only in the ultimate tier", async () => {
    const { json } = await premium.call(`PUT ${path}`, {
      as: "owner",
      form: { level: "custom", new_epic: "true" },
    });
    expect(Object.keys(json.events)).toEqual(FLAGS);
  });

  it("keep event flags while the level changes", async () => {
    const put = (form: Record<string, string>) => app.call(`PUT ${path}`, { as: "admin", form });
    expect((await put({ level: "watch", new_issue: "true" })).json).toEqual({ level: "watch" });
    expect((await put({ level: "custom" })).json.events.new_issue).toBe(true);
    expect((await put({ new_issue: "0" })).json.events.new_issue).toBe(false);
  });

  it("refuse values that are not booleans", async () => {
    const { status, json } = await app.call(`PUT ${path}`, {
      as: "owner",
      form: { new_note: "maybe" },
    });
    expect([status, json]).toEqual([400, { message: { new_note: ["is invalid"] } }]);
  });

  it("are available to all who can see the group or project, and hidden from others", async () => {
    const form = { level: "watch" };
    expect((await app.call(`PUT ${path}`, { as: "stranger", form })).json).toEqual(form);
    expect((await app.call(`PUT ${path}`, { form })).status).toBe(401);
    const hidden = await app.call(`PUT ${secret}/notification_settings`, { as: "stranger", form });
    expect([hidden.status, hidden.json]).toEqual([404, { message: notFound }]);
  });
});
