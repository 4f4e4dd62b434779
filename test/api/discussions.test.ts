import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { check } from "../../src/database/check.ts";
import { everyone, type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
const SITE = "/projects/acme%2Fsite";
const on: Record<string, string> = {};

beforeAll(async () => {
  app = await testApp();
  await post(`${SITE}/issues`, "reporter", { title: "One" });
  const change = { title: "A change", source_branch: "change", target_branch: "main" };
  await post(`${SITE}/merge_requests`, "developer", change);
  // As if a developer had become a reporter.
  const { id: reporter } = await get("/user", "reporter");
  await app.store.transaction((db) =>
    db.run("update merge_requests set author_id = ?", [reporter]),
  );
  const snippet = { title: "A snippet", file_name: "a", content: "a", visibility: "public" };
  const { id } = await post(`${SITE}/snippets`, "reporter", snippet);
  on["Issue"] = `${SITE}/issues/1`;
  on["MergeRequest"] = `${SITE}/merge_requests/1`;
  on["Snippet"] = `${SITE}/snippets/${id}`;
});
afterAll(() => app.dispose());

async function post(path: string, as: Person, json: object) {
  const answer = await app.call(`POST ${path}`, { as, json });
  expect([answer.status, answer.text]).toEqual([201, answer.text]);
  return answer.json;
}

async function get(path: string, as: Person = "guest") {
  const answer = await app.call(`GET ${path}`, { as });
  expect([answer.status, answer.text]).toEqual([200, answer.text]);
  return answer.json;
}

const status = async (request: string, as: Person, json?: object) =>
  (await app.call(request, { as, ...(json && { json }) })).status;

/** A thread by a guest with a reply of a developer. */
async function thread(type: string, more: object = {}, as: Person = "guest") {
  const begun = await post(`${on[type]}/discussions`, as, { body: "So?", ...more });
  const path = `${on[type]}/discussions/${begun.id}`;
  const reply = await post(`${path}/notes`, "developer", { body: "So." });
  return { path, id: begun.id as string, first: begun.notes[0], reply };
}

const bodies = (notes: { body: string }[]) => notes.map(({ body }) => body);

describe.each(["Issue", "MergeRequest", "Snippet"])("discussions on %s", (type) => {
  const isResolvable = type !== "Snippet";

  it("begin with a note, and take replies", async () => {
    const begun = await post(`${on[type]}/discussions`, "stranger", { body: "Why?" });
    expect(begun).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{40}$/),
      individual_note: false,
      notes: [
        {
          id: expect.any(Number),
          type: "DiscussionNote",
          body: "Why?",
          attachment: null,
          author: expect.objectContaining({ username: "stranger" }),
          created_at: expect.stringMatching(/Z$/),
          updated_at: expect.stringMatching(/Z$/),
          system: false,
          noteable_id: expect.any(Number),
          noteable_type: type,
          project_id: expect.any(Number),
          resolvable: isResolvable,
          ...(isResolvable && { resolved: false, resolved_by: null, resolved_at: null }),
          confidential: false,
          internal: false,
          imported: false,
          imported_from: "none",
          noteable_iid: type === "Snippet" ? null : 1,
          commands_changes: {},
        },
      ],
    });
    const path = `${on[type]}/discussions/${begun.id}`;
    const reply = await post(`${path}/notes`, "guest", { body: "Because" });
    expect(reply).toMatchObject({ body: "Because", type: "DiscussionNote" });
    const both = { ...begun, notes: [begun.notes[0], reply] };
    expect(await get(path)).toEqual(both);
    expect((await get(`${on[type]}/discussions?per_page=100`)).at(-1)).toEqual(both);
    expect(await get(`${path}/notes`)).toEqual(both.notes);
    expect(await get(`${path}/notes/${reply.id}`)).toEqual(reply);
    expect(await get(`${on[type]}/notes/${reply.id}`)).toEqual(reply);
  });

  it("are plain notes, too, until they are replied to", async () => {
    const note = await post(`${on[type]}/notes`, "guest", { body: "Alone" });
    expect(note.type).toBe(null);
    const plain = (await get(`${on[type]}/discussions?per_page=100`)).at(-1);
    expect(plain).toMatchObject({ individual_note: true, notes: [note] });
    const path = `${on[type]}/discussions/${plain.id}`;
    expect(await get(path)).toEqual(plain);
    await post(`${path}/notes`, "developer", { body: "Not any more" });
    const { id, individual_note, notes } = await get(path);
    expect([id, individual_note]).toEqual([plain.id, false]);
    expect(notes).toMatchObject([
      { id: note.id, type: "DiscussionNote", resolvable: isResolvable },
      { body: "Not any more", resolvable: isResolvable },
    ]);
  });

  it("are listed by page, the oldest first", async () => {
    const { headers, json } = await app.call(`GET ${on[type]}/discussions?per_page=1&page=2`, {
      as: "guest",
    });
    const all = await get(`${on[type]}/discussions?per_page=100`);
    expect(json).toEqual([all[1]]);
    expect(headers.get("x-total")).toBe(String(all.length));
    const began = all.map((one: { notes: { created_at: string }[] }) => one.notes[0]?.created_at);
    expect(began).toEqual([...began].sort());
  });

  it("have notes that are edited and deleted as others are", async () => {
    const { path, reply } = await thread(type);
    const note = `${path}/notes/${reply.id}`;
    expect(await status(`PUT ${note}`, "guest", { body: "x" })).toBe(403);
    expect(await status(`DELETE ${note}`, "guest")).toBe(403);
    const edited = await app.call(`PUT ${note}`, { as: "developer", json: { body: "New" } });
    expect([edited.status, edited.json.body]).toEqual([200, "New"]);
    const neither = await app.call(`PUT ${note}`, { as: "developer", json: {} });
    expect(neither.status).toBe(400);
    const both = { body: "x", resolved: true };
    expect(await status(`PUT ${note}`, "developer", both)).toBe(400);
    const headers = { "if-unmodified-since": "Fri, 12 Jan 1990 06:00:48 GMT" };
    const late = await app.call(`DELETE ${note}`, { as: "developer", headers });
    expect(late.status).toBe(412);
    expect(await status(`DELETE ${note}`, "maintainer")).toBe(204);
    expect(bodies((await get(path)).notes)).toEqual(["So?"]);
  });

  it("stay when their first note is deleted, and go with their last one", async () => {
    const { path, id, first, reply } = await thread(type);
    expect(await status(`DELETE ${path}/notes/${first.id}`, "guest")).toBe(204);
    expect(await get(path)).toMatchObject({ id, individual_note: false, notes: [reply] });
    expect((await get(`${on[type]}/discussions?per_page=100`)).at(-1).id).toBe(id);
    const again = await post(`${path}/notes`, "guest", { body: "Still here" });
    expect((await get(path)).notes).toMatchObject([{ id: reply.id }, { id: again.id }]);
    await app.call(`DELETE ${path}/notes/${reply.id}`, { as: "admin" });
    await app.call(`DELETE ${path}/notes/${again.id}`, { as: "admin" });
    const gone = await app.call(`GET ${path}`, { as: "guest" });
    expect([gone.status, gone.json]).toEqual([404, { message: "404 Discussion Not Found" }]);
  });

  it("that don't exist answer 404", async () => {
    const { path, first } = await thread(type);
    for (const id of ["f".repeat(40), "0".repeat(40), "1", "x", first.id, path.slice(-39)]) {
      const unknown = await app.call(`GET ${on[type]}/discussions/${id}`, { as: "guest" });
      expect([unknown.status, unknown.json]).toEqual([
        404,
        { message: "404 Discussion Not Found" },
      ]);
    }
    const other = await thread(type);
    expect(await status(`GET ${path}/notes/${other.reply.id}`, "guest")).toBe(404);
    for (const elsewhere of Object.values(on).filter((one) => one !== on[type])) {
      const moved = path.replace(on[type] as string, elsewhere);
      expect(await status(`GET ${moved}`, "guest")).toBe(404);
      expect(await status(`POST ${moved}/notes`, "guest", { body: "x" })).toBe(404);
    }
  });

  it("create an event for each note", async () => {
    const { reply } = await thread(type);
    const [event] = await get("/events?target_type=note", "developer");
    expect(event).toMatchObject({
      action_name: "commented on",
      target_id: reply.id,
      note: { id: reply.id, noteable_type: type },
    });
  });

  it("are dated by owners only", async () => {
    const json = { body: "Then", created_at: "2020-01-02T03:04:05Z" };
    const imported = await post(`${on[type]}/discussions`, "owner", json);
    expect(imported.notes[0].created_at).toBe("2020-01-02T03:04:05.000Z");
    expect((await get(`${on[type]}/discussions`))[0].id).toBe(imported.id);
    const path = `${on[type]}/discussions/${imported.id}`;
    const reply = await post(`${path}/notes`, "owner", { ...json, created_at: "2019-01-01" });
    expect(reply.created_at).toBe("2019-01-01T00:00:00.000Z");
    expect(bodies((await get(path)).notes)).toEqual(["Then", "Then"]);
    const now = await post(`${on[type]}/discussions`, "maintainer", json);
    expect(now.notes[0].created_at > "2026").toBe(true);
    await app.call(`DELETE ${on[type]}/notes/${imported.notes[0].id}`, { as: "owner" });
    await app.call(`DELETE ${on[type]}/notes/${reply.id}`, { as: "owner" });
  });

  it("are not available to anonymous callers", async () => {
    expect(await status(`GET ${on[type]}/discussions`, "anonymous")).toBe(401);
    expect(await status(`POST ${on[type]}/discussions`, "anonymous", { body: "x" })).toBe(401);
  });
});

describe("resolving", () => {
  it.each<[Person, number]>([
    ["stranger", 403],
    ["guest", 403],
    // The author of the merge request.
    ["reporter", 200],
    ["developer", 200],
    ["maintainer", 200],
    ["admin", 200],
  ])("a discussion is for %s %i", async (as, expected) => {
    const { path } = await thread("MergeRequest", {}, "owner");
    const answer = await app.call(`PUT ${path}`, { as, json: { resolved: true } });
    expect(answer.status).toBe(expected);
    if (expected !== 200) return;
    const resolved = {
      resolved: true,
      resolved_by: expect.objectContaining({ username: as }),
      resolved_at: expect.stringMatching(/Z$/),
    };
    expect(answer.json.notes).toMatchObject([resolved, resolved]);
    const back = await app.call(`PUT ${path}`, { as, json: { resolved: false } });
    const unresolved = { resolved: false, resolved_by: null, resolved_at: null };
    expect(back.json.notes).toMatchObject([unresolved, unresolved]);
  });

  it("keeps who resolved a note first, and resolves later replies", async () => {
    const { path, first } = await thread("MergeRequest");
    const json = { resolved: true };
    const one = await app.call(`PUT ${path}/notes/${first.id}`, { as: "guest", json });
    expect([one.status, one.json.resolved_by.username]).toEqual([200, "guest"]);
    const open = await post(`${path}/notes`, "guest", { body: "Wait" });
    expect(open.resolved).toBe(false);
    await app.call(`PUT ${path}`, { as: "developer", json });
    const late = await post(`${path}/notes`, "guest", { body: "Thanks" });
    expect([late.resolved, late.resolved_by.username]).toEqual([true, "guest"]);
    const { notes } = await get(path);
    expect(
      notes.map((note: { resolved_by: { username: string } }) => note.resolved_by.username),
    ).toEqual(["guest", "developer", "developer", "guest"]);
  });

  it("needs a thread of a merge request", async () => {
    const note = await post(`${on["MergeRequest"]}/notes`, "guest", { body: "Alone" });
    const alone = (await get(`${on["MergeRequest"]}/discussions?per_page=100`)).at(-1);
    const path = `${on["MergeRequest"]}/discussions/${alone.id}`;
    const json = { resolved: true };
    expect(await status(`PUT ${path}`, "owner", json)).toBe(403);
    const one = await app.call(`PUT ${path}/notes/${note.id}`, { as: "owner", json });
    expect([one.status, one.json]).toEqual([
      400,
      { message: "400 Bad request - Note is not resolvable" },
    ]);
    const { path: ofSnippet, first } = await thread("Snippet");
    expect(await status(`PUT ${ofSnippet}`, "owner", json)).toBe(405);
    expect(await status(`PUT ${ofSnippet}/notes/${first.id}`, "owner", json)).toBe(400);
  });

  it("is for threads of issues, too, and stays when they move", async () => {
    const { iid } = await post(`${SITE}/issues`, "reporter", { title: "Another" });
    const issue = `${SITE}/issues/${iid}`;
    const { id } = await post(`${issue}/discussions`, "guest", { body: "So?" });
    const path = `${issue}/discussions/${id}`;
    await post(`${path}/notes`, "developer", { body: "So." });
    expect(await status(`PUT ${path}`, "stranger", { resolved: true })).toBe(403);
    const answer = await app.call(`PUT ${path}`, { as: "developer", json: { resolved: true } });
    const resolved = { resolved: true, resolved_by: { username: "developer" } };
    expect([answer.status, answer.json.notes]).toMatchObject([200, [resolved, resolved]]);
    const actions = await get(`${issue}/notes?per_page=100`);
    expect(bodies(actions)).not.toContain("resolved all threads");
    const { json: core } = await app.call("GET /projects/acme%2Fteam%2Fcore", { as: "owner" });
    const moved = await app.call(`POST ${issue}/move`, {
      as: "owner",
      json: { to_project_id: core.id },
    });
    const copied = await app.call(
      `GET /projects/${core.id}/issues/${moved.json.iid}/discussions?per_page=100`,
      { as: "owner" },
    );
    expect(copied.json[0].notes).toMatchObject([{ resolved: true }, { resolved: true }]);
  });
});

it("notes that record actions are not changed, resolved or answered", async () => {
  const { path, first } = await thread("MergeRequest");
  const alone = await post(`${on["MergeRequest"]}/notes`, "owner", { body: "changed the title" });
  await app.store.transaction((db) =>
    db.run("update notes set system = 1 where id in (?, ?)", [alone.id, first.id]),
  );
  const note = await get(`${path}/notes/${first.id}`);
  expect(note).toMatchObject({ system: true, resolvable: false });
  expect(note).not.toHaveProperty("resolved");
  expect(await status(`PUT ${path}/notes/${first.id}`, "owner", { body: "x" })).toBe(403);
  expect(await status(`DELETE ${path}/notes/${first.id}`, "owner")).toBe(403);
  expect(await status(`PUT ${path}/notes/${first.id}`, "owner", { resolved: true })).toBe(400);
  const { id } = (await get(`${on["MergeRequest"]}/discussions?per_page=100`)).at(-1);
  const answer = await app.call(`POST ${on["MergeRequest"]}/discussions/${id}/notes`, {
    as: "owner",
    json: { body: "Why?" },
  });
  expect([answer.status, answer.json]).toEqual([
    400,
    { message: "400 Bad request - Discussion can not be replied to." },
  ]);
});

it("a position on a diff is refused without a repository", async () => {
  const shas = { base_sha: "a", start_sha: "b", head_sha: "c" };
  const position = { ...shas, position_type: "text", new_path: "a", new_line: 1 };
  const json = { body: "Here", position };
  const answer = await app.call(`POST ${on["MergeRequest"]}/discussions`, { as: "guest", json });
  expect([answer.status, answer.json]).toEqual([
    400,
    {
      message:
        '400 Bad request - Note {:line_code=>["can\'t be blank", "must be a valid line code"]}',
    },
  ]);
});

it("locked discussions take replies and resolutions of members only", async () => {
  const { path } = await thread("MergeRequest", {}, "stranger");
  const lock = (discussion_locked: boolean) =>
    app.call(`PUT ${on["MergeRequest"]}`, { as: "developer", json: { discussion_locked } });
  await lock(true);
  const own = (await get(path)).notes[0];
  expect(await status(`POST ${path}/notes`, "stranger", { body: "x" })).toBe(403);
  const json = { resolved: true };
  expect(await status(`PUT ${path}/notes/${own.id}`, "stranger", json)).toBe(403);
  expect(await status(`POST ${path}/notes`, "guest", { body: "x" })).toBe(201);
  await lock(false);
  expect(await status(`PUT ${path}/notes/${own.id}`, "stranger", json)).toBe(200);
});

it("a discussion takes no more replies than can be read at once", async () => {
  const { path } = await thread("Issue");
  const long = await post(`${path}/notes`, "guest", { body: "x".repeat(999_990) });
  const more = await app.call(`POST ${path}/notes`, { as: "guest", json: { body: "12345678" } });
  expect([more.status, more.json]).toEqual([
    400,
    {
      message:
        "400 Bad request - The replies of a discussion have at most 1000000 characters together",
    },
  ]);
  const short = await post(`${path}/notes`, "guest", { body: "1234" });
  const edited = `${path}/notes/${short.id}`;
  expect(await status(`PUT ${edited}`, "guest", { body: "12345678" })).toBe(400);
  expect(await status(`PUT ${edited}`, "guest", { body: "1234567" })).toBe(200);
  await app.call(`DELETE ${path}/notes/${long.id}`, { as: "guest" });
});

it("notes on a snippet go with it, and are seen by those who see it", async () => {
  const snippet = { title: "Mine", file_name: "a", content: "a", visibility: "private" };
  const { id } = await post(`${SITE}/snippets`, "reporter", snippet);
  const path = `${SITE}/snippets/${id}`;
  const [first] = (await post(`${path}/discussions`, "guest", { body: "So?" })).notes;
  for (const rest of ["notes", `notes/${first.id}`, "discussions", "award_emoji"]) {
    const hidden = await app.call(`GET ${path}/${rest}`, { as: "stranger" });
    expect([hidden.status, hidden.json]).toEqual([404, { message: "404 Snippet Not Found" }]);
  }
  const events = async (as: Person) =>
    (await get(`${SITE}/events?per_page=100`, as)).map(
      (event: { target_id: number }) => event.target_id,
    );
  expect([await events("guest"), await events("stranger")]).toEqual([
    expect.arrayContaining([first.id]),
    expect.not.arrayContaining([first.id]),
  ]);
  expect(await status(`DELETE ${path}`, "reporter")).toBe(204);
  expect(await events("guest")).not.toContain(first.id);
  expect(await app.store.rows("select 1 from notes where id = ?", [first.id])).toEqual([]);
  expect((await check(app.store)).flatMap(({ problems }) => problems)).toEqual([]);
});

it("deleting an issue deletes its threads", async () => {
  const { iid, id } = await post(`${SITE}/issues`, "owner", { title: "Gone" });
  const { id: begun } = await post(`${SITE}/issues/${iid}/discussions`, "owner", { body: "1" });
  await post(`${SITE}/issues/${iid}/discussions/${begun}/notes`, "owner", { body: "2" });
  expect(await status(`DELETE ${SITE}/issues/${iid}`, "owner")).toBe(204);
  expect(await app.store.rows("select 1 from notes where issue_id = ?", [id])).toEqual([]);
  expect((await check(app.store)).flatMap(({ problems }) => problems)).toEqual([]);
});

it("pages of long discussions are complete", async () => {
  const { iid } = await post(`${SITE}/issues`, "owner", { title: "Long" });
  const path = `${SITE}/issues/${iid}/discussions`;
  const expected: string[][] = [];
  // The later the discussion, the longer ago it is dated, so that their order is not that of their numbers.
  for (let index = 0; index < 5; index += 1) {
    const created_at = `202${5 - index}-01-01`;
    const { id } = await post(path, "owner", { body: `${index}`, created_at });
    const replies = ["a", "b", "c"].map((letter) => letter.repeat(100_000 * (index + 1) ** 0.5));
    for (const body of replies) await post(`${path}/${id}/notes`, "owner", { body });
    expected.unshift([`${index}`, ...replies]);
  }
  const listed = await get(path, "owner");
  expect(listed.map((one: { notes: { body: string }[] }) => bodies(one.notes))).toEqual(expected);
});

it("moving an issue takes its threads along", async () => {
  const { iid } = await post(`${SITE}/issues`, "owner", { title: "Moving" });
  const path = `${SITE}/issues/${iid}`;
  await post(`${path}/notes`, "owner", { body: "alone" });
  const begun = await post(`${path}/discussions`, "owner", { body: "1" });
  const other = await post(`${path}/discussions`, "owner", { body: "2", internal: true });
  await post(`${path}/discussions/${begun.id}/notes`, "owner", { body: "1.1" });
  await post(`${path}/discussions/${other.id}/notes`, "owner", { body: "2.1" });
  await post(`${path}/discussions/${begun.id}/notes`, "owner", { body: "1.2" });
  await app.call(`DELETE ${path}/notes/${begun.notes[0].id}`, { as: "owner" });
  const core = (await get("/projects/acme%2Fteam%2Fcore", "owner")).id;
  const moved = await post(`${path}/move`, "owner", { to_project_id: core });
  const listed = await get(`/projects/${core}/issues/${moved.iid}/discussions`, "owner");
  expect(listed).toMatchObject([
    { individual_note: true, notes: [{ body: "alone" }] },
    { individual_note: false, notes: [{ body: "2", internal: true }, { body: "2.1" }] },
    { individual_note: false, notes: [{ body: "1.1", internal: false }, { body: "1.2" }] },
  ]);
  const ids = (all: { id: string }[]) => all.map(({ id }) => id);
  expect(new Set([...ids(listed), ...ids(await get(`${path}/discussions`, "owner"))]).size).toBe(6);
});

it.each(["Issue", "MergeRequest"])("internal notes on %s are for reporters", async (type) => {
  const counted = async (as: Person) => (await get(on[type] as string, as)).user_notes_count;
  const before = await counted("reporter");
  expect(await counted("guest")).toBe(before);
  const { path, first, reply } = await thread(type, { internal: true }, "reporter");
  expect([first.internal, first.confidential, reply.internal]).toEqual([true, true, true]);
  const alone = await post(`${on[type]}/notes`, "reporter", { body: "x", confidential: true });
  expect(alone.internal).toBe(true);
  expect([await counted("reporter"), await counted("guest")]).toEqual([before + 3, before]);

  const seen: (readonly [number, number, boolean, boolean])[] = [];
  for (const as of everyone.slice(1)) {
    const notes = await get(`${on[type]}/notes?per_page=100`, as);
    const discussions = await get(`${on[type]}/discussions?per_page=100`, as);
    const ids = notes.map((note: { id: number }) => note.id);
    const starts = discussions.map((one: { notes: { id: number }[] }) => one.notes[0]?.id);
    seen.push([
      await status(`GET ${on[type]}/notes/${alone.id}`, as),
      await status(`GET ${path}`, as),
      ids.includes(reply.id),
      starts.includes(first.id),
    ]);
  }
  const [no, yes] = [
    [404, 404, false, false],
    [200, 200, true, true],
  ];
  expect(seen).toEqual([no, no, yes, yes, yes, yes, yes]);
  for (const [request, json] of [
    [`POST ${path}/notes`, { body: "x" }],
    [`PUT ${path}/notes/${first.id}`, { body: "x" }],
    [`DELETE ${path}/notes/${first.id}`, undefined],
    [`POST ${on[type]}/notes/${first.id}/award_emoji`, { name: "tada" }],
    [`GET ${on[type]}/notes/${first.id}/award_emoji`, undefined],
  ] as const) {
    expect([request, await status(request, "guest", json)]).toEqual([request, 404]);
  }
});

it("internal notes are refused to those who can't read them, and on snippets", async () => {
  for (const name of ["internal", "confidential"]) {
    for (const kind of ["notes", "discussions"]) {
      const json = { body: "x", [name]: true };
      expect(await status(`POST ${on["Issue"]}/${kind}`, "guest", json)).toBe(403);
      expect(await status(`POST ${on["Snippet"]}/${kind}`, "owner", json)).toBe(400);
      const open = { body: "x", [name]: false };
      expect(await status(`POST ${on["Issue"]}/${kind}`, "guest", open)).toBe(201);
    }
  }
});

it("internal notes show in no events, todos or mails of others", async () => {
  const body = "@guest @developer look";
  const { id } = await post(`${on["Issue"]}/notes`, "owner", { body, internal: true });
  const events = async (as: Person) =>
    (await get(`${SITE}/events?per_page=100`, as)).map(
      (one: { target_id: number }) => one.target_id,
    );
  expect([(await events("reporter")).includes(id), (await events("guest")).includes(id)]).toEqual([
    true,
    false,
  ]);
  const [event] = await app.store.rows("select max(id) from events");
  const told = await app.admin.activity.recipients(event?.[0] as number);
  const names = told.map(({ username }) => username);
  expect(names).toContain("developer");
  // Both have commented, and one of them is mentioned.
  for (const name of ["guest", "stranger"]) expect(names).not.toContain(name);
  const todos = async (as: Person) =>
    (await get("/todos", as)).filter((todo: { body: string }) => todo.body === body).length;
  expect([await todos("developer"), await todos("guest")]).toEqual([1, 0]);
});

it("a todo about an internal note goes away with the role", async () => {
  const body = "@reporter internally";
  await post(`${on["Issue"]}/notes`, "owner", { body, internal: true });
  const todos = async () =>
    (await get("/todos", "reporter")).filter((todo: { body: string }) => todo.body === body);
  expect(await todos()).toHaveLength(1);
  const { id } = await get("/user", "reporter");
  const level = (access_level: number) =>
    app.call(`PUT /groups/acme/members/${id}`, { as: "owner", json: { access_level } });
  await level(10);
  expect(await todos()).toHaveLength(0);
  await level(20);
  expect(await todos()).toHaveLength(1);
});
