import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  baseSeed,
  everyone,
  givePassword,
  PASSWORD,
  type Person,
  type TestApp,
  testApp,
} from "../helpers.ts";
import { newCodeProject } from "./_merge-requests.ts";

let app: TestApp;
let free: TestApp;
beforeAll(async () => {
  app = await testApp({ seed: baseSeed });
  free = await testApp({ seed: baseSeed, tier: "free" });
});
afterAll(async () => {
  await app.dispose();
  await free.dispose();
});

const SITE = "/projects/acme%2Fsite";
let branches = 0;

/** Creates a merge request, and returns its path. */
async function newRequest(as: Person = "developer", json: object = {}, on = app): Promise<string> {
  branches += 1;
  const {
    status,
    text,
    json: made,
  } = await on.call(`POST ${SITE}/merge_requests`, {
    as,
    json: { title: "A change", source_branch: `b${branches}`, target_branch: "main", ...json },
  });
  expect(status, text).toBe(201);
  return `${SITE}/merge_requests/${made.iid}`;
}

const get = async (path: string, as: Person = "developer", on = app) =>
  (await on.call(`GET ${path}`, { as })).json;
const post = (path: string, as: Person = "maintainer", json: object = {}, on = app) =>
  on.call(`POST ${path}`, { as, json });
const put = (path: string, as: Person, json: object) => app.call(`PUT ${path}`, { as, json });
const approve = (request: string, as: Person, json: object = {}, on = app) =>
  post(`${request}/approve`, as, json, on);

const idOf = async (username: string): Promise<number> =>
  (await get(`/users?username=${username}`))[0].id;

const names = (people: { username: string }[]) => people.map(({ username }) => username);

/** Adds a rule, and returns its answer. */
async function newRule(where: string, json: object, as: Person = "maintainer") {
  const { status, text, json: rule } = await post(`${where}/approval_rules`, as, json);
  expect(status, text).toBe(201);
  return rule;
}

/** Removes the rules of the project, and restores its settings. */
async function reset() {
  for (const { id } of await get(`${SITE}/approval_rules`)) {
    await app.call(`DELETE ${SITE}/approval_rules/${id}`, { as: "owner" });
  }
  const off = {
    merge_requests_author_approval: false,
    disable_overriding_approvers_per_merge_request: false,
    require_password_to_approve: false,
    reset_approvals_on_push: true,
  };
  expect((await post(`${SITE}/approvals`, "owner", off)).status).toBe(201);
}

describe("approving", () => {
  it("is shown with who did it and when, and by an event and a note", async () => {
    const request = await newRequest();
    await app.call(`POST ${request}/todo`, { as: "maintainer" });
    const { status, json } = await approve(request, "maintainer");
    expect(status).toBe(201);
    const [approval] = json.approved_by;
    expect(approval).toEqual({
      user: expect.objectContaining({ username: "maintainer", state: "active" }),
      approved_at: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    expect(json).toMatchObject({
      title: "A change",
      state: "opened",
      approved: true,
      approvals_required: 0,
      approvals_left: 0,
      user_has_approved: true,
      user_can_approve: false,
      has_approval_rules: false,
      approval_rules_left: [],
    });
    const [note] = await get(`${request}/notes`);
    expect(note).toMatchObject({ body: "approved this merge request", system: true });
    const events = await get(`${SITE}/events?action=approved`);
    expect(events[0]).toMatchObject({ action_name: "approved", target_type: "MergeRequest" });
    expect(await get("/todos", "maintainer")).toEqual([]);
    expect(await get(`${request}/approvals`, "reporter")).toMatchObject({
      approved_by: [approval],
      user_has_approved: false,
      user_can_approve: false,
    });
  });

  it("counts once, and can be taken back", async () => {
    const request = await newRequest();
    expect((await approve(request, "maintainer")).status).toBe(201);
    const again = await approve(request, "maintainer");
    expect(again.status).toBe(401);
    expect(again.json).toEqual({ message: "401 Unauthorized" });
    const taken = await post(`${request}/unapprove`, "maintainer");
    expect(taken.status).toBe(201);
    expect(taken.json).toMatchObject({ approved_by: [], user_can_approve: true });
    expect((await get(`${request}/notes`))[0].body).toBe("unapproved this merge request");
    const never = await post(`${request}/unapprove`, "maintainer");
    expect([never.status, never.json]).toEqual([404, { message: "404 Not found" }]);
  });

  it("is taken back as a whole by programs with a token of the project", async () => {
    const request = await newRequest("developer", { reviewer_ids: [await idOf("maintainer")] });
    await approve(request, "maintainer");
    await approve(request, "owner");
    for (const as of ["developer", "maintainer", "owner", "admin"] as const) {
      expect([as, (await put(`${request}/reset_approvals`, as, {})).status]).toEqual([as, 401]);
    }
    const tokenWith = async (access_level: number) => {
      const json = { name: "bot", scopes: ["api"], access_level, expires_at: "2999-01-01" };
      const { token } = (await post(`${SITE}/access_tokens`, "owner", json)).json;
      return { headers: { "private-token": token } };
    };
    const reset = async (level: number) =>
      app.call(`PUT ${request}/reset_approvals`, await tokenWith(level));
    expect((await reset(20)).status).toBe(401);
    expect((await get(`${request}/approvals`)).approved_by).toHaveLength(2);
    const done = await reset(30);
    expect([done.status, done.json]).toEqual([202, { message: "202 Accepted" }]);
    expect((await get(`${request}/approvals`)).approved_by).toEqual([]);
    const [reviewer] = await get(`${request}/reviewers`);
    expect(reviewer.state).toBe("unapproved");
  });

  it("is for members who may change it, but not for its author", async () => {
    const statuses: Record<string, number> = {};
    const reviewed = await newRequest("maintainer", { assignee_ids: [await idOf("reporter")] });
    for (const as of everyone) statuses[as] = (await approve(reviewed, as)).status;
    expect(statuses).toEqual({
      anonymous: 401,
      stranger: 403,
      guest: 403,
      reporter: 201,
      developer: 201,
      maintainer: 401,
      owner: 201,
      admin: 201,
    });
    await post(`${SITE}/approvals`, "owner", { merge_requests_author_approval: true });
    expect((await approve(reviewed, "maintainer")).status).toBe(201);
    await reset();
  });

  it("is refused for another head, and once it is merged", async () => {
    const request = await newRequest();
    const other = await approve(request, "maintainer", { sha: "0".repeat(40) });
    expect(other.status).toBe(409);
    expect(other.json.message).toMatch(/^SHA does not match HEAD of source branch/);
    await approve(request, "owner");
    await put(`${request}/merge`, "maintainer", {});
    expect((await approve(request, "maintainer")).status).toBe(401);
    expect((await post(`${request}/unapprove`, "owner")).status).toBe(404);
    expect(
      names((await get(`${request}/approvals`)).approved_by.map((by: never) => by["user"])),
    ).toEqual(["owner"]);
  });

  it("needs the password if the project asks for it", async () => {
    const request = await newRequest();
    await post(`${SITE}/approvals`, "owner", { require_password_to_approve: true });
    await givePassword(app, "maintainer");
    expect((await get(`${request}/approvals`)).require_password_to_approve).toBe(true);
    expect((await approve(request, "maintainer")).status).toBe(401);
    expect((await approve(request, "maintainer", { approval_password: "wrong" })).status).toBe(401);
    const right = await approve(request, "maintainer", {
      approval_password: PASSWORD,
    });
    expect(right.status).toBe(201);
    await reset();
  });
});

describe("on the free tier", () => {
  it("everybody who may change a merge request can approve it, and there are no rules", async () => {
    const request = await newRequest("developer", {}, free);
    const { status, json } = await approve(request, "developer", {}, free);
    expect(status).toBe(201);
    expect(json).toEqual({
      user_has_approved: true,
      user_can_approve: false,
      approved: true,
      approved_by: [
        {
          user: expect.objectContaining({ username: "developer" }),
          approved_at: expect.any(String),
        },
      ],
    });
    const paths = [`${request}/approval_state`, `${SITE}/approval_rules`, `${SITE}/approvals`];
    for (const path of paths) {
      expect((await free.call(`GET ${path}`, { as: "owner" })).status, path).toBe(403);
    }
  });
});

describe("rules of a project", () => {
  it("have GitLab's fields", async () => {
    const [developer, stranger] = [await idOf("developer"), await idOf("stranger")];
    const branch = await post(`${SITE}/protected_branches`, "owner", { name: "release-*" });
    const [acme] = await get("/groups?search=acme");
    const made = await newRule(SITE, {
      name: "security",
      approvals_required: 2,
      user_ids: [developer, stranger],
      usernames: ["Reporter"],
      group_ids: [acme.id],
      protected_branch_ids: [branch.json.id, 4711],
    });
    expect(made).toEqual({
      id: expect.any(Number),
      name: "security",
      rule_type: "regular",
      report_type: null,
      approvals_required: 2,
      users: [
        expect.objectContaining({ username: "developer" }),
        expect.objectContaining({ username: "reporter" }),
      ],
      groups: [expect.objectContaining({ full_path: "acme" })],
      eligible_approvers: ["owner", "maintainer", "developer", "reporter", "guest"].map(
        (username) => expect.objectContaining({ username }),
      ),
      contains_hidden_groups: false,
      protected_branches: [branch.json],
      applies_to_all_protected_branches: false,
    });
    const path = `${SITE}/approval_rules/${made.id}`;
    expect(await get(path)).toEqual(made);
    expect(await get(`${SITE}/approval_rules`)).toEqual([made]);
    const changed = await put(path, "maintainer", {
      name: "safety",
      approvals_required: 1,
      user_ids: [],
      group_ids: [],
      applies_to_all_protected_branches: true,
    });
    expect(changed.json).toMatchObject({
      name: "safety",
      approvals_required: 1,
      users: [],
      groups: [],
      eligible_approvers: [],
      protected_branches: [branch.json],
      applies_to_all_protected_branches: true,
    });
    expect((await app.call(`DELETE ${path}`, { as: "developer" })).status).toBe(403);
    expect((await app.call(`DELETE ${path}`, { as: "maintainer" })).status).toBe(204);
    expect((await app.call(`GET ${path}`, { as: "maintainer" })).status).toBe(404);
    await app.call(`DELETE ${SITE}/protected_branches/release-*`, { as: "owner" });
  });

  it("are refused if there is such a one, or they ask for too much", async () => {
    await newRule(SITE, { name: "all", approvals_required: 1 });
    const id = await idOf("developer");
    await newRule(SITE, { name: "one", approvals_required: 1, user_ids: [id] });
    const errors = [];
    for (const json of [
      { name: "other", approvals_required: 1 },
      { name: "one", approvals_required: 1, user_ids: [id] },
      { name: "two", approvals_required: 101 },
      { name: "two", approvals_required: 1, rule_type: "report_approver" },
      {
        name: "two",
        approvals_required: 1,
        rule_type: "report_approver",
        report_type: "license_scanning",
      },
      { name: "two", approvals_required: 1, report_type: "code_coverage" },
      { name: "two", approvals_required: 1, rule_type: "code_owner" },
      { approvals_required: 1 },
    ]) {
      const { status, json: answer } = await post(`${SITE}/approval_rules`, "maintainer", json);
      errors.push([status, answer.message]);
    }
    expect(errors).toEqual([
      [400, { rule_type: ["any-approver for the project already exists"] }],
      [400, { name: ["has already been taken"] }],
      [400, { approvals_required: ["must be between 0 and 100"] }],
      [400, '400 (Bad request) "report_type" not given'],
      [400, { report_type: ["does not have a valid value"] }],
      [400, { report_type: ["is only for rules of the type report_approver"] }],
      [400, { rule_type: ["does not have a valid value"] }],
      [400, '400 (Bad request) "name" not given'],
    ]);
    await reset();
  });

  it("keep groups that whoever changes them can't see", async () => {
    const [secret] = (await get("/groups?search=secret", "owner")) as { id: number }[];
    const made = await newRule(
      SITE,
      { name: "g", approvals_required: 1, group_ids: [secret?.id] },
      "owner",
    );
    await app.call(`DELETE /groups/secret/members/${await idOf("maintainer")}`, { as: "owner" });
    const path = `${SITE}/approval_rules/${made.id}`;
    const seen = await get(path, "maintainer");
    expect([seen.groups, seen.contains_hidden_groups]).toEqual([[], true]);
    await put(path, "maintainer", { group_ids: [] });
    expect((await get(path, "owner")).groups).toHaveLength(1);
    await put(path, "maintainer", { group_ids: [], remove_hidden_groups: true });
    expect((await get(path, "owner")).groups).toEqual([]);
    const member = { user_id: await idOf("maintainer"), access_level: 40 };
    expect((await post("/groups/secret/members", "owner", member)).status).toBe(201);
    await reset();
  });

  it("about coverage ask for approvals of merge requests that lower it", async () => {
    const project = await newCodeProject(app);
    const reviewer = await idOf("maintainer");
    const made = await project.send(
      "POST",
      "/approval_rules",
      {
        name: "Tests",
        approvals_required: 1,
        user_ids: [reviewer],
        rule_type: "report_approver",
        report_type: "code_coverage",
      },
      "maintainer",
    );
    expect([made.status, made.json.rule_type, made.json.report_type]).toEqual([
      201,
      "report_approver",
      "code_coverage",
    ]);
    const report = async (sha: string, ref: string, json: object) => {
      const sent = { name: "tests", ref, state: "success", ...json };
      expect((await project.send("POST", `/statuses/${sha}`, sent)).status).toBe(201);
    };
    const base = (await project.get("/repository/branches/main")).json.commit.id;
    const sha = await project.commit("topic", { "b.txt": "b" }, { from: "main" });
    const { iid } = await project.open("topic");
    const rule = async () => {
      const { json } = await project.get(`/merge_requests/${iid}/approval_state`);
      const found = json.rules.find((one: { name: string }) => one.name === "Tests");
      const { json: request } = await project.get(`/merge_requests/${iid}`);
      return [
        found.approvals_required,
        found.approved,
        request.detailed_merge_status === "not_approved",
      ];
    };
    const [asked, met] = [
      [1, false, true],
      [0, true, false],
    ];
    // No pipeline says how much there is.
    expect(await rule()).toEqual(asked);
    await report(sha, "topic", { coverage: 70, state: "running" });
    expect(await rule()).toEqual(asked);
    await report(sha, "topic", { coverage: 70 });
    // There is nothing to compare it with.
    expect(await rule()).toEqual(met);
    await report(base, "main", {});
    expect(await rule()).toEqual(asked);
    await report(base, "main", { name: "more tests", coverage: 70.01 });
    expect(await rule()).toEqual(asked);
    // Rules of the merge request do not replace it.
    const own = { name: "Own", approvals_required: 0, user_ids: [reviewer] };
    await project.send("POST", `/merge_requests/${iid}/approval_rules`, own);
    expect(await rule()).toEqual(asked);
    const { data } = (
      await app.call("POST /api/graphql", {
        as: "developer",
        json: {
          query: `{ project(fullPath: "${project.fullPath}") { mergeRequest(iid: "${iid}") {
            approvalState { rules { name type approvalsRequired approved } } } } }`,
        },
      })
    ).json;
    expect(data.project.mergeRequest.approvalState.rules).toContainEqual({
      name: "Tests",
      type: "REPORT_APPROVER",
      approvalsRequired: 1,
      approved: false,
    });
    const merged = await project.send("PUT", `/merge_requests/${iid}/merge`, {}, "maintainer");
    expect(merged.status).toBe(405);
    await project.send("POST", `/merge_requests/${iid}/approve`, {}, "maintainer");
    expect((await rule()).slice(0, 2)).toEqual([1, true]);
    await project.send("POST", `/merge_requests/${iid}/unapprove`, {}, "maintainer");
    await report(sha, "topic", { name: "more tests", coverage: 80 });
    expect(await rule()).toEqual(met);
    const now = await project.send("PUT", `/merge_requests/${iid}/merge`, {}, "maintainer");
    expect(now.status).toBe(200);
  });

  it("called Coverage-Check are about coverage, as in GitLab", async () => {
    const id = await idOf("developer");
    const sent = { name: "Coverage-Check", approvals_required: 1, user_ids: [id] };
    const made = await newRule(SITE, sent);
    expect([made.rule_type, made.report_type]).toEqual(["report_approver", "code_coverage"]);
    // Its approvers can be taken over by a rule of a merge request.
    const request = await newRequest();
    const copied = { name: "x", approvals_required: 1, approval_project_rule_id: made.id };
    const own = await newRule(request, copied);
    expect([own.rule_type, own.report_type, names(own.users)]).toEqual([
      "regular",
      null,
      ["developer"],
    ]);
    await reset();
  });

  it("say how far a merge request is", async () => {
    const [developer, maintainer, owner] = await Promise.all(
      ["developer", "maintainer", "owner"].map(idOf),
    );
    const any = await newRule(SITE, { name: "Anybody", approvals_required: 2 });
    const some = await newRule(SITE, {
      name: "Some",
      approvals_required: 1,
      user_ids: [developer, maintainer],
    });
    const impossible = await newRule(SITE, {
      name: "Impossible",
      approvals_required: 2,
      user_ids: [owner],
    });
    const request = await newRequest();
    const before = await get(`${request}/approvals`, "owner");
    expect(before).toMatchObject({
      approved: false,
      approvals_required: 3,
      approvals_left: 3,
      user_can_approve: true,
      has_approval_rules: true,
      approval_rules_left: [{ id: some.id, name: "Some", rule_type: "regular" }],
      invalid_approvers_rules: [{ id: impossible.id, name: "Impossible", rule_type: "regular" }],
    });
    expect(names(before.suggested_approvers).sort()).toEqual(["maintainer", "owner"]);
    await approve(request, "maintainer");
    const { approval_rules_overwritten, rules } = await get(`${request}/approval_state`);
    expect(approval_rules_overwritten).toBe(false);
    const told = rules.map((rule: Record<string, unknown>) => [
      rule["id"],
      rule["name"],
      rule["approved"],
      names(rule["approved_by"] as never),
      names(rule["eligible_approvers"] as never),
    ]);
    expect(told).toEqual([
      [any.id, "All Members", false, ["maintainer"], []],
      [some.id, "Some", true, ["maintainer"], ["maintainer"]],
      [impossible.id, "Impossible", true, [], ["owner"]],
    ]);
    await approve(request, "owner");
    expect(await get(`${request}/approvals`)).toMatchObject({ approved: true, approvals_left: 1 });
    await reset();
  });

  it("keep a merge request from being merged until they are met", async () => {
    await newRule(SITE, { name: "Anybody", approvals_required: 1 });
    const request = await newRequest();
    const status = async () => (await get(request)).detailed_merge_status;
    expect(await status()).toBe("not_approved");
    const early = await put(`${request}/merge`, "maintainer", {});
    expect([early.status, early.json]).toEqual([405, { message: "405 Method Not Allowed" }]);
    await approve(request, "maintainer");
    expect(await status()).toBe("mergeable");
    const listed = await get(`${SITE}/merge_requests?state=opened`);
    expect(new Set(listed.map((one: never) => one["detailed_merge_status"]))).toEqual(
      new Set(["mergeable", "not_approved"]),
    );
    await post(`${request}/unapprove`, "maintainer");
    expect(await status()).toBe("not_approved");
    await approve(request, "owner");
    expect((await put(`${request}/merge`, "maintainer", {})).status).toBe(200);
    expect(await status()).toBe("not_open");
    await reset();
  });

  it("count for their branches only", async () => {
    const { json: branch } = await post(`${SITE}/protected_branches`, "owner", {
      name: "stable-*",
    });
    await newRule(SITE, {
      name: "stable",
      approvals_required: 1,
      usernames: ["owner"],
      protected_branch_ids: [branch.id],
    });
    await newRule(SITE, {
      name: "protected",
      approvals_required: 1,
      usernames: ["maintainer"],
      applies_to_all_protected_branches: true,
    });
    const required = async (target_branch: string) => {
      const request = await newRequest("developer", { target_branch });
      return (await get(`${request}/approvals`)).approvals_required;
    };
    expect([await required("stable-1"), await required("other")]).toEqual([2, 0]);
    await app.call(`DELETE ${SITE}/protected_branches/stable-*`, { as: "owner" });
    expect(await required("stable-1")).toBe(1);
    await reset();
  });
});

describe("rules of a group", () => {
  const RULES = "/groups/acme/approval_rules";
  const remove = async () => {
    for (const { id } of await get(RULES, "owner")) {
      expect((await app.call(`DELETE ${RULES}/${id}`, { as: "owner" })).status).toBe(204);
    }
  };

  it("count for merge requests into protected branches of the projects below, whatever these say", async () => {
    const stranger = await idOf("stranger");
    const made = await newRule(
      "/groups/acme",
      { name: "four eyes", approvals_required: 1, user_ids: [await idOf("owner"), stranger] },
      "owner",
    );
    expect(made).toMatchObject({
      name: "four eyes",
      rule_type: "regular",
      approvals_required: 1,
      protected_branches: [],
      applies_to_all_protected_branches: true,
      contains_hidden_groups: false,
    });
    expect([names(made.users), names(made.eligible_approvers)]).toEqual([["owner"], ["owner"]]);
    await post(`${SITE}/protected_branches`, "owner", { name: "stable-*" });
    const free = await newRequest("developer", { target_branch: "other" });
    expect((await get(`${free}/approvals`)).approvals_required).toBe(0);
    const request = await newRequest("developer", { target_branch: "stable-1" });
    expect((await app.call(`GET ${request}`)).json.detailed_merge_status).toBe("not_approved");
    expect((await app.call("GET /todos", { as: "owner" })).json[0]).toMatchObject({
      action_name: "approval_required",
    });
    await newRule(request, { name: "own", approvals_required: 1, usernames: ["maintainer"] });
    await newRule(SITE, { name: "project's", approvals_required: 1, usernames: ["maintainer"] });
    const state = async () =>
      (await get(`${request}/approval_state`)).rules.map(
        (rule: { name: string; approved: boolean }) => [rule.name, rule.approved],
      );
    expect(await state()).toEqual([
      ["own", false],
      ["four eyes", false],
    ]);
    await approve(request, "owner");
    expect(await state()).toEqual([
      ["own", false],
      ["four eyes", true],
    ]);
    await approve(request, "maintainer");
    expect((await get(`${request}/approvals`)).approved).toBe(true);
    const changed = await put(`${RULES}/${made.id}`, "owner", {
      name: "two",
      approvals_required: 2,
    });
    expect([changed.status, changed.json.name]).toEqual([200, "two"]);
    expect(await get(`${RULES}/${made.id}`, "owner")).toEqual(changed.json);
    expect(await get(`${SITE}/approval_rules`)).toEqual([
      expect.objectContaining({ name: "project's" }),
    ]);
    await remove();
    expect(await state()).toEqual([["own", true]]);
    await app.call(`DELETE ${SITE}/protected_branches/stable-*`, { as: "owner" });
    await reset();
  });

  it("about any approver ask for as many as the one that asks for most", async () => {
    await newRule("/groups/acme", { name: "all", approvals_required: 2 }, "owner");
    await newRule(SITE, { name: "all", approvals_required: 1 });
    await post(`${SITE}/protected_branches`, "owner", { name: "b*" });
    const request = await newRequest("developer", { target_branch: "b0" });
    expect(await get(`${request}/approvals`)).toMatchObject({
      approvals_required: 2,
      approvals_left: 2,
    });
    const again = await post(RULES, "owner", { name: "other", approvals_required: 1 });
    expect([again.status, again.json]).toEqual([
      400,
      { message: { rule_type: ["any-approver for the group already exists"] } },
    ]);
    await app.call(`DELETE ${SITE}/protected_branches/b*`, { as: "owner" });
    await remove();
    await reset();
  });

  it("are their owners', of top-level groups", async () => {
    const statuses: Record<string, number[]> = {};
    for (const as of everyone) {
      const json = { name: as, approvals_required: 0, rule_type: "regular" };
      statuses[as] = [
        (await app.call(`GET ${RULES}`, { as })).status,
        (await post(RULES, as, json)).status,
      ];
    }
    expect(statuses).toEqual({
      anonymous: [401, 401],
      stranger: [403, 403],
      guest: [403, 403],
      reporter: [403, 403],
      developer: [403, 403],
      maintainer: [403, 403],
      owner: [200, 201],
      admin: [200, 201],
    });
    const below = await post("/groups/acme%2Fteam/approval_rules", "owner", {
      name: "x",
      approvals_required: 1,
    });
    expect([below.status, below.json]).toEqual([
      400,
      { message: { group: ["must be a top level Group"] } },
    ]);
    await remove();
  });
});

describe("rules of a merge request", () => {
  it("replace those of its project", async () => {
    const project = await newRule(SITE, {
      name: "ours",
      approvals_required: 1,
      usernames: ["owner", "maintainer"],
    });
    const request = await newRequest();
    const made = await newRule(
      request,
      { name: "ignored", approvals_required: 1, approval_project_rule_id: project.id },
      "developer",
    );
    expect(made).toMatchObject({
      name: "ours",
      rule_type: "regular",
      section: null,
      source_rule: { approvals_required: 1 },
      overridden: false,
    });
    expect(names(made.users).sort()).toEqual(["maintainer", "owner"]);
    const path = `${request}/approval_rules/${made.id}`;
    const changed = await put(path, "developer", { approvals_required: 2 });
    expect(changed.json).toMatchObject({ approvals_required: 2, overridden: true });
    expect(await get(path)).toEqual(changed.json);
    expect(await get(`${request}/approval_rules`)).toEqual([changed.json]);
    const state = await get(`${request}/approval_state`);
    expect([state.approval_rules_overwritten, state.rules.length]).toEqual([true, 1]);
    const all = await post(`${request}/approvals`, "developer", { approvals_required: 3 });
    expect([all.status, all.json.approvals_required]).toEqual([201, 3]);
    const fewer = await post(`${request}/approvals`, "developer", { approvals_required: 1 });
    expect(fewer.json.approvals_required).toBe(2);
    expect((await app.call(`DELETE ${path}`, { as: "developer" })).status).toBe(204);
    await reset();
  });

  it("are its author's, its assignees' and maintainers' to change", async () => {
    const request = await newRequest("maintainer", { assignee_ids: [await idOf("reporter")] });
    const statuses: Record<string, number> = {};
    for (const as of everyone) {
      const rule = { name: as, approvals_required: 0, usernames: ["owner"] };
      statuses[as] = (await post(`${request}/approval_rules`, as, rule)).status;
    }
    expect(statuses).toEqual({
      anonymous: 401,
      stranger: 403,
      guest: 403,
      reporter: 201,
      developer: 403,
      maintainer: 201,
      owner: 201,
      admin: 201,
    });
    await post(`${SITE}/approvals`, "owner", {
      disable_overriding_approvers_per_merge_request: true,
    });
    const rule = { name: "late", approvals_required: 1 };
    expect((await post(`${request}/approval_rules`, "maintainer", rule)).status).toBe(403);
    const counted = await post(`${request}/approvals`, "maintainer", { approvals_required: 1 });
    expect([counted.status, counted.json]).toEqual([
      422,
      { error: "Overriding approvals is disabled" },
    ]);
    const state = await get(`${request}/approval_state`);
    expect(state).toEqual({ approval_rules_overwritten: false, rules: [] });
    await reset();
    await put(`${request}/merge`, "maintainer", {});
    const late = await post(`${request}/approval_rules`, "maintainer", rule);
    expect([late.status, late.json.message]).toEqual([
      400,
      { merge_request: ["must not be merged"] },
    ]);
  });
});

it("lists are filtered by who has approved", async () => {
  const [both, one, nobody] = [await newRequest(), await newRequest(), await newRequest()];
  for (const as of ["maintainer", "owner"] as const) await approve(both, as);
  await approve(one, "owner");
  const requests = [both, one, nobody];
  const found = async (filter: string) => {
    const listed = await get(`${SITE}/merge_requests?${filter}`);
    const paths = listed.map(({ iid }: { iid: number }) => `${SITE}/merge_requests/${iid}`);
    return requests.map((path) => paths.includes(path));
  };
  const [maintainer, owner] = [await idOf("maintainer"), await idOf("owner")];
  expect(await found(`approved_by_ids[]=${owner}`)).toEqual([true, true, false]);
  expect(await found(`approved_by_ids=${owner},${maintainer}`)).toEqual([true, false, false]);
  expect(await found(`approved_by_usernames[]=OWNER`)).toEqual([true, true, false]);
  expect(await found("approved_by_usernames=owner,maintainer")).toEqual([true, false, false]);
  expect(await found("approved_by_ids=Any")).toEqual([true, true, false]);
  expect(await found("approved_by_ids=None")).toEqual([false, false, true]);
  for (const wrong of ["None,1", "x", "1,2,3,4,5,6"]) {
    const { status } = await app.call(`GET ${SITE}/merge_requests?approved_by_ids=${wrong}`);
    expect([wrong, status]).toEqual([wrong, 400]);
  }
});

describe("a project's settings", () => {
  it("are shown to developers, and changed by maintainers", async () => {
    const defaults = {
      approvers: [],
      approver_groups: [],
      approvals_before_merge: 0,
      reset_approvals_on_push: true,
      selective_code_owner_removals: false,
      disable_overriding_approvers_per_merge_request: false,
      merge_requests_author_approval: false,
      merge_requests_disable_committers_approval: false,
      require_password_to_approve: false,
      require_reauthentication_to_approve: false,
    };
    expect(await get(`${SITE}/approvals`)).toEqual(defaults);
    const refused = await post(`${SITE}/approvals`, "maintainer", {
      selective_code_owner_removals: true,
    });
    expect(refused.status).toBe(400);
    const changes = { reset_approvals_on_push: false, merge_requests_author_approval: true };
    const changed = await post(`${SITE}/approvals`, "maintainer", changes);
    expect([changed.status, changed.json]).toEqual([201, { ...defaults, ...changes }]);
    await reset();
    const logged = await get("/audit_events", "admin");
    expect(JSON.stringify(logged)).toContain("approval settings changed");
  });

  it("have newer names, some of which mean the opposite", async () => {
    const path = `${SITE}/merge_request_approval_setting`;
    const of = (value: boolean) => ({ value, locked: false, inherited_from: null });
    const defaults = {
      allow_author_approval: of(false),
      allow_committer_approval: of(true),
      allow_overrides_to_approver_list_per_merge_request: of(true),
      retain_approvals_on_push: of(false),
      selective_code_owner_removals: of(false),
      require_password_to_approve: of(false),
      require_reauthentication_to_approve: of(false),
    };
    expect(await get(path, "maintainer")).toEqual(defaults);
    const sent = { retain_approvals_on_push: true, allow_author_approval: true };
    const changed = await put(path, "maintainer", sent);
    const expected = { retain_approvals_on_push: of(true), allow_author_approval: of(true) };
    expect([changed.status, changed.json]).toEqual([200, { ...defaults, ...expected }]);
    expect(await get(`${SITE}/approvals`)).toMatchObject({
      reset_approvals_on_push: false,
      merge_requests_author_approval: true,
      merge_requests_disable_committers_approval: false,
    });
    expect((await put(path, "maintainer", {})).status).toBe(400);
    await reset();
  });

  it("`approvals_before_merge` is the number of the rule about any approver", async () => {
    const set = async (approvals_before_merge: number) =>
      (await post(`${SITE}/approvals`, "maintainer", { approvals_before_merge })).json;
    expect((await set(0)).approvals_before_merge).toBe(0);
    expect(await get(`${SITE}/approval_rules`)).toEqual([]);
    expect((await set(2)).approvals_before_merge).toBe(2);
    expect((await set(3)).approvals_before_merge).toBe(3);
    const [rule, ...others] = await get(`${SITE}/approval_rules`);
    expect([rule, others]).toMatchObject([
      { rule_type: "any_approver", approvals_required: 3 },
      [],
    ]);
    await reset();
  });
});

describe("with code", () => {
  it("approvals are taken back by pushes, unless the project keeps them", async () => {
    const project = await newCodeProject(app);
    await project.commit("work", { "b.txt": "b\n" }, { from: "main" });
    const { iid } = await project.open("work");
    const approvers = async () =>
      (await project.get(`/merge_requests/${iid}/approvals`)).json.approved_by.length;
    const approveIt = () => project.send("POST", `/merge_requests/${iid}/approve`, {}, "owner");
    expect((await approveIt()).status).toBe(201);
    await project.commit("work", { "b.txt": "c\n" });
    expect(await approvers()).toBe(0);
    await project.send("POST", "/approvals", { reset_approvals_on_push: false }, "owner");
    const sha = (await project.get(`/merge_requests/${iid}`)).json.sha;
    const right = await project.send("POST", `/merge_requests/${iid}/approve`, { sha }, "owner");
    expect(right.status).toBe(201);
    await project.commit("work", { "b.txt": "d\n" });
    expect(await approvers()).toBe(1);
  });

  it("answers say whether the code can be merged, whoever asks first", async () => {
    const project = await newCodeProject(app);
    const statusOf = async (method: "GET" | "POST", path: string, conflicts: boolean) => {
      const branch = `${path}-${method}-${conflicts}`;
      await project.commit(branch, { "a.txt": `${branch}\n` }, { from: "main" });
      const { iid } = await project.open(branch);
      if (conflicts) await project.commit("main", { "a.txt": `not ${branch}\n` });
      const asked = `/merge_requests/${iid}/${path}`;
      const answer =
        method === "GET"
          ? await project.get(asked)
          : await project.send("POST", asked, { approvals_required: 1 }, "maintainer");
      return answer.json.merge_status;
    };
    expect([
      await statusOf("GET", "approvals", false),
      await statusOf("POST", "approvals", false),
      await statusOf("POST", "approve", false),
      await statusOf("GET", "approvals", true),
    ]).toEqual(["can_be_merged", "can_be_merged", "can_be_merged", "cannot_be_merged"]);
  });

  it("messages of merges name who approved and who was asked", async () => {
    const project = await newCodeProject(app);
    await project.commit("work", { "b.txt": "b\n" }, { from: "main" });
    const template = { merge_commit_template: "%{title}\n\n%{approved_by}\n%{reviewed_by}" };
    await project.send("PUT", "", template, "owner");
    const { iid } = await project.open("work", { reviewer_ids: [await idOf("reporter")] });
    await project.send("POST", `/merge_requests/${iid}/approve`, {}, "owner");
    const { json } = await project.send("PUT", `/merge_requests/${iid}/merge`, {}, "maintainer");
    const commit = await project.get(`/repository/commits/${json.merge_commit_sha}`);
    expect(commit.json.message).toMatch(
      /^A change\n\nApproved-by: The owner <owner@.*>\nReviewed-by: The reporter <reporter@.*>$/,
    );
  });

  it("those who committed to it can't approve it, if the project says so", async () => {
    const project = await newCodeProject(app);
    await project.commit("work", { "b.txt": "b\n" }, { from: "main", as: "maintainer" });
    const { iid } = await project.open("work");
    const settings = { merge_requests_disable_committers_approval: true };
    await project.send("POST", "/approvals", settings, "owner");
    const approveAs = async (as: Person) =>
      (await project.send("POST", `/merge_requests/${iid}/approve`, {}, as)).status;
    expect([await approveAs("maintainer"), await approveAs("owner")]).toEqual([401, 201]);
  });

  const OWNERS = `
* @secret
[Docs][2] @owner @maintainer @reporter
/docs/
!/docs/drafts/
^[Optional]
*.md @owner
[Roles]
/roles/ @@developers nobody@example.com @stranger
`;

  it("code owners may belong to the project by a group that is invited, as may the group to itself", async () => {
    const project = await newCodeProject(app);
    const { json: stranger } = await app.call("GET /users?username=stranger", { as: "owner" });
    const invite = async (path: string, at: string, group_access: number) => {
      const json = { name: path, path };
      const { json: made } = await app.call("POST /groups", { as: "owner", json });
      const member = { user_id: stranger[0].id, access_level: 30 };
      await app.call(`POST /groups/${made.id}/members`, { as: "owner", json: member });
      const link = { group_id: made.id, group_access };
      const shared = await app.call(`POST ${at}/share`, { as: "owner", json: link });
      expect(shared.status).toBe(201);
    };
    await invite("lenders", project.path, 30);
    await invite("readers", project.path, 20);
    await invite("above", "/groups/secret", 30);
    const owners = "/group/ @lenders\n/readers/ @readers\n/above/ @above\n/user/ @stranger\n";
    await project.commit("main", { CODEOWNERS: owners });
    const files = Object.fromEntries(
      ["group", "readers", "above", "user"].map((folder) => [`${folder}/a`, "a\n"]),
    );
    await project.commit("work", files, { from: "main", as: "developer" });
    const { iid } = await project.open("work");
    const { json } = await project.get(`/merge_requests/${iid}/approval_state`);
    const rules = json.rules.map((rule: Record<string, unknown>) => [
      rule["name"],
      names(rule["eligible_approvers"] as never).includes("stranger"),
    ]);
    expect(rules).toEqual([
      ["/above/", false],
      ["/group/", true],
      ["/readers/", false],
      ["/user/", true],
    ]);
    const approved = await app.call(`POST ${project.path}/merge_requests/${iid}/approve`, {
      as: "stranger",
    });
    expect(approved.status).toBe(201);
    for (const path of ["lenders", "readers", "above"]) {
      expect((await app.call(`DELETE /groups/${path}`, { as: "owner" })).status).toBe(202);
    }
    const over = await app.call(`GET ${project.path}`, { as: "stranger" });
    expect(over.status).toBe(404);
  });

  it("code owners must approve changes of their files", async () => {
    const project = await newCodeProject(app);
    await project.commit("main", { ".gitlab/CODEOWNERS": OWNERS });
    const added = { "docs/a.md": "a\n", "docs/drafts/b": "b\n", "roles/c": "c\n" };
    await project.commit("work", added, { from: "main", as: "developer" });
    const { json: person } = await app.call("GET /users?username=guest", { as: "owner" });
    const member = { user_id: person[0].id, access_level: 30 };
    await project.send("POST", "/members", member, "owner");
    const { iid } = await project.open("work");
    const state = async () =>
      (await project.get(`/merge_requests/${iid}/approval_state`)).json.rules.map(
        (rule: Record<string, unknown>) => [
          rule["section"],
          rule["name"],
          names(rule["eligible_approvers"] as never).sort(),
          rule["approved"],
        ],
      );
    const members = ["guest", "maintainer", "owner", "reporter"];
    // Without a protected branch that asks for them, code owners are only named.
    expect(await state()).toEqual([
      ["codeowners", "*", members, true],
      ["Docs", "/docs/", ["maintainer", "owner", "reporter"], true],
      ["Optional", "*.md", ["owner"], true],
      ["Roles", "/roles/", ["guest"], true],
    ]);
    const asking = { name: "main", code_owner_approval_required: true };
    const { json: rule } = await project.send("POST", "/protected_branches", asking, "owner");
    expect(rule.code_owner_approval_required).toBe(true);
    const left = async () => {
      const { json } = await project.get(`/merge_requests/${iid}/approvals`);
      return [json.approvals_required, json.approvals_left];
    };
    expect(await left()).toEqual([4, 4]);
    expect((await state()).map(([, , , approved]: unknown[]) => approved)).toEqual([
      false,
      false,
      true,
      false,
    ]);
    await project.send("POST", `/merge_requests/${iid}/approve`, {}, "owner");
    expect(await left()).toEqual([4, 2]);
    const { json: found } = await project.get(`/merge_requests/${iid}`);
    expect(found.detailed_merge_status).toBe("not_approved");
    const { json: listed } = await project.get(`/merge_requests/${iid}/approval_rules`);
    expect(listed.map((one: never) => one["rule_type"])).toEqual(Array(4).fill("code_owner"));
    const path = `/merge_requests/${iid}/approval_rules/${listed[0].id}`;
    expect((await project.send("DELETE", path, {}, "owner")).status).toBe(403);
    await project.send(
      "PATCH",
      "/protected_branches/main",
      { code_owner_approval_required: false },
      "owner",
    );
    expect(await left()).toEqual([0, 0]);
  });
});

describe("todos", () => {
  const asked = async (request: string) => {
    const { id } = await get(request);
    const found: Person[] = [];
    for (const as of everyone.slice(1)) {
      const { status, json } = await app.call("GET /todos?action=approval_required", { as });
      expect(status).toBe(200);
      if (json.some(({ target }: { target: { id: number } }) => target.id === id)) found.push(as);
    }
    return found;
  };
  beforeEach(reset);
  afterAll(reset);

  it("ask those whom a rule needs, but not the author, until they have approved", async () => {
    const user_ids = [await idOf("reporter"), await idOf("owner"), await idOf("developer")];
    await newRule(SITE, { name: "Two", approvals_required: 2, user_ids });
    await newRule(SITE, {
      name: "Optional",
      approvals_required: 0,
      user_ids: [await idOf("guest")],
    });
    const request = await newRequest();
    expect(await asked(request)).toEqual(["reporter", "owner"]);
    const [todo] = (await app.call("GET /todos?action=approval_required", { as: "owner" })).json;
    expect(todo).toMatchObject({
      action_name: "approval_required",
      author: { username: "developer" },
      target_type: "MergeRequest",
      state: "pending",
    });
    expect((await approve(request, "owner")).status).toBe(201);
    expect(await asked(request)).toEqual(["reporter"]);
  });

  it("wait until a draft is ready, and come once", async () => {
    const user_ids = [await idOf("maintainer")];
    await newRule(SITE, { name: "One", approvals_required: 1, user_ids });
    const request = await newRequest("developer", { title: "Draft: later" });
    expect(await asked(request)).toEqual([]);
    expect((await put(request, "developer", { title: "Draft: still" })).status).toBe(200);
    expect(await asked(request)).toEqual([]);
    expect((await put(request, "developer", { title: "Now" })).status).toBe(200);
    expect(await asked(request)).toEqual(["maintainer"]);
    await app.call("POST /todos/mark_as_done", { as: "maintainer" });
    expect((await put(request, "developer", { title: "Now!" })).status).toBe(200);
    expect(await asked(request)).toEqual([]);
  });

  it("ask members of groups, and by rules of the merge request, who may see it", async () => {
    const request = await newRequest();
    const { id: group } = await get("/groups/acme", "owner");
    await newRule(request, { name: "All", approvals_required: 1, group_ids: [group] }, "developer");
    expect(await asked(request)).toEqual(["guest", "reporter", "maintainer", "owner"]);
    const other = await newRequest();
    const user_ids = [await idOf("reporter")];
    const rule = { name: "Few", approvals_required: 0, user_ids };
    const { id } = await newRule(other, rule, "developer");
    expect(await asked(other)).toEqual([]);
    const changed = { approvals_required: 1 };
    expect((await put(`${other}/approval_rules/${id}`, "developer", changed)).status).toBe(200);
    expect(await asked(other)).toEqual(["reporter"]);
  });
});
