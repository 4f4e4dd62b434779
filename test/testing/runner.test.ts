import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../src/testing.ts";
import { ask, tell } from "./telling.ts";

let server: TestServer;
beforeEach(async () => {
  server = await startTestServer({ webhooks: "keep" });
});
afterEach(() => server.close());

const SITE = "/projects/acme%2Fapp";

/** Pushes a configuration. @returns the id of the pipeline */
async function push(configuration: object, to = server): Promise<number> {
  const [{ id: before } = { id: 0 }] = (await ask(to, "GET", `${SITE}/pipelines`)).json;
  const file = { file_path: ".gitlab-ci.yml", content: JSON.stringify(configuration) };
  await ask(to, "POST", `${SITE}/repository/commits`, {
    branch: "main",
    commit_message: "Check",
    actions: [{ action: before === 0 ? "create" : "update", ...file }],
  });
  const [{ id }] = (await ask(to, "GET", `${SITE}/pipelines`)).json;
  return id;
}

/** The statuses of a pipeline's jobs by name, oldest first. */
async function statuses(pipeline: number, to = server): Promise<[string, string][]> {
  const path = `${SITE}/pipelines/${pipeline}/jobs?include_retried=true&sort=asc`;
  const { json } = await ask(to, "GET", path);
  const jobs = json as { id: number; name: string; status: string }[];
  return jobs.sort((one, other) => one.id - other.id).map(({ name, status }) => [name, status]);
}

const statusOf = async (pipeline: number) =>
  (await ask(server, "GET", `${SITE}/pipelines/${pipeline}`)).json.status;

const staged = {
  stages: ["build", "test", "deploy"],
  build: { stage: "build", script: "make" },
  "test 1/2": { stage: "test", script: "make test", coverage: "/Lines: (\\d+)%/" },
  lint: { stage: "test", script: "make lint", allow_failure: true },
  deploy: { stage: "deploy", script: "make deploy" },
};

describe("a job", () => {
  it("ends by an order, and what comes after it starts", async () => {
    const pipeline = await push(staged);
    const [{ id: build }] = (await ask(server, "GET", `${SITE}/jobs?scope=pending`)).json;
    expect((await tell(server, "PUT", `jobs/${build}`, { status: "running" })).json).toEqual({
      id: build,
      pipeline_id: pipeline,
      pipeline_status: "running",
    });
    const ended = await tell(server, "PUT", `jobs/${build}`, {
      status: "success",
      trace: "Made.\n",
    });
    expect(ended).toMatchObject({ status: 200, json: { pipeline_status: "running" } });
    expect((await ask(server, "GET", `${SITE}/jobs/${build}/trace`)).json).toBe("Made.\n");
    expect(await statuses(pipeline)).toEqual([
      ["build", "success"],
      ["test 1/2", "pending"],
      ["lint", "pending"],
      ["deploy", "created"],
    ]);
    const again = await tell(server, "PUT", `jobs/${build}`, { status: "failed" });
    expect(again).toMatchObject({ status: 409, json: { message: /The job is success/ } });
    const test = await tell(server, "PUT", `jobs/${build + 1}`, {
      status: "failed",
      failure_reason: "runner_system_failure",
    });
    expect(test.status).toBe(200);
    const { json } = await ask(server, "GET", `${SITE}/jobs/${build + 1}`);
    expect(json).toMatchObject({ status: "failed", failure_reason: "runner_system_failure" });
    const canceled = await tell(server, "PUT", `jobs/${build + 2}`, { status: "canceled" });
    expect(canceled.json.pipeline_status).toBe("failed");
  });

  it("is refused by its name if it is wrong", async () => {
    expect((await tell(server, "PUT", "jobs/99", { status: "success" })).status).toBe(404);
    expect((await tell(server, "PUT", "jobs/99", { status: "canceled" })).status).toBe(404);
    expect((await tell(server, "PUT", "jobs/one", { status: "success" })).status).toBe(400);
    const { status, json } = await tell(server, "PUT", "jobs/1", { status: "success", trase: "x" });
    expect(status).toBe(400);
    expect(json.message).toMatch(/trase is unknown. Did you mean trace\?/);
    expect((await tell(server, "PUT", "jobs/1", { status: "pending" })).status).toBe(400);
  });
});

describe("a pipeline", () => {
  it("ends by an order, with all its jobs", async () => {
    const good = await push(staged);
    const { json } = await tell(server, "PUT", `pipelines/${good}`, { status: "success" });
    expect(json).toEqual({ id: good, status: "success", jobs: 4 });
    const again = await tell(server, "PUT", `pipelines/${good}`, { status: "failed" });
    expect(again.status).toBe(409);
    const bad = await push({ ...staged, deploy: { ...staged.deploy, retry: 1 } });
    expect((await tell(server, "PUT", `pipelines/${bad}`, { status: "failed" })).json).toEqual({
      id: bad,
      status: "failed",
      jobs: 1,
    });
    expect(await statuses(bad)).toContainEqual(["deploy", "skipped"]);
    const canceled = await push({ ...staged, more: { script: "x" } });
    const end = await tell(server, "PUT", `pipelines/${canceled}`, { status: "canceled" });
    expect(end.json).toMatchObject({ status: "canceled", jobs: 5 });
    expect((await tell(server, "PUT", "pipelines/99", { status: "success" })).status).toBe(404);
  });
});

describe("a scripted runner", () => {
  it("ends jobs by their names as soon as they are pending", async () => {
    const { status, json } = await tell(server, "PUT", "runner", {
      jobs: {
        "test *": { status: "success", trace: "Lines: 87%\n" },
        lint: "failed",
        deploy: { status: "running" },
      },
      default: "success",
    });
    expect(status).toBe(200);
    expect(json.default).toBe("success");
    const hook = { url: "http://ci.example.com/", job_events: true, pipeline_events: true };
    await ask(server, "POST", `${SITE}/hooks`, hook);
    const pipeline = await push(staged);
    expect(await statuses(pipeline)).toEqual([
      ["build", "success"],
      ["test 1/2", "success"],
      ["lint", "failed"],
      ["deploy", "running"],
    ]);
    const [, test, lint] = (
      await ask(server, "GET", `${SITE}/pipelines/${pipeline}/jobs?sort=asc`)
    ).json.sort((one: { id: number }, other: { id: number }) => one.id - other.id);
    expect(test.coverage).toBe(87);
    expect(lint).toMatchObject({ failure_reason: "script_failure", allow_failure: true });
    expect(await statusOf(pipeline)).toBe("running");
    const told = (await server.hooks.list({ event: "Job Hook" })).map(({ payload }) => {
      const { build_name, build_status } = payload as Record<string, string>;
      return `${build_name} ${build_status}`;
    });
    const ends = told.filter((one) => /success|failed|deploy running/.test(one));
    expect(ends).toEqual(["build success", "test 1/2 success", "lint failed", "deploy running"]);
    expect((await tell(server, "GET", "runner")).json).toMatchObject({ jobs: { lint: "failed" } });
    expect((await tell(server, "DELETE", "runner")).status).toBe(204);
    expect((await tell(server, "GET", "runner")).json).toBeNull();
    const waiting = await push({ ...staged, more: { script: "x" } });
    expect(await statuses(waiting)).toContainEqual(["build", "pending"]);
    expect(await statusOf(waiting)).toBe("pending");
  });

  it("does so one after the other, the oldest first, and what waits already", async () => {
    await ask(server, "PUT", SITE, { auto_cancel_pending_pipelines: "disabled" });
    const first = await push({ build: { script: "x", stage: "build" }, test: { script: "x" } });
    const second = await push({ build: { script: "x", stage: "build" }, last: { script: "x" } });
    await ask(server, "POST", `${SITE}/hooks`, { url: "http://ci.example.com/", job_events: true });
    await server.runner.run({ default: "success" });
    const calls = await server.hooks.list({ event: "Job Hook" });
    const ends = calls
      .map(({ payload }) => payload as Record<string, unknown>)
      .filter(({ build_status }) => build_status === "success")
      .map(({ build_name, pipeline_id }) => [build_name, pipeline_id]);
    expect(ends).toEqual([
      ["build", first],
      ["test", first],
      ["build", second],
      ["last", second],
    ]);
    await ask(server, "PUT", SITE, { auto_cancel_pending_pipelines: "enabled" });
  });

  it("ends each attempt as it is told, and stops with a job that has no fate", async () => {
    await server.runner.run({ jobs: { flaky: ["failed", "success"], build: "success" } });
    const pipeline = await push({
      build: { script: "x", stage: "build" },
      flaky: { script: "x", retry: 2 },
      other: { script: "x" },
    });
    expect(await statuses(pipeline)).toEqual([
      ["build", "success"],
      ["flaky", "failed"],
      ["other", "pending"],
      ["flaky", "success"],
    ]);
  });

  it("begins anew after a reset", async () => {
    const scripted = await startTestServer({ runner: { default: "failed" } });
    await scripted.runner.run({ default: "success" });
    expect(await statuses(await push({ a: { script: "x" } }, scripted), scripted)).toEqual([
      ["a", "success"],
    ]);
    await scripted.reset();
    expect(await statuses(await push({ a: { script: "x" } }, scripted), scripted)).toEqual([
      ["a", "failed"],
    ]);
    await scripted.close();
  });

  it("is refused by name if its script is wrong", async () => {
    const messageOf = async (script: object) => {
      const { status, json } = await tell(server, "PUT", "runner", script);
      expect(status).toBe(400);
      return json.message;
    };
    expect(await messageOf({ job: {} })).toMatch(/job is unknown. Did you mean jobs\?/);
    expect(await messageOf({ jobs: { build: "sucess" } })).toMatch(/jobs.build must be one of/);
    expect(await messageOf({ jobs: { build: { stats: "success" } } })).toMatch(
      /jobs.build.stats is unknown. Did you mean status\?/,
    );
    expect(await messageOf({ default: [] })).toMatch(/default must have an entry/);
  });
});
