// Merge trains: who gets into them, what is merged when, and what leaves them.
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { type CodeProject, newCodeProject } from "./_merge-requests.ts";

let app: TestApp;
let project: CodeProject;
let branches = 0;

beforeAll(async () => {
  app = await testApp({ background: false });
});
afterAll(() => app.dispose());
beforeEach(async () => {
  project = await newCodeProject(app);
  await set({ merge_trains_enabled: true });
});

const set = (json: object) => app.call(`PUT ${project.path}`, { as: "owner", json });
const work = () => app.admin.maintenance.runPipelines();

interface Request {
  readonly id: number;
  readonly iid: number;
  readonly source: string;
  readonly sha: string;
}

async function open(json: object = {}): Promise<Request> {
  branches += 1;
  const source = `train-${branches}`;
  const sha = await project.commit(source, { [`${source}.txt`]: "text\n" }, { from: "main" });
  const { id, iid } = await project.open(source, json);
  return { id, iid, source, sha };
}

async function report({ source: ref, sha }: Request, state: string) {
  const answer = await project.send("POST", `/statuses/${sha}`, { ref, state }, "maintainer");
  expect(answer.status, answer.text).toBe(201);
}

async function running(json: object = {}): Promise<Request> {
  const request = await open(json);
  await report(request, "running");
  return request;
}

const add = ({ iid }: Request, json: object = {}, as: Person = "maintainer") =>
  project.send("POST", `/merge_trains/merge_requests/${iid}`, json, as);
const shown = async ({ iid }: Request) => (await project.get(`/merge_requests/${iid}`)).json;
const stateOf = async (request: Request) => (await shown(request)).state;
const cars = async (path = "") => (await project.get(`/merge_trains${path}`)).json;
const iids = async (path = "") =>
  (await cars(path)).map((car: { merge_request: { iid: number } }) => car.merge_request.iid);

async function noted({ iid }: Request): Promise<string[]> {
  const { json } = await project.get(`/merge_requests/${iid}/notes?sort=asc`);
  return json.map(({ body }: { body: string }) => body.split("\n")[0]);
}
const LEFT = "removed this merge request from the merge train";

it("merge requests are merged one after another, each after its pipeline", async () => {
  const [first, second, third] = [await running(), await running(), await open()];
  const added = await add(first, { squash: true });
  expect([added.status, added.json.length]).toEqual([201, 1]);
  expect((await add(second)).json.map(({ id }: { id: number }) => id)).toHaveLength(2);
  expect((await add(third)).status).toBe(201);
  await report(second, "success");
  await work();
  expect(await iids("?scope=active&sort=asc")).toEqual([first.iid, second.iid, third.iid]);
  expect(await iids("/main?scope=active")).toEqual([third.iid, second.iid, first.iid]);
  expect(await iids("/other")).toEqual([]);
  expect(await shown(second)).toMatchObject({
    state: "opened",
    merge_when_pipeline_succeeds: true,
  });
  await report(first, "success");
  await work();
  expect(await Promise.all([first, second, third].map(stateOf))).toEqual(Array(3).fill("merged"));
  expect(await iids("?scope=active")).toEqual([]);
  expect(await iids("?scope=complete&sort=asc")).toEqual([first.iid, second.iid, third.iid]);
  expect(await shown(first)).toMatchObject({
    squash: true,
    squash_commit_sha: expect.any(String),
    merged_by: { username: "maintainer" },
  });
  expect(await noted(first)).toEqual(["started a merge train"]);
  expect(await noted(third)).toEqual(["added this merge request to the merge train at position 3"]);
});

it("a car is shown as it is", async () => {
  const request = await running();
  await add(request);
  const path = `/merge_trains/merge_requests/${request.iid}`;
  const { status, json } = await project.get(path);
  expect(status).toBe(200);
  const [pipeline] = (await project.get(`/pipelines?sha=${request.sha}`)).json;
  expect(json).toEqual({
    id: expect.any(Number),
    merge_request: {
      id: request.id,
      iid: request.iid,
      project_id: project.id,
      title: "A change",
      description: null,
      state: "opened",
      created_at: expect.any(String),
      updated_at: expect.any(String),
      web_url: expect.stringContaining(`/-/merge_requests/${request.iid}`),
    },
    user: expect.objectContaining({ username: "maintainer" }),
    pipeline,
    created_at: expect.any(String),
    updated_at: expect.any(String),
    target_branch: "main",
    status: "fresh",
    merged_at: null,
    duration: null,
  });
  expect(await cars()).toEqual([json]);
  await report(request, "success");
  await work();
  expect((await project.get(path)).json).toMatchObject({
    id: json.id,
    status: "merged",
    merged_at: expect.any(String),
    duration: expect.any(Number),
    pipeline: { id: pipeline.id, status: "success" },
  });
});

it("what fails its pipeline leaves the train, wherever it is in it, and the next one is merged", async () => {
  const [first, second, third] = [await running(), await running(), await running()];
  for (const one of [first, second, third]) await add(one);
  await report(second, "failed");
  await work();
  expect(await iids("?sort=asc")).toEqual([first.iid, third.iid]);
  await report(third, "success");
  await report(first, "failed");
  await work();
  expect(await Promise.all([first, second, third].map(stateOf))).toEqual([
    "opened",
    "opened",
    "merged",
  ]);
  expect(await shown(first)).toMatchObject({ merge_when_pipeline_succeeds: false });
  expect(await noted(first)).toEqual([
    "started a merge train",
    `${LEFT} because pipeline did not succeed`,
  ]);
  expect((await project.get(`/merge_trains/merge_requests/${first.iid}`)).status).toBe(404);
});

it("what is cancelled, closed, retargeted or gets new commits leaves it, and the next one is merged", async () => {
  const all = [await running(), await running(), await running(), await running(), await open()];
  const [cancelled, closed, retargeted, pushed, last] = all as [
    Request,
    Request,
    Request,
    Request,
    Request,
  ];
  for (const one of all) expect((await add(one)).status).toBe(201);
  await project.commit("other", { "other.txt": "other\n" }, { from: "main" });
  await project.send(
    "POST",
    `/merge_requests/${cancelled.iid}/cancel_merge_when_pipeline_succeeds`,
  );
  await project.send("PUT", `/merge_requests/${closed.iid}`, { state_event: "close" });
  await project.send("PUT", `/merge_requests/${retargeted.iid}`, { target_branch: "other" });
  await project.commit(pushed.source, { "next.txt": "next\n" });
  expect(await iids()).toEqual([last.iid]);
  await work();
  expect(await stateOf(last)).toBe("merged");
  expect(await noted(cancelled)).toEqual(["started a merge train", LEFT]);
  expect(await noted(closed)).toContain(`${LEFT} because merge request was closed`);
  expect(await noted(pushed)).toContain(`${LEFT} because the source branch was updated`);
  for (const one of [cancelled, closed, retargeted, pushed]) {
    expect((await shown(one)).merge_when_pipeline_succeeds).toBe(false);
  }
});

it("what is deleted is out of the way", async () => {
  const [first, second] = [await running(), await open()];
  await add(first);
  await add(second);
  const gone = await project.send("DELETE", `/merge_requests/${first.iid}`, {}, "owner");
  expect(gone.status).toBe(204);
  await work();
  expect(await stateOf(second)).toBe("merged");
});

it("what can't be merged when it is its turn leaves it", async () => {
  const [first, second] = [await running(), await open()];
  await add(first);
  await add(second);
  await project.send("PUT", `/merge_requests/${second.iid}`, { title: "Draft: no" });
  await report(first, "success");
  await work();
  expect(await stateOf(first)).toBe("merged");
  expect(await stateOf(second)).toBe("opened");
  expect(await noted(second)).toContain(`${LEFT} because merge request is not mergeable`);
  expect(await iids("?scope=active")).toEqual([]);
});

it("a conflict with what was merged before it makes it leave, too", async () => {
  const texts = ["one\n", "two\n"];
  const conflicting: Request[] = [];
  for (const text of texts) {
    branches += 1;
    const source = `train-${branches}`;
    const sha = await project.commit(source, { "same.txt": text }, { from: "main" });
    const { id, iid } = await project.open(source);
    conflicting.push({ id, iid, source, sha });
  }
  for (const one of conflicting) expect((await add(one)).status).toBe(201);
  await work();
  expect(await Promise.all(conflicting.map(stateOf))).toEqual(["merged", "opened"]);
  expect(await noted(conflicting[1] as Request)).toContain(
    `${LEFT} because merge request is not mergeable`,
  );
});

it("with auto_merge, it gets into the train once it is ready", async () => {
  const [first, second] = [await running(), await running()];
  await add(first);
  const later = await add(second, { auto_merge: true });
  expect([later.status, later.json.length]).toEqual([202, 1]);
  expect(await iids()).toEqual([first.iid]);
  await report(second, "success");
  await work();
  expect(await iids("?sort=asc")).toEqual([first.iid, second.iid]);
  expect(await stateOf(second)).toBe("opened");
  await report(first, "success");
  await work();
  expect(await stateOf(second)).toBe("merged");
  expect(await noted(second)).toEqual([
    `enabled automatic add to merge train when all checks for ${second.sha} pass`,
    "added this merge request to the merge train at position 2",
  ]);
  const third = await running();
  expect((await add(third, { when_pipeline_succeeds: true })).status).toBe(202);
  const draft = await open({ title: "Draft: later" });
  expect((await add(draft)).status).toBe(400);
  expect((await add(draft, { auto_merge: true })).status).toBe(202);
  await project.send("PUT", `/merge_requests/${draft.iid}`, { title: "Now" });
  await work();
  expect(await stateOf(draft)).toBe("merged");
});

it("an automatic merge goes by train in a project that has them", async () => {
  const [first, second] = [await running(), await running()];
  await add(first);
  const path = `/merge_requests/${second.iid}/merge`;
  const asked = await project.send("PUT", path, { auto_merge: true }, "maintainer");
  expect(asked.status).toBe(200);
  await report(second, "success");
  await work();
  expect(await stateOf(second)).toBe("opened");
  expect(await iids("?sort=asc")).toEqual([first.iid, second.iid]);
});

it("what is merged at once is done with the train, and has skipped it where that is allowed", async () => {
  const [first, second, third] = [await running(), await open(), await open()];
  for (const one of [first, second, third]) await add(one);
  const merge = ({ iid }: Request) =>
    project.send("PUT", `/merge_requests/${iid}/merge`, {}, "maintainer");
  expect((await merge(second)).json.state).toBe("merged");
  await set({ merge_trains_skip_train_allowed: true });
  expect((await merge(third)).json.state).toBe("merged");
  const statuses = (await cars("?sort=asc")).map(({ status }: { status: string }) => status);
  expect(statuses).toEqual(["fresh", "merged", "skip_merged"]);
});

it("of whoever may no longer merge it leaves the train, as all do of a project that has none any more", async () => {
  const [first, second, third] = [await running(), await running(), await open()];
  await add(first, {}, "developer");
  await add(second);
  await add(third);
  const rule = { name: "main", merge_access_level: 40, push_access_level: 40 };
  await app.call(`POST ${project.path}/protected_branches`, { as: "owner", json: rule });
  await report(first, "success");
  await work();
  expect(await stateOf(first)).toBe("opened");
  expect(await iids()).toEqual([third.iid, second.iid]);
  await set({ merge_trains_enabled: false });
  await report(second, "success");
  await work();
  expect(await stateOf(second)).toBe("opened");
  expect(await noted(second)).toContain(`${LEFT} because project disabled merge trains`);
  expect(await iids()).toEqual([]);
});

it("who may not merge gets 403, and what can't be merged 400, 404 or 409", async () => {
  const request = await running();
  expect((await add(request, {}, "reporter")).status).toBe(403);
  expect((await add(request, { sha: "0".repeat(40) })).status).toBe(409);
  expect((await add({ ...request, iid: 99 })).status).toBe(404);
  await add(request);
  const refused = { message: "400 Bad request - Merge request is not mergeable" };
  expect(await add(request)).toMatchObject({ status: 400, json: refused });
  const failed = await open();
  await report(failed, "failed");
  expect(await add(failed)).toMatchObject({ status: 400, json: refused });
  await set({ merge_trains_enabled: false });
  expect(await add(await open())).toMatchObject({
    status: 400,
    json: { message: "400 Bad request - Merge trains are not enabled" },
  });
  expect((await project.get("/merge_trains", "reporter")).status).toBe(403);
  expect((await project.get("/merge_trains?scope=all")).status).toBe(400);
  expect((await project.get("/merge_trains?sort=up")).status).toBe(400);
  expect((await project.get("/merge_trains/merge_requests/99")).status).toBe(404);
});
