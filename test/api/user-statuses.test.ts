import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
let time = Date.parse("2026-11-22T10:00:00Z");
beforeAll(async () => {
  app = await testApp({ now: () => time });
});
afterAll(() => app.dispose());

const none = {
  emoji: "speech_balloon",
  message: null,
  availability: "not_set",
  message_html: "",
  clear_status_at: null,
};
const change = (method: "PUT" | "PATCH", json: object, as: Person = "guest") =>
  app.call(`${method} /user/status`, { as, json });
const statusOf = async (user: string, as?: Person) => {
  const { status, json } = await app.call(`GET /users/${user}/status`, as && { as });
  expect(status).toBe(200);
  return json;
};

describe("a user's status", () => {
  it("is seen by everybody, as markup too", async () => {
    const set = await change("PUT", {
      emoji: "coffee",
      message: "<b> & more",
      availability: "busy",
    });
    const shown = {
      emoji: "coffee",
      message: "<b> & more",
      availability: "busy",
      message_html: "&lt;b&gt; &amp; more",
      clear_status_at: null,
    };
    expect([set.status, set.json]).toEqual([200, shown]);
    expect((await app.call("GET /user/status", { as: "guest" })).json).toEqual(shown);
    expect(await statusOf("GUEST")).toEqual(shown);
    const { id } = await app.admin.users.get("guest");
    expect(await statusOf(String(id), "stranger")).toEqual(shown);
  });

  it("is none until it is set, and after it is replaced by nothing", async () => {
    expect(await statusOf("owner")).toEqual(none);
    expect((await change("PUT", {})).json).toEqual(none);
    expect(await statusOf("guest")).toEqual(none);
  });

  it("keeps with PATCH what is not sent", async () => {
    await change("PUT", { emoji: "coffee", message: "Tea", clear_status_after: "3_hours" });
    expect((await change("PATCH", { message: "Coffee" })).json).toMatchObject({
      emoji: "coffee",
      message: "Coffee",
      clear_status_at: "2026-11-22T13:00:00.000Z",
    });
    const cleared = await change("PATCH", { clear_status_after: null, message: null });
    expect(cleared.json).toMatchObject({ emoji: "coffee", message: "", clear_status_at: null });
    expect((await change("PUT", { message: "Tea" })).json).toMatchObject({
      emoji: "speech_balloon",
      message: "Tea",
    });
  });

  it("ends at its time", async () => {
    await change("PUT", { message: "Lunch", clear_status_after: "30_minutes" }, "owner");
    time += 30 * 60_000 - 1;
    expect(await statusOf("owner")).toMatchObject({ message: "Lunch" });
    time += 1;
    expect(await statusOf("owner")).toEqual(none);
    expect((await change("PATCH", { availability: "busy" }, "owner")).json).toMatchObject({
      message: "",
      availability: "busy",
    });
  });

  it("is refused if it is not valid", async () => {
    const wrong = await change("PUT", { emoji: "not an emoji" });
    expect([wrong.status, wrong.json]).toEqual([
      400,
      { message: { emoji: ["is not a valid emoji name"] } },
    ]);
    for (const json of [
      { message: "x".repeat(101) },
      { availability: "away" },
      { clear_status_after: "1_year" },
    ]) {
      expect((await change("PUT", json)).status).toBe(400);
    }
    expect((await app.call("GET /user/status")).status).toBe(401);
    expect((await app.call("GET /users/nobody/status")).status).toBe(404);
  });
});

it("have preferences, which are their own", async () => {
  const get = async (as: Person = "guest") =>
    (await app.call("GET /user/preferences", { as })).json;
  const first = await get();
  const flags = {
    view_diffs_file_by_file: false,
    show_whitespace_in_diffs: true,
    pass_user_identities_to_ci_jwt: false,
  };
  expect(first).toEqual({ id: first.user_id, user_id: expect.any(Number), ...flags });
  const put = (json: object) => app.call("PUT /user/preferences", { as: "guest", json });
  const changed = await put({ view_diffs_file_by_file: true });
  const kept = { ...first, view_diffs_file_by_file: true };
  expect([changed.status, changed.json]).toEqual([200, kept]);
  const more = { show_whitespace_in_diffs: false, pass_user_identities_to_ci_jwt: true };
  await put(more);
  expect(await get()).toEqual({ ...changed.json, ...more });
  expect(await get("reporter")).toMatchObject(flags);
  expect((await put({})).status).toBe(400);
  expect((await put({ show_whitespace_in_diffs: "perhaps" })).status).toBe(400);
  expect((await app.call("GET /user/preferences")).status).toBe(401);
});
