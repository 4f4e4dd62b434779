import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";
import { ask, NOT_AVAILABLE, send } from "./ask.ts";

let app: TestApp;
/** The global ids of an issue, a merge request and a snippet. */
const on: Record<"issue" | "mergeRequest" | "snippet", string> = {
  issue: "",
  mergeRequest: "",
  snippet: "",
};

const SITE = "/projects/acme%2Fsite";
const ISSUE = 'project(fullPath: "acme/site") { issue(iid: "1")';

beforeAll(async () => {
  app = await testApp();
  const create = async (path: string, json: object) =>
    (await app.call(`POST ${SITE}/${path}`, { as: "owner", json })).json.id;
  on.issue = `gid://gitlab/Issue/${await create("issues", { title: "First", description: "a <b>\n\nc" })}`;
  on.mergeRequest = `gid://gitlab/MergeRequest/${await create("merge_requests", {
    title: "Merge",
    source_branch: "a",
    target_branch: "b",
  })}`;
  on.snippet = `gid://gitlab/ProjectSnippet/${await create("snippets", {
    title: "Snippet",
    visibility: "public",
    file_name: "a.txt",
    content: "a",
  })}`;
});
afterAll(() => app.dispose());

type As = "owner" | "developer" | "guest" | "stranger" | "anonymous";

const CREATE = `mutation ($input: CreateNoteInput!) {
  createNote(input: $input) { note { id body discussion { id replyId } } errors clientMutationId } }`;

/** Writes a note and gives what the mutation gave. */
async function write(input: object, as: As = "owner") {
  const { data, errors } = await send(app, as, CREATE, { input });
  return { ...data?.createNote, problem: errors?.[0].message };
}

describe("notes", () => {
  it("are written, changed and deleted", async () => {
    const created = await write({ noteableId: on.issue, body: "One", clientMutationId: "x" });
    expect(created).toMatchObject({ note: { body: "One" }, errors: [], clientMutationId: "x" });
    const { id } = created.note;
    expect(id).toMatch(/^gid:\/\/gitlab\/Note\/\d+$/);
    const changed = await ask(
      app,
      'mutation ($id: NoteID!) { updateNote(input: {id: $id, body: "Two"}) { note { body } errors } }',
      { id },
    );
    expect(changed.updateNote).toEqual({ note: { body: "Two" }, errors: [] });
    const { json } = await app.call(`GET ${SITE}/issues/1/notes/${id.split("/").at(-1)}`, {
      as: "owner",
    });
    expect(json.body).toBe("Two");
    const destroy =
      "mutation ($id: NoteID!) { destroyNote(input: {id: $id}) { note { id } errors } }";
    expect((await send(app, "developer", destroy, { id })).errors?.[0].message).toBe(NOT_AVAILABLE);
    expect((await ask(app, destroy, { id })).destroyNote).toEqual({ note: null, errors: [] });
    expect((await send(app, "owner", destroy, { id })).errors?.[0].message).toBe(NOT_AVAILABLE);
    expect(
      (await ask(app, "query ($id: NoteID!) { note(id: $id) { id } }", { id })).note,
    ).toBeNull();
  });

  it("tell what is wrong with them", async () => {
    expect(await write({ noteableId: on.issue, body: " " })).toMatchObject({
      note: null,
      errors: [expect.stringContaining("Body")],
    });
    expect(await write({ noteableId: "gid://gitlab/Issue/9999", body: "x" })).toMatchObject({
      problem: NOT_AVAILABLE,
    });
    expect(await write({ noteableId: on.issue, body: "x" }, "anonymous")).toMatchObject({
      problem: NOT_AVAILABLE,
    });
    expect((await write({ noteableId: "gid://gitlab/Project/1", body: "x" })).problem).toContain(
      "does not represent an instance of Noteable",
    );
  });

  it("have the values that REST shows", async () => {
    const body = 'Hello <b>\r\nyou & me\n\n \n"bye"';
    const { note } = await write({ noteableId: on.issue, body });
    const number = note.id.split("/").at(-1);
    const { json } = await app.call(`GET ${SITE}/issues/1/notes/${number}`, { as: "owner" });
    const query = `query ($id: NoteID!) { note(id: $id) { id body bodyHtml bodyFirstLineHtml system
      internal createdAt url noteableType noteableId resolvable resolved position { filePath }
      author { username } project { fullPath } userPermissions { readNote createNote adminNote
      resolveNote awardEmoji repositionNote } } }`;
    expect((await ask(app, query, { id: note.id })).note).toEqual({
      id: note.id,
      body: json.body,
      bodyHtml: "<p>Hello <b>\nyou &amp; me</b></p>\n<p>&quot;bye&quot;</p>\n",
      bodyFirstLineHtml: "Hello &lt;b&gt;",
      system: false,
      internal: false,
      createdAt: json.created_at.replace(/\.\d+Z$/, "Z"),
      url: expect.stringMatching(`/acme/site/-/issues/1#note_${number}$`),
      noteableType: "Issue",
      noteableId: json.noteable_id,
      resolvable: false,
      resolved: false,
      position: null,
      author: { username: "owner" },
      project: { fullPath: "acme/site" },
      userPermissions: {
        readNote: true,
        createNote: true,
        adminNote: true,
        resolveNote: true,
        awardEmoji: true,
        repositionNote: true,
      },
    });
    const permissions = `query ($id: NoteID!) {
      note(id: $id) { userPermissions { readNote createNote adminNote resolveNote } } }`;
    const allowed = async (as: As) =>
      (await ask(app, permissions, { id: note.id }, as)).note?.userPermissions;
    const nothing = { createNote: false, adminNote: false, resolveNote: false };
    expect(await allowed("anonymous")).toBeUndefined();
    expect(await allowed("guest")).toEqual({ readNote: true, ...nothing, createNote: true });
    expect(await allowed("developer")).toEqual({
      readNote: true,
      createNote: true,
      adminNote: false,
      resolveNote: true,
    });
  });

  it("have a first line of at most 125 characters", async () => {
    const shown = async (body: string) => {
      const { note } = await write({ noteableId: on.issue, body });
      const query = "query ($id: NoteID!) { note(id: $id) { bodyFirstLineHtml } }";
      return (await ask(app, query, { id: note.id })).note.bodyFirstLineHtml;
    };
    expect(await shown(`\n\n${"😀".repeat(125)}\nx`)).toBe("😀".repeat(125));
    expect(await shown("😀".repeat(126))).toBe(`${"😀".repeat(122)}...`);
    expect(await shown(`${"<".repeat(1000)}`)).toBe(`${"&lt;".repeat(122)}...`);
  });

  it("are on snippets, too", async () => {
    const { note, errors } = await write({ noteableId: on.snippet, body: "On a snippet" });
    expect(errors).toEqual([]);
    const query = "query ($id: NoteID!) { note(id: $id) { url noteableType } }";
    expect((await ask(app, query, { id: note.id })).note).toEqual({
      url: expect.stringContaining("/acme/site/-/snippets/"),
      noteableType: "Snippet",
    });
  });

  it("are hidden from those who may not read them, wherever they are", async () => {
    const body = "Only for the team";
    const { note } = await write({ noteableId: on.issue, body, internal: true });
    const query = `query ($id: NoteID!) { note(id: $id) { body } ${ISSUE} { userNotesCount
      userDiscussionsCount notes { count nodes { body } }
      discussions { count nodes { notes { nodes { body } } } } } } }`;
    const seenBy = async (as: As) => (await send(app, as, query, { id: note.id })).data;
    const [inside, outside] = [await seenBy("developer"), await seenBy("guest")];
    expect(inside.note).toEqual({ body });
    expect(outside.note).toBeNull();
    expect(JSON.stringify(outside)).not.toContain(body);
    for (const count of ["userNotesCount", "userDiscussionsCount"]) {
      expect(outside.project.issue[count]).toBe(inside.project.issue[count] - 1);
    }
    for (const list of ["notes", "discussions"]) {
      const [more, fewer] = [inside.project.issue[list], outside.project.issue[list]];
      expect(fewer.count).toBe(more.count - 1);
      expect(fewer.nodes).toHaveLength(fewer.count);
    }
    const reply = { noteableId: on.issue, body: "x", discussionId: note.discussion.id };
    expect((await write(reply, "guest")).problem).toBe(NOT_AVAILABLE);
  });

  it("of confidential issues are as hidden as these", async () => {
    const json = { title: "Secret", confidential: true };
    const { json: issue } = await app.call(`POST ${SITE}/issues`, { as: "owner", json });
    const { note } = await write({ noteableId: `gid://gitlab/Issue/${issue.id}`, body: "x" });
    const query = "query ($id: NoteID!) { note(id: $id) { body } }";
    expect((await ask(app, query, { id: note.id }, "guest")).note).toBeNull();
    expect((await ask(app, query, { id: note.id }, "developer")).note).toEqual({ body: "x" });
    const change = `mutation ($id: NoteID!) {
      updateNote(input: {id: $id, body: "y"}) { note { body } } }`;
    const { data, errors } = await send(app, "guest", change, { id: note.id });
    expect([data.updateNote, errors?.[0].message]).toEqual([null, NOT_AVAILABLE]);
  });

  it("are filtered by what they record", async () => {
    const json = { title: "Filtered" };
    const { json: issue } = await app.call(`POST ${SITE}/issues`, { as: "owner", json });
    const path = `${SITE}/issues/${issue.iid}`;
    const note = async (body: string) =>
      (await app.call(`POST ${path}/notes`, { as: "owner", json: { body } })).json.id;
    await note("A comment");
    const action = await note("changed the title");
    await app.store.transaction((db) =>
      db.run("update notes set system = 1 where id = ?", [action]),
    );
    const query = `query ($iid: String, $filter: NotesFilterType) { project(fullPath: "acme/site") {
      issue(iid: $iid) { notes(filter: $filter) { nodes { system } } } } }`;
    const kinds = async (filter?: string) => {
      const { project } = await ask(app, query, { iid: String(issue.iid), filter });
      return project.issue.notes.nodes.map(({ system }: { system: boolean }) => system);
    };
    expect(await kinds()).toEqual([false, true]);
    expect(await kinds("ALL_NOTES")).toEqual([false, true]);
    expect(await kinds("ONLY_COMMENTS")).toEqual([false]);
    expect(await kinds("ONLY_ACTIVITY")).toEqual([true]);
  });
});

describe("discussions", () => {
  it("grow by replies, and are resolved", async () => {
    const noteableId = on.mergeRequest;
    const begin = `mutation ($id: NoteableID!) { createDiscussion(input: {noteableId: $id, body: "Why?"}) {
      note { id discussion { id replyId } } errors } }`;
    const { createDiscussion } = await ask(app, begin, { id: noteableId }, "developer");
    const { discussion, id: first } = createDiscussion.note;
    expect(first).toMatch(/^gid:\/\/gitlab\/DiscussionNote\/\d+$/);
    expect(discussion.id).toMatch(/^gid:\/\/gitlab\/Discussion\/[0-9a-f]{40}$/);
    expect(discussion.replyId).toBe(discussion.id);
    const { note } = await write({ noteableId, body: "Because", discussionId: discussion.id });
    expect(note.discussion.id).toBe(discussion.id);

    const list = `{ project(fullPath: "acme/site") { mergeRequest(iid: "1") { discussions { nodes {
      id replyId createdAt resolvable resolved resolvedAt resolvedBy { username }
      noteable { __typename ... on MergeRequest { iid } ... on Issue { iid } }
      userPermissions { resolveNote }
      notes { pageInfo { hasNextPage } nodes { id body resolvable resolved url position { filePath }
        author { username } userPermissions { resolveNote adminNote createNote } } } } } } } }`;
    const shown = async (as: As = "owner") => {
      const { project } = await ask(app, list, {}, as);
      return project.mergeRequest.discussions.nodes;
    };
    const [thread] = await shown();
    expect(thread).toMatchObject({
      id: discussion.id,
      resolvable: true,
      resolved: false,
      resolvedAt: null,
      resolvedBy: null,
      noteable: { __typename: "MergeRequest", iid: "1" },
      notes: { pageInfo: { hasNextPage: false } },
    });
    expect(thread.notes.nodes.map(({ body }: { body: string }) => body)).toEqual([
      "Why?",
      "Because",
    ]);

    const resolve = `mutation ($id: DiscussionID!, $resolve: Boolean!) {
      discussionToggleResolve(input: {id: $id, resolve: $resolve}) { discussion { id resolved } errors } }`;
    const set = (resolved: boolean, as: As = "developer") =>
      send(app, as, resolve, { id: discussion.id, resolve: resolved });
    expect((await set(true, "guest")).errors?.[0].message).toBe(NOT_AVAILABLE);
    expect((await set(true)).data.discussionToggleResolve).toEqual({
      discussion: { id: discussion.id, resolved: true },
      errors: [],
    });
    expect((await shown())[0]).toMatchObject({
      resolved: true,
      resolvedAt: expect.stringMatching(/Z$/),
      resolvedBy: { username: "developer" },
    });
    const rest = await app.call(`GET ${SITE}/merge_requests/1/discussions`, { as: "owner" });
    expect(rest.json[0].id).toBe(discussion.id.split("/").at(-1));
    expect(rest.json[0].notes.map(({ resolved }: { resolved: boolean }) => resolved)).toEqual([
      true,
      true,
    ]);
    await set(false);
    expect((await shown())[0]).toMatchObject({ resolved: false, resolvedBy: null });
  });

  it("that lost their first note keep their id and their replies", async () => {
    const { note: first } = await write({ noteableId: on.issue, body: "Gone" });
    const { id } = first.discussion;
    const { note: second } = await write({ noteableId: on.issue, body: "Left", discussionId: id });
    const { note: third } = await write({ noteableId: on.issue, body: "Third", discussionId: id });
    const destroy = "mutation ($id: NoteID!) { destroyNote(input: {id: $id}) { errors } }";
    await ask(app, destroy, { id: first.id });
    const query = `query ($id: NoteID!) {
      note(id: $id) { discussion { id notes { nodes { id } } } } }`;
    for (const { id: note } of [second, third]) {
      expect((await ask(app, query, { id: note })).note.discussion).toEqual({
        id,
        notes: { nodes: [{ id: second.id }, { id: third.id }] },
      });
    }
    expect((await write({ noteableId: on.issue, body: "x", discussionId: id })).errors).toEqual([]);
  });

  it("are found by their ids only", async () => {
    const reply = (discussionId: string) =>
      write({ noteableId: on.issue, body: "x", discussionId });
    const unknown = `gid://gitlab/Discussion/${"f".repeat(40)}`;
    expect((await reply(unknown)).problem).toBe(NOT_AVAILABLE);
    expect((await reply("gid://gitlab/Note/1")).problem).toContain(
      "does not represent an instance of Discussion",
    );
    expect((await reply("gid://gitlab/Discussion/")).problem).toContain("is not a valid Global ID");
    const resolve = `mutation ($id: DiscussionID!) {
      discussionToggleResolve(input: {id: $id, resolve: true}) { errors } }`;
    const { note } = await write({ noteableId: on.issue, body: "Not resolvable" });
    for (const id of [unknown, note.discussion.id]) {
      expect((await send(app, "owner", resolve, { id })).errors?.[0].message).toBe(NOT_AVAILABLE);
    }
  });
});

it("as many statements are run for many notes as for few", async () => {
  const query = `query ($iids: [String!]) { project(fullPath: "acme/site") {
    issues(iids: $iids) { nodes { userNotesCount userDiscussionsCount descriptionHtml
      currentUserTodos { nodes { targetEntity { name } } } awardEmoji { nodes { user { name } } }
      notes { nodes { author { name } project { name } discussion { id } awardEmoji { nodes { name } }
        userPermissions { adminNote } } }
      discussions { nodes { resolved resolvedBy { name } noteable { ... on Issue { title } }
        userPermissions { resolveNote } notes { nodes { body author { name } } } } } } } } }`;
  const iids: string[] = [];
  for (const title of ["A", "B", "C"]) {
    const { json: issue } = await app.call(`POST ${SITE}/issues`, { as: "owner", json: { title } });
    iids.push(String(issue.iid));
    const noteableId = `gid://gitlab/Issue/${issue.id}`;
    const replies = iids.length * 2;
    await write({ noteableId, body: "Alone" });
    const { note } = await write({ noteableId, body: "Thread" });
    for (let reply = 0; reply < replies; reply += 1) {
      await write({ noteableId, body: "Reply", discussionId: note.discussion.id });
    }
  }
  const statementsFor = async (some: string[]) => {
    app.statements.length = 0;
    const { project } = await ask(app, query, { iids: some });
    expect(project.issues.nodes).toHaveLength(some.length);
    return app.statements.filter((sql) => sql.startsWith("select")).length;
  };
  await statementsFor(iids);
  const few = await statementsFor(iids.slice(0, 1));
  expect(await statementsFor(iids)).toBe(few);
});

it("descriptions and titles are shown as HTML without markup of their own", async () => {
  const { project } = await ask(app, `{ ${ISSUE} { name titleHtml descriptionHtml } } }`);
  expect(project.issue).toEqual({
    name: "First",
    titleHtml: "First",
    descriptionHtml: "<p>a <b></b></p>\n<p>c</p>\n",
  });
});

it("comments on commits are not there", async () => {
  const file = { branch: "main", content: "text", commit_message: "Begin" };
  await app.call(`POST ${SITE}/repository/files/a.txt`, { as: "owner", json: file });
  const [commit] = (await app.call(`GET ${SITE}/repository/commits`, { as: "owner" })).json;
  const path = `POST ${SITE}/repository/commits/${commit.id}/discussions`;
  const { json: discussion } = await app.call(path, { as: "owner", json: { body: "Why?" } });
  const id = `gid://gitlab/Note/${discussion.notes[0].id}`;
  for (const mutation of [
    `updateNote(input: { id: "${id}", body: "x" })`,
    `destroyNote(input: { id: "${id}" })`,
  ]) {
    const { errors } = await send(app, "owner", `mutation { ${mutation} { errors } }`);
    expect([mutation, errors?.[0]?.message]).toEqual([mutation, NOT_AVAILABLE]);
  }
});
