import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { check } from "../../src/database/check.ts";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { entry, Objects, push } from "../packs.ts";

let app: TestApp;
const VAULT = "/projects/secret%2Fvault/repository/commits";
const lines = (...all: string[]) => all.map((line) => `${line}\n`).join("");
const objects = new Objects();
const tree = (files: Record<string, string | Buffer>) =>
  objects.add(
    "tree",
    Buffer.concat(
      Object.entries(files).map(([name, text]) => entry("100644", name, objects.add("blob", text))),
    ),
  );
const first = objects.commit(
  tree({
    a: lines("1", "2", "3", "4", "5", "6", "7", "8", "9", "10"),
    old: lines("stays", "as", "it", "is"),
    picture: Buffer.from([0, 1]),
  }),
  [],
  { message: "First" },
);
const second = objects.commit(
  tree({
    a: lines("1", "2", "two", "4", "5", "6", "7", "8", "9", "10"),
    new: lines("stays", "as", "it", "was"),
    picture: Buffer.from([0, 2]),
  }),
  [first],
  { message: "Second" },
);
const FIRST = first.toString("hex");
const SECOND = second.toString("hex");

beforeAll(async () => {
  app = await testApp();
  await push(app, "secret/vault", objects.pack, { "refs/heads/main": second });
});
afterAll(() => app.dispose());

const send = (request: string, as: Person, json?: object) =>
  app.call(request, { as, ...(json && { json }) });
const get = async (path: string, as: Person = "reporter") => {
  const answer = await send(`GET ${VAULT}/${path}`, as);
  expect([answer.status, answer.text]).toEqual([200, answer.text]);
  return answer.json;
};
async function begin(json: object, sha = SECOND) {
  const answer = await send(`POST ${VAULT}/${sha}/discussions`, "reporter", json);
  expect([answer.status, answer.text]).toEqual([201, answer.text]);
  return answer.json;
}
/** A place in the second commit. */
const at = (more: object) => ({
  base_sha: FIRST,
  start_sha: FIRST,
  head_sha: SECOND,
  position_type: "text",
  old_path: "a",
  new_path: "a",
  ...more,
});
/** The SHA-1 of `a`, as `sha1sum` prints it. */
const A = "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8";

describe("discussions of commits", () => {
  it("begin with a note, take replies, and are comments, too", async () => {
    const begun = await begin({ body: "Why?" }, "main");
    expect(begun).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{40}$/),
      individual_note: false,
      notes: [expect.objectContaining({ type: "DiscussionNote", body: "Why?" })],
    });
    expect(begun.notes[0]).toMatchObject({
      noteable_id: null,
      noteable_iid: null,
      noteable_type: "Commit",
      author: { username: "reporter" },
      resolvable: false,
      internal: false,
    });
    expect(begun.notes[0]).not.toHaveProperty("position");
    const path = `${SECOND}/discussions/${begun.id}`;
    const reply = await send(`POST ${VAULT}/${path}/notes`, "developer", { body: "Because" });
    expect([reply.status, reply.json.body]).toEqual([201, "Because"]);
    const both = { ...begun, notes: [begun.notes[0], reply.json] };
    expect(await get(path)).toEqual(both);
    expect(await get(`${SECOND}/discussions`)).toEqual([both]);
    expect(await get(`${path}/notes`)).toEqual(both.notes);
    expect(await get(`${path}/notes/${reply.json.id}`)).toEqual(reply.json);
    expect(await get(`${SECOND}/comments`)).toMatchObject([{ note: "Why?" }, { note: "Because" }]);
    expect(await get(`${FIRST}/discussions`)).toEqual([]);
  });

  it("have the comments that were written without them", async () => {
    const comments = `POST ${VAULT}/${FIRST}/comments`;
    await send(comments, "reporter", { note: "Alone" });
    const on = { note: "On a line", path: "a", line: 1, line_type: "new" };
    await send(comments, "reporter", on);
    const [alone, placed] = await get(`${FIRST}/discussions`);
    expect(alone).toMatchObject({ individual_note: true, notes: [{ type: null, body: "Alone" }] });
    expect(placed).toMatchObject({ individual_note: false, notes: [{ type: "LegacyDiffNote" }] });
    const reply = `POST ${VAULT}/${FIRST}/discussions/${placed.id}/notes`;
    expect((await send(reply, "developer", { body: "Yes" })).status).toBe(201);
    expect(await get(`${FIRST}/comments`)).toMatchObject([
      { note: "Alone", path: null, line: null },
      on,
      { note: "Yes", path: "a", line: 1, line_type: "new", author: { username: "developer" } },
    ]);
  });

  it("have notes that their author and maintainers change and delete", async () => {
    const begun = await begin({ body: "One" });
    const note = `${SECOND}/discussions/${begun.id}/notes/${begun.notes[0].id}`;
    const change = { body: "Two" };
    expect((await send(`PUT ${VAULT}/${note}`, "developer", change)).status).toBe(403);
    expect((await send(`DELETE ${VAULT}/${note}`, "developer")).status).toBe(403);
    const changed = await send(`PUT ${VAULT}/${note}`, "reporter", change);
    expect([changed.status, changed.json.body]).toEqual([200, "Two"]);
    const elsewhere = note.replace(SECOND, FIRST);
    expect((await send(`PUT ${VAULT}/${elsewhere}`, "reporter", change)).status).toBe(404);
    expect((await send(`DELETE ${VAULT}/${note}`, "maintainer")).status).toBe(204);
    const gone = await send(`GET ${VAULT}/${SECOND}/discussions/${begun.id}`, "reporter");
    expect([gone.status, gone.json]).toEqual([404, { message: "404 Discussion Not Found" }]);
  });

  it("are for those who may read the code", async () => {
    const path = `${VAULT}/${SECOND}/discussions`;
    const body = { body: "x" };
    expect((await send(`GET ${path}`, "guest")).status).toBe(403);
    expect((await send(`POST ${path}`, "guest", body)).status).toBe(403);
    expect((await send(`POST ${path}`, "stranger", body)).status).toBe(404);
    expect((await app.call(`POST ${path}`, { json: body })).status).toBe(401);
    expect((await send(`POST ${VAULT}/none/discussions`, "reporter", body)).status).toBe(404);
    expect((await send(`POST ${path}`, "reporter", { body: " " })).status).toBe(400);
  });

  it("are events for those who may read the code", async () => {
    const events = async (as: Person) =>
      (await send("GET /projects/secret%2Fvault/events?action=commented", as)).json;
    await begin({ body: "An event" });
    const [newest] = await events("reporter");
    expect(newest).toMatchObject({
      action_name: "commented on",
      target_type: "Note",
      note: { body: "An event", noteable_type: "Commit", noteable_id: null },
    });
    expect(await events("guest")).toEqual([]);
  });

  it("keep the database consistent", async () => {
    expect((await check(app.store)).flatMap(({ problems }) => problems)).toEqual([]);
  });
});

describe("positions in the diff of a commit", () => {
  it.each([
    ["an added line", { new_line: 3 }, { old_line: null, new_line: 3 }, "4_3", "new"],
    ["a removed line", { old_line: 3 }, { old_line: 3, new_line: null }, "3_3", "old"],
    ["an unchanged line", { old_line: 2, new_line: 2 }, { old_line: 2, new_line: 2 }, "2_2", null],
    ["a line far away", { old_line: 10, new_line: 10 }, { new_line: 10 }, "10_10", null],
  ])("are on %s", async (_, sent, shown, code, type) => {
    const position = at(sent);
    const [note] = (await begin({ body: "Look", position })).notes;
    expect(note).toMatchObject({ type: "DiffNote", position: { ...position, ...shown } });
    const [, line] = code.split("_");
    const comment = (await get(`${SECOND}/comments?per_page=100`)).at(-1);
    expect(comment).toMatchObject({ path: "a", line: Number(line), line_type: type });
    const whole = { line_range: { start: sent, end: { line_code: `${A}_${code}`, type } } };
    const ranged = (await begin({ body: "Look", position: at({ ...sent, ...whole }) })).notes[0];
    const end = { line_code: `${A}_${code}`, type, ...shown };
    expect(ranged.position.line_range).toMatchObject({ start: end, end });
  });

  it("are kept by replies", async () => {
    const position = at({ new_line: 3 });
    const { id, notes } = await begin({ body: "Look", position });
    const path = `${VAULT}/${SECOND}/discussions/${id}/notes`;
    const { json } = await send(`POST ${path}`, "developer", { body: "Yes" });
    expect(json).toMatchObject({ type: "DiffNote", position: notes[0].position });
  });

  it("follow renamed files, and name both paths", async () => {
    const position = at({ old_path: undefined, new_path: "new", new_line: 4 });
    const [note] = (await begin({ body: "Look", position })).notes;
    expect(note.position).toMatchObject({ old_path: "old", new_path: "new", new_line: 4 });
  });

  it("are on pictures and on files", async () => {
    const picture = at({ position_type: "image", new_path: "picture", old_path: "picture" });
    const point = { x: 1, y: 2, width: 10, height: 20 };
    const [note] = (await begin({ body: "Look", position: { ...picture, ...point } })).notes;
    expect(note).toMatchObject({ type: "DiffNote", position: { ...picture, ...point } });
    expect(note.position).not.toHaveProperty("new_line");
    const file = at({ position_type: "file" });
    expect((await begin({ body: "Look", position: file })).notes[0].position).toEqual(file);
  });

  it("may be on what a first commit added", async () => {
    const base = "0".repeat(40);
    const position = at({ base_sha: base, start_sha: base, head_sha: FIRST, new_line: 2 });
    const [note] = (await begin({ body: "Look", position }, FIRST)).notes;
    expect(note.position).toMatchObject({ new_line: 2, old_line: null });
  });

  const nowhere =
    '400 Bad request - Note {:line_code=>["can\'t be blank", "must be a valid line code"]}';
  const incomplete = '400 Bad request - Note {:position=>["is incomplete"]}';
  const text = { new_line: 3 };
  it.each([
    [{ new_line: 4 }, nowhere],
    [{ old_line: 4 }, nowhere],
    [{ old_line: 4, new_line: 5 }, nowhere],
    [{ old_line: 3, new_line: 3 }, nowhere],
    [{ old_line: 11, new_line: 11 }, nowhere],
    [{ old_line: 0, new_line: 0 }, nowhere],
    [{ ...text, new_path: "none" }, nowhere],
    [{ ...text, new_path: "picture" }, nowhere],
    [{ ...text, head_sha: "main" }, nowhere],
    [{ ...text, head_sha: "1".repeat(40) }, nowhere],
    [{ ...text, base_sha: "1".repeat(40) }, nowhere],
    [{ ...text, line_range: { start: { old_line: 99 }, end: { new_line: 3 } } }, nowhere],
    [{}, incomplete],
    [{ ...text, new_path: "", old_path: undefined }, incomplete],
    [{ ...text, start_sha: "" }, incomplete],
    [{ position_type: "image", x: 1, y: 1 }, incomplete],
    [{ ...text, base_sha: undefined }, '400 (Bad request) "position[base_sha]" not given'],
    [
      { ...text, position_type: "video" },
      { "position[position_type]": ["does not have a valid value"] },
    ],
    [{ ...text, new_line: "x" }, { "position[new_line]": ["is invalid"] }],
    [{ ...text, line_range: "x" }, { "position[line_range]": ["is invalid"] }],
    [{ ...text, line_range: { start: {} } }, { "position[line_range][end]": ["is invalid"] }],
  ])("are refused elsewhere: %j", async (more, message) => {
    const json = { body: "Look", position: at(more) };
    const answer = await send(`POST ${VAULT}/${SECOND}/discussions`, "reporter", json);
    expect([answer.status, answer.json.message]).toEqual([400, message]);
  });

  it("are refused unless they are objects", async () => {
    const json = { body: "Look", position: "x" };
    const answer = await send(`POST ${VAULT}/${SECOND}/discussions`, "reporter", json);
    expect([answer.status, answer.json.message]).toEqual([400, { position: ["is invalid"] }]);
  });
});
