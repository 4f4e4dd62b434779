import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PAGE_LIMITS } from "../../src/core/pagination.ts";
import { createApp } from "../../src/index.ts";
import { ISSUE } from "../../src/resources/issuables/issue.ts";
import { list } from "../../src/resources/issuables/list.ts";
import { openStore } from "../../src/store/open.ts";
import type { Reader } from "../../src/store/port.ts";
import { type CallOptions, newDatabase, type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

const SITE = "acme%2Fsite";
const CORE = "acme%2Fteam%2Fcore";

async function newIssue(
  as: Person,
  json: Record<string, unknown> = {},
  project: string | number = SITE,
) {
  const answer = await app.call(`POST /projects/${project}/issues`, {
    as,
    json: { title: "Something is wrong", ...json },
  });
  expect(answer.status, answer.text).toBe(201);
  return answer.json;
}

/** Creates a public project of its own below `acme`. */
async function newProject(name: string, as: Person = "owner") {
  const { json: group } = await app.call("GET /groups/acme", { as });
  const { json, status } = await app.call("POST /projects", {
    as,
    json: { name, namespace_id: group.id, visibility: "public" },
  });
  expect(status).toBe(201);
  return json.id as number;
}

const userId = async (person: Person) => (await app.call("GET /user", { as: person })).json.id;

const titles = (answer: { json: { title: string }[] }) => answer.json.map(({ title }) => title);

describe("an issue", () => {
  it("is answered when it is created as it is afterwards, planned or not", async () => {
    const reporter = await userId("reporter");
    for (const planned of [
      {},
      { description: "For @developer, #1" },
      { labels: "one,two" },
      { add_labels: "three" },
      { assignee_id: reporter },
      { assignee_ids: [reporter] },
      { labels: "", assignee_ids: [] },
    ]) {
      for (const as of ["owner", "guest"] as const) {
        const made = await newIssue(as, planned);
        const { json } = await app.call(`GET /projects/${SITE}/issues/${made.iid}`, { as });
        expect(made).toEqual(json);
      }
    }
  });

  it("has GitLab's fields, in lists without `subscribed`", async () => {
    const { json: milestone } = await app.call(`POST /projects/${SITE}/milestones`, {
      as: "developer",
      json: { title: "m1", due_date: "2027-01-01" },
    });
    const reporter = await userId("reporter");
    const made = await newIssue("developer", {
      description: "Long",
      labels: "UX,brand new",
      assignee_ids: [reporter],
      milestone_id: milestone.id,
      due_date: "2027-02-03",
      weight: 3,
    });
    const { id: projectId } = (await app.call(`GET /projects/${SITE}`)).json;
    const link = `http://pm.test/api/v4/projects/${projectId}/issues/${made.iid}`;
    const listed = {
      id: expect.any(Number),
      iid: made.iid,
      project_id: projectId,
      title: "Something is wrong",
      description: "Long",
      state: "opened",
      created_at: expect.stringMatching(/Z$/),
      updated_at: expect.stringMatching(/Z$/),
      closed_at: null,
      closed_by: null,
      labels: ["UX", "brand new"],
      milestone: expect.objectContaining({ id: milestone.id, project_id: projectId, title: "m1" }),
      assignees: [expect.objectContaining({ username: "reporter" })],
      assignee: expect.objectContaining({ username: "reporter" }),
      author: {
        id: expect.any(Number),
        name: "The developer",
        username: "developer",
        state: "active",
        avatar_url: expect.any(String),
        web_url: "http://pm.test/developer",
      },
      user_notes_count: 0,
      merge_requests_count: 0,
      upvotes: 0,
      downvotes: 0,
      start_date: null,
      due_date: "2027-02-03",
      confidential: false,
      discussion_locked: false,
      web_url: `http://pm.test/acme/site/-/issues/${made.iid}`,
      time_stats: {
        time_estimate: 0,
        total_time_spent: 0,
        human_time_estimate: null,
        human_total_time_spent: null,
      },
      weight: 3,
      type: "ISSUE",
      issue_type: "issue",
      severity: "UNKNOWN",
      references: {
        short: `#${made.iid}`,
        relative: `#${made.iid}`,
        full: `acme/site#${made.iid}`,
      },
      task_completion_status: { count: 0, completed_count: 0 },
      has_tasks: false,
      moved_to_id: null,
      epic: null,
      epic_iid: null,
      iteration: null,
      health_status: null,
      imported: false,
      imported_from: "none",
      service_desk_reply_to: null,
      _links: {
        self: link,
        notes: `${link}/notes`,
        award_emoji: `${link}/award_emoji`,
        project: `http://pm.test/api/v4/projects/${projectId}`,
        closed_as_duplicate_of: null,
      },
    };
    const single = {
      ...listed,
      subscribed: true,
      blocking_issues_count: 0,
    };
    expect(made).toEqual(single);
    const got = await app.call(`GET /projects/${SITE}/issues/${made.iid}`, { as: "developer" });
    expect(got.json).toEqual(single);
    const { json } = await app.call(`GET /projects/${SITE}/issues?iids[]=${made.iid}`);
    expect(json).toEqual([listed]);
  });

  it("has no weight in the free tier, and null by default in higher ones", async () => {
    expect(await newIssue("reporter")).toHaveProperty("weight", null);
    const free = await testApp({ tier: "free" });
    const { json } = await free.call(`POST /projects/${SITE}/issues`, {
      as: "developer",
      json: { title: "light", weight: 5 },
    });
    expect(json).not.toHaveProperty("weight");
    await free.dispose();
  });

  it("is numbered within its project, and found only by that number", async () => {
    const other = await newProject("counted");
    expect((await newIssue("guest", {}, other)).iid).toBe(1);
    const second = await newIssue("guest", {}, other);
    expect(second.iid).toBe(2);
    expect(second.id).not.toBe(2);
    const { status, json } = await app.call(`GET /projects/${other}/issues/${second.id + 1000}`);
    expect([status, json]).toEqual([404, { message: "404 Not found" }]);
    expect((await app.call(`GET /projects/${other}/issues/nope`)).status).toBe(400);
  });

  it.each<[Record<string, unknown>, unknown]>([
    [{}, '400 (Bad request) "title" not given'],
    [{ title: "" }, { title: ["can't be blank"] }],
    [{ title: "x".repeat(256) }, { title: ["is too long (maximum is 255 characters)"] }],
    [{ title: "x", confidential: "foo" }, { confidential: ["is invalid"] }],
    [{ title: "x", due_date: "2027-02-30" }, { due_date: ["is invalid"] }],
    [{ title: "x", weight: -1 }, { weight: ["is invalid"] }],
    [{ title: "x", labels: "y".repeat(256) }, { labels: [expect.stringMatching(/too long/)] }],
    [{ title: "x", created_at: "yesterday" }, { created_at: ["is invalid"] }],
  ])("is refused as %j", async (json, message) => {
    const answer = await app.call(`POST /projects/${SITE}/issues`, { as: "developer", json });
    expect([answer.status, answer.json]).toEqual([400, { message }]);
  });

  it("is planned by reporters; planning attributes sent by guests are ignored", async () => {
    const guest = await userId("guest");
    const json = { labels: "UX,guests", assignee_ids: [guest], due_date: "2027-01-01", weight: 1 };
    const made = await newIssue("guest", { ...json, discussion_locked: true });
    expect(made).toMatchObject({
      labels: [],
      assignees: [],
      due_date: null,
      weight: null,
      discussion_locked: false,
    });
    expect((await app.call(`GET /projects/${SITE}/labels/guests`, { as: "guest" })).status).toBe(
      404,
    );
    const by = await app.call(`PUT /projects/${SITE}/issues/${made.iid}`, { as: "reporter", json });
    expect(by.json).toMatchObject({ labels: ["UX", "guests"], assignee: { username: "guest" } });
  });

  it("can be backdated by owners", async () => {
    const created_at = "2025-03-04T05:06:07Z";
    expect((await newIssue("owner", { created_at })).created_at).toBe("2025-03-04T05:06:07.000Z");
    expect((await newIssue("maintainer", { created_at })).created_at).not.toMatch(/^2025/);
  });

  it.each<[Person, number]>([
    ["anonymous", 401],
    ["stranger", 201],
    ["guest", 201],
    ["reporter", 201],
    ["admin", 201],
  ])("in a public project is created by %s: %i", async (as, status) => {
    const options: CallOptions = { as, json: { title: "by role" } };
    expect((await app.call(`POST /projects/${SITE}/issues`, options)).status).toBe(status);
  });

  it.each<[Person, number, number]>([
    ["anonymous", 404, 401],
    ["stranger", 404, 404],
    ["guest", 200, 201],
    ["admin", 200, 201],
  ])("in a private project is for %s: list %i, create %i", async (as, list, make) => {
    const path = "/projects/secret%2Fvault/issues";
    expect((await app.call(`GET ${path}`, { as })).status).toBe(list);
    expect((await app.call(`POST ${path}`, { as, json: { title: "x" } })).status).toBe(make);
  });
});

describe("changing an issue", () => {
  it("requires at least one attribute", async () => {
    const { iid } = await newIssue("reporter");
    const answer = await app.call(`PUT /projects/${SITE}/issues/${iid}`, { as: "reporter" });
    expect(answer.status).toBe(400);
    expect(answer.json.message).toMatch(/^400 \(Bad request\) title, .*at least one parameter/);
  });

  it.each<[Person, number]>([
    ["anonymous", 401],
    ["stranger", 403],
    ["guest", 403],
    ["reporter", 200],
    ["developer", 200],
    ["maintainer", 200],
    ["owner", 200],
    ["admin", 200],
  ])("by %s: %i", async (as, status) => {
    const { iid } = await newIssue("owner");
    const path = `/projects/${SITE}/issues/${iid}`;
    expect((await app.call(`PUT ${path}`, { as, json: { title: "New" } })).status).toBe(status);
  });

  it("is also allowed for its author and assignees", async () => {
    const { iid } = await newIssue("stranger");
    const path = `/projects/${SITE}/issues/${iid}`;
    const own = await app.call(`PUT ${path}`, { as: "stranger", json: { title: "Mine" } });
    expect([own.status, own.json.title]).toEqual([200, "Mine"]);
    const json = { assignee_id: await userId("guest") };
    expect((await app.call(`PUT ${path}`, { as: "reporter", json })).status).toBe(200);
    const guest = await app.call(`PUT ${path}`, { as: "guest", json: { state_event: "close" } });
    expect([guest.status, guest.json.state]).toEqual([200, "closed"]);
  });

  it("closes and reopens", async () => {
    const { iid } = await newIssue("reporter");
    const path = `/projects/${SITE}/issues/${iid}`;
    const closed = await app.call(`PUT ${path}`, { as: "owner", json: { state_event: "close" } });
    expect(closed.json).toMatchObject({
      state: "closed",
      closed_at: expect.any(String),
      closed_by: { username: "owner" },
    });
    const open = await app.call(`PUT ${path}?state_event=reopen`, { as: "owner" });
    expect(open.json).toMatchObject({ state: "opened", closed_at: null, closed_by: null });
    const wrong = await app.call(`PUT ${path}`, { as: "owner", json: { state_event: "explode" } });
    expect([wrong.status, wrong.json]).toEqual([
      400,
      { message: { state_event: ["does not have a valid value"] } },
    ]);
  });

  it("adds, removes and clears labels", async () => {
    const { iid } = await newIssue("reporter", { labels: ["a", "b"] });
    const put = async (json: object) =>
      (await app.call(`PUT /projects/${SITE}/issues/${iid}`, { as: "reporter", json })).json.labels;
    expect(await put({ add_labels: "c", remove_labels: "a" })).toEqual(["b", "c"]);
    expect(await put({ title: "Labels stay" })).toEqual(["b", "c"]);
    expect(await put({ labels: "UX" })).toEqual(["UX"]);
    expect(await put({ labels: "" })).toEqual([]);
  });

  it("clears milestone, assignees and due date; a milestone from elsewhere clears it", async () => {
    const { json: groups } = await app.call("GET /groups/acme/milestones", { as: "guest" });
    const { json: foreign } = await app.call("POST /groups/secret/milestones", {
      as: "owner",
      json: { title: "far" },
    });
    const { iid } = await newIssue("reporter", {
      milestone_id: groups[0].id,
      assignee_id: await userId("guest"),
      due_date: "2027-01-01",
    });
    const put = async (json: object) =>
      (await app.call(`PUT /projects/${SITE}/issues/${iid}`, { as: "reporter", json })).json;
    const before = await put({ title: "t" });
    expect(before.milestone).toMatchObject({ title: "v1", group_id: groups[0].group_id });
    expect(before.milestone).not.toHaveProperty("project_id");
    expect((await put({ milestone_id: foreign.id })).milestone).toBeNull();
    await put({ milestone_id: groups[0].id });
    expect(await put({ milestone_id: 0, assignee_ids: [], due_date: "" })).toMatchObject({
      milestone: null,
      assignees: [],
      assignee: null,
      due_date: null,
    });
  });

  it("ignores assignees who can't read it", async () => {
    const ids = [await userId("stranger"), await userId("guest"), 999999];
    const made = await newIssue("reporter", { assignee_ids: ids }, CORE);
    expect(made.assignees.map(({ username }: { username: string }) => username)).toEqual(["guest"]);
  });
});

describe("deleting an issue", () => {
  it.each<[Person, number]>([
    ["anonymous", 401],
    ["stranger", 403],
    ["reporter", 403],
    ["maintainer", 403],
    ["owner", 204],
    ["admin", 204],
  ])("by %s: %i", async (as, status) => {
    const { iid } = await newIssue("reporter");
    expect((await app.call(`DELETE /projects/${SITE}/issues/${iid}`, { as })).status).toBe(status);
  });

  it("answers 404 for an unknown one, and 412 if it was changed since", async () => {
    const unknown = await app.call(`DELETE /projects/${SITE}/issues/98765`, { as: "owner" });
    expect([unknown.status, unknown.json]).toEqual([404, { message: "404 Issue Not Found" }]);
    const { iid } = await newIssue("reporter");
    const headers = { "if-unmodified-since": "Fri, 12 Jan 1990 06:00:48 GMT" };
    const path = `DELETE /projects/${SITE}/issues/${iid}`;
    expect((await app.call(path, { as: "owner", headers })).status).toBe(412);
  });

  it("also deletes the events about it and its notes", async () => {
    const project = await newProject("emptied");
    const { iid } = await newIssue("guest", { confidential: true, title: "Hush" }, project);
    await app.call(`POST /projects/${project}/issues/${iid}/notes`, {
      as: "guest",
      json: { body: "hush" },
    });
    await app.call(`DELETE /projects/${project}/issues/${iid}`, { as: "owner" });
    const { json } = await app.call(`GET /projects/${project}/events`);
    expect(json.map(({ action_name }: { action_name: string }) => action_name)).toEqual([
      "created",
    ]);
  });

  it("never reuses its number", async () => {
    const project = await newProject("numbers");
    await newIssue("guest", {}, project);
    await app.call(`DELETE /projects/${project}/issues/1`, { as: "owner" });
    expect((await newIssue("guest", {}, project)).iid).toBe(2);
  });
});

describe("confidential issues", () => {
  let project: number;
  let iid: number;
  beforeAll(async () => {
    project = await newProject("hush");
    await newIssue("reporter", { title: "Open one" }, project);
    iid = (await newIssue("stranger", { title: "Hidden one", confidential: true }, project)).iid;
  });

  it.each<[Person, number, number]>([
    ["anonymous", 404, 1],
    ["guest", 404, 1],
    ["stranger", 200, 2],
    ["reporter", 200, 2],
    ["owner", 200, 2],
    ["admin", 200, 2],
  ])("are for %s: get %i, of 2 in all lists %i", async (as, status, count) => {
    const got = await app.call(`GET /projects/${project}/issues/${iid}`, { as });
    expect(got.status).toBe(status);
    if (status === 404) expect(got.json).toEqual({ message: "404 Not found" });
    expect((await app.call(`GET /projects/${project}/issues`, { as })).json).toHaveLength(count);
    for (const list of ["/groups/acme/issues", "/issues"]) {
      const { json } = await app.call(`GET ${list}?scope=all&search=Hidden+one`, { as });
      expect(json).toHaveLength(count - 1);
    }
    const { json: events } = await app.call(`GET /projects/${project}/events?target_type=issue`, {
      as,
    });
    expect(events).toHaveLength(count);
  });

  it("answer 403 to changes by callers who can't see them", async () => {
    const path = `PUT /projects/${project}/issues/${iid}`;
    expect((await app.call(path, { as: "guest", json: { title: "x" } })).status).toBe(403);
    expect((await app.call(path, { as: "reporter", json: { title: "Hidden one" } })).status).toBe(
      200,
    );
  });

  it("hide their notes, emoji, todos and subscriptions, too", async () => {
    const path = `/projects/${project}/issues/${iid}`;
    for (const [request, json] of [
      [`GET ${path}/notes`],
      [`POST ${path}/notes`, { body: "x" }],
      [`GET ${path}/award_emoji`],
      [`POST ${path}/award_emoji`, { name: "tada" }],
      [`POST ${path}/todo`, {}],
      [`POST ${path}/subscribe`, {}],
      [`DELETE ${path}`],
      [`POST ${path}/move`, { to_project_id: project }],
    ] as [string, object?][]) {
      expect((await app.call(request, { as: "guest", json })).status, request).toBe(404);
    }
  });

  it("are visible to assignees", async () => {
    const assignee_ids = [await userId("guest")];
    const made = await newIssue("reporter", { title: "Later hidden", assignee_ids }, project);
    const path = `/projects/${project}/issues/${made.iid}`;
    await app.call(`PUT ${path}`, { as: "reporter", json: { confidential: true } });
    expect((await app.call(`GET ${path}`, { as: "guest" })).status).toBe(200);
    expect((await app.call(`GET ${path}`)).status).toBe(404);
    await app.call(`DELETE ${path}`, { as: "owner" });
  });

  it("are not counted in a project's open issues", async () => {
    for (const [path, find] of [
      [`GET /projects/${project}`, (json: unknown) => json],
      ["GET /projects?search=hush", (json: [unknown]) => json[0]],
      ["GET /groups/acme/projects?search=hush", (json: [unknown]) => json[0]],
    ] as [string, (json: unknown) => unknown][]) {
      const { json } = await app.call(path, { as: "owner" });
      expect(find(json)).toMatchObject({ open_issues_count: 1 });
    }
  });
});

describe("lists of issues", () => {
  let project: number;
  beforeAll(async () => {
    project = await newProject("lists");
    const developer = await userId("developer");
    const make = async (as: Person, json: object) => newIssue(as, { ...json }, project);
    await make("reporter", { title: "one", labels: "red,blue", created_at: "2026-01-01" });
    await make("reporter", { title: "two", labels: "red", assignee_ids: [developer] });
    await make("developer", { title: "three", description: "Cafe 100%" });
    const { json: milestone } = await app.call(`POST /projects/${project}/milestones`, {
      as: "developer",
      json: { title: "soon" },
    });
    await make("guest", { title: "four" });
    const path = `PUT /projects/${project}/issues`;
    await app.call(`${path}/4`, {
      as: "developer",
      json: { milestone_id: milestone.id, state_event: "close" },
    });
    await app.call(`${path}/1`, { as: "developer", json: { description: "touched last" } });
    await app.call(`POST /projects/${project}/issues/3/award_emoji`, {
      as: "developer",
      json: { name: "tada" },
    });
  });

  it.each<[string, string[]]>([
    ["", ["four", "three", "two", "one"]],
    ["sort=asc", ["one", "two", "three", "four"]],
    ["order_by=updated_at", ["one", "four", "three", "two"]],
    ["state=opened", ["three", "two", "one"]],
    ["state=closed", ["four"]],
    ["state=all", ["four", "three", "two", "one"]],
    ["labels=red", ["two", "one"]],
    ["labels=red,blue", ["one"]],
    ["labels=red,nope", []],
    ["labels[]=red&labels[]=blue", ["one"]],
    ["labels=None", ["four", "three"]],
    ["labels=No+Label", ["four", "three"]],
    ["labels=Any", ["two", "one"]],
    ["labels=", ["four", "three", "two", "one"]],
    ["milestone=soon", ["four"]],
    ["milestone=None", ["three", "two", "one"]],
    ["milestone=Any", ["four"]],
    ["milestone=nope", []],
    ["iids[]=1&iids[]=3", ["three", "one"]],
    ["iids=2", ["two"]],
    ["search=100%25", ["three"]],
    ["search=cafe", ["three"]],
    ["search=TWO", ["two"]],
    ["assignee_id=None", ["four", "three", "one"]],
    ["assignee_id=Any", ["two"]],
    ["assignee_username=developer", ["two"]],
    ["author_username=guest", ["four"]],
    ["scope=created_by_me", ["three"]],
    ["scope=created-by-me", ["three"]],
    ["scope=assigned_to_me", ["two"]],
    ["my_reaction_emoji=tada", ["three"]],
    ["my_reaction_emoji=Any", ["three"]],
    ["my_reaction_emoji=none", ["four", "two", "one"]],
    ["my_reaction_emoji=none&labels=red", ["two", "one"]],
    ["my_reaction_emoji=", ["four", "three", "two", "one"]],
    ["confidential=true", []],
    ["issue_type=issue", ["four", "three", "two", "one"]],
    ["issue_type=incident", []],
    ["iteration_id=1", []],
    ["iteration_id=Any", []],
    ["iteration_id=None&epic_id=None", ["four", "three", "two", "one"]],
    ["iteration_title=Sprint", []],
    ["epic_id=1", []],
    ["health_status=on_track", []],
    ["confidential=no", ["four", "three", "two", "one"]],
    ["created_before=2020-01-01", []],
    ["created_after=2020-01-01T00:00:00%2B02:00", ["four", "three", "two", "one"]],
    ["updated_after=2999-01-01", []],
    ["iid=1", ["four", "three", "two", "one"]],
  ])("filter and sort by %j", async (query, expected) => {
    const answer = await app.call(`GET /projects/${project}/issues?${query}`, { as: "developer" });
    expect(answer.status, answer.text).toBe(200);
    expect(titles(answer)).toEqual(expected);
    expect(answer.headers.get("x-total")).toBe(String(expected.length));
  });

  it("ignore my_reaction_emoji of anonymous callers", async () => {
    const list = `GET /projects/${project}/issues?my_reaction_emoji`;
    for (const name of ["tada", "None", "Any"]) {
      expect(titles(await app.call(`${list}=${name}`))).toEqual(["four", "three", "two", "one"]);
    }
  });

  it("filter by user ids", async () => {
    const id = await userId("developer");
    const list = `GET /projects/${project}/issues`;
    expect(titles(await app.call(`${list}?author_id=${id}`))).toEqual(["three"]);
    expect(titles(await app.call(`${list}?assignee_id=${id}`))).toEqual(["two"]);
  });

  it.each([
    ["state=open", "state", "does not have a valid value"],
    ["order_by=height", "order_by", "does not have a valid value"],
    ["scope=mine", "scope", "does not have a valid value"],
    ["confidential=foo", "confidential", "is invalid"],
    ["issue_type=story", "issue_type", "does not have a valid value"],
    ["assignee_id=foo", "assignee_id", "is invalid"],
    ["created_after=foo", "created_after", "is invalid"],
  ])("refuse %s", async (query, name, problem) => {
    const { status, json } = await app.call(`GET /projects/${project}/issues?${query}`);
    expect([status, json]).toEqual([400, { message: { [name]: [problem] } }]);
  });

  it("are paginated", async () => {
    const answer = await app.call(`GET /projects/${project}/issues?per_page=2&page=2`);
    expect(titles(answer)).toEqual(["two", "one"]);
    expect(answer.headers.get("x-total-pages")).toBe("2");
    expect(answer.headers.get("x-prev-page")).toBe("1");
  });

  it("never show whether the caller is subscribed", async () => {
    const { json } = await app.call(`GET /projects/${project}/issues`, { as: "developer" });
    for (const issue of json) expect(issue).not.toHaveProperty("subscribed");
  });

  it("answer 401 to anonymous callers, or all that is public with scope=all", async () => {
    expect((await app.call("GET /issues")).status).toBe(401);
    const { status, json } = await app.call("GET /issues?scope=all&per_page=100");
    expect(status).toBe(200);
    expect(json.length).toBeGreaterThan(3);
    const paths = json.map(({ web_url }: { web_url: string }) => web_url).join(" ");
    expect(paths).not.toMatch(/acme\/team|secret/);
  });

  it("of the caller contain those they created", async () => {
    const { json } = await app.call("GET /issues?per_page=100", { as: "stranger" });
    const authors = json.map((issue: { author: { username: string } }) => issue.author.username);
    expect(new Set(authors)).toEqual(new Set(["stranger"]));
  });

  it("of a group include those of descendant projects the caller can see", async () => {
    await newIssue("guest", { title: "deep below" }, CORE);
    const list = "GET /groups/acme/issues?search=deep";
    expect(titles(await app.call(list, { as: "guest" }))).toEqual(["deep below"]);
    expect((await app.call(list, { as: "stranger" })).json).toEqual([]);
    expect((await app.call("GET /groups/secret/issues", { as: "stranger" })).status).toBe(404);
    const inside = await app.call("GET /groups/acme%2Fteam/issues", { as: "guest" });
    expect(inside.json.length).toBeGreaterThan(0);
  });
});

describe("moving an issue", () => {
  it("copies it with its notes, closes the original, and answers 201 with the copy", async () => {
    const target = await newProject("target");
    const path = `/projects/${SITE}/issues`;
    const { iid } = await newIssue("reporter", { title: "Mover", labels: "UX,only here" });
    await app.call(`POST ${path}/${iid}/notes`, { as: "guest", json: { body: "Comes along" } });
    const moved = await app.call(`POST ${path}/${iid}/move`, {
      as: "reporter",
      json: { to_project_id: target },
    });
    expect(moved.status, moved.text).toBe(201);
    expect(moved.json).toMatchObject({
      project_id: target,
      iid: 1,
      title: "Mover",
      labels: ["UX"],
      user_notes_count: 1,
      author: { username: "reporter" },
    });
    const before = await app.call(`GET ${path}/${iid}`);
    expect(before.json.state).toBe("closed");
    const notes = await app.call(`GET /projects/${target}/issues/1/notes`, { as: "guest" });
    expect(notes.json[0]).toMatchObject({ body: "Comes along", author: { username: "guest" } });
  });

  it("is refused for an invalid or forbidden target", async () => {
    const { iid, project_id } = await newIssue("guest");
    const move = (as: Person, to: number) =>
      app.call(`POST /projects/${SITE}/issues/${iid}/move`, { as, json: { to_project_id: to } });
    const same = await move("reporter", project_id);
    expect([same.status, same.json]).toEqual([
      400,
      { message: "Cannot move issue to project it originates from!" },
    ]);
    const target = await newProject("refused");
    const low = await move("guest", target);
    expect([low.status, low.json]).toEqual([
      400,
      { message: "Cannot move issue due to insufficient permissions!" },
    ]);
    const unknown = await move("reporter", 999999);
    expect([unknown.status, unknown.json]).toEqual([404, { message: "404 Project Not Found" }]);
    const missing = await app.call(`POST /projects/${SITE}/issues/${iid}/move`, { as: "reporter" });
    expect(missing.status).toBe(400);
    const none = await app.call(`POST /projects/${SITE}/issues/98765/move`, {
      as: "reporter",
      json: { to_project_id: target },
    });
    expect(none.json).toEqual({ message: "404 Issue Not Found" });
  });
});

describe("labels", () => {
  it("count their issues and merge requests as far as the caller can see them", async () => {
    const project = await newProject("labelled");
    await newIssue("reporter", { labels: "counted" }, project);
    await newIssue("reporter", { labels: "counted", confidential: true }, project);
    await newIssue("reporter", { labels: "counted" }, project);
    await app.call(`PUT /projects/${project}/issues/3?state_event=close`, { as: "reporter" });
    await app.call(`POST /projects/${project}/merge_requests`, {
      as: "developer",
      json: { title: "t", source_branch: "a", target_branch: "b", labels: "counted" },
    });
    const counts = { closed_issues_count: 1, open_merge_requests_count: 1 };
    const path = `GET /projects/${project}/labels`;
    const one = await app.call(`${path}/counted`, { as: "reporter" });
    expect(one.json).toMatchObject({ open_issues_count: 2, ...counts });
    const listed = await app.call(`${path}?search=counted`, { as: "guest" });
    expect(listed.json).toMatchObject([{ open_issues_count: 1, ...counts }]);
  });

  it("of groups count in all projects below", async () => {
    await app.call("POST /groups/acme/labels", {
      as: "reporter",
      json: { name: "everywhere", color: "#123456" },
    });
    await newIssue("reporter", { labels: "everywhere" });
    await newIssue("reporter", { labels: "everywhere" }, CORE);
    const path = "GET /groups/acme/labels/everywhere";
    expect((await app.call(path, { as: "guest" })).json.open_issues_count).toBe(2);
    expect((await app.call(path, { as: "stranger" })).json.open_issues_count).toBe(1);
    const within = await app.call(`GET /projects/${SITE}/labels/everywhere`, { as: "guest" });
    expect(within.json.open_issues_count).toBe(1);
  });
});

it("a milestone lists its issues and merge requests", async () => {
  const project = await newProject("planned");
  const make = async (path: string) =>
    (await app.call(`POST ${path}/milestones`, { as: "developer", json: { title: `Of ${path}` } }))
      .json.id as number;
  const own = `/projects/${project}/milestones/${await make(`/projects/${project}`)}`;
  const above = `/groups/acme/milestones/${await make("/groups/acme")}`;
  for (const path of [own, above]) {
    const milestone_id = Number(path.split("/").at(-1));
    await newIssue("reporter", { title: path, milestone_id }, project);
    await newIssue("reporter", { title: "hidden", milestone_id, confidential: true }, project);
    await app.call(`POST /projects/${project}/merge_requests`, {
      as: "developer",
      json: { title: path, milestone_id, source_branch: path, target_branch: "main" },
    });
  }
  for (const path of [own, above]) {
    expect(titles(await app.call(`GET ${path}/issues`, { as: "guest" }))).toEqual([path]);
    expect(titles(await app.call(`GET ${path}/issues?state=closed`, { as: "guest" }))).toEqual([]);
    expect(titles(await app.call(`GET ${path}/merge_requests`, { as: "guest" }))).toEqual([path]);
    expect((await app.call(`GET ${path}/issues`)).status).toBe(401);
    expect((await app.call(`GET ${path}999/issues`, { as: "guest" })).status).toBe(404);
  }
});

it("a list takes as many queries for many issues as for one", async () => {
  const { database, drop } = await newDatabase();
  const own = await createApp({ database });
  const issue = { title: "t", author: "ada", assignees: ["ada"], labels: ["a", "b"] };
  await own.admin.seed({
    users: [{ username: "ada", admin: true }],
    groups: [{ path: "g", projects: [{ path: "p", issues: Array(30).fill(issue) }] }],
  });
  const store = await openStore(database);
  const cost = async (size: number) => {
    let queries = 0;
    const counting: Reader = {
      dialect: store.dialect,
      all: (sql, values) => {
        queries += 1;
        return store.all(sql, values);
      },
      rows: (sql, values) => {
        queries += 1;
        return store.rows(sql, values);
      },
      slice: (sql, values, most) => {
        queries += 1;
        return store.slice(sql, values, most);
      },
      each: (sql, lists, most) => {
        queries += 1;
        return store.each(sql, lists, most);
      },
      one: (sql, values) => {
        queries += 1;
        return store.one(sql, values);
      },
    };
    const caller = { id: 1, username: "ada", admin: true, external: false };
    const viewer = { caller, today: "2026-11-21" };
    const page = { number: 1, size, skip: 0, maxRows: size, limits: PAGE_LIMITS };
    const order = { values: {}, orderBy: "created_at", sort: "desc" } as const;
    const ssh = { sshUrl: String, servesSsh: false };
    const view = { base: "", host: "", now: 0, open: (text: string) => text, ...ssh };
    const presenting = { presenter: ISSUE.listed, view, tier: "ultimate" } as const;
    const listed = await list({ db: counting, ...presenting, page, viewer }, ISSUE, order);
    expect(listed.rows).toHaveLength(size);
    return queries;
  };
  expect(await cost(1)).toBe(7);
  expect(await cost(29)).toBe(7);
  await store.close();
  await own.close();
  await drop();
});

it("issues created at the same time get distinct numbers", async () => {
  const project = await newProject("busy");
  const made = await Promise.all(
    Array.from({ length: 12 }, (_, at) => newIssue("guest", { title: `${at}` }, project)),
  );
  const iids = made.map(({ iid }) => iid).sort((a, b) => a - b);
  expect(iids).toEqual(Array.from({ length: 12 }, (_, at) => at + 1));
});

describe("a seed", () => {
  const seeded = (project: object) => ({
    users: [{ username: "ada" }],
    groups: [{ path: "g", projects: [{ path: "p", ...project }] }],
  });

  it("reports how many records it created", async () => {
    const own = await testApp({ seed: {} });
    const made = await own.admin.seed(
      seeded({
        labels: [{ name: "red" }],
        issues: [
          {
            title: "One",
            author: "ada",
            labels: ["red", "made"],
            state: "closed",
            created_at: "2024-05-06T07:08:09Z",
            notes: [{ author: "ada", body: "b" }],
          },
        ],
        merge_requests: [{ title: "Two", author: "ada", source_branch: "s" }],
        pushes: [{ author: "ada", ref: "s", commit_to: "f".repeat(40) }],
      }),
    );
    expect(made).toMatchObject({ issues: 1, merge_requests: 1, notes: 1, events: 5 });
    await own.dispose();
  });

  it.each([
    [{ issues: [{ title: "x", author: "bob" }] }, "the seed has no user bob"],
    [{ issues: [{ title: "x", author: "ada", milestone: "m" }] }, "g/p has no milestone m"],
    [
      { pushes: [{ author: "ada", ref: "x", created_at: "yesterday" }] },
      "groups.0.projects.0.pushes.0.created_at: Invalid instant",
    ],
  ])("that is invalid is refused with the location: %j", async (project, message) => {
    const own = await testApp({ seed: {} });
    await expect(own.admin.seed(seeded(project))).rejects.toThrow(message);
    await own.dispose();
  });
});
