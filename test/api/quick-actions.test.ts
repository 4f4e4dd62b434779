import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { dayIn } from "../../src/resources/quick-actions/arguments.ts";
import { parse } from "../../src/resources/quick-actions/parse.ts";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { expectLinear } from "../relative-time.ts";

let app: TestApp;
const SITE = "/projects/acme%2Fsite";

beforeAll(async () => {
  app = await testApp();
  await app.call(`POST ${SITE}/milestones`, { as: "owner", json: { title: "Version 1" } });
});
afterAll(() => app.dispose());

let branch = 0;
async function create(path: string, json: object = {}, as: Person = "developer") {
  branch += 1;
  const made = await app.call(`POST ${SITE}/${path}`, {
    as,
    json: { title: "Work", source_branch: `b${branch}`, target_branch: "main", ...json },
  });
  expect(made.status, made.text).toBe(201);
  return { at: `${SITE}/${path}/${made.json.iid}`, json: made.json };
}

const write = (at: string, body: string, as: Person = "developer", where = "notes") =>
  app.call(`POST ${at}/${where}`, { as, json: { body } });
const show = async (at: string, as: Person = "owner") => (await app.call(`GET ${at}`, { as })).json;

describe.each(["issues", "merge_requests"])("commands in notes on %s", (path) => {
  it("change it, and a note of nothing but commands is none", async () => {
    const { at } = await create(path);
    const lines = [
      "/label ~UX Testing ~unknown",
      '/milestone %"Version 1"',
      "/estimate 1d 2h",
      "/spend 30m 2026-01-02",
      "/assign me @guest",
      "/title Better work",
      "/lock",
    ];
    const { status, json, text } = await write(at, lines.join("\n"), "owner");
    expect(status, text).toBe(202);
    expect(json.commands_changes).toMatchObject({
      add_label_ids: [expect.any(Number), expect.any(Number)],
      time_estimate: 36_000,
      spend_time: { duration: 1800, spent_at: "2026-01-02" },
      discussion_locked: true,
      title: "Better work",
    });
    expect(json.summary).toHaveLength(lines.length);
    const [spent] = await app.store.rows("select spent_at from timelogs order by id desc limit 1");
    expect(spent?.[0]).toBe(Date.parse("2026-01-02"));
    const future = await write(at, "/spend 1h 2999-01-01", "owner");
    expect([future.status, future.json.message]).toEqual([400, expect.stringContaining("Failed")]);
    const shown = await show(at);
    expect(shown).toMatchObject({
      title: "Better work",
      labels: ["Testing", "UX"],
      discussion_locked: true,
      milestone: { title: "Version 1" },
      time_stats: { time_estimate: 36_000, total_time_spent: 1800 },
    });
    const assignees = shown.assignees.map(({ username }: { username: string }) => username);
    expect(assignees.sort()).toEqual(["guest", "owner"]);
    expect((await app.call(`GET ${at}/notes`, { as: "guest" })).json).toEqual([]);
  });

  it("close and reopen it, and take back what others did", async () => {
    const { at } = await create(path, { labels: "UX,Testing" });
    expect((await write(at, "/close", "developer")).json).toEqual({
      commands_changes: { state_event: "close" },
      summary: [`Closed this ${path === "issues" ? "issue" : "merge request"}.`],
    });
    expect(await show(at)).toMatchObject({ state: "closed" });
    const again = await write(at, "/close", "developer");
    expect([again.status, again.json.message]).toEqual([
      400,
      "400 Bad request - Failed to apply commands.",
    ]);
    if (path === "issues") {
      expect((await write(at, "/reopen", "developer")).status).toBe(202);
      expect(await show(at)).toMatchObject({ state: "opened" });
    }
    await write(at, "/assign @guest @reporter", "developer");
    await write(at, "/unassign @guest\n/unlabel ~UX", "developer");
    expect(await show(at)).toMatchObject({
      labels: ["Testing"],
      assignees: [{ username: "reporter" }],
    });
    await write(at, "/reassign @guest\n/relabel Development", "developer");
    expect(await show(at)).toMatchObject({
      labels: ["Development"],
      assignees: [{ username: "guest" }],
    });
    await write(at, "/unassign\n/unlabel\n/remove_milestone", "developer");
    expect(await show(at)).toMatchObject({ labels: [], assignees: [], milestone: null });
  });

  it("are cut out of other text, outside of code and quotes", async () => {
    const { at } = await create(path);
    const body = "Done.\n/label ~UX\n```\n/close\n```\n>>>\n/close\n>>>\n/unknown\n /close";
    const { status, json } = await write(at, body);
    expect([status, json.body]).toEqual([201, body.replace("/label ~UX\n", "")]);
    expect(await show(at)).toMatchObject({ labels: ["UX"], state: "opened" });
  });

  it("work in discussions and replies", async () => {
    const { at } = await create(path);
    const begun = await write(at, "First\n/label ~UX", "developer", "discussions");
    expect([begun.status, begun.json.notes[0].body]).toEqual([201, "First"]);
    const where = `discussions/${begun.json.id}/notes`;
    expect((await write(at, "/unlabel ~UX\n/label ~Testing", "developer", where)).status).toBe(202);
    expect(await show(at)).toMatchObject({ labels: ["Testing"] });
    const { json } = await app.call(`GET ${at}/discussions/${begun.json.id}`, { as: "guest" });
    expect(json.notes).toHaveLength(1);
  });

  it("are left out for those who may not", async () => {
    const { at } = await create(path);
    const lines = "/label ~UX\n/assign me\n/estimate 1h\n/close\n/title Mine\n/lock\n/spend 1h";
    for (const as of ["guest", "stranger"] as const) {
      expect((await write(at, lines, as)).status).toBe(400);
    }
    expect((await write(at, `Hello\n${lines}`, "stranger")).json.body).toBe("Hello");
    expect((await write(at, lines, "anonymous")).status).toBe(401);
    expect(await show(at)).toMatchObject({
      title: "Work",
      state: "opened",
      labels: [],
      assignees: [],
      time_stats: { time_estimate: 0, total_time_spent: 0 },
    });
  });

  it("subscribe, react and make todos for who writes them", async () => {
    const { at } = await create(path);
    expect((await write(at, "/subscribe\n/todo\n/award :tada:", "guest")).json.summary).toEqual([
      expect.stringContaining("Subscribed"),
      expect.stringContaining("Added a to-do item"),
      "Toggled :tada: emoji award.",
    ]);
    expect(await show(at, "guest")).toMatchObject({ subscribed: true });
    const { json: emoji } = await app.call(`GET ${at}/award_emoji`, { as: "guest" });
    expect(emoji).toMatchObject([{ name: "tada", user: { username: "guest" } }]);
    const pending = async () =>
      (await app.call("GET /todos?action=marked", { as: "guest" })).json.length;
    // Giving an emoji has already marked it as done, as everywhere.
    expect(await pending()).toBe(0);
    await write(at, "/todo", "guest");
    expect(await pending()).toBe(1);
    expect((await write(at, "/done\n/award tada\n/unsubscribe", "guest")).status).toBe(202);
    expect(await pending()).toBe(0);
    expect((await app.call(`GET ${at}/award_emoji`, { as: "guest" })).json).toEqual([]);
    expect(await show(at, "guest")).toMatchObject({ subscribed: false });
  });

  it("work in changed notes, for those who may change them", async () => {
    const { at } = await create(path);
    const { json } = await write(at, "Text", "reporter");
    const change = (body: string, as: Person) =>
      app.call(`PUT ${at}/notes/${json.id}`, { as, json: { body } });
    const changed = await change("Other text\n/todo", "reporter");
    expect([changed.status, changed.json.body]).toEqual([200, "Other text"]);
    const only = await change("/done", "reporter");
    expect([only.status, only.json.summary.length]).toEqual([202, 1]);
    expect((await change("/done", "guest")).status).toBe(403);
    const shown = await app.call(`GET ${at}/notes/${json.id}`, { as: "guest" });
    expect(shown.json.body).toBe("Other text");
  });

  it("work in descriptions", async () => {
    const { at, json } = await create(path, { description: "Text\n/label ~UX\n/assign me" });
    expect(json).toMatchObject({
      description: "Text",
      labels: ["UX"],
      assignees: [{ username: "developer" }],
    });
    const changed = await app.call(`PUT ${at}`, {
      as: "developer",
      json: { description: "/close\nOther" },
    });
    expect(changed.json).toMatchObject({ description: "Other", state: "closed" });
  });
});

describe("commands for issues", () => {
  it("set days, weights and whether it is confidential", async () => {
    const { at } = await create("issues");
    await write(at, "/due 2027-02-28\n/confidential", "reporter");
    expect(await show(at)).toMatchObject({ due_date: "2027-02-28", confidential: true });
    expect((await write(at, "/due 2027-02-30\n/due sometime", "reporter")).status).toBe(400);
    await write(at, "/due in 2 days", "reporter");
    expect((await show(at)).due_date).not.toBe("2027-02-28");
    await write(at, "/remove_due_date", "reporter");
    expect(await show(at)).toMatchObject({ due_date: null });
  });

  it("link it, mark it as a duplicate and move it", async () => {
    const { json: other } = await create("issues");
    const { at } = await create("issues");
    expect((await write(at, `/duplicate #${other.iid}`)).status).toBe(202);
    expect(await show(at)).toMatchObject({ state: "closed" });
    expect((await app.call(`GET ${at}/links`, { as: "guest" })).json).toMatchObject([
      { iid: other.iid },
    ]);
    const { json: project } = await app.call("POST /projects", {
      as: "reporter",
      json: { name: "Elsewhere" },
    });
    const { at: moving } = await create("issues", {}, "reporter");
    const { status, text } = await write(
      moving,
      `/move ${project.path_with_namespace}`,
      "reporter",
    );
    expect(status, text).toBe(202);
    expect(await show(moving)).toMatchObject({ state: "closed" });
    const moved = await app.call(`GET /projects/${project.id}/issues`, { as: "reporter" });
    expect(moved.json).toMatchObject([{ title: "Work", state: "opened" }]);
    expect((await write(moving, "/move no/where")).status).toBe(400);
    expect((await write(moving, "/merge")).status).toBe(201);
  });
});

describe("commands for merge requests", () => {
  it("mark it as a draft, approve it, ask for reviews and merge it", async () => {
    const { at } = await create("merge_requests");
    await write(at, "/draft\n/assign_reviewer @reporter", "developer");
    expect(await show(at)).toMatchObject({
      title: "Draft: Work",
      draft: true,
      reviewers: [{ username: "reporter" }],
    });
    await write(at, "/ready\n/unassign_reviewer", "developer");
    expect(await show(at)).toMatchObject({ title: "Work", draft: false, reviewers: [] });
    expect((await write(at, "/merge", "guest")).status).toBe(400);
    expect((await write(at, "/approve", "maintainer")).status).toBe(202);
    expect((await app.call(`GET ${at}/approvals`, { as: "owner" })).json.approved_by).toMatchObject(
      [{ user: { username: "maintainer" } }],
    );
    const mergeAt = (merge_request_diff_head_sha: string) =>
      app.call(`POST ${at}/notes`, {
        as: "maintainer",
        json: { body: "/merge", merge_request_diff_head_sha },
      });
    expect((await mergeAt("0".repeat(40))).status).toBe(400);
    expect(await show(at)).toMatchObject({ state: "opened" });
    const merged = await mergeAt((await show(at)).sha);
    expect(merged.status, merged.text).toBe(202);
    expect(await show(at)).toMatchObject({ state: "merged" });
  });
});

it("drafts perform their commands when they are published", async () => {
  const { at } = await create("merge_requests");
  const draft = async (note: string) =>
    (await app.call(`POST ${at}/draft_notes`, { as: "developer", json: { note } })).json.id;
  const bodies = async () =>
    (await app.call(`GET ${at}/notes`, { as: "guest" })).json.map(
      ({ body }: { body: string }) => body,
    );
  const id = await draft("First\n/label ~UX");
  expect(await show(at)).toMatchObject({ labels: [] });
  const published = await app.call(`PUT ${at}/draft_notes/${id}/publish`, { as: "developer" });
  expect([published.status, published.text]).toEqual([204, ""]);
  expect(await show(at)).toMatchObject({ labels: ["UX"] });
  await draft("/label ~Testing");
  await draft("Second\n/draft");
  const { status } = await app.call(`POST ${at}/draft_notes/bulk_publish`, { as: "developer" });
  expect([status, await bodies()]).toEqual([204, ["Second", "First"]]);
  expect(await show(at)).toMatchObject({ labels: ["Testing", "UX"], draft: true });
});

// 2026-11-25 is a Wednesday.
it.each([
  ["2026-12-24", "2026-12-24"],
  ["2026-02-30", undefined],
  ["today", "2026-11-25"],
  ["Tomorrow", "2026-11-26"],
  ["in 2 days", "2026-11-27"],
  ["in 3 months", "2027-02-25"],
  ["next week", "2026-12-02"],
  ["next month", "2026-12-25"],
  ["next year", "2027-11-25"],
  ["friday", "2026-11-27"],
  ["this Fri", "2026-11-27"],
  ["next monday", "2026-11-30"],
  ["wednesday", "2026-12-02"],
  ["December 31st", "2026-12-31"],
  ["31 dec", "2026-12-31"],
  ["nov 25", "2026-11-25"],
  ["Jan 2nd", "2027-01-02"],
  ["Dec 31, 2028", "2028-12-31"],
  ["february 29 2027", undefined],
  ["feb 30", undefined],
  ["someday", undefined],
  ["may", undefined],
])("/due %s is %s", (argument, day) => {
  expect(dayIn(argument, "2026-11-25")).toBe(day);
});

it("GraphQL performs them, too", async () => {
  const { at, json } = await create("issues");
  const query = `mutation { createNote(input: { noteableId: "gid://gitlab/Issue/${json.id}", body: "/close" }) { note { id } errors } }`;
  const answer = await app.call("POST /api/graphql", { as: "developer", json: { query } });
  expect(answer.json.data.createNote).toEqual({ note: null, errors: [] });
  expect(await show(at)).toMatchObject({ state: "closed" });
});

it("texts are parsed in linear time, and further commands stay in the text", async () => {
  const isKnown = (name: string) => name === "close";
  expect(parse("/close\r\nText\r\n/CLOSE now\r\n", isKnown)).toEqual({
    text: "Text",
    commands: [
      { name: "close", argument: "" },
      { name: "close", argument: "now" },
    ],
  });
  const { text, commands } = parse("/close\n".repeat(60), isKnown);
  expect([commands.length, text.split("\n").length]).toEqual([50, 10]);
  for (const part of ["/close \t", "/c", "/close\n", "`/\n", ">>>\n", "/ "]) {
    await expectLinear((times) => parse(part.repeat(times), isKnown), 100_000, part);
  }
});
