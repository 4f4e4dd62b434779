import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { baseSeed, type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp({ seed: baseSeed });
});
afterAll(() => app.dispose());

const SITE = "/projects/acme%2Fsite";
let branches = 0;

async function newRequest(as: Person = "developer", json: Record<string, unknown> = {}) {
  branches += 1;
  const answer = await app.call(`POST ${SITE}/merge_requests`, {
    as,
    json: { title: "A change", source_branch: `b${branches}`, target_branch: "main", ...json },
  });
  expect(answer.status, answer.text).toBe(201);
  return answer.json;
}

const put = (iid: number, json: object, as: Person = "developer", action = "") =>
  app.call(`PUT ${SITE}/merge_requests/${iid}${action}`, { as, json });

const actions = async () =>
  (
    await app.call(`GET ${SITE}/events?target_type=merge_request&sort=desc`, { as: "developer" })
  ).json.map((event: { action_name: string }) => event.action_name);

describe("a merge request", () => {
  it("has GitLab's fields", async () => {
    const made = await newRequest("developer", {
      title: "WIP: new login",
      description: "It is",
      labels: "UX",
      squash: true,
    });
    const { id: project } = (await app.call(`GET ${SITE}`)).json;
    const listed = {
      id: expect.any(Number),
      iid: made.iid,
      project_id: project,
      title: "WIP: new login",
      description: "It is",
      state: "opened",
      created_at: expect.any(String),
      updated_at: expect.any(String),
      merged_by: null,
      merge_user: null,
      merged_at: null,
      closed_by: null,
      closed_at: null,
      target_branch: "main",
      source_branch: made.source_branch,
      user_notes_count: 0,
      upvotes: 0,
      downvotes: 0,
      assignee: null,
      author: expect.objectContaining({ username: "developer" }),
      assignees: [],
      reviewers: [],
      source_project_id: project,
      target_project_id: project,
      labels: ["UX"],
      draft: true,
      work_in_progress: true,
      milestone: null,
      merge_when_pipeline_succeeds: false,
      merge_status: "can_be_merged",
      detailed_merge_status: "draft_status",
      has_conflicts: false,
      blocking_discussions_resolved: true,
      sha: null,
      merge_commit_sha: null,
      squash_commit_sha: null,
      discussion_locked: false,
      should_remove_source_branch: null,
      force_remove_source_branch: false,
      reference: `!${made.iid}`,
      web_url: `http://pm.test/acme/site/-/merge_requests/${made.iid}`,
      time_stats: {
        time_estimate: 0,
        total_time_spent: 0,
        human_time_estimate: null,
        human_total_time_spent: null,
      },
      squash: true,
      squash_on_merge: true,
      references: {
        short: expect.any(String),
        relative: expect.any(String),
        full: expect.any(String),
      },
      task_completion_status: { count: 0, completed_count: 0 },
      prepared_at: expect.any(String),
      merge_after: null,
      approvals_before_merge: null,
      imported: false,
      imported_from: "none",
    };
    const single = {
      ...listed,
      subscribed: true,
      changes_count: null,
      merge_error: null,
      diff_refs: null,
      latest_build_started_at: null,
      latest_build_finished_at: null,
      pipeline: null,
      head_pipeline: null,
      user: { can_merge: true },
      first_contribution: false,
    };
    expect(made).toEqual(single);
    const list = await app.call(`GET ${SITE}/merge_requests?iids[]=${made.iid}`);
    expect(list.json).toEqual([listed]);
    const simple = await app.call(`GET ${SITE}/merge_requests?view=simple&iids[]=${made.iid}`);
    expect(Object.keys(simple.json[0])).toEqual([...Object.keys(listed).slice(0, 8), "web_url"]);
    const anonymous = await app.call(`GET ${SITE}/merge_requests/${made.iid}`);
    expect(anonymous.json).toMatchObject({ subscribed: false, user: { can_merge: false } });
  });

  it.each(["title", "source_branch", "target_branch"])("needs %s", async (name) => {
    const json: Record<string, string> = { title: "t", source_branch: "x", target_branch: "y" };
    delete json[name];
    const answer = await app.call(`POST ${SITE}/merge_requests`, { as: "developer", json });
    expect([answer.status, answer.json]).toEqual([
      400,
      { message: `400 (Bad request) "${name}" not given` },
    ]);
  });

  it("can't have equal source and target branches: 422", async () => {
    const json = { title: "t", source_branch: "same", target_branch: "same" };
    const answer = await app.call(`POST ${SITE}/merge_requests`, { as: "developer", json });
    expect([answer.status, answer.json]).toEqual([
      422,
      { error: ["You can't use same project/branch for source and target"] },
    ]);
  });

  it("can be open only once between two branches: 409", async () => {
    const { iid, source_branch } = await newRequest();
    const json = { title: "t", source_branch, target_branch: "main" };
    const again = await app.call(`POST ${SITE}/merge_requests`, { as: "developer", json });
    expect([again.status, again.json]).toEqual([
      409,
      { message: [`Another open merge request already exists for this source branch: !${iid}`] },
    ]);
    await put(iid, { state_event: "close" });
    const second = await newRequest("developer", { source_branch });
    expect((await put(iid, { state_event: "reopen" })).status).toBe(409);
    const other = await newRequest("developer", { source_branch, target_branch: "stable" });
    expect((await put(other.iid, { target_branch: "main" })).status).toBe(409);
    await put(second.iid, { state_event: "close" });
    expect((await put(iid, { state_event: "reopen" })).json.state).toBe("opened");
  });

  it.each<[Person, number]>([
    ["anonymous", 401],
    ["stranger", 403],
    ["guest", 403],
    ["reporter", 403],
    ["developer", 201],
    ["owner", 201],
    ["admin", 201],
  ])("is created by %s: %i", async (as, status) => {
    const json = { title: "t", source_branch: `by-${as}`, target_branch: "main" };
    const { status: got } = await app.call(`POST ${SITE}/merge_requests`, { as, json });
    expect(got).toBe(status);
  });

  it("to a project that is no relative is refused", async () => {
    const { json: other } = await app.call("POST /projects", {
      as: "owner",
      json: { name: "unrelated", visibility: "public" },
    });
    const post = async (target_project_id: number) => {
      const json = { title: "t", source_branch: "x", target_branch: "y", target_project_id };
      const answer = await app.call(`POST ${SITE}/merge_requests`, { as: "developer", json });
      return [answer.status, answer.json];
    };
    const reason = "Source project is not a fork of the target project";
    expect(await post(other.id)).toEqual([422, { error: [reason] }]);
    expect(await post(9999)).toEqual([404, { message: "404 Project Not Found" }]);
  });
});

describe("changing a merge request", () => {
  it.each<[Person, number]>([
    ["anonymous", 401],
    ["stranger", 403],
    ["reporter", 403],
    ["developer", 200],
    ["admin", 200],
  ])("by %s: %i", async (as, status) => {
    const { iid } = await newRequest("maintainer");
    expect((await put(iid, { title: "New" }, as)).status).toBe(status);
  });

  it("requires at least one attribute, and an existing merge request", async () => {
    const { iid } = await newRequest();
    expect((await put(iid, {})).status).toBe(400);
    expect((await put(99999, { title: "t" })).status).toBe(404);
  });

  it("closes and reopens it, each with an event", async () => {
    const { iid } = await newRequest();
    const closed = await put(iid, { state_event: "close" });
    expect(closed.json).toMatchObject({
      state: "closed",
      closed_by: { username: "developer" },
      closed_at: expect.any(String),
    });
    expect((await put(iid, { state_event: "close" })).json.state).toBe("closed");
    expect((await put(iid, { state_event: "reopen" })).json).toMatchObject({
      state: "opened",
      closed_by: null,
      closed_at: null,
    });
    expect((await actions()).slice(0, 3)).toEqual(["opened", "closed", "opened"]);
  });
});

describe("merging", () => {
  it("answers with the merged one, and creates an event", async () => {
    const { iid } = await newRequest();
    const { status, json } = await put(iid, {}, "developer", "/merge");
    expect([status, json.state, json.merged_by.username]).toEqual([200, "merged", "developer"]);
    expect(json.merged_at).toEqual(expect.any(String));
    expect((await actions())[0]).toBe("accepted");
    expect((await put(iid, { state_event: "reopen" })).json.state).toBe("merged");
    expect((await put(iid, { state_event: "close" })).json.state).toBe("merged");
    const again = await put(iid, {}, "developer", "/merge");
    expect([again.status, again.json]).toEqual([405, { message: "405 Method Not Allowed" }]);
  });

  it.each(["WIP: x", "Draft: x", "[WIP] x", "[draft] x", "(Draft) x"])(
    "%j answers 405",
    async (title) => {
      const { iid } = await newRequest("developer", { title });
      expect((await put(iid, {}, "developer", "/merge")).status).toBe(405);
    },
  );

  it("a closed one answers 405", async () => {
    const { iid } = await newRequest();
    await put(iid, { state_event: "close" });
    const { status, json } = await put(iid, {}, "developer", "/merge");
    expect([status, json]).toEqual([405, { message: "405 Method Not Allowed" }]);
  });

  it("a sha other than the head answers 409", async () => {
    const { iid } = await newRequest();
    const { status, json } = await put(iid, { sha: "0".repeat(40) }, "developer", "/merge");
    expect(status).toBe(409);
    expect(json.message).toMatch(/^SHA does not match HEAD of source branch/);
  });

  it.each<[Person, number]>([
    ["anonymous", 401],
    ["guest", 401],
    ["reporter", 401],
    ["developer", 200],
    ["admin", 200],
  ])("by %s: %i", async (as, status) => {
    const { iid } = await newRequest();
    expect((await put(iid, {}, as, "/merge")).status).toBe(status);
  });
});

describe("deleting a merge request", () => {
  it.each<[Person, number]>([
    ["anonymous", 401],
    ["developer", 403],
    ["maintainer", 403],
    ["owner", 204],
    ["admin", 204],
  ])("by %s: %i", async (as, status) => {
    const { iid } = await newRequest();
    expect((await app.call(`DELETE ${SITE}/merge_requests/${iid}`, { as })).status).toBe(status);
  });
});

describe("lists of merge requests", () => {
  it("filter by state, branches and labels", async () => {
    const one = await newRequest("developer", { labels: "red,blue", title: "needle" });
    const two = await newRequest("maintainer", { labels: "red", title: "needle" });
    await put(two.iid, { state_event: "close" });
    const iids = async (query: string, as: Person = "developer") =>
      (await app.call(`GET ${SITE}/merge_requests?search=needle&${query}`, { as })).json.map(
        (found: { iid: number }) => found.iid,
      );
    expect(await iids("")).toEqual([two.iid, one.iid]);
    expect(await iids("state=opened")).toEqual([one.iid]);
    expect(await iids("state=closed")).toEqual([two.iid]);
    expect(await iids("state=merged")).toEqual([]);
    expect(await iids("labels=red,blue")).toEqual([one.iid]);
    expect(await iids(`source_branch=${two.source_branch}`)).toEqual([two.iid]);
    expect(await iids("target_branch=other")).toEqual([]);
    expect(await iids("scope=created_by_me", "maintainer")).toEqual([two.iid]);
    const all = await app.call("GET /groups/acme/merge_requests?search=needle");
    expect(all.json).toHaveLength(2);
    const own = await app.call("GET /merge_requests?search=needle", { as: "maintainer" });
    expect(own.json).toHaveLength(1);
    const wrong = await app.call(`GET ${SITE}/merge_requests?state=open`);
    expect(wrong.status).toBe(400);
  });

  it("filter by who merged, and by where the words are", async () => {
    const titled = await newRequest("developer", { title: "a haystack" });
    const described = await newRequest("developer", { title: "plain", description: "haystack" });
    const merged = await newRequest("developer", { title: "haystack" });
    const answer = await app.call(`PUT ${SITE}/merge_requests/${merged.iid}/merge`, {
      as: "maintainer",
    });
    expect(answer.status, answer.text).toBe(200);
    const merger = answer.json.merge_user;
    const iids = async (query: string) =>
      (await app.call(`GET ${SITE}/merge_requests?search=haystack&${query}`)).json.map(
        (found: { iid: number }) => found.iid,
      );
    const all = [merged.iid, described.iid, titled.iid];
    expect(await iids("")).toEqual(all);
    expect(await iids(`merge_user_id=${merger.id}`)).toEqual([merged.iid]);
    expect(await iids("merge_user_id=1000000")).toEqual([]);
    expect(await iids(`merge_user_username=${merger.username.toUpperCase()}`)).toEqual([
      merged.iid,
    ]);
    expect(await iids("merge_user_username=nobody")).toEqual([]);
    expect(await iids("in=title")).toEqual([merged.iid, titled.iid]);
    expect(await iids("in=description")).toEqual([described.iid]);
    for (const query of ["in=title,description", "in=other"])
      expect(await iids(query)).toEqual(all);
  });

  it("answer 401 to anonymous callers, or all that is public with scope=all", async () => {
    expect((await app.call("GET /merge_requests")).status).toBe(401);
    expect((await app.call("GET /merge_requests?scope=all")).status).toBe(200);
  });

  it("of a private project are hidden from guests", async () => {
    const path = "/projects/secret%2Fvault/merge_requests";
    const json = { title: "quiet", source_branch: "a", target_branch: "b" };
    expect((await app.call(`POST ${path}`, { as: "developer", json })).status).toBe(201);
    expect((await app.call(`GET ${path}`, { as: "reporter" })).json).toHaveLength(1);
    expect((await app.call(`GET ${path}`, { as: "guest" })).json).toEqual([]);
    expect((await app.call(`GET ${path}/1`, { as: "guest" })).status).toBe(404);
    expect((await app.call(`GET ${path}/1/notes`, { as: "guest" })).status).toBe(404);
    const global = "GET /merge_requests?scope=all&search=quiet";
    expect((await app.call(global, { as: "guest" })).json).toEqual([]);
    expect((await app.call(global, { as: "reporter" })).json).toHaveLength(1);
  });
});
