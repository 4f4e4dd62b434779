import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";
import { ask, NOT_AVAILABLE, send } from "./ask.ts";

let app: TestApp;

const create = async (project: string, values: object, as: "owner" | "developer" = "owner") => {
  const path = encodeURIComponent(project);
  const { status, json } = await app.call(`POST /projects/${path}/issues`, { as, json: values });
  if (status !== 201) throw new Error(JSON.stringify(json));
  return json;
};

beforeAll(async () => {
  app = await testApp();
  const { json: milestones } = await app.call("GET /groups/acme/milestones", { as: "owner" });
  const user = await app.call("GET /users?username=developer", { as: "owner" });
  const developer = user.json[0].id;
  await create("acme/site", {
    title: "First",
    labels: "Development,UX",
    milestone_id: milestones[0].id,
    assignee_ids: [developer],
    weight: 3,
    due_date: "2026-12-01",
    description: "- [x] one\n- [ ] two",
  });
  await create("acme/site", { title: "Second", labels: "Development", weight: 1 }, "developer");
  await create("acme/site", { title: "Third ÉCOLE", confidential: true, due_date: "2026-01-01" });
  await create("acme/team/core", { title: "Fourth" });
  await app.call("PUT /projects/acme%2Fsite/issues/2", {
    as: "owner",
    json: { state_event: "close" },
  });
  await app.call("POST /projects/acme%2Fsite/issues/2/award_emoji", {
    as: "guest",
    json: { name: "thumbsup" },
  });
});
afterAll(() => app.dispose());

const SITE = 'project(fullPath: "acme/site")';

/** The titles of the site's issues that arguments select. */
async function titles(args: string, as: "owner" | "guest" | "anonymous" = "owner") {
  const { data, errors } = await send(app, as, `{ ${SITE} { issues${args} { nodes { title } } } }`);
  if (errors) return errors[0].message;
  return data.project.issues.nodes.map((node: { title: string }) => node.title.split(" ")[0]);
}

describe("an issue", () => {
  it("has the values that REST shows", async () => {
    const { data, errors } = await send(
      app,
      "owner",
      `{ ${SITE} { issue(iid: "1") { id iid title description state type confidential
        discussionLocked dueDate weight createdAt updatedAt closedAt projectId webUrl webPath
        short: reference reference(full: true) upvotes downvotes subscribed
        author { username } milestone { title } labels { nodes { title } }
        assignees { nodes { username } } taskCompletionStatus { count completedCount }
        userPermissions { readIssue updateIssue adminIssue createNote } movedTo { id } } } }`,
    );
    expect(errors).toBeUndefined();
    const { json } = await app.call("GET /projects/acme%2Fsite/issues/1", { as: "owner" });
    const withoutMilliseconds = (at: string) => at.replace(/\.\d+Z$/, "Z");
    expect(data.project.issue).toEqual({
      id: `gid://gitlab/Issue/${json.id}`,
      iid: "1",
      title: "First",
      description: json.description,
      state: "opened",
      type: "ISSUE",
      confidential: false,
      discussionLocked: false,
      dueDate: "2026-12-01",
      weight: 3,
      createdAt: withoutMilliseconds(json.created_at),
      updatedAt: withoutMilliseconds(json.updated_at),
      closedAt: null,
      projectId: json.project_id,
      webUrl: json.web_url,
      webPath: "/acme/site/-/issues/1",
      short: "#1",
      reference: "acme/site#1",
      upvotes: 0,
      downvotes: 0,
      subscribed: true,
      author: { username: "owner" },
      milestone: { title: "v1" },
      labels: { nodes: [{ title: "Development" }, { title: "UX" }] },
      assignees: { nodes: [{ username: "developer" }] },
      taskCompletionStatus: { count: 2, completedCount: 1 },
      userPermissions: { readIssue: true, updateIssue: true, adminIssue: true, createNote: true },
      movedTo: null,
    });
  });

  it("is null for those who may not see it", async () => {
    const query = `{ ${SITE} { issue(iid: "3") { title } issues { count nodes { iid } } } }`;
    const { data, errors } = await send(app, "guest", query);
    expect(errors).toBeUndefined();
    expect(data.project.issue).toBeNull();
    expect(data.project.issues).toEqual({ count: 2, nodes: [{ iid: "2" }, { iid: "1" }] });
  });

  it("is found by its global id, which must be one of an issue", async () => {
    const { json } = await app.call("GET /projects/acme%2Fsite/issues/1", { as: "owner" });
    const byId = (id: string, as: "owner" | "stranger" = "owner") =>
      send(app, as, "query ($id: IssueID!) { issue(id: $id) { title } }", { id });
    expect((await byId(`gid://gitlab/Issue/${json.id}`)).data.issue.title).toBe("First");
    expect((await byId("gid://gitlab/Issue/9999")).data).toEqual({ issue: null });
    expect((await byId("gid://gitlab/Project/1")).errors?.[0].message).toContain(
      '"gid://gitlab/Project/1" does not represent an instance of Issue',
    );
    expect((await byId("abc")).errors?.[0].message).toContain('"abc" is not a valid Global ID');
  });
});

describe("lists of issues", () => {
  it.each([
    ["", ["Third", "Second", "First"]],
    ["(state: opened)", ["Third", "First"]],
    ["(state: closed)", ["Second"]],
    ["(state: all, sort: CREATED_ASC)", ["First", "Second", "Third"]],
    ["(sort: created_asc)", ["First", "Second", "Third"]],
    ["(sort: DUE_DATE_ASC)", ["Third", "First", "Second"]],
    ["(sort: DUE_DATE_DESC)", ["First", "Third", "Second"]],
    ["(sort: WEIGHT_ASC)", ["Second", "First", "Third"]],
    ["(sort: WEIGHT_DESC)", ["First", "Second", "Third"]],
    ["(sort: TITLE_ASC)", ["First", "Second", "Third"]],
    ["(sort: POPULARITY_DESC)", ["Second", "Third", "First"]],
    ["(sort: MILESTONE_DUE_ASC)", ["First", "Third", "Second"]],
    ["(sort: CLOSED_AT_ASC)", ["Second", "Third", "First"]],
    ["(sort: UPDATED_DESC, first: 1)", ["Second"]],
    ['(iids: ["1", "3"])', ["Third", "First"]],
    ['(iid: "2")', ["Second"]],
    ['(iid: "x")', []],
    ['(labelName: ["Development", "UX"])', ["First"]],
    ['(labelName: ["Development"])', ["Second", "First"]],
    ['(not: {labelName: ["UX"]})', ["Third", "Second"]],
    ['(or: {labelNames: ["UX", "Testing"]})', ["First"]],
    ['(or: {authorUsernames: ["DEVELOPER"]})', ["Second"]],
    ['(not: {authorUsername: ["developer"]})', ["Third", "First"]],
    ['(not: {assigneeUsernames: ["developer"]})', ["Third", "Second"]],
    ['(not: {milestoneTitle: ["v1"]})', ["Third", "Second"]],
    ['(not: {iids: ["1"]})', ["Third", "Second"]],
    ['(authorUsername: "developer")', ["Second"]],
    ['(assigneeUsernames: ["developer"])', ["First"]],
    ['(assigneeUsername: "developer")', ["First"]],
    ["(assigneeWildcardId: NONE)", ["Third", "Second"]],
    ["(assigneeWildcardId: ANY)", ["First"]],
    ['(assigneeId: "None")', ["Third", "Second"]],
    ['(milestoneTitle: ["v1"])', ["First"]],
    ["(milestoneWildcardId: NONE)", ["Third", "Second"]],
    ["(milestoneWildcardId: ANY)", ["First"]],
    ["(milestoneWildcardId: STARTED)", ["First"]],
    ["(milestoneWildcardId: UPCOMING)", []],
    ['(weight: "3")', ["First"]],
    ["(weightWildcardId: NONE)", ["Third"]],
    ["(confidential: true)", ["Third"]],
    ['(search: "école")', ["Third"]],
    ['(search: "two", in: [DESCRIPTION])', ["First"]],
    ['(search: "two", in: [TITLE])', []],
    ['(dueBefore: "2026-06-01")', ["Third"]],
    ['(dueAfter: "2026-06-01")', ["First"]],
    ['(createdAfter: "2100-01-01T00:00:00Z")', []],
    ['(myReactionEmoji: "thumbsup")', []],
    ["(types: [ISSUE])", ["Third", "Second", "First"]],
    ["(types: [INCIDENT])", []],
    ["(subscribed: EXPLICITLY_SUBSCRIBED)", []],
    ["(first: 2)", ["Third", "Second"]],
    ["(last: 2)", ["Second", "First"]],
    ["(first: 0)", []],
  ])("%s", async (args, expected) => {
    expect(await titles(args)).toEqual(expected);
  });

  it.each([
    ["(state: locked)", "Issues are never locked"],
    [
      '(milestoneTitle: ["v1"], milestoneWildcardId: ANY)',
      "Only one of [milestoneTitle, milestoneWildcardId] arguments is allowed at the same time.",
    ],
    [
      '(assigneeUsernames: ["a"], assigneeWildcardId: ANY)',
      "Only one of [assigneeUsernames, assigneeUsername, assigneeWildcardId] arguments is allowed at the same time.",
    ],
    ["(first: 1, last: 1)", "Can only provide either first or last, not both"],
    ['(after: "nonsense")', "Please provide a valid cursor"],
    ['(weight: "heavy")', '"heavy" is not a weight'],
  ])("refuse %s", async (args, message) => {
    expect(await titles(args)).toBe(message);
  });

  it("of a group leave out those of subgroups unless asked", async () => {
    const { data } = await send(
      app,
      "owner",
      `{ group(fullPath: "acme") { own: issues { count nodes { iid } }
        all: issues(includeSubgroups: true, sort: CREATED_DESC) { count nodes { title } } } }`,
    );
    expect(data.group.own.count).toBe(3);
    expect(data.group.all).toMatchObject({ count: 4, nodes: [{ title: "Fourth" }, {}, {}, {}] });
  });

  it("of all projects need a filter", async () => {
    const { errors } = await send(app, "owner", "{ issues { nodes { iid } } }");
    expect(errors?.[0].message).toBe(
      "You must provide at least one filter argument for this query",
    );
    const { data } = await send(app, "anonymous", "{ issues(state: opened) { nodes { title } } }");
    expect(data.issues.nodes).toEqual([{ title: "First" }]);
  });

  it("go on after a cursor while issues come and go", async () => {
    const page = async (after: string | null) => {
      const query = `query ($after: String) { ${SITE} { issues(first: 1, after: $after, sort: CREATED_ASC) {
        nodes { iid } pageInfo { hasNextPage hasPreviousPage endCursor } } } }`;
      return (await send(app, "owner", query, { after })).data.project.issues;
    };
    const first = await page(null);
    expect(first.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: false });
    const second = await page(first.pageInfo.endCursor);
    expect(second.nodes).toEqual([{ iid: "2" }]);
    expect(second.pageInfo.hasPreviousPage).toBe(true);
    const third = await page(second.pageInfo.endCursor);
    expect(third).toMatchObject({ nodes: [{ iid: "3" }], pageInfo: { hasNextPage: false } });
  });

  it("count by state", async () => {
    const counts = async (as: "owner" | "guest") =>
      (await send(app, as, `{ ${SITE} { issueStatusCounts { all opened closed } } }`)).data.project
        .issueStatusCounts;
    expect(await counts("owner")).toEqual({ all: 3, opened: 2, closed: 1 });
    expect(await counts("guest")).toEqual({ all: 2, opened: 1, closed: 1 });
  });
});

describe("mutations", () => {
  const change = async (
    name: string,
    input: object,
    as: "owner" | "guest" | "anonymous" = "owner",
  ) => {
    const type = `${name[0]?.toUpperCase()}${name.slice(1)}Input!`;
    const { data, errors } = await send(
      app,
      as,
      `mutation ($input: ${type}) { ${name}(input: $input) { clientMutationId errors issue { iid title state
        confidential dueDate weight discussionLocked subscribed milestone { title }
        labels { nodes { title } } assignees { nodes { username } } webUrl } } }`,
      { input },
    );
    return { changed: data?.[name], errors };
  };
  const at = { projectPath: "acme/team/core", iid: "1" };

  it("create", async () => {
    const { changed } = await change("createIssue", {
      projectPath: "acme/team/core",
      title: "New",
      labels: ["UX", "brand-new"],
      dueDate: "2027-01-02",
      clientMutationId: "abc",
    });
    expect(changed).toMatchObject({
      clientMutationId: "abc",
      errors: [],
      issue: {
        title: "New",
        dueDate: "2027-01-02",
        labels: { nodes: [{ title: "UX" }, { title: "brand-new" }] },
      },
    });
  });

  it("have a type, and incidents a severity", async () => {
    const made = { projectPath: "acme/team/core", title: "Typed", type: "INCIDENT" };
    const { changed } = await change("createIssue", made);
    expect(changed.errors).toEqual([]);
    const incident = { projectPath: made.projectPath, iid: changed.issue.iid };
    const shown = async () => {
      const query = `{ project(fullPath: "acme/team/core") { issue(iid: "${incident.iid}") { type severity } } }`;
      return (await ask(app, query)).project.issue;
    };
    expect(await shown()).toEqual({ type: "INCIDENT", severity: "UNKNOWN" });
    const graded = await change("issueSetSeverity", { ...incident, severity: "HIGH" });
    expect(graded.changed.errors).toEqual([]);
    expect(await shown()).toEqual({ type: "INCIDENT", severity: "HIGH" });
    await change("updateIssue", { ...incident, type: "TASK" });
    expect(await shown()).toEqual({ type: "TASK", severity: "UNKNOWN" });
    const refused = await change("issueSetSeverity", { ...incident, severity: "LOW" });
    expect(refused.changed.errors).toEqual(["Severity can be set for incidents only"]);
    const unknown = await change("updateIssue", { ...incident, type: "EPIC" });
    expect(unknown.changed).toMatchObject({ issue: null, errors: [expect.any(String)] });
  });

  it("list what is wrong with an attribute", async () => {
    const { changed, errors } = await change("createIssue", { ...at, iid: undefined, title: " " });
    expect(changed).toMatchObject({ issue: null, errors: ["Title can't be blank"] });
    expect(errors).toBeUndefined();
  });

  it("refuse what the caller may not see or change", async () => {
    for (const as of ["guest", "anonymous"] as const) {
      const { changed, errors } = await change("updateIssue", { ...at, title: "x" }, as);
      expect(changed).toBeNull();
      expect(errors).toMatchObject([{ message: NOT_AVAILABLE, path: ["updateIssue"] }]);
    }
    const { errors } = await change("createIssue", { projectPath: "no/where", title: "x" });
    expect(errors).toMatchObject([{ message: NOT_AVAILABLE, path: ["createIssue"] }]);
  });

  it("refuse arguments of which only one may be sent", async () => {
    const input = { projectPath: "acme/site", title: "x", labels: [], labelIds: [] };
    expect((await change("createIssue", input)).errors?.[0].message).toBe(
      "Only one of [labels, labelIds] arguments is allowed at the same time.",
    );
  });

  it("update, close and reopen", async () => {
    const { json: labels } = await app.call("GET /groups/acme/labels", { as: "owner" });
    const id = (name: string) => {
      const label = labels.find((one: { name: string }) => one.name === name);
      return `gid://gitlab/GroupLabel/${label.id}`;
    };
    const updated = await change("updateIssue", {
      ...at,
      title: "Renamed",
      stateEvent: "CLOSE",
      addLabelIds: [id("UX"), id("Testing")],
    });
    expect(updated.changed.issue).toMatchObject({
      title: "Renamed",
      state: "closed",
      labels: { nodes: [{ title: "Testing" }, { title: "UX" }] },
    });
    const { json } = await app.call("GET /projects/acme%2Fteam%2Fcore/issues/1", { as: "owner" });
    expect(json).toMatchObject({ title: "Renamed", state: "closed", labels: ["Testing", "UX"] });
    const reopened = await change("updateIssue", {
      ...at,
      stateEvent: "REOPEN",
      removeLabelIds: [id("UX")],
    });
    expect(reopened.changed.issue).toMatchObject({
      state: "opened",
      labels: { nodes: [{ title: "Testing" }] },
    });
  });

  it("set one attribute", async () => {
    const set = async (name: string, input: object) =>
      (await change(name, { ...at, ...input })).changed.issue;
    expect((await set("issueSetConfidential", { confidential: true })).confidential).toBe(true);
    expect((await set("issueSetDueDate", { dueDate: "2027-02-03" })).dueDate).toBe("2027-02-03");
    expect((await set("issueSetDueDate", { dueDate: null })).dueDate).toBeNull();
    expect((await set("issueSetLocked", { locked: true })).discussionLocked).toBe(true);
    expect((await set("issueSetWeight", { weight: 7 })).weight).toBe(7);
    expect((await set("issueSetWeight", { weight: null })).weight).toBeNull();
    const subscription = async (subscribedState: boolean) =>
      (await set("issueSetSubscription", { subscribedState })).subscribed;
    expect(await subscription(false)).toBe(false);
    expect(await subscription(false)).toBe(false);
    expect(await subscription(true)).toBe(true);
  });

  it("set, add and remove assignees", async () => {
    const set = async (assigneeUsernames: string[], operationMode?: string) => {
      const input = { ...at, assigneeUsernames, operationMode };
      const { changed } = await change("issueSetAssignees", input);
      return changed.issue.assignees.nodes.map((one: { username: string }) => one.username);
    };
    expect(await set(["reporter"])).toEqual(["reporter"]);
    expect(await set(["Maintainer"], "APPEND")).toEqual(["maintainer", "reporter"]);
    expect(await set(["reporter"], "REMOVE")).toEqual(["maintainer"]);
    expect(await set([])).toEqual([]);
  });

  it("move an issue", async () => {
    const { changed } = await change("issueMove", { ...at, targetProjectPath: "acme/site" });
    expect(changed.issue.webUrl).toMatch(/\/acme\/site\/-\/issues\/4$/);
    const { data } = await send(
      app,
      "owner",
      '{ project(fullPath: "acme/team/core") { issue(iid: "1") { state moved movedTo { iid } } } }',
    );
    expect(data.project.issue).toEqual({ state: "closed", moved: true, movedTo: { iid: "4" } });
  });

  it("stay if a later one fails", async () => {
    const { data, errors } = await send(
      app,
      "owner",
      `mutation { one: createIssue(input: {projectPath: "acme/site", title: "Stays"}) { issue { title } }
        two: createIssue(input: {projectPath: "no/where", title: "x"}) { issue { title } } }`,
    );
    expect(data).toEqual({ one: { issue: { title: "Stays" } }, two: null });
    expect(errors).toMatchObject([{ path: ["two"] }]);
    expect(await titles('(search: "stays")')).toEqual(["Stays"]);
  });
});
