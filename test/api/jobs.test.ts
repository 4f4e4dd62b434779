import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { type CiProject, ciProject, THREE_STAGES } from "./_pipelines.ts";

let app: TestApp;
let project: CiProject;
beforeAll(async () => {
  app = await testApp();
  project = await ciProject(
    app,
    "jobs",
    `${THREE_STAGES}
now:
  stage: build
  when: manual
  script: [make now]
`,
  );
});
afterAll(() => app.dispose());

/** Runs a pipeline, and returns its jobs' ids by their names. */
async function run(): Promise<Record<string, number>> {
  const { json } = await project.call("POST /pipeline", { as: "developer", json: { ref: "main" } });
  const { json: jobs } = await project.call(`GET /pipelines/${json.id}/jobs`, { as: "developer" });
  return Object.fromEntries(jobs.map(({ name, id }: { name: string; id: number }) => [name, id]));
}

const act = (id: number | undefined, what: string, as: Person = "developer", json: object = {}) =>
  project.call(`POST /jobs/${id}/${what}`, { as, json });
const get = async (id: number | undefined) =>
  (await project.call(`GET /jobs/${id}`, { as: "reporter" })).json;

it("shows a job", async () => {
  const { compile } = await run();
  expect(await get(compile)).toEqual({
    id: compile,
    status: "pending",
    stage: "build",
    name: "compile",
    ref: "main",
    tag: false,
    coverage: null,
    allow_failure: false,
    created_at: expect.any(String),
    started_at: null,
    finished_at: null,
    erased_at: null,
    duration: null,
    queued_duration: null,
    user: expect.objectContaining({ username: "developer", bio: null }),
    commit: expect.objectContaining({ id: project.sha, title: "Configure [skip ci]" }),
    pipeline: expect.objectContaining({ status: "pending", sha: project.sha }),
    web_url: expect.stringMatching(/\/secret\/jobs\/-\/jobs\/\d+$/),
    project: { ci_job_token_scope_enabled: false },
    artifacts: [],
    runner: null,
    runner_manager: null,
    artifacts_expire_at: null,
    archived: false,
    tag_list: [],
  });
});

it("C039-C042: lists jobs and reads logs", async () => {
  expect((await project.call("GET /jobs")).status).toBe(401);
  expect((await project.call("GET /jobs?scope=unknown", { as: "reporter" })).status).toBe(400);
  const { json } = await project.call("GET /jobs?scope[]=manual&scope[]=running", {
    as: "reporter",
  });
  expect(json.map(({ name }: { name: string }) => name)).toEqual(["now"]);
  expect((await project.call("GET /jobs?ref=none", { as: "reporter" })).json).toEqual([]);
  const trace = await project.call(`GET /jobs/${json[0].id}/trace`, { as: "reporter" });
  expect([trace.status, trace.text]).toEqual([200, ""]);
  expect(trace.headers.get("content-type")).toBe("text/plain; charset=utf-8");
  expect(trace.headers.get("content-disposition")).toBe(`infile; filename="${json[0].id}.log"`);
  await project.call("PUT ?public_jobs=false", { as: "owner" });
  expect((await project.call("GET /jobs", { as: "guest" })).status).toBe(403);
  // Guests of a private project see jobs, if they are public, but no code.
  await project.call("PUT ?public_jobs=true", { as: "owner" });
  const seen = await project.call("GET /jobs", { as: "guest" });
  expect([seen.status, seen.json[0].commit]).toEqual([200, null]);
});

describe("changing", () => {
  it("C044, C045: cancels a job, and retries it as a new one", async () => {
    const { compile, check } = await run();
    const early = await act(compile, "retry");
    expect([early.status, early.json.message]).toEqual([
      403,
      "403 Forbidden - Job is not retryable",
    ]);
    const canceled = await act(compile, "cancel");
    expect([canceled.status, canceled.json.status]).toEqual([201, "canceled"]);
    // What comes after it is skipped, and runs after all when it is tried again.
    expect((await get(check)).status).toBe("skipped");
    expect((await act(compile, "cancel")).json).toMatchObject({ id: compile, status: "canceled" });
    const retried = await act(compile, "retry");
    expect([retried.status, retried.json.status]).toEqual([201, "pending"]);
    expect(retried.json.id).toBeGreaterThan(compile as number);
    expect((await get(check)).status).toBe("created");
    expect((await act(compile, "retry")).status).toBe(403);
  });

  it("C046-C048: starts a manual job", async () => {
    const { now, compile } = await run();
    const missing = await act(now, "play", "developer", {
      job_variables_attributes: [{ value: "x" }],
    });
    expect([missing.status, missing.text]).toEqual([
      400,
      expect.stringContaining("job_variables_attributes[0][key] is missing"),
    ]);
    for (const value of [{}, [{}], ["x"]]) {
      const odd = await act(now, "play", "maintainer", {
        job_variables_attributes: [{ key: "A", value }],
      });
      expect([odd.status, odd.json]).toEqual([
        400,
        { message: { job_variables_attributes: ["is invalid"] } },
      ]);
    }
    const played = await act(now, "play", "maintainer", {
      job_variables_attributes: [{ key: "A", value: "b" }],
    });
    expect([played.status, played.json]).toEqual([
      200,
      expect.objectContaining({ id: now, status: "pending" }),
    ]);
    expect(played.json.user.username).toBe("maintainer");
    const other = await act(compile, "play");
    expect([other.status, other.json.message]).toEqual([400, "400 Bad request - Unplayable Job"]);
  });

  it("C049: erases nothing of a job that has nothing", async () => {
    const { compile } = await run();
    const { status, json } = await act(compile, "erase", "maintainer");
    expect([status, json.message]).toEqual([403, "403 Forbidden - Job is not erasable!"]);
    expect((await act(compile, "erase", "reporter")).status).toBe(403);
  });

  it("is refused for unknown jobs, and those of other projects", async () => {
    const other = await ciProject(app, "others", THREE_STAGES);
    const { compile } = await run();
    for (const id of [4711, compile]) {
      expect((await other.call(`GET /jobs/${id}`, { as: "owner" })).status).toBe(404);
      expect((await other.call(`POST /jobs/${id}/cancel`, { as: "owner" })).status).toBe(404);
    }
  });
});
