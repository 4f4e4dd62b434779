import { afterAll, beforeAll, expect, it } from "vitest";
import { type Person, type TestApp, testApp, waitFor } from "../helpers.ts";
import { type CodeProject, newCodeProject } from "./_merge-requests.ts";

let app: TestApp;
let project: CodeProject;
let branches = 0;

beforeAll(async () => {
  app = await testApp({ background: true });
  project = await newCodeProject(app);
});
afterAll(() => app.dispose());

/** A merge request, whose pipeline of one status runs. */
async function running(json: object = {}) {
  branches += 1;
  const source = `later-${branches}`;
  const sha = await project.commit(source, { [`${source}.txt`]: "text\n" }, { from: "main" });
  const { id, iid } = await project.open(source, json);
  await report(source, sha, "running");
  return { id, iid, source, sha };
}

async function report(ref: string, sha: string, state: string) {
  const answer = await project.send("POST", `/statuses/${sha}`, { ref, state }, "maintainer");
  expect(answer.status, answer.text).toBe(201);
}

async function mergeLater(iid: number, json: object = {}, as: Person = "maintainer") {
  const path = `/merge_requests/${iid}/merge`;
  const answer = await project.send("PUT", path, { auto_merge: true, ...json }, as);
  expect(answer.status, answer.text).toBe(200);
  expect(answer.json).toMatchObject({ state: "opened", merge_when_pipeline_succeeds: true });
}

const shown = async (iid: number) => (await project.get(`/merge_requests/${iid}`)).json;

const isMerged = (iid: number) => waitFor(async () => (await shown(iid)).state === "merged");

/** Texts of the notes that the server has written, the oldest first. */
async function noted(iid: number): Promise<string[]> {
  const { json } = await project.get(`/merge_requests/${iid}/notes?sort=asc`);
  return json.map(({ body }: { body: string }) => body.split("\n")[0]);
}

/** The users among some with a todo about a failed pipeline. */
async function told(id: number, people: readonly Person[], state = "pending"): Promise<Person[]> {
  const found: Person[] = [];
  for (const as of people) {
    const { json } = await app.call(`GET /todos?action=build_failed&state=${state}`, { as });
    if (json.some(({ target }: { target: { id: number } }) => target.id === id)) found.push(as);
  }
  return found;
}

it("a merge request is merged when its pipeline succeeds, as it was asked for", async () => {
  const { iid, source, sha } = await running();
  await mergeLater(iid, {
    merge_commit_message: "Merged later",
    should_remove_source_branch: true,
    sha,
  });
  await report(source, sha, "success");
  await isMerged(iid);
  const request = await shown(iid);
  expect(request).toMatchObject({
    merge_when_pipeline_succeeds: false,
    merged_by: { username: "maintainer" },
  });
  const commit = await project.get(`/repository/commits/${request.merge_commit_sha}`);
  expect(commit.json.message).toBe("Merged later");
  expect((await project.get(`/repository/branches/${source}`)).status).toBe(404);
  expect(await noted(iid)).toEqual([`enabled an automatic merge when all checks for ${sha} pass`]);
});

it("the newest pipeline is shown by GraphQL", async () => {
  const { iid, sha } = await running();
  const { json } = await app.call("POST http://localhost/api/graphql", {
    as: "developer",
    json: {
      query: `{ project(fullPath: "${project.fullPath}") { mergeRequest(iid: "${iid}") {
        headPipeline { iid status active path jobs { nodes { name } } } } } }`,
    },
  });
  const [pipeline] = (await project.get(`/pipelines?sha=${sha}`)).json;
  const path = `/${project.fullPath}/-/pipelines/${pipeline.id}`;
  const facts = { iid: String(pipeline.iid), status: "RUNNING", active: true, path };
  const shown = { ...facts, jobs: { nodes: [{ name: "default" }] } };
  expect(json.data.project.mergeRequest.headPipeline).toEqual(shown);
});

it("another commit than the one that was seen is not merged later", async () => {
  const { iid } = await running();
  const json = { auto_merge: true, sha: "0".repeat(40) };
  const answer = await project.send("PUT", `/merge_requests/${iid}/merge`, json, "maintainer");
  expect(answer.status).toBe(409);
  expect((await shown(iid)).merge_when_pipeline_succeeds).toBe(false);
});

it("author and merger are told of a failed pipeline, until one succeeds, which merges", async () => {
  const { id, iid, source, sha } = await running();
  await mergeLater(iid);
  await report(source, sha, "failed");
  await waitFor(async () => (await told(id, ["maintainer"])).length === 1);
  expect(await told(id, ["developer", "maintainer", "owner"])).toEqual(["developer", "maintainer"]);
  expect(await shown(iid)).toMatchObject({ state: "opened", merge_when_pipeline_succeeds: true });
  await report(source, sha, "running");
  await report(source, sha, "success");
  await isMerged(iid);
  await waitFor(async () => (await told(id, ["developer"], "done")).length === 1);
  expect(await told(id, ["developer", "maintainer"])).toEqual([]);
});

it("a push to the source branch ends the waiting, and so does cancelling, once", async () => {
  const { iid, source } = await running();
  await mergeLater(iid);
  const next = await project.commit(source, { "next.txt": "next\n" });
  expect((await shown(iid)).merge_when_pipeline_succeeds).toBe(false);
  await report(source, next, "running");
  await mergeLater(iid);
  for (const _ of [1, 2]) {
    const path = `/merge_requests/${iid}/cancel_merge_when_pipeline_succeeds`;
    const { status, json } = await project.send("POST", path);
    expect([status, json]).toEqual([201, { status: "success" }]);
  }
  expect(await noted(iid)).toEqual([
    expect.stringMatching(/^enabled an automatic merge when all checks for/),
    "aborted the automatic merge because the source branch was updated",
    "added 1 commit",
    `enabled an automatic merge when all checks for ${next} pass`,
    "canceled the automatic merge",
  ]);
});

it("whoever may no longer merge does not merge later either", async () => {
  const { iid, source, sha } = await running();
  await mergeLater(iid, {}, "developer");
  await app.call(`POST ${project.path}/protected_branches`, {
    as: "owner",
    json: { name: "main", merge_access_level: 40, push_access_level: 40 },
  });
  await report(source, sha, "success");
  await waitFor(async () => !(await shown(iid)).merge_when_pipeline_succeeds);
  expect((await shown(iid)).state).toBe("opened");
  await app.call(`DELETE ${project.path}/protected_branches/main`, { as: "owner" });
});

it("whom a rule names merges later, unless it names them no more", async () => {
  const { json: users } = await app.call("GET /users?username=developer", { as: "owner" });
  const rule = `${project.path}/protected_branches`;
  const { json: made } = await app.call(`POST ${rule}`, {
    as: "owner",
    json: { name: "main", push_access_level: 0, allowed_to_merge: [{ user_id: users[0].id }] },
  });
  const first = await running();
  await mergeLater(first.iid, {}, "developer");
  await report(first.source, first.sha, "success");
  await isMerged(first.iid);
  const second = await running();
  await mergeLater(second.iid, {}, "developer");
  const [{ id }] = made.merge_access_levels;
  const json = { allowed_to_merge: [{ access_level: 40 }, { id, _destroy: true }] };
  await app.call(`PATCH ${rule}/main`, { as: "owner", json });
  await report(second.source, second.sha, "success");
  await waitFor(async () => !(await shown(second.iid)).merge_when_pipeline_succeeds);
  expect((await shown(second.iid)).state).toBe("opened");
  await app.call(`DELETE ${rule}/main`, { as: "owner" });
});

it("a draft waits until it is ready, and an unresolved thread until it is resolved", async () => {
  const { iid, source, sha } = await running({ title: "Draft: soon" });
  await mergeLater(iid);
  await report(source, sha, "success");
  await project.send("PUT", `/merge_requests/${iid}`, { title: "Now" });
  await isMerged(iid);
  const only = { only_allow_merge_if_all_discussions_are_resolved: true };
  await app.call(`PUT ${project.path}`, { as: "owner", json: only });
  const other = await running();
  const path = `/merge_requests/${other.iid}/discussions`;
  const { json: thread } = await project.send("POST", path, { body: "Why?" });
  await mergeLater(other.iid);
  await report(other.source, other.sha, "success");
  await project.send("PUT", `${path}/${thread.id}`, { resolved: true });
  await isMerged(other.iid);
});
