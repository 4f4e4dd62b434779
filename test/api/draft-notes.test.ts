import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
const SITE = "/projects/acme%2Fsite";
let number = 0;
let request = "";
let drafts = "";

beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());
beforeEach(async () => {
  number += 1;
  const json = { title: "A change", source_branch: `change-${number}`, target_branch: "main" };
  const { iid } = await send(`POST ${SITE}/merge_requests`, "developer", json, 201);
  request = `${SITE}/merge_requests/${iid}`;
  drafts = `${request}/draft_notes`;
});

async function send(route: string, as: Person, json?: object, expected = 200) {
  const answer = await app.call(route, { as, ...(json && { json }) });
  expect([answer.status, answer.text]).toEqual([expected, answer.text]);
  return expected === 204 ? undefined : answer.json;
}
const get = (path: string, as: Person = "reporter") => send(`GET ${path}`, as);
const write = (json: object, as: Person = "reporter") => send(`POST ${drafts}`, as, json, 201);

it("drafts are seen by their author only", async () => {
  const [user] = await get("/users?username=reporter");
  const draft = await write({ note: "Later" });
  expect(draft).toEqual({
    id: expect.any(Number),
    author_id: user.id,
    merge_request_id: (await get(request)).id,
    resolve_discussion: false,
    discussion_id: null,
    note: "Later",
    commit_id: null,
    line_code: null,
    position: {
      base_sha: null,
      start_sha: null,
      head_sha: null,
      old_path: null,
      new_path: null,
      position_type: "text",
      old_line: null,
      new_line: null,
      line_range: null,
    },
  });
  const other = await write({ note: "Also later" });
  expect(await get(drafts)).toEqual([draft, other]);
  expect(await get(`${drafts}/${draft.id}`)).toEqual(draft);
  for (const as of ["owner", "admin", "guest"] as const) {
    expect(await get(drafts, as)).toEqual([]);
    const one = `${drafts}/${draft.id}`;
    for (const route of [`GET ${one}`, `PUT ${one}/publish`, `DELETE ${one}`]) {
      await send(route, as, undefined, 404);
    }
    await send(`PUT ${one}`, as, { note: "x" }, 404);
    await send(`POST ${drafts}/bulk_publish`, as, undefined, 204);
  }
  expect(await get(`${request}/notes`)).toEqual([]);
  expect(await get(drafts)).toEqual([draft, other]);
});

it("drafts are changed and deleted", async () => {
  const { id } = await write({ note: "Later" });
  const one = `${drafts}/${id}`;
  expect(await send(`PUT ${one}`, "reporter", { note: "Now" })).toMatchObject({ note: "Now" });
  await send(`PUT ${one}`, "reporter", {}, 400);
  await send(`PUT ${one}`, "reporter", { note: " " }, 400);
  await send(`DELETE ${one}`, "reporter", undefined, 204);
  await send(`GET ${one}`, "reporter", undefined, 404);
});

it("a published draft begins a discussion, with an event of its author", async () => {
  const { id } = await write({ note: "Now, @guest" });
  await send(`PUT ${drafts}/${id}/publish`, "reporter", undefined, 204);
  expect(await get(drafts)).toEqual([]);
  const [begun] = await get(`${request}/discussions`);
  expect(begun).toMatchObject({
    individual_note: false,
    notes: [{ type: "DiscussionNote", body: "Now, @guest", author: { username: "reporter" } }],
  });
  const [event] = await get(`${SITE}/events?action=commented`);
  expect(event).toMatchObject({ note: { id: begun.notes[0].id } });
  const [todo] = await get("/todos", "guest");
  expect(todo).toMatchObject({ author: { username: "reporter" }, body: "Now, @guest" });
  await send(`PUT ${drafts}/${id}/publish`, "reporter", undefined, 404);
});

it("drafts answer in discussions, and resolve them", async () => {
  const json = { body: "Why?" };
  const { id } = await send(`POST ${request}/discussions`, "guest", json, 201);
  const answer = { note: "So", in_reply_to_discussion_id: id };
  const draft = await write({ ...answer, resolve_discussion: true }, "developer");
  expect(draft).toMatchObject({ discussion_id: id, resolve_discussion: true });
  await write({ ...answer, note: "Mine" }, "reporter");
  const publish = `POST ${drafts}/bulk_publish`;
  await send(publish, "developer", undefined, 204);
  const found = await get(`${request}/discussions/${id}`);
  expect(found.notes).toMatchObject([
    { body: "Why?", resolved: true, resolved_by: { username: "developer" } },
    { body: "So", resolved: true },
  ]);
  // A reporter may not resolve, and what the reporter answers leaves the discussion as it is.
  await send(publish, "reporter", undefined, 204);
  const resolved = (await get(`${request}/discussions/${id}`)).notes;
  expect(resolved.map((one: { resolved: boolean }) => one.resolved)).toEqual([true, true, true]);
  await write({ ...answer, note: "No" }, "developer");
  await send(publish, "developer", undefined, 204);
  const opened = (await get(`${request}/discussions/${id}`)).notes;
  expect(opened.map((one: { resolved: boolean }) => one.resolved)).toEqual(Array(4).fill(false));
});

it("a draft in a discussion that is gone begins one", async () => {
  const begun = await send(`POST ${request}/discussions`, "guest", { body: "Why?" }, 201);
  await write({ note: "So", in_reply_to_discussion_id: begun.id });
  await send(`DELETE ${request}/notes/${begun.notes[0].id}`, "guest", undefined, 204);
  await send(`POST ${drafts}/bulk_publish`, "reporter", undefined, 204);
  expect(await get(`${request}/discussions`)).toMatchObject([{ notes: [{ body: "So" }] }]);
});

it("unknown discussions and too many drafts are refused", async () => {
  const unknown = { note: "So", in_reply_to_discussion_id: "0".repeat(40) };
  expect(await send(`POST ${drafts}`, "reporter", unknown, 400)).toEqual({
    message: { base: ["Thread to reply to cannot be found"] },
  });
  for (let at = 0; at < 100; at += 1) await write({ note: `Draft ${at}` });
  const full = await send(`POST ${drafts}`, "reporter", { note: "One more" }, 400);
  expect(full.message).toContain("at most 100 drafts");
  await send(`POST ${drafts}/bulk_publish`, "reporter", undefined, 204);
  const { headers } = await app.call(`GET ${request}/notes?per_page=1`, { as: "reporter" });
  expect(headers.get("x-total")).toBe("100");
});

it("locked merge requests take drafts and notes of members only", async () => {
  await write({ note: "Before" }, "stranger");
  await send(`PUT ${request}`, "owner", { discussion_locked: true });
  await send(`POST ${drafts}`, "stranger", { note: "x" }, 403);
  await send(`POST ${drafts}/bulk_publish`, "stranger", undefined, 403);
  expect(await get(drafts, "stranger")).toHaveLength(1);
});

it("drafts go with their merge request", async () => {
  await write({ note: "Later" });
  await send(`DELETE ${request}`, "owner", undefined, 204);
  await send(`GET ${drafts}`, "reporter", undefined, 404);
});
