import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { type CodeProject, lines, newCodeProject } from "./_merge-requests.ts";

let app: TestApp;
let project: CodeProject;
beforeAll(async () => {
  app = await testApp({ background: true });
  project = await newCodeProject(app);
});
afterAll(() => app.dispose());

async function send(method: string, path: string, json: object, status = 201, as?: Person) {
  const answer = await project.send(method, path, json, as);
  expect([answer.status, answer.text]).toEqual([status, answer.text]);
  return answer.json;
}

let branches = 0;
/** A merge request that changes a file with twenty lines, and one without an end. */
async function open() {
  branches += 1;
  const branch = `suggested-${branches}`;
  const files = { "a.txt": lines(20, { 5: "five", 6: "six", 10: "ten" }), "b.txt": "one\ntwo" };
  await project.commit(branch, files, { from: "main" });
  const request = await project.open(branch);
  return { branch, request, path: `/merge_requests/${request.iid}` };
}

const suggested = (content: string, more = "") =>
  `Try:\n\n\`\`\`suggestion${more}\n${content}\`\`\`\n`;

interface Opened {
  readonly request: { diff_refs: object; iid: number };
  readonly path: string;
}

/** Suggests something at a line, and returns the note. */
async function suggest(
  { request, path }: Opened,
  line: number,
  body: string,
  { file = "a.txt", as = "reporter" as Person } = {},
) {
  const position = { ...request.diff_refs, position_type: "text", new_line: line };
  const sent = { body, position: { ...position, old_path: file, new_path: file } };
  const { notes, id } = await send("POST", `${path}/discussions`, sent, 201, as);
  return { ...notes[0], discussion: id };
}

const apply = (id: number, as: Person = "developer", json: object = {}) =>
  app.call(`PUT /suggestions/${id}/apply`, { as, json });
const applyAll = (ids: number[], as: Person = "developer", json: object = {}) =>
  app.call("PUT /suggestions/batch_apply", { as, json: { ids, ...json } });

async function textOf(branch: string, file = "a.txt") {
  const { json } = await project.get(`/repository/files/${file}?ref=${branch}`);
  return Buffer.from(json.content, "base64").toString();
}
const tipOf = async (branch: string) => (await project.get(`/repository/commits/${branch}`)).json;

describe("suggestions", () => {
  it("are in notes on lines, with the lines that they are about", async () => {
    const opened = await open();
    const one = await suggest(opened, 5, suggested("FIVE\n"));
    const shown = {
      id: expect.any(Number),
      from_line: 5,
      to_line: 5,
      appliable: true,
      applied: false,
      from_content: "five\n",
      to_content: "FIVE\n",
    };
    expect(one.suggestions).toEqual([shown]);
    const { json: note } = await project.get(`${opened.path}/notes/${one.id}`);
    expect(note.suggestions).toEqual(one.suggestions);

    const two = await suggest(opened, 5, `${suggested("", ":-1+1")}${suggested("5\n")}`);
    expect(two.suggestions).toEqual([
      { ...shown, from_line: 4, to_line: 6, from_content: "line 4\nfive\nsix\n", to_content: "" },
      { ...shown, to_content: "5\n" },
    ]);
    const first = await suggest(opened, 5, suggested("x\n", ":-100+100"));
    expect(first.suggestions).toMatchObject([{ from_line: 1, to_line: 20 }]);
    expect((await suggest(opened, 5, "None")).suggestions).toEqual([]);
  });

  it("are not in other notes, nor in other blocks", async () => {
    const opened = await open();
    const plain = await send("POST", `${opened.path}/notes`, { body: suggested("x\n") });
    expect(plain).not.toHaveProperty("suggestions");
    const bodies = [
      "    ```suggestion\n    x\n    ```",
      "```suggestions\nx\n```",
      "````\n```suggestion\nx\n```\n````",
    ];
    for (const body of [...bodies, suggested("x\n", ":-101+0"), suggested("x\n", ":+1")]) {
      expect([body, (await suggest(opened, 5, body)).suggestions]).toEqual([body, []]);
    }
  });

  it("are about so much of a file as one note may repeat", async () => {
    const branch = "long-lines";
    await project.commit(branch, { "c.txt": `${"x".repeat(40_000)}\n` }, { from: "main" });
    const request = await project.open(branch);
    const opened = { request, path: `/merge_requests/${request.iid}` };
    const body = `${suggested("y\n")}\n${suggested("z\n")}`;
    const { suggestions } = await suggest(opened, 1, body, { file: "c.txt" });
    expect(suggestions.map((one: { to_content: string }) => one.to_content)).toEqual(["y\n"]);
  });

  it("follow the text of their note", async () => {
    const opened = await open();
    const note = await suggest(opened, 5, suggested("FIVE\n"));
    const path = `${opened.path}/notes/${note.id}`;
    const change = async (body: string) =>
      (await send("PUT", path, { body }, 200, "reporter")).suggestions;
    expect(await change(`${note.body}\nPlease.`)).toEqual(note.suggestions);
    const [changed] = await change(suggested("5\n"));
    expect(changed).toMatchObject({ to_content: "5\n" });
    expect(changed.id).not.toBe(note.suggestions[0].id);
    expect(await change("Never mind.")).toEqual([]);
    const replied = { body: suggested("Five\n") };
    const reply = await send(
      "POST",
      `${opened.path}/discussions/${note.discussion}/notes`,
      replied,
    );
    expect(reply.suggestions).toMatchObject([
      { from_line: 5, from_content: "five\n", to_content: "Five\n" },
    ]);
  });

  it("are in drafts that are published", async () => {
    const opened = await open();
    const position = { ...opened.request.diff_refs, position_type: "text", new_line: 6 };
    const at = { ...position, old_path: "a.txt", new_path: "a.txt" };
    await send("POST", `${opened.path}/draft_notes`, { note: suggested("SIX\n"), position: at });
    await send("POST", `${opened.path}/draft_notes/bulk_publish`, {}, 204);
    const { json: notes } = await project.get(`${opened.path}/notes`);
    const found = notes.flatMap(({ suggestions = [] }) => suggestions);
    expect(found).toMatchObject([{ from_line: 6, from_content: "six\n", to_content: "SIX\n" }]);
  });

  it("are applied by a commit of whoever suggested them, once", async () => {
    const opened = await open();
    const { suggestions, discussion } = await suggest(opened, 5, suggested("FIVE\n5b\n"));
    const [{ id }] = suggestions;
    const done = await apply(id);
    expect([done.status, done.json]).toEqual([
      200,
      { ...suggestions[0], appliable: false, applied: true },
    ]);
    expect(await textOf(opened.branch)).toBe(lines(20, { 5: "FIVE\n5b", 6: "six", 10: "ten" }));
    const tip = await tipOf(opened.branch);
    expect([tip.author_name !== tip.committer_name, tip.title]).toEqual([
      true,
      "Apply 1 suggestion(s) to 1 file(s)",
    ]);
    expect(tip.message).toContain(`Co-authored-by: ${tip.author_name} <${tip.author_email}>`);
    const { json: thread } = await project.get(`${opened.path}/discussions/${discussion}`);
    expect(thread.notes[0]).toMatchObject({ resolved: true, suggestions: [{ applied: true }] });
    const again = await apply(id);
    expect([again.status, again.json]).toEqual([400, { message: "Can't apply this suggestion." }]);
    const { json: request } = await project.get(opened.path);
    expect(request.sha).toBe(tip.id);
  });

  it("are applied together, from several files, or not at all", async () => {
    const opened = await open();
    const [a, b, c] = [
      await suggest(opened, 5, suggested("A\n")),
      await suggest(opened, 10, suggested("", ":-0+1"), { as: "developer" }),
      await suggest(opened, 2, suggested("TWO\n"), { file: "b.txt" }),
    ];
    const ids = [a, b, c].map(({ suggestions }) => suggestions[0].id);
    const over = await suggest(opened, 6, suggested("x\n", ":-1+0"));
    const refused = await applyAll([...ids, over.suggestions[0].id]);
    expect([refused.status, refused.json]).toEqual([
      400,
      { message: "Suggestions are not applicable as their lines cannot overlap." },
    ]);
    const before = await tipOf(opened.branch);
    const done = await applyAll(ids, "developer", {
      commit_message: "Do %{suggestions_count} in %{file_paths} for %{username}",
    });
    expect([done.status, done.json]).toMatchObject([200, ids.map((id) => ({ id, applied: true }))]);
    const tip = await tipOf(opened.branch);
    expect([tip.parent_ids, tip.message, tip.author_name]).toEqual([
      [before.id],
      "Do 3 in a.txt, b.txt for developer",
      tip.committer_name,
    ]);
    const text = lines(20, { 5: "A", 6: "six", 10: "ten" }).replace("ten\nline 11\n", "");
    expect(await textOf(opened.branch)).toBe(text);
    expect(await textOf(opened.branch, "b.txt")).toBe("one\nTWO");
    const other = await open();
    const elsewhere = await suggest(other, 5, suggested("x\n"));
    const mixed = await applyAll([over.suggestions[0].id, elsewhere.suggestions[0].id]);
    expect([mixed.status, mixed.json]).toEqual([
      400,
      { message: "Suggestions must all be on the same branch." },
    ]);
  });

  it("take the project's message", async () => {
    await send(
      "PUT",
      "",
      { suggestion_commit_message: "Take it: %{project_path} %{branch_name}" },
      200,
      "owner",
    );
    const opened = await open();
    const [{ id }] = (await suggest(opened, 5, suggested("x\n"))).suggestions;
    expect((await apply(id)).status).toBe(200);
    const { json } = await project.get("");
    const { title } = await tipOf(opened.branch);
    expect(title).toBe(`Take it: ${json.path_with_namespace} ${opened.branch}`);
    await send("PUT", "", { suggestion_commit_message: "" }, 200, "owner");
  });

  it("are refused where they can't be applied", async () => {
    const opened = await open();
    const notes = [
      await suggest(opened, 5, suggested("five\n")),
      await suggest(opened, 5, suggested("x\n")),
      await suggest(opened, 10, suggested("x\n", ":-1+1")),
      await suggest(opened, 6, suggested("X\n")),
    ];
    const [same, one, several, moved] = notes.map(({ suggestions }) => suggestions[0]) as {
      id: number;
      appliable: boolean;
    }[];
    expect([same?.appliable, one?.appliable]).toEqual([false, true]);
    const expectRefused = async (id = 0, message = "") => {
      const answer = await apply(id);
      expect([answer.status, answer.json]).toEqual([400, { message }]);
    };
    await expectRefused(same?.id, "This suggestion already matches its content.");
    const changed = lines(20, { 1: "new\nline 1", 5: "other", 6: "six", 9: "nine", 10: "ten" });
    await project.commit(opened.branch, { "a.txt": changed });
    await expectRefused(one?.id, "Can't apply as this line was changed in a more recent version.");
    await expectRefused(
      several?.id,
      "Can't apply as these lines were changed in a more recent version.",
    );
    // Its line has only moved.
    expect((await apply(moved?.id ?? 0)).status).toBe(200);
    expect((await textOf(opened.branch)).split("\n").slice(5, 8)).toEqual(["other", "X", "line 7"]);
    await send("PUT", opened.path, { state_event: "close" }, 200, "owner");
    await expectRefused(
      one?.id,
      "This merge request is closed. To apply this suggestion, edit this file directly.",
    );
  });

  it("are applied by those who may push to the branch, and found by those who read their note", async () => {
    const opened = await open();
    const [{ id }] = (await suggest(opened, 5, suggested("x\n"))).suggestions;
    const unknown = "Suggestion is not applicable as the suggestion was not found.";
    for (const [as, status, message] of [
      ["anonymous", 401, "401 Unauthorized"],
      ["stranger", 404, unknown],
      ["guest", 404, unknown],
      ["reporter", 403, expect.stringContaining("403 Forbidden")],
    ] as const) {
      const answer = await apply(id, as);
      expect([as, answer.status, answer.json]).toEqual([as, status, { message }]);
    }
    const missing = await applyAll([id, 99999]);
    expect([missing.status, missing.json]).toEqual([
      404,
      { message: "Suggestions are not applicable as one or more suggestions were not found." },
    ]);
    expect((await applyAll([])).status).toBe(404);
    expect((await applyAll(Array.from({ length: 101 }, (_, at) => at + 1))).status).toBe(400);
  });
});
