import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
  await app.call("POST /projects/acme%2Fsite/merge_requests", {
    as: "developer",
    json: { title: "A change", source_branch: "change", target_branch: "main" },
  });
  await app.call("POST /projects/acme%2Fsite/issues", { as: "reporter", json: { title: "One" } });
});
afterAll(() => app.dispose());

const SITE = "/projects/acme%2Fsite";

async function newNote(noteable: string, as: Person = "guest", body = "hi!") {
  const answer = await app.call(`POST ${SITE}/${noteable}/notes`, { as, json: { body } });
  expect(answer.status, answer.text).toBe(201);
  return answer.json;
}

describe.each([
  ["issues/1", "Issue"],
  ["merge_requests/1", "MergeRequest"],
])("notes on %s", (noteable, type) => {
  const path = `${SITE}/${noteable}/notes`;

  it("have GitLab's fields, without votes", async () => {
    const made = await newNote(noteable, "stranger", "hi *there*");
    const { json: target } = await app.call(`GET ${SITE}/${noteable}`);
    expect(made).toEqual({
      id: expect.any(Number),
      type: null,
      body: "hi *there*",
      attachment: null,
      author: expect.objectContaining({ username: "stranger", web_url: "http://pm.test/stranger" }),
      created_at: expect.stringMatching(/Z$/),
      updated_at: expect.stringMatching(/Z$/),
      system: false,
      noteable_id: target.id,
      noteable_type: type,
      project_id: target.project_id,
      resolvable: false,
      confidential: false,
      internal: false,
      imported: false,
      imported_from: "none",
      noteable_iid: 1,
      commands_changes: {},
    });
    expect((await app.call(`GET ${path}/${made.id}`, { as: "guest" })).json).toEqual(made);
  });

  it("create an event each", async () => {
    const made = await newNote(noteable, "guest", "an event");
    const { json } = await app.call("GET /events?target_type=note", { as: "guest" });
    expect(json[0]).toMatchObject({
      action_name: "commented on",
      target_type: "Note",
      target_id: made.id,
      target_iid: made.id,
      target_title: null,
      note: { id: made.id, body: "an event", noteable_type: type, noteable_iid: 1 },
    });
    await app.call(`DELETE ${path}/${made.id}`, { as: "guest" });
    const { json: after } = await app.call("GET /events?target_type=note", { as: "guest" });
    expect(after.map((event: { target_id: number }) => event.target_id)).not.toContain(made.id);
  });

  it("are listed newest first or in the requested order, paginated", async () => {
    const [a, b] = [await newNote(noteable), await newNote(noteable)];
    const ids = async (query: string) =>
      (await app.call(`GET ${path}?${query}`, { as: "guest" })).json.map(
        (note: { id: number }) => note.id,
      );
    expect((await ids("")).slice(0, 2)).toEqual([b.id, a.id]);
    expect((await ids("sort=asc")).slice(-2)).toEqual([a.id, b.id]);
    await app.call(`PUT ${path}/${a.id}`, { as: "guest", json: { body: "later" } });
    expect((await ids("order_by=updated_at"))[0]).toBe(a.id);
    expect(await ids("per_page=1&page=2")).toEqual([a.id]);
    const wrong = await app.call(`GET ${path}?sort=up`, { as: "guest" });
    expect([wrong.status, wrong.json.message.sort]).toEqual([400, ["does not have a valid value"]]);
    const { headers } = await app.call(`GET ${path}`, { as: "guest" });
    expect(Number(headers.get("x-total"))).toBeGreaterThan(1);
  });

  it("require a body", async () => {
    const missing = await app.call(`POST ${path}`, { as: "guest", json: {} });
    expect([missing.status, missing.json]).toEqual([
      400,
      { message: '400 (Bad request) "body" not given' },
    ]);
    const blank = await app.call(`POST ${path}`, { as: "guest", json: { body: " " } });
    expect([blank.status, blank.json]).toEqual([400, { message: { body: ["can't be blank"] } }]);
    const { id } = await newNote(noteable);
    expect((await app.call(`PUT ${path}/${id}`, { as: "guest", json: {} })).status).toBe(400);
  });

  it.each<[Person, number, number]>([
    ["anonymous", 401, 401],
    ["stranger", 403, 403],
    ["guest", 200, 204],
    ["developer", 403, 403],
    ["maintainer", 200, 204],
    ["owner", 200, 204],
    ["admin", 200, 204],
  ])("of a guest are for %s to change: %i, to delete: %i", async (as, change, remove) => {
    const { id } = await newNote(noteable);
    const put = await app.call(`PUT ${path}/${id}`, { as, json: { body: "new" } });
    expect(put.status).toBe(change);
    if (change === 200) expect(put.json.body).toBe("new");
    expect((await app.call(`DELETE ${path}/${id}`, { as })).status).toBe(remove);
    const left = await app.call(`GET ${path}/${id}`, { as: "guest" });
    expect(left.status).toBe(remove === 204 ? 404 : 200);
  });

  it("respect If-Unmodified-Since", async () => {
    const { id } = await newNote(noteable);
    const headers = { "if-unmodified-since": "Fri, 12 Jan 1990 06:00:48 GMT" };
    const { status } = await app.call(`DELETE ${path}/${id}`, { as: "guest", headers });
    expect(status).toBe(412);
  });

  it("are counted, and update updated_at of the issue or merge request", async () => {
    const before = (await app.call(`GET ${SITE}/${noteable}`)).json;
    await newNote(noteable);
    const after = (await app.call(`GET ${SITE}/${noteable}`)).json;
    expect(after.user_notes_count).toBe(before.user_notes_count + 1);
    expect(after.updated_at >= before.updated_at).toBe(true);
  });

  it("are refused to non-members in locked discussions", async () => {
    const mine = await newNote(noteable, "stranger");
    const lock = (discussion_locked: boolean) =>
      app.call(`PUT ${SITE}/${noteable}`, { as: "developer", json: { discussion_locked } });
    expect((await lock(true)).json.discussion_locked).toBe(true);
    const json = { body: "x" };
    expect((await app.call(`POST ${path}`, { as: "stranger", json })).status).toBe(403);
    expect((await app.call(`PUT ${path}/${mine.id}`, { as: "stranger", json })).status).toBe(403);
    expect((await app.call(`DELETE ${path}/${mine.id}`, { as: "stranger" })).status).toBe(403);
    await newNote(noteable, "guest");
    const award = await app.call(`POST ${SITE}/${noteable}/award_emoji`, {
      as: "stranger",
      json: { name: "tada" },
    });
    expect(award.status).toBe(404);
    await lock(false);
    await newNote(noteable, "stranger");
  });

  it("that don't exist answer 404", async () => {
    const kind = noteable.split("/")[0];
    const unknown = await app.call(`GET ${SITE}/${kind}/9999/notes`, { as: "guest" });
    expect([unknown.status, unknown.json]).toEqual([404, { message: "404 Not found" }]);
    const note = await app.call(`GET ${path}/99999`, { as: "guest" });
    expect([note.status, note.json]).toEqual([404, { message: "404 Not found" }]);
    const { status } = await app.call(`POST ${SITE}/${kind}/9999/notes`, {
      as: "guest",
      json: { body: "x" },
    });
    expect(status).toBe(404);
  });

  it("are not available to anonymous callers", async () => {
    expect((await app.call(`GET ${path}`)).status).toBe(401);
    expect((await app.call(`POST ${path}`, { json: { body: "x" } })).status).toBe(401);
  });
});

it("a note is found only under its own record", async () => {
  const { id } = await newNote("issues/1");
  const { status } = await app.call(`GET ${SITE}/merge_requests/1/notes/${id}`, { as: "guest" });
  expect(status).toBe(404);
});
