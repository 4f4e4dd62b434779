import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { check } from "../../src/database/check.ts";
import { type Person, type TestApp, testApp, waitFor } from "../helpers.ts";
import { type CodeProject, lines, newCodeProject } from "./_merge-requests.ts";

let app: TestApp;
let project: CodeProject;
beforeAll(async () => {
  app = await testApp({ background: true });
  project = await newCodeProject(app);
});
afterAll(() => app.dispose());

async function send(method: string, path: string, json: object, status: number, as?: Person) {
  const answer = await project.send(method, path, json, as);
  expect([answer.status, answer.text]).toEqual([status, answer.text]);
  return answer.json;
}

async function get(path: string) {
  const answer = await project.get(path);
  expect([answer.status, answer.text]).toEqual([200, answer.text]);
  return answer.json;
}

let branches = 0;
/** A merge request that changes a file with twenty lines. */
async function open(text: string, more: Record<string, string> = {}) {
  branches += 1;
  const branch = `threads-${branches}`;
  await project.commit(branch, { "a.txt": text, ...more }, { from: "main" });
  const request = await project.open(branch);
  return { branch, request, path: `/merge_requests/${request.iid}` };
}

interface Refs {
  diff_refs: { base_sha: string; start_sha: string; head_sha: string };
}
const at = ({ diff_refs }: Refs, more: object) => ({
  ...diff_refs,
  position_type: "text",
  old_path: "a.txt",
  new_path: "a.txt",
  ...more,
});

const begin = (path: string, position: object, as?: Person) =>
  send("POST", `${path}/discussions`, { body: "Look", position }, 201, as);

/** The position of the first note of a discussion. */
async function positionOf(path: string, id: string) {
  const [note] = (await get(`${path}/discussions/${id}`)).notes;
  return note.position;
}

/** Waits until the worker has looked at all positions. */
const traced = () =>
  waitFor(async () => (await app.admin.tasks.list({ worker: "positions" })).length === 0);

describe("discussions on lines of merge requests", () => {
  it("begin at a line, and tell it to everyone who reads notes", async () => {
    const { request, path } = await open(lines(20, { 5: "five" }));
    const position = at(request, { new_line: 5 });
    const begun = await begin(path, position);
    expect(begun).toMatchObject({
      individual_note: false,
      notes: [
        {
          type: "DiffNote",
          noteable_type: "MergeRequest",
          noteable_iid: request.iid,
          position: { ...position, old_line: null, line_range: null },
          resolvable: true,
          resolved: false,
        },
      ],
    });
    expect(await get(`${path}/notes`)).toEqual(begun.notes);
    expect(await get(`${path}/discussions`)).toEqual([begun]);
  });

  it("are refused for lines that are not in the diff, and for those who may not read the code", async () => {
    const { request, path } = await open(lines(20, { 5: "five" }));
    const json = { body: "Look", position: at(request, { new_line: 6 }) };
    expect(await send("POST", `${path}/discussions`, json, 400)).toEqual({
      message:
        '400 Bad request - Note {:line_code=>["can\'t be blank", "must be a valid line code"]}',
    });
    expect((await project.send("POST", `${path}/discussions`, json, "stranger")).status).toBe(404);
    expect((await project.send("POST", `${path}/discussions`, json, "guest")).status).toBe(404);
  });

  it("are begun and read in GraphQL", async () => {
    const { request, path } = await open(lines(20, { 5: "five" }));
    const { base_sha, start_sha, head_sha } = request.diff_refs;
    const create = async (position: object) =>
      (
        await app.call("POST /api/graphql", {
          as: "developer",
          json: {
            query: `mutation ($position: DiffPositionInput!) {
              createDiffNote(input: { noteableId: "gid://gitlab/MergeRequest/${request.id}", body: "Look", position: $position }) {
                errors note { body position { diffRefs { baseSha startSha headSha } filePath newPath newLine oldLine positionType } } } }`,
            variables: {
              position: {
                headSha: head_sha,
                startSha: start_sha,
                paths: { newPath: "a.txt" },
                ...position,
              },
            },
          },
        })
      ).json.data.createDiffNote;
    expect(await create({ newLine: 5 })).toEqual({
      errors: [],
      note: {
        body: "Look",
        position: {
          diffRefs: { baseSha: base_sha, startSha: start_sha, headSha: head_sha },
          filePath: "a.txt",
          newPath: "a.txt",
          newLine: 5,
          oldLine: null,
          positionType: "text",
        },
      },
    });
    expect((await create({ newLine: 6 })).note).toBe(null);
    expect(await get(`${path}/discussions`)).toHaveLength(1);
  });

  it("are drafted", async () => {
    const { request, path } = await open(lines(20, { 5: "five" }));
    const position = at(request, { new_line: 5 });
    const draft = await send("POST", `${path}/draft_notes`, { note: "Look", position }, 201);
    expect(draft).toMatchObject({
      position,
      line_code: expect.stringMatching(/^[0-9a-f]{40}_6_5$/),
    });
    const moved = at(request, { old_line: 5 });
    const one = `${path}/draft_notes/${draft.id}`;
    expect(await send("PUT", one, { position: moved }, 200)).toMatchObject({ position: moved });
    const wrong = { note: "Look", position: at(request, { new_line: 6 }) };
    await send("POST", `${path}/draft_notes`, wrong, 400);
    await send("PUT", `${one}/publish`, {}, 204);
    expect(await get(`${path}/discussions`)).toMatchObject([
      { notes: [{ type: "DiffNote", body: "Look", position: moved }] },
    ]);
  });
});

describe("positions after a push", () => {
  /** Begins discussions at lines of a merge request, pushes, and returns where they are then. */
  async function moved(
    before: string,
    after: string,
    sent: Record<string, object>,
    more: Record<string, string> = {},
  ) {
    const { branch, request, path } = await open(before, more);
    const begun: Record<string, string> = {};
    for (const [name, position] of Object.entries(sent)) {
      begun[name] = (await begin(path, at(request, position))).id;
    }
    await project.commit(branch, { "a.txt": after });
    const now = await get(path);
    expect(now.diff_refs.head_sha).not.toBe(request.diff_refs.head_sha);
    await traced();
    const positions: Record<string, object> = {};
    for (const [name, id] of Object.entries(begun)) positions[name] = await positionOf(path, id);
    return { positions, request, now, path };
  }

  it("follow their lines, or stay where they were", async () => {
    const { positions, request, now } = await moved(
      lines(20, { 5: "five", 15: "fifteen" }),
      `first\n${lines(20, { 5: "5", 15: "fifteen" })}`,
      {
        gone: { new_line: 5 },
        added: { new_line: 15 },
        removed: { old_line: 15 },
        unchanged: { old_line: 10, new_line: 10 },
        range: {
          new_line: 15,
          line_range: { start: { old_line: 14, new_line: 14 }, end: { new_line: 15 } },
        },
      },
    );
    expect(positions).toMatchObject({
      gone: at(request, { new_line: 5, old_line: null }),
      added: at(now, { new_line: 16, old_line: null }),
      removed: at(now, { new_line: null, old_line: 15 }),
      unchanged: at(now, { new_line: 11, old_line: 10 }),
      range: at(now, {
        new_line: 16,
        line_range: { start: { old_line: 14, new_line: 15 }, end: { new_line: 16 } },
      }),
    });
  });

  it("are outdated if the change is taken back, or the file is no longer in the diff", async () => {
    const text = lines(20, { 5: "five", 15: "fifteen" });
    const sent = { removed: { old_line: 5 }, added: { new_line: 5 } };
    const { positions, request } = await moved(text, lines(20, { 15: "fifteen" }), sent);
    expect(positions).toMatchObject({
      removed: at(request, sent.removed),
      added: at(request, sent.added),
    });
    const all = await moved(text, lines(20), { line: { new_line: 15 } });
    expect(all.positions).toMatchObject({ line: at(all.request, { new_line: 15 }) });
  });

  it("on whole files are current as long as the file is the same", async () => {
    const sent = {
      changed: { position_type: "file" },
      same: { position_type: "file", old_path: "b.txt", new_path: "b.txt" },
    };
    const texts = [lines(20, { 5: "five" }), lines(20, { 6: "six" })] as const;
    const { positions, request, now } = await moved(...texts, sent, { "b.txt": "new\n" });
    expect(positions).toMatchObject({
      changed: at(request, sent.changed),
      same: at(now, sent.same),
    });
  });

  it("that a client takes from an old version are followed at once, and replies are where their discussion is", async () => {
    const { path, request, now } = await moved(
      lines(20, { 15: "fifteen" }),
      `first\n${lines(20, { 15: "fifteen" })}`,
      {},
    );
    const { id, notes } = await begin(path, at(request, { new_line: 15 }));
    expect(notes[0].position).toEqual(
      expect.objectContaining(at(now, { new_line: 16, old_line: null })),
    );
    const reply = await send("POST", `${path}/discussions/${id}/notes`, { body: "Yes" }, 201);
    expect(reply).toMatchObject({ type: "DiffNote", position: notes[0].position });
  });
});

describe("discussions whose line is gone", () => {
  const push = async (branch: string, text: string) => {
    await project.commit(branch, { "a.txt": text });
    await traced();
  };
  const notesOf = async (path: string, id: string) =>
    (await get(`${path}/discussions/${id}`)).notes;

  it("say in which version, once, and take replies as before", async () => {
    const { branch, request, path } = await open(lines(20, { 5: "five", 15: "fifteen" }));
    const gone = await begin(path, at(request, { new_line: 5 }));
    const stays = await begin(path, at(request, { new_line: 15 }));
    await push(branch, lines(20, { 5: "5", 15: "fifteen" }));
    await push(branch, lines(20, { 5: "V", 15: "fifteen" }));
    const [second] = (await get(`${path}/versions`)).slice(-2);
    const query = `diff_id=${second.id}&start_sha=${request.sha}#`;
    const page = `/${project.fullPath}/-/merge_requests/${request.iid}/diffs?${query}`;
    const [first, note, ...others] = await notesOf(path, gone.id);
    expect(others).toEqual([]);
    expect(note).toMatchObject({
      type: "DiffNote",
      system: true,
      resolvable: false,
      author: { username: "maintainer" },
      position: first.position,
    });
    expect(note.body).toContain(`changed this line in [version 2 of the diff](${page}`);
    expect(first).toMatchObject({ resolved: false });
    expect(await notesOf(path, stays.id)).toHaveLength(1);
    await send("POST", `${path}/discussions/${gone.id}/notes`, { body: "Right" }, 201);
    await push(branch, lines(20, { 5: "five", 15: "fifteen" }));
    expect((await notesOf(path, gone.id))[0].position.head_sha).not.toBe(request.sha);
    await push(branch, lines(20, { 5: "5", 15: "fifteen" }));
    const bodies = (await notesOf(path, gone.id)).map(({ body }: { body: string }) =>
      body.slice(0, 41),
    );
    expect(bodies).toEqual([
      "Look",
      "changed this line in [version 2 of the di",
      "Right",
      "changed this line in [version 5 of the di",
    ]);
  });

  it("are resolved if their project wants that", async () => {
    const setting = "resolve_outdated_diff_discussions";
    expect((await send("PUT", "", { [setting]: true }, 200, "owner"))[setting]).toBe(true);
    const { branch, request, path } = await open(lines(20, { 5: "five" }));
    const { id } = await begin(path, at(request, { new_line: 5 }));
    await push(branch, lines(20, { 5: "5" }));
    expect((await notesOf(path, id))[0]).toMatchObject({
      resolved: true,
      resolved_by: { username: "maintainer" },
    });
    const [last] = await get(`${path}/notes?sort=desc`);
    expect(last).toMatchObject({ body: "resolved all threads", system: true });
    await send("PUT", "", { [setting]: false }, 200, "owner");
  });
});

describe("discussions on a commit of a merge request", () => {
  it("stay in its diff, with their replies, whatever is pushed", async () => {
    const { branch, request, path } = await open(lines(20, { 5: "five" }));
    const position = at(request, { new_line: 5 });
    const json = { body: "Look", position, commit_id: request.sha };
    const begun = await send("POST", `${path}/discussions`, json, 201);
    expect(begun.notes[0]).toMatchObject({ type: "DiffNote", commit_id: request.sha });
    const replied = `${path}/discussions/${begun.id}/notes`;
    expect(await send("POST", replied, { body: "Yes" }, 201)).toMatchObject({
      commit_id: request.sha,
    });
    await begin(path, position);
    await project.commit(branch, { "a.txt": `first\n${lines(20, { 5: "five" })}` });
    await traced();
    const { notes } = await get(`${path}/discussions/${begun.id}`);
    expect(notes).toHaveLength(2);
    expect(notes[0].position).toMatchObject(position);
    const plain = await send(
      "POST",
      `${path}/discussions`,
      { body: "All", commit_id: request.sha },
      201,
    );
    expect(plain.notes[0]).not.toHaveProperty("commit_id");
    const other = await begin(path, at(await get(path), { new_line: 6 }));
    expect(other.notes[0].commit_id).toBeNull();
  });

  it("are drafted", async () => {
    const { request, path } = await open(lines(20, { 5: "five" }));
    const position = at(request, { new_line: 5 });
    const json = { note: "Look", position, commit_id: request.sha };
    const draft = await send("POST", `${path}/draft_notes`, json, 201);
    expect(draft.commit_id).toBe(request.sha);
    await send("PUT", `${path}/draft_notes/${draft.id}/publish`, {}, 204);
    const [begun] = await get(`${path}/discussions`);
    expect(begun.notes[0]).toMatchObject({ body: "Look", commit_id: request.sha });
  });

  it("need one that exists: 400", async () => {
    const { path } = await open(lines(20, { 5: "five" }));
    for (const commit_id of ["main", "0".repeat(40)]) {
      const refused = await project.send("POST", `${path}/discussions`, { body: "x", commit_id });
      expect([refused.status, refused.json]).toEqual([
        400,
        { message: { commit_id: ["is invalid"] } },
      ]);
    }
  });
});

describe("unresolved discussions", () => {
  it("keep a merge request from being merged if its project says so", async () => {
    const { request, path } = await open(lines(20, { 5: "five" }));
    const begun = await begin(path, at(request, { new_line: 5 }));
    expect(await get(path)).toMatchObject({
      detailed_merge_status: "mergeable",
      blocking_discussions_resolved: true,
    });
    const only = "only_allow_merge_if_all_discussions_are_resolved";
    await send("PUT", "", { [only]: true }, 200, "owner");
    expect(await get(path)).toMatchObject({
      detailed_merge_status: "discussions_not_resolved",
      blocking_discussions_resolved: false,
    });
    const refused = await project.send("PUT", `${path}/merge`, {}, "maintainer");
    expect([refused.status, refused.json]).toEqual([405, { message: "405 Method Not Allowed" }]);
    await send("PUT", `${path}/discussions/${begun.id}`, { resolved: true }, 200);
    expect(await get(path)).toMatchObject({
      detailed_merge_status: "mergeable",
      blocking_discussions_resolved: true,
    });
    const [listed] = await get(`/merge_requests?iids[]=${request.iid}`);
    expect(listed.blocking_discussions_resolved).toBe(true);
    await send("PUT", `${path}/merge`, {}, 200, "maintainer");
    await send("PUT", "", { [only]: false }, 200, "owner");
  });

  it("are recorded when all of them are resolved", async () => {
    const { request, path } = await open(lines(20, { 5: "fifth" }));
    const [first, second] = [
      await begin(path, at(request, { new_line: 5 })),
      await begin(path, at(request, { old_line: 5 })),
    ];
    const resolve = async ({ id }: { id: string }) =>
      send("PUT", `${path}/discussions/${id}`, { resolved: true }, 200);
    const systemNotes = async () =>
      (await get(`${path}/notes?sort=asc`))
        .filter(({ system }: { system: boolean }) => system)
        .map(({ body }: { body: string }) => body);
    await resolve(first);
    expect(await systemNotes()).not.toContain("resolved all threads");
    await resolve(second);
    await resolve(second);
    expect((await systemNotes()).filter((body: string) => /threads/.test(body))).toEqual([
      "resolved all threads",
    ]);
  });
});

it("the database stays consistent", async () => {
  expect((await check(app.store)).flatMap(({ problems }) => problems)).toEqual([]);
});
