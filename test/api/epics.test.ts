import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { check } from "../../src/database/check.ts";
import { type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;

beforeEach(async () => {
  app = await testApp();
});
afterEach(() => app.dispose());

const GROUP = "/groups/acme";
const EPICS = `${GROUP}/epics`;

const send = (request: string, as: Person, json?: object) =>
  app.call(request, { as, ...(json && { json }) });

/** Sends a request that has to succeed, and returns its answer. */
async function done(request: string, json?: object, as: Person = "owner") {
  const { status, text, json: answer } = await send(request, as, json);
  if (status >= 300) throw new Error(`${request}: ${status} ${text}`);
  return answer;
}

const create = (title: string, more: object = {}, group = "acme") =>
  done(`POST /groups/${encodeURIComponent(group)}/epics`, { title, ...more });
const issue = (title: string, more: object = {}, project = "acme/site") =>
  done(`POST /projects/${encodeURIComponent(project)}/issues`, { title, ...more });
const titles = async (request: string, as: Person = "owner") => {
  const { status, text, json } = await send(request, as);
  if (status !== 200) throw new Error(`${request}: ${status} ${text}`);
  return json.map(({ title }: { title: string }) => title);
};

describe("an epic", () => {
  it("has what it was given, and a number in its group", async () => {
    const group = await done(`GET ${GROUP}`);
    const made = await send(`POST ${EPICS}`, "reporter", {
      title: "Ship it",
      description: "All of it",
      labels: "UX,new",
      color: "#ff0000",
      start_date_fixed: "2026-01-01",
      start_date_is_fixed: true,
      due_date_fixed: "2026-02-01",
      due_date_is_fixed: true,
    });
    expect(made.status).toBe(201);
    const { id } = made.json;
    const at = `http://pm.test/api/v4/groups/${group.id}`;
    expect(made.json).toMatchObject({
      work_item_id: id,
      iid: 1,
      group_id: group.id,
      parent_id: null,
      parent_iid: null,
      title: "Ship it",
      description: "All of it",
      state: "opened",
      confidential: false,
      web_url: "http://pm.test/groups/acme/-/epics/1",
      reference: "&1",
      references: { short: "&1", relative: "&1", full: "acme&1" },
      author: { username: "reporter" },
      color: "#ff0000",
      text_color: "#FFFFFF",
      start_date: "2026-01-01",
      start_date_is_fixed: true,
      start_date_fixed: "2026-01-01",
      start_date_from_inherited_source: null,
      start_date_from_milestones: null,
      end_date: "2026-02-01",
      due_date: "2026-02-01",
      due_date_is_fixed: true,
      due_date_fixed: "2026-02-01",
      closed_at: null,
      labels: ["UX", "new"],
      upvotes: 0,
      downvotes: 0,
      subscribed: true,
      _links: {
        self: `${at}/epics/1`,
        epic_issues: `${at}/epics/1/issues`,
        group: at,
        parent: null,
      },
    });
    const alone = await done(`GET ${EPICS}/1`, undefined, "guest");
    expect(alone).toEqual({ ...made.json, subscribed: false });
    const { subscribed, ...listed } = made.json;
    expect(await done(`GET ${EPICS}`)).toEqual([listed]);
    expect(await done(`GET ${GROUP}/-/epics/1`, undefined, "guest")).toEqual(alone);
    expect(await done(`GET ${GROUP}/-/epics`)).toEqual([listed]);
    const second = await create("Another");
    expect(second).toMatchObject({ iid: 2, color: "#1068bf", start_date: null, labels: [] });
    expect(await create("First there", {}, "acme/team")).toMatchObject({ iid: 1 });
    const detailed = await done(`GET ${EPICS}?with_labels_details=true&search=ship`);
    expect(detailed[0].labels[0]).toMatchObject({ name: "UX", color: "#ff0000" });
  });

  it("gives its group the labels that are missing", async () => {
    await create("Ship it", { labels: ["brand new"] });
    expect(await done(`GET ${GROUP}/labels?search=brand`)).toMatchObject([
      { name: "brand new", open_issues_count: 0 },
    ]);
  });

  it("is changed, closed, reopened and deleted", async () => {
    await create("Ship it", { labels: "UX" });
    const changed = await done(`PUT ${EPICS}/1`, {
      title: "Shipped",
      add_labels: "Testing",
      remove_labels: "UX",
      state_event: "close",
      color: "red",
      confidential: true,
      due_date: "2026-05-01",
    });
    expect(changed).toMatchObject({
      title: "Shipped",
      labels: ["Testing"],
      state: "closed",
      closed_at: expect.any(String),
      color: "#FF0000",
      confidential: true,
      end_date: "2026-05-01",
      due_date_is_fixed: true,
    });
    expect(await done(`PUT ${EPICS}/1`, { due_date_is_fixed: false })).toMatchObject({
      due_date: null,
      due_date_fixed: "2026-05-01",
      color: "#FF0000",
    });
    expect(await done(`PUT ${EPICS}/1`, { state_event: "reopen" })).toMatchObject({
      state: "opened",
      closed_at: null,
      due_date: null,
    });
    expect((await send(`DELETE ${EPICS}/1`, "reporter")).status).toBe(403);
    expect((await send(`DELETE ${EPICS}/1`, "owner")).status).toBe(204);
    expect((await send(`GET ${EPICS}/1`, "owner")).status).toBe(404);
  });

  it.each([
    [{}, /at least one parameter must be provided/],
    [{ color: "no colour" }, /must be a valid color code/],
    [{ start_date: "2026-02-01", due_date: "2026-01-01" }, /greater than or equal to start date/],
    [{ title: "x".repeat(256) }, /is too long \(maximum is 255 characters\)/],
    [{ parent_id: 999 }, /No Work Item found/],
  ])("refuses %j", async (change, problem) => {
    await create("Ship it");
    const { status, text } = await send(`PUT ${EPICS}/1`, "owner", change);
    expect([status, text]).toEqual([400, expect.stringMatching(problem)]);
  });

  it("is written by reporters, and read by those who read its group", async () => {
    const made = await send(`POST ${EPICS}`, "guest", { title: "Mine" });
    expect(made.status).toBe(403);
    expect((await send(`POST ${EPICS}`, "anonymous", { title: "Mine" })).status).toBe(401);
    await create("Ship it");
    expect((await send(`PUT ${EPICS}/1`, "guest", { title: "No" })).status).toBe(403);
    expect((await send(`GET ${EPICS}/1`, "anonymous")).status).toBe(200);
    await create("Hidden", {}, "secret");
    for (const as of ["anonymous", "stranger"] as const) {
      expect((await send("GET /groups/secret/epics/1", as)).status).toBe(404);
      expect((await send("GET /groups/secret/epics", as)).status).toBe(404);
    }
    expect((await send("GET /groups/secret/epics/1", "guest")).status).toBe(200);
  });

  it("has the times that owners say", async () => {
    const [created_at, updated_at] = ["2020-01-01T00:00:00.000Z", "2020-02-02T00:00:00.000Z"];
    expect(await create("Ship it", { created_at })).toMatchObject({ created_at });
    expect(await done(`PUT ${EPICS}/1`, { updated_at })).toMatchObject({ updated_at });
    const { json } = await send(`POST ${EPICS}`, "reporter", { title: "Next", created_at });
    expect(json.created_at).not.toBe(created_at);
    const change = { title: "Last", updated_at };
    const { json: changed } = await send(`PUT ${EPICS}/1`, "reporter", change);
    expect(changed.updated_at).not.toBe(updated_at);
  });

  it("that is confidential is read by its author and reporters only", async () => {
    await create("Secret", { confidential: true });
    await done(`POST ${EPICS}/1/notes`, { body: "A note" });
    const seen = async (as: Person) => [
      await titles(`GET ${EPICS}`, as),
      await titles(`GET ${EPICS}?include_descendant_groups=false`, as),
      (await send(`GET ${EPICS}/1`, as)).status,
      (await send(`GET ${EPICS}/1/notes`, as)).status,
    ];
    for (const as of ["anonymous", "stranger", "guest"] as const) {
      expect(await seen(as)).toEqual([[], [], 404, as === "anonymous" ? 401 : 404]);
    }
    for (const as of ["reporter", "admin"] as const) {
      expect(await seen(as)).toEqual([["Secret"], ["Secret"], 200, 200]);
    }
  });
});

describe("the list of epics", () => {
  it("has those of subgroups and, if asked for, of the groups above", async () => {
    await create("Above");
    await create("Below", {}, "acme/team");
    await create("Elsewhere", {}, "secret");
    expect(await titles(`GET ${EPICS}`)).toEqual(["Below", "Above"]);
    expect(await titles(`GET ${EPICS}?include_descendant_groups=false`)).toEqual(["Above"]);
    const team = "GET /groups/acme%2Fteam/epics";
    expect(await titles(team)).toEqual(["Below"]);
    expect(await titles(`${team}?include_ancestor_groups=true`)).toEqual(["Below", "Above"]);
    expect(
      await titles(`${team}?include_ancestor_groups=true&include_descendant_groups=false`),
    ).toEqual(["Below", "Above"]);
    // The subgroup is private.
    expect(await titles(`GET ${EPICS}`, "stranger")).toEqual(["Above"]);
  });

  it("is filtered and ordered", async () => {
    await create("b", { labels: "UX", confidential: true, created_at: "2020-01-01T00:00:00Z" });
    await done(`POST ${EPICS}`, { title: "a", description: "a text" }, "reporter");
    await done(`PUT ${EPICS}/1`, { state_event: "close" });
    await done(`POST ${EPICS}/2/award_emoji`, { name: "tada" });
    const { id } = (await done("GET /users?username=reporter"))[0];
    const list = (query: string) => titles(`GET ${EPICS}?${query}`);
    expect(await list("order_by=title&sort=asc")).toEqual(["a", "b"]);
    expect(await list("sort=asc")).toEqual(["b", "a"]);
    for (const query of [
      "state=closed",
      "labels=UX",
      "confidential=true",
      "author_username=owner",
      `not[author_id]=${id}`,
      "not[author_username]=reporter",
      "created_before=2021-01-01T00:00:00Z",
      "my_reaction_emoji=None",
      "not[my_reaction_emoji]=tada",
    ]) {
      expect([query, await list(query)]).toEqual([query, ["b"]]);
    }
    for (const query of [
      "state=opened",
      "not[labels]=UX",
      `author_id=${id}`,
      "search=text",
      "updated_after=2025-01-01T00:00:00Z&confidential=false",
      "my_reaction_emoji=tada",
    ]) {
      expect([query, await list(query)]).toEqual([query, ["a"]]);
    }
    const both = await send(`GET ${EPICS}?author_id=1&author_username=owner`, "owner");
    expect([both.status, both.json]).toEqual([
      400,
      { error: "author_id, author_username are mutually exclusive" },
    ]);
  });
});

describe("where epics are kept", () => {
  it("is seen by nobody", async () => {
    const counted = await done("GET /application/statistics", undefined, "admin");
    await create("Ship it", { labels: "UX" });
    await done(`POST ${EPICS}/1/notes`, { body: "A note" });
    const [row] = await app.store.rows("select id from projects where path = '-'");
    const id = row?.[0];
    for (const as of ["owner", "admin"] as const) {
      for (const path of [`/projects/${id}`, "/projects/acme%2F-", `/projects/${id}/issues`]) {
        expect((await send(`GET ${path}`, as)).status).toBe(404);
      }
      for (const path of [
        "/projects",
        "/projects?membership=true",
        "/projects?min_access_level=10",
        "/groups/acme/projects?include_subgroups=true",
      ]) {
        const found = await done(`GET ${path}`, undefined, as);
        expect(found.map(({ id }: { id: number }) => id)).not.toContain(id);
      }
      for (const path of [
        "/issues?scope=all",
        "/groups/acme/issues",
        "/groups/acme/issues?search=ship",
        "/search?scope=issues&search=ship",
        "/events",
        "/events?scope=all",
      ]) {
        expect([path, await done(`GET ${path}`, undefined, as)]).toEqual([path, []]);
      }
    }
    expect((await send("GET /issues/1", "admin")).status).toBe(404);
    expect(await done("GET /application/statistics", undefined, "admin")).toMatchObject({
      projects: counted.projects,
      issues: counted.issues,
    });
    expect(await done("GET /groups/acme/labels?search=UX")).toMatchObject([
      { open_issues_count: 0 },
    ]);
  });

  it("is counted right, whatever becomes of them", async () => {
    const problems = async () => (await check(app.store)).flatMap((one) => one.problems);
    for (const title of ["One", "Two", "Three"]) await create(title, { labels: "UX,Testing" });
    await done(`PUT ${EPICS}/1`, { state_event: "close", remove_labels: "UX" });
    await done(`PUT ${EPICS}/2`, { confidential: true });
    await done(`DELETE ${EPICS}/3`);
    expect(await problems()).toEqual([]);
    await done(`DELETE ${GROUP}/labels/Testing`);
    await done(`PUT ${EPICS}/1`, { state_event: "reopen" });
    expect(await problems()).toEqual([]);
  });

  it("moves with its group, and goes with it", async () => {
    await create("Ship it");
    await done(`PUT ${GROUP}`, { path: "acme2" });
    expect(await done("GET /groups/acme2/epics/1")).toMatchObject({
      references: { full: "acme2&1" },
      web_url: "http://pm.test/groups/acme2/-/epics/1",
    });
    expect((await create("Next", {}, "acme2")).iid).toBe(2);
    await done("DELETE /groups/acme2");
    const [count] = await app.store.rows("select count(*) from issues");
    expect(Number(count?.[0])).toBe(0);
  });
});

it("of a group that is transferred has that group's label in place of one it cannot have", async () => {
  await create("Ship it", { labels: "UX" }, "acme/team");
  const { id } = await done("GET /groups/acme%2Fteam");
  await done(`POST /groups/${id}/transfer`, {});
  expect(await done("GET /groups/team/epics/1", undefined, "admin")).toMatchObject({
    labels: ["UX"],
    references: { full: "team&1" },
  });
  expect(
    await done("GET /groups/team/labels?only_group_labels=true", undefined, "admin"),
  ).toMatchObject([{ name: "UX", color: "#ff0000" }]);
});

describe("an epic has", () => {
  beforeEach(() => create("Ship it", { labels: "UX" }));

  it("notes and discussions, which are its group's", async () => {
    const note = await done(`POST ${EPICS}/1/notes`, { body: "Hi @guest\n/close" }, "guest");
    expect(note).toMatchObject({
      body: "Hi @guest\n/close",
      noteable_type: "Epic",
      noteable_iid: 1,
      project_id: null,
    });
    expect(await done(`GET ${EPICS}/1`)).toMatchObject({ state: "opened" });
    const [thread] = await done(`GET ${EPICS}/1/discussions`);
    const discussion = `${EPICS}/1/discussions/${thread.id}`;
    await done(`POST ${discussion}/notes`, { body: "A reply" });
    expect((await done(`GET ${discussion}`)).notes).toMatchObject([
      { body: "Hi @guest\n/close" },
      { body: "A reply", noteable_type: "Epic" },
    ]);
    await done(`PUT ${EPICS}/1/notes/${note.id}`, { body: "Changed" }, "guest");
    await done(`POST ${EPICS}/1/notes`, { body: "Internal", internal: true });
    const bodies = async (as: Person) =>
      (await done(`GET ${EPICS}/1/notes?sort=asc`, undefined, as)).map(
        ({ body }: { body: string }) => body,
      );
    expect(await bodies("guest")).toEqual(["Changed", "A reply"]);
    expect(await bodies("reporter")).toEqual(["Changed", "A reply", "Internal"]);
    expect((await send(`DELETE ${EPICS}/1/notes/${note.id}`, "guest")).status).toBe(204);
  });

  it("emoji, also on its notes", async () => {
    const emoji = await done(`POST ${EPICS}/1/award_emoji`, { name: "thumbsup" }, "guest");
    expect(emoji).toMatchObject({ name: "thumbsup", awardable_type: "Epic" });
    expect(await done(`GET ${EPICS}/1`)).toMatchObject({ upvotes: 1 });
    const note = await done(`POST ${EPICS}/1/notes`, { body: "A note" });
    const onNote = `${EPICS}/1/notes/${note.id}/award_emoji`;
    expect(await done(`POST ${onNote}`, { name: "tada" })).toMatchObject({
      awardable_type: "Note",
    });
    expect((await send(`DELETE ${EPICS}/1/award_emoji/${emoji.id}`, "guest")).status).toBe(204);
  });

  it("a history of labels and states", async () => {
    await done(`PUT ${EPICS}/1`, { remove_labels: "UX", state_event: "close" });
    expect(await done(`GET ${EPICS}/1/resource_label_events`)).toMatchObject([
      { action: "add", resource_type: "Epic", label: { name: "UX" } },
      { action: "remove", resource_type: "Epic" },
    ]);
    const [closed] = await done(`GET ${EPICS}/1/resource_state_events`);
    expect(closed).toMatchObject({ state: "closed", resource_type: "Epic" });
    expect(await done(`GET ${EPICS}/1/resource_state_events/${closed.id}`)).toEqual(closed);
  });

  it("to-do items and subscriptions", async () => {
    const todo = await done(`POST ${EPICS}/1/todo`, {}, "guest");
    const { id } = await done(`GET ${GROUP}`);
    expect(todo).toMatchObject({
      project: null,
      group: { id, full_path: "acme" },
      target_type: "Epic",
      target: { iid: 1, title: "Ship it" },
      target_url: "http://pm.test/groups/acme/-/epics/1",
    });
    expect((await send(`POST ${EPICS}/1/todo`, "guest")).status).toBe(304);
    await done(`POST ${EPICS}/1/notes`, { body: "@stranger @guest @reporter" });
    await create("Secret", { confidential: true, description: "@guest @reporter" });
    const own = (as: Person, query = "") => done(`GET /todos${query}`, undefined, as);
    expect(await own("guest", "?type=Epic")).toMatchObject([{ id: todo.id }]);
    expect(await own("guest", "?type=Issue")).toEqual([]);
    expect(await own("stranger")).toMatchObject([{ action_name: "directly_addressed" }]);
    expect(await own("reporter", "?type=Epic")).toMatchObject([
      { target: { title: "Secret" } },
      { target: { title: "Ship it" } },
    ]);
    await done(`POST /todos/${todo.id}/mark_as_done`, {}, "guest");
    expect(await own("guest")).toEqual([]);
    expect(await done(`POST ${EPICS}/1/subscribe`, {}, "guest")).toMatchObject({
      subscribed: true,
    });
    expect((await send(`POST ${EPICS}/1/subscribe`, "guest")).status).toBe(304);
    expect(await done(`POST ${EPICS}/1/unsubscribe`, {}, "guest")).toMatchObject({
      subscribed: false,
    });
  });
});

describe("the issues of an epic", () => {
  const SITE = "/projects/acme%2Fsite";

  it("are put below it, moved among each other, and taken away", async () => {
    const epic = await create("Ship it", { due_date: "2020-02-01" });
    const [first, second] = [await issue("First"), await issue("Second")];
    const put = await send(`POST ${EPICS}/1/issues/${first.id}`, "reporter");
    expect([put.status, put.json]).toMatchObject([
      201,
      { id: first.id, epic: { id: epic.id }, issue: { id: first.id, epic_iid: 1 } },
    ]);
    expect((await send(`POST ${EPICS}/1/issues/${first.id}`, "reporter")).status).toBe(409);
    await done(`POST ${EPICS}/1/issues/${second.id}`);
    expect(await done(`GET ${SITE}/issues/1`)).toMatchObject({
      epic_iid: 1,
      epic: {
        id: epic.id,
        iid: 1,
        title: "Ship it",
        url: "/groups/acme/-/epics/1",
        group_id: epic.group_id,
        human_readable_end_date: "Feb 1, 2020",
        human_readable_timestamp: "<strong>Past due</strong>",
      },
    });
    const listed = await done(`GET ${EPICS}/1/issues`);
    expect(listed).toMatchObject([
      { title: "First", epic_issue_id: first.id, relative_position: expect.any(Number) },
      { title: "Second", epic_issue_id: second.id },
    ]);
    const moved = await done(`PUT ${EPICS}/1/issues/${first.id}`, { move_before_id: second.id });
    expect(moved.map(({ title }: { title: string }) => title)).toEqual(["Second", "First"]);
    await done(`PUT ${EPICS}/1/issues/${first.id}`, { move_after_id: second.id });
    expect(await titles(`GET ${EPICS}/1/issues`)).toEqual(["First", "Second"]);
    const away = await send(`DELETE ${EPICS}/1/issues/${first.id}`, "reporter");
    expect([away.status, away.json]).toMatchObject([200, { issue: { title: "First" } }]);
    expect((await send(`DELETE ${EPICS}/1/issues/${first.id}`, "reporter")).status).toBe(404);
    expect(await done(`GET ${SITE}/issues/1`)).toMatchObject({ epic: null, epic_iid: null });
    expect(await titles(`GET ${EPICS}/1/issues`)).toEqual(["Second"]);
    const notes = await done(`GET ${SITE}/issues/1/notes?sort=asc`);
    expect(notes.map(({ body }: { body: string }) => body)).toEqual([
      "added &1 as parent epic",
      "removed parent epic &1",
    ]);
    expect(await done(`GET ${EPICS}/1/notes?sort=asc`)).toMatchObject([
      { body: "added #1 as child issue", system: true },
      { body: "added #2 as child issue" },
      { body: "removed child issue #1" },
    ]);
  });

  it("have one epic, which `epic_id` sets, finds and takes away", async () => {
    const [one, other] = [await create("One"), await create("Other")];
    const { id } = await issue("An issue", { epic_id: one.id });
    const of = (query: string) => titles(`GET ${SITE}/issues?${query}`);
    expect(await of(`epic_id=${one.id}`)).toEqual(["An issue"]);
    await done(`POST ${EPICS}/2/issues/${id}`);
    expect(await of(`epic_id=${one.id}`)).toEqual([]);
    expect(await of(`epic_id=${other.id}`)).toEqual(["An issue"]);
    expect(await of("epic_id=Any")).toEqual(["An issue"]);
    expect(await of("epic_id=None")).toEqual([]);
    expect(await done(`PUT ${SITE}/issues/1`, { epic_id: 0 })).toMatchObject({ epic: null });
    expect(await of("epic_id=None")).toEqual(["An issue"]);
    expect(await done(`PUT ${SITE}/issues/1`, { epic_id: one.id })).toMatchObject({
      epic: { title: "One" },
    });
    // The epic goes, the issue stays; a copy in another project keeps its epic.
    const { id: site } = await done("GET /projects/secret%2Fvault");
    expect(await done(`POST ${SITE}/issues/1/move`, { to_project_id: site })).toMatchObject({
      epic: { title: "One" },
    });
    await done(`DELETE ${EPICS}/1`);
    expect(await done("GET /projects/secret%2Fvault/issues/1")).toMatchObject({ epic: null });
    const unknown = await send(`PUT ${SITE}/issues/1`, "owner", { epic_id: 999 });
    expect(unknown.status).toBe(400);
  });

  it("show their epic to those who may read it", async () => {
    const epic = await create("Plans", {}, "secret");
    await issue("An issue", { epic_id: epic.id });
    const shown = async (as: Person) => (await send(`GET ${SITE}/issues/1`, as)).json.epic;
    expect(await shown("guest")).toMatchObject({ title: "Plans" });
    expect(await shown("stranger")).toBeNull();
    expect(await shown("anonymous")).toBeNull();
    expect(await titles(`GET ${SITE}/issues?epic_id=${epic.id}`, "guest")).toEqual(["An issue"]);
    expect(await titles(`GET ${SITE}/issues?epic_id=${epic.id}`, "anonymous")).toEqual([]);
    await create("Open");
    await done(`POST ${EPICS}/1/issues/${(await issue("Core", {}, "acme/team/core")).id}`);
    expect(await titles(`GET ${EPICS}/1/issues`)).toEqual(["Core"]);
    expect(await titles(`GET ${EPICS}/1/issues`, "stranger")).toEqual([]);
  });

  it("are put there by those who may change both", async () => {
    const epic = await create("Ship it");
    const mine = await done(`POST ${SITE}/issues`, { title: "Mine" }, "stranger");
    expect((await send(`POST ${EPICS}/1/issues/${mine.id}`, "stranger")).status).toBe(403);
    expect((await send(`POST ${EPICS}/1/issues/${mine.id}`, "guest")).status).toBe(403);
    const put = await send(`PUT ${SITE}/issues/1`, "stranger", { epic_id: epic.id });
    expect(put.status).toBe(403);
    expect((await send(`POST ${EPICS}/1/issues/999`, "owner")).status).toBe(404);
    const task = await issue("A task", { issue_type: "task" });
    const refused = await send(`POST ${EPICS}/1/issues/${task.id}`, "owner");
    expect([refused.status, refused.text]).toEqual([
      400,
      expect.stringContaining("it's not allowed to add this type of parent item"),
    ]);
    await done(`PUT ${EPICS}/1`, { confidential: true });
    const open = await send(`POST ${EPICS}/1/issues/${mine.id}`, "owner");
    expect([open.status, open.text]).toEqual([
      400,
      expect.stringContaining("non-confidential issue to a confidential parent"),
    ]);
  });
});

describe("epics below an epic", () => {
  it("are made there, put there, moved and taken away", async () => {
    const parent = await create("Parent");
    const child = await done(`POST ${EPICS}/1/epics`, { title: "Child" });
    expect(child).toMatchObject({
      parent_id: parent.id,
      parent_iid: 1,
      _links: { parent: parent._links.self },
    });
    const other = await create("Other", {}, "acme/team");
    const put = await send(`POST ${EPICS}/1/epics/${other.id}`, "reporter");
    expect([put.status, put.json]).toMatchObject([201, { id: other.id, parent_iid: 1 }]);
    expect((await send(`POST ${EPICS}/1/links/${other.id}`, "reporter")).status).toBe(409);
    const moved = await done(`PUT ${EPICS}/1/epics/${other.id}`, { move_after_id: child.id });
    expect(moved).toMatchObject([
      { title: "Other", has_children: false, has_issues: false },
      { title: "Child" },
    ]);
    expect(await titles(`GET ${EPICS}/1/links`)).toEqual(["Other", "Child"]);
    expect(await titles(`GET ${EPICS}/1/epics`, "stranger")).toEqual(["Child"]);
    const away = await send(`DELETE ${EPICS}/1/epics/${other.id}`, "reporter");
    expect([away.status, away.json]).toMatchObject([200, { title: "Other", parent_id: null }]);
    expect(await done(`PUT ${EPICS}/2`, { parent_id: null })).toMatchObject({ parent_id: null });
    expect(await titles(`GET ${EPICS}/1/epics`)).toEqual([]);
  });

  it("say whether something that the reader may read is below them", async () => {
    await create("Parent");
    const child = await done(`POST ${EPICS}/1/epics`, { title: "Child" });
    const below = (who: Person) => done(`GET ${EPICS}/1/epics`, undefined, who);
    await done(
      `POST ${EPICS}/${child.iid}/issues/${(await issue("Core", {}, "acme/team/core")).id}`,
    );
    await done(`POST ${EPICS}/${child.iid}/epics/${(await create("Other", {}, "acme/team")).id}`);
    expect(await below("owner")).toMatchObject([{ has_children: true, has_issues: true }]);
    expect(await below("stranger")).toMatchObject([{ has_children: false, has_issues: false }]);
  });

  it("are at most seven deep, and never below themselves", async () => {
    let parent = await create("1");
    for (const level of [2, 3, 4, 5, 6, 7]) {
      parent = await create(String(level), { parent_id: parent.id });
    }
    const deeper = await send(`POST ${EPICS}/7/epics`, "owner", { title: "8" });
    expect([deeper.status, deeper.json.message]).toEqual([
      409,
      "This epic cannot be added. One or more epics would exceed the maximum depth (7) from its most distant ancestor.",
    ]);
    const other = await create("Other");
    const above = await send(`PUT ${EPICS}/1`, "owner", { parent_id: other.id });
    expect(above.status).toBe(409);
    const itself = await send(`PUT ${EPICS}/1`, "owner", { parent_id: parent.id });
    expect([itself.status, itself.text]).toEqual([400, expect.stringContaining("ancestor")]);
  });
});

describe("related epics", () => {
  it("are linked in both directions, shown where they can be read, and unlinked", async () => {
    const one = await create("One");
    const other = await create("Other", {}, "secret");
    const secret = await done("GET /groups/secret");
    const target = { target_group_id: secret.id, target_epic_iid: 1, link_type: "blocks" };
    const linked = await send(`POST ${EPICS}/1/related_epics`, "reporter", target);
    expect([linked.status, linked.json]).toMatchObject([
      201,
      {
        source_epic: { id: one.id },
        target_epic: { id: other.id },
        link_type: "blocks",
        created_at: expect.any(String),
        updated_at: expect.any(String),
      },
    ]);
    const { id } = linked.json;
    expect(await done(`GET ${EPICS}/1/related_epics`)).toMatchObject([
      {
        title: "Other",
        related_epic_link_id: id,
        link_type: "blocks",
        link_created_at: linked.json.created_at,
        link_updated_at: linked.json.updated_at,
      },
    ]);
    expect(await done("GET /groups/secret/epics/1/related_epics")).toMatchObject([
      { title: "One", link_type: "is_blocked_by" },
    ]);
    expect(await done(`GET ${GROUP}/related_epic_links`)).toEqual([linked.json]);
    expect(await done(`GET ${GROUP}/related_epic_links?created_before=2020-01-01`)).toEqual([]);
    for (const as of ["stranger", "anonymous"] as const) {
      expect(await done(`GET ${EPICS}/1/related_epics`, undefined, as)).toEqual([]);
      expect(await done(`GET ${GROUP}/related_epic_links`, undefined, as)).toEqual([]);
    }
    const again = await send(`POST ${EPICS}/1/related_epics`, "owner", target);
    expect(again.status).toBe(409);
    const own = { target_group_id: "acme", target_epic_iid: 1 };
    expect((await send(`POST ${EPICS}/1/related_epics`, "owner", own)).status).toBe(400);
    const none = { target_group_id: "acme", target_epic_iid: 9 };
    expect((await send(`POST ${EPICS}/1/related_epics`, "owner", none)).status).toBe(404);
    expect((await send(`POST ${EPICS}/1/related_epics`, "guest", target)).status).toBe(403);
    const below = await send(`PUT ${EPICS}/1`, "owner", { parent_id: other.id });
    expect([below.status, below.text]).toEqual([400, expect.stringContaining("linked work item")]);
    expect((await send(`DELETE ${EPICS}/1/related_epics/${id}`, "guest")).status).toBe(403);
    const gone = await send(`DELETE ${EPICS}/1/related_epics/${id}`, "reporter");
    expect([gone.status, gone.json]).toEqual([200, linked.json]);
    expect((await send(`DELETE ${EPICS}/1/related_epics/${id}`, "reporter")).status).toBe(404);
    expect(await done(`GET ${GROUP}/related_epic_links`)).toEqual([]);
  });
});

it("GraphQL knows epics as work items, not as issues", async () => {
  const { id } = await create("Ship it");
  const below = await issue("Below", { epic_id: id });
  const ask = async (query: string) => {
    const answer = await app.call("POST /api/graphql", { as: "owner", json: { query } });
    return [answer.status, answer.json];
  };
  const [item, child] = [id, below.id].map((one) => `gid://gitlab/WorkItem/${one}`);
  expect(
    await ask(`{ issue(id: "gid://gitlab/Issue/${id}") { id }
      group(fullPath: "acme") { issues { nodes { title } } } }`),
  ).toEqual([200, { data: { issue: null, group: { issues: { nodes: [{ title: "Below" }] } } } }]);
  for (const mutation of [
    `workItemsReorder(input: {id: "${item}", moveBeforeId: "${child}"})`,
    `workItemAddLinkedItems(input: {id: "${child}", workItemsIds: ["${item}"]})`,
    `timelogCreate(input: {issuableId: "gid://gitlab/Issue/${id}", timeSpent: "1h", summary: ""})`,
    `workItemBulkMove(input: {ids: ["${item}"], sourceFullPath: "acme", targetFullPath: "acme/team"})`,
  ]) {
    const [status, json] = (await ask(`mutation { ${mutation} { errors } }`)) as [number, object];
    expect([mutation, status, JSON.stringify(json)]).toEqual([
      mutation,
      200,
      expect.stringMatching(/does not exist or you don't have permission|with epics only/),
    ]);
  }
  expect(await done(`GET ${EPICS}/1`)).toMatchObject({ title: "Ship it", state: "opened" });
  expect(await titles(`GET ${EPICS}/1/issues`)).toEqual(["Below"]);
});
