import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
const SITE = "/projects/acme%2Fsite";
const paths: Record<string, string> = {};

beforeAll(async () => {
  app = await testApp();
  await app.call(`POST ${SITE}/merge_requests`, {
    as: "developer",
    json: { title: "MR", source_branch: "a", target_branch: "b" },
  });
  await app.call(`POST ${SITE}/issues`, { as: "reporter", json: { title: "Issue" } });
  for (const kind of ["issues", "merge_requests"]) {
    const { json } = await app.call(`POST ${SITE}/${kind}/1/notes`, {
      as: "guest",
      json: { body: "note" },
    });
    paths[kind] = `${SITE}/${kind}/1/award_emoji`;
    paths[`${kind} note`] = `${SITE}/${kind}/1/notes/${json.id}/award_emoji`;
  }
  const snippet = { title: "s", file_name: "s", content: "s", visibility: "public" };
  const { json } = await app.call(`POST ${SITE}/snippets`, { as: "reporter", json: snippet });
  const { json: note } = await app.call(`POST ${SITE}/snippets/${json.id}/notes`, {
    as: "guest",
    json: { body: "note" },
  });
  paths["snippets"] = `${SITE}/snippets/${json.id}/award_emoji`;
  paths["snippets note"] = `${SITE}/snippets/${json.id}/notes/${note.id}/award_emoji`;
});
afterAll(() => app.dispose());

describe.each([
  ["issues", "Issue"],
  ["merge_requests", "MergeRequest"],
  ["snippets", "Snippet"],
  ["issues note", "Note"],
  ["merge_requests note", "Note"],
  ["snippets note", "Note"],
])("emoji on %s", (where, type) => {
  const award = (as: Person, json: object = {}) => app.call(`POST ${paths[where]}`, { as, json });

  it("can be awarded once per user", async () => {
    const made = await award("guest", { name: "blowfish" });
    expect(made.status, made.text).toBe(201);
    expect(made.json).toEqual({
      id: expect.any(Number),
      name: "blowfish",
      user: expect.objectContaining({ username: "guest" }),
      created_at: expect.any(String),
      updated_at: expect.any(String),
      awardable_id: expect.any(Number),
      awardable_type: type,
    });
    const again = await award("guest", { name: "blowfish" });
    expect([again.status, again.json]).toEqual([
      404,
      { message: '404 Award Emoji {:name=>["has already been taken"]} Not Found' },
    ]);
    expect((await award("stranger", { name: "blowfish" })).status).toBe(201);
    const { json, headers } = await app.call(`GET ${paths[where]}`, { as: "guest" });
    expect(json[0]).toEqual(made.json);
    expect(headers.get("x-total")).toBe("2");
    const one = await app.call(`GET ${paths[where]}/${made.json.id}`, { as: "guest" });
    expect(one.json).toEqual(made.json);
  });

  it("called +1 are thumbsup", async () => {
    expect((await award("guest", { name: "+1" })).json.name).toBe("thumbsup");
    expect((await award("guest", { name: "thumbsup" })).status).toBe(404);
    expect((await award("guest", { name: "-1" })).json.name).toBe("thumbsdown");
  });

  it("need a known name", async () => {
    const missing = await award("guest");
    expect([missing.status, missing.json]).toEqual([
      400,
      { message: '400 (Bad request) "name" not given' },
    ]);
    const unknown = await award("guest", { name: "not_an_emoji" });
    expect([unknown.status, unknown.json]).toEqual([
      404,
      { message: '404 Award Emoji {:name=>["is not included in the list"]} Not Found' },
    ]);
  });

  it("are not available to anonymous callers", async () => {
    expect((await award("anonymous", { name: "tada" })).status).toBe(401);
    expect((await app.call(`GET ${paths[where]}`)).status).toBe(401);
  });

  it("can be removed by the user who awarded them, and by administrators", async () => {
    const mine = (await award("guest", { name: "tada" })).json;
    const path = `DELETE ${paths[where]}/${mine.id}`;
    const other = await app.call(path, { as: "owner" });
    expect([other.status, other.json]).toEqual([401, { message: "401 Unauthorized" }]);
    expect((await app.call(path)).status).toBe(401);
    const headers = { "if-unmodified-since": "Fri, 12 Jan 1990 06:00:48 GMT" };
    expect((await app.call(path, { as: "guest", headers })).status).toBe(412);
    expect((await app.call(path, { as: "guest" })).status).toBe(204);
    const gone = await app.call(path, { as: "guest" });
    expect([gone.status, gone.json]).toEqual([404, { message: "404 Award Emoji Not Found" }]);
    const next = (await award("guest", { name: "tada" })).json;
    const by = await app.call(`DELETE ${paths[where]}/${next.id}`, { as: "admin" });
    expect(by.status).toBe(204);
  });
});

it("thumbs count as votes", async () => {
  for (const kind of ["issues", "merge_requests"]) {
    const { json } = await app.call(`GET ${SITE}/${kind}/1`);
    expect(json).toMatchObject({ upvotes: 1, downvotes: 1 });
  }
});

it("answers 404 for a missing record", async () => {
  const options = { as: "guest" as const, json: { name: "tada" } };
  expect((await app.call(`POST ${SITE}/issues/999/award_emoji`, options)).status).toBe(404);
  const note = await app.call(`POST ${SITE}/issues/1/notes/999/award_emoji`, options);
  expect(note.status).toBe(404);
});
