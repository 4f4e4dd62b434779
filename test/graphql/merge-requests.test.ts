import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { ask, NOT_AVAILABLE, send } from "./ask.ts";

let app: TestApp;

beforeAll(async () => {
  app = await testApp();
  const create = async (project: string, json: object, as: "owner" | "developer" = "owner") => {
    const path = `POST /projects/${encodeURIComponent(project)}/merge_requests`;
    const { status, text } = await app.call(path, { as, json: { target_branch: "main", ...json } });
    if (status !== 201) throw new Error(text);
  };
  const { json: milestones } = await app.call("GET /groups/acme/milestones", { as: "owner" });
  const { json: users } = await app.call("GET /users?username=developer", { as: "owner" });
  await create("acme/site", {
    title: "First",
    description: "Of all",
    source_branch: "one",
    labels: "Development,UX",
    milestone_id: milestones[0].id,
    assignee_ids: [users[0].id],
    remove_source_branch: true,
  });
  await create(
    "acme/site",
    { title: "Draft: Second", source_branch: "two", labels: "UX" },
    "developer",
  );
  await create("acme/site", { title: "Third", source_branch: "three", target_branch: "next" });
  await create("acme/team/core", { title: "Fourth", source_branch: "four" });
  await app.call("PUT /projects/acme%2Fsite/merge_requests/3", {
    as: "owner",
    json: { state_event: "close" },
  });
});
afterAll(() => app.dispose());

const SITE = 'project(fullPath: "acme/site")';

async function titles(args: string, as: Person = "owner") {
  const { data, errors } = await send(
    app,
    as,
    `{ ${SITE} { mergeRequests${args} { nodes { title } } } }`,
  );
  if (errors) return errors[0].message;
  return data.project.mergeRequests.nodes.map(({ title }: { title: string }) =>
    title.split(" ").at(-1),
  );
}

describe("a merge request", () => {
  it("has the values that REST shows", async () => {
    const { project } = await ask(
      app,
      `{ ${SITE} { mergeRequest(iid: "1") { id iid title description state draft sourceBranch targetBranch
        sourceProject { fullPath } targetProject { fullPath } projectId author { username }
        assignees { nodes { username } } reviewers { nodes { id } } labels { nodes { title } }
        milestone { title } createdAt updatedAt mergedAt closedAt webUrl short: reference
        reference(full: true) conflicts mergeable detailedMergeStatus squash forceRemoveSourceBranch
        subscribed upvotes downvotes diffHeadSha approved
        userPermissions { readMergeRequest updateMergeRequest adminMergeRequest createNote } } } }`,
    );
    const { json } = await app.call("GET /projects/acme%2Fsite/merge_requests/1", { as: "owner" });
    const withoutMilliseconds = (at: string) => at.replace(/\.\d+Z$/, "Z");
    expect(project.mergeRequest).toEqual({
      id: `gid://gitlab/MergeRequest/${json.id}`,
      iid: "1",
      title: "First",
      description: "Of all",
      state: "opened",
      draft: false,
      sourceBranch: "one",
      targetBranch: "main",
      sourceProject: { fullPath: "acme/site" },
      targetProject: { fullPath: "acme/site" },
      projectId: json.project_id,
      author: { username: json.author.username },
      assignees: { nodes: [{ username: "developer" }] },
      reviewers: { nodes: [] },
      labels: { nodes: [{ title: "Development" }, { title: "UX" }] },
      milestone: { title: "v1" },
      createdAt: withoutMilliseconds(json.created_at),
      updatedAt: withoutMilliseconds(json.updated_at),
      mergedAt: null,
      closedAt: null,
      webUrl: json.web_url,
      short: "!1",
      reference: "acme/site!1",
      conflicts: false,
      mergeable: true,
      detailedMergeStatus: "MERGEABLE",
      squash: json.squash,
      forceRemoveSourceBranch: true,
      subscribed: true,
      upvotes: 0,
      downvotes: 0,
      diffHeadSha: json.sha,
      approved: true,
      userPermissions: {
        readMergeRequest: true,
        updateMergeRequest: true,
        adminMergeRequest: true,
        createNote: true,
      },
    });
  });

  it("is null for those who may not see it", async () => {
    const query = `{ project(fullPath: "acme/team/core") { mergeRequest(iid: "1") { title } mergeRequests { count } } }`;
    expect(await ask(app, query, {}, "guest")).toEqual({
      project: { mergeRequest: null, mergeRequests: { count: 0 } },
    });
    expect(await ask(app, query, {}, "reporter")).toEqual({
      project: { mergeRequest: { title: "Fourth" }, mergeRequests: { count: 1 } },
    });
  });
});

describe("lists of merge requests", () => {
  it.each([
    ["", ["Third", "Second", "First"]],
    ["(sort: CREATED_ASC)", ["First", "Second", "Third"]],
    ["(sort: TITLE_ASC)", ["Second", "First", "Third"]],
    ["(sort: CLOSED_AT_ASC, first: 1)", ["Third"]],
    ["(sort: MERGED_AT_DESC)", ["Third", "Second", "First"]],
    ["(state: opened)", ["Second", "First"]],
    ["(state: closed)", ["Third"]],
    ["(state: merged)", []],
    ["(state: all)", ["Third", "Second", "First"]],
    ['(iids: ["1", "3"])', ["Third", "First"]],
    ['(labels: ["UX"])', ["Second", "First"]],
    ['(labelName: ["UX", "Development"])', ["First"]],
    ['(not: {labelName: ["Development"]})', ["Third", "Second"]],
    ['(not: {milestoneTitle: "v1"})', ["Third", "Second"]],
    ['(not: {authorUsername: "developer"})', ["Third", "First"]],
    ['(milestoneTitle: "v1")', ["First"]],
    ["(milestoneWildcardId: NONE)", ["Third", "Second"]],
    ['(authorUsername: "developer")', ["Second"]],
    ['(assigneeUsername: "developer")', ["First"]],
    ['(reviewerUsername: "developer")', []],
    ['(sourceBranches: ["one", "two"])', ["Second", "First"]],
    ['(targetBranches: ["next"])', ["Third"]],
    ["(targetBranches: [])", []],
    ["(draft: true)", ["Second"]],
    ["(draft: false)", ["Third", "First"]],
    ['(search: "of ALL")', ["First"]],
    ['(createdAfter: "2100-01-01T00:00:00Z")', []],
    ['(mergedAfter: "2000-01-01T00:00:00Z")', []],
    ['(iids: ["x"])', '"x" is not a valid iid'],
  ])("%s", async (args, expected) => {
    expect(await titles(args)).toEqual(expected);
  });

  it("of groups and users", async () => {
    const query = `{ group(fullPath: "acme") { own: mergeRequests { count } all: mergeRequests(includeSubgroups: true) { count } }
      user(username: "developer") { authoredMergeRequests { nodes { iid } } assignedMergeRequests { nodes { iid } }
        none: authoredMergeRequests(projectPath: "acme/team/core") { count } reviewRequestedMergeRequests { count } } }`;
    const { group, user } = await ask(app, query);
    expect(group).toEqual({ own: { count: 3 }, all: { count: 4 } });
    expect(user).toEqual({
      authoredMergeRequests: { nodes: [{ iid: "2" }] },
      assignedMergeRequests: { nodes: [{ iid: "1" }] },
      none: { count: 0 },
      reviewRequestedMergeRequests: { count: 0 },
    });
    expect((await ask(app, query, {}, "guest")).group.all).toEqual({ count: 3 });
  });
});

describe("mutations", () => {
  const FIELDS = `errors mergeRequest { iid title state draft
    discussionLocked subscribed milestone { title } labels { nodes { title } }
    assignees { nodes { username } } reviewers { nodes { id } } }`;
  const change = async (name: string, input: object, as: Person = "owner", fields = FIELDS) => {
    const type = `${name[0]?.toUpperCase()}${name.slice(1)}Input!`;
    const { data, errors } = await send(
      app,
      as,
      `mutation ($input: ${type}) { ${name}(input: $input) { ${fields} } }`,
      { input },
    );
    return { changed: data?.[name], errors };
  };
  const at = { projectPath: "acme/team/core", iid: "1" };
  const now = async (as: Person = "owner") =>
    (await app.call("GET /projects/acme%2Fteam%2Fcore/merge_requests/1", { as })).json;

  it("create", async () => {
    const input = {
      projectPath: "acme/team/core",
      title: "New",
      sourceBranch: "new",
      targetBranch: "main",
    };
    const { changed } = await change(
      "mergeRequestCreate",
      { ...input, labels: ["UX"] },
      "developer",
    );
    expect(changed).toMatchObject({
      errors: [],
      mergeRequest: { title: "New", state: "opened", labels: { nodes: [{ title: "UX" }] } },
    });
    const { changed: refused } = await change("mergeRequestCreate", { ...input, title: "" });
    expect(refused).toEqual({ errors: ["Title can't be blank"], mergeRequest: null });
  });

  it("refuse what the caller may not see or change", async () => {
    for (const as of ["guest", "reporter", "anonymous"] as const) {
      const { changed, errors } = await change("mergeRequestUpdate", { ...at, title: "x" }, as);
      expect([changed, errors?.[0].message]).toEqual([null, NOT_AVAILABLE]);
    }
  });

  it("update, close and reopen", async () => {
    const input = { ...at, title: "Changed", targetBranch: "next", state: "CLOSED" };
    expect((await change("mergeRequestUpdate", input)).changed).toMatchObject({
      mergeRequest: { title: "Changed", state: "closed" },
    });
    expect(await now()).toMatchObject({ title: "Changed", target_branch: "next", state: "closed" });
    const { changed } = await change("mergeRequestUpdate", { ...at, state: "OPEN" });
    expect(changed.mergeRequest.state).toBe("opened");
  });

  it("set, add and remove labels", async () => {
    const { group } = await ask(
      app,
      '{ group(fullPath: "acme") { labels { nodes { id title } } } }',
    );
    type Label = { id: string; title: string };
    const idOf = (title: string) =>
      group.labels.nodes.find((label: Label) => label.title === title).id;
    const set = async (names: string[], operationMode?: string) => {
      const input = { ...at, labelIds: names.map(idOf), operationMode };
      const { changed } = await change("mergeRequestSetLabels", input);
      return changed.mergeRequest.labels.nodes.map(({ title }: Label) => title);
    };
    expect(await set(["UX", "Testing"])).toEqual(["Testing", "UX"]);
    expect(await set(["Development"], "APPEND")).toEqual(["Development", "Testing", "UX"]);
    expect(await set(["UX"], "REMOVE")).toEqual(["Development", "Testing"]);
    expect((await now()).labels).toEqual(["Development", "Testing"]);
    expect(await set([])).toEqual([]);
  });

  it("set assignees, drafts, locks, milestones and subscriptions", async () => {
    const assign = async (assigneeUsernames: string[], operationMode?: string) => {
      const { changed } = await change("mergeRequestSetAssignees", {
        ...at,
        assigneeUsernames,
        operationMode,
      });
      return changed.mergeRequest.assignees.nodes.map(
        ({ username }: { username: string }) => username,
      );
    };
    expect(await assign(["reporter"])).toEqual(["reporter"]);
    expect(await assign(["OWNER"], "APPEND")).toEqual(["owner", "reporter"]);
    expect(await assign(["owner"], "REMOVE")).toEqual(["reporter"]);
    const draft = async (value: boolean) => {
      const { changed } = await change("mergeRequestSetDraft", { ...at, draft: value });
      return [changed.mergeRequest.title, changed.mergeRequest.draft];
    };
    expect(await draft(true)).toEqual(["Draft: Changed", true]);
    expect(await draft(true)).toEqual(["Draft: Changed", true]);
    expect(await draft(false)).toEqual(["Changed", false]);
    const locked = await change("mergeRequestSetLocked", { ...at, locked: true });
    expect(locked.changed.mergeRequest.discussionLocked).toBe(true);
    const { group } = await ask(app, '{ group(fullPath: "acme") { milestones { nodes { id } } } }');
    const milestone = async (milestoneId: string | null) =>
      (await change("mergeRequestSetMilestone", { ...at, milestoneId })).changed.mergeRequest
        .milestone;
    expect(await milestone(group.milestones.nodes[0].id)).toEqual({ title: "v1" });
    expect(await milestone(null)).toBeNull();
    const subscribe = async (subscribedState: boolean) =>
      (await change("mergeRequestSetSubscription", { ...at, subscribedState })).changed.mergeRequest
        .subscribed;
    expect([await subscribe(false), await subscribe(false), await subscribe(true)]).toEqual([
      false,
      false,
      true,
    ]);
  });

  it("set, add and remove reviewers, and ask them again", async () => {
    const fields = `mergeRequest { approved approvedBy { nodes { username } }
      reviewers { nodes { username } } } errors`;
    const review = async (
      reviewerUsernames: string[],
      operationMode?: string,
      as: Person = "owner",
    ) =>
      change("mergeRequestSetReviewers", { ...at, reviewerUsernames, operationMode }, as, fields);
    const shown: unknown[] = [];
    for (const sent of [
      [["reporter"]],
      [["owner", "nobody"], "APPEND"],
      [["reporter"], "REMOVE"],
    ] as const) {
      const { changed } = await review([...sent[0]], sent[1]);
      shown.push(changed.mergeRequest.reviewers.nodes.map((one: never) => one["username"]));
    }
    expect(shown).toEqual([["reporter"], ["owner", "reporter"], ["owner"]]);
    expect((await review([], "REPLACE", "guest")).errors?.[0].message).toBe(NOT_AVAILABLE);
    await app.call("POST /projects/acme%2Fteam%2Fcore/merge_requests/1/approve", {
      as: "maintainer",
    });
    const ids = await app.store.rows(
      "select id from users where username in ('owner', 'reporter') order by username",
    );
    const [owner, reporter] = ids.map(([id]) => `gid://gitlab/User/${id}`);
    const again = async (userId: string | undefined) =>
      (await change("mergeRequestReviewerRereview", { ...at, userId }, "owner", fields)).changed;
    expect(await again(owner)).toEqual({
      errors: [],
      mergeRequest: {
        approved: true,
        approvedBy: { nodes: [{ username: "maintainer" }] },
        reviewers: { nodes: [{ username: "owner" }] },
      },
    });
    expect(await again(reporter)).toEqual({ errors: ["Reviewer not found"], mergeRequest: null });
    expect((await review([], "REPLACE")).changed.mergeRequest.reviewers.nodes).toEqual([]);
  });

  it("accept", async () => {
    const { changed: wrong } = await change("mergeRequestAccept", { ...at, sha: "0000" });
    expect(wrong.mergeRequest).toBeNull();
    expect(wrong.errors[0]).toContain("SHA does not match HEAD of source branch");
    expect((await now()).state).toBe("opened");
  });
});
