import { afterAll, beforeAll, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { type CiProject, ciProject, keepOlder } from "./_pipelines.ts";

let app: TestApp;
let time = Date.parse("2026-11-25T10:00:00Z");
beforeAll(async () => {
  app = await testApp({ background: false, now: () => time });
});
afterAll(() => app.dispose());

const SHIP = `
build: {stage: build, script: [make]}
ship: {stage: deploy, script: [deploy], environment: production, retry: 2}
tell: {stage: .post, script: [tell]}
`;
const BY_HAND = "ship: {script: [deploy], environment: production, when: manual}\n";
const LATER =
  "ship: {script: [deploy], environment: production, when: delayed, start_in: 1 hour}\n";

const OUTDATED = { status: "failed", failure_reason: "failed_outdated_deployment_job" };

type Jobs = Readonly<Record<string, number>>;

/** Starts a pipeline of a new commit, and returns the ids of its jobs by their names. */
async function start(project: CiProject): Promise<Jobs> {
  await project.commit("README.md", `# ${Math.random()}\n`, "Change [skip ci]");
  const made = await project.call("POST /pipeline", { as: "developer", json: { ref: "main" } });
  const { json } = await project.call(`GET /pipelines/${made.json.id}/jobs`, { as: "developer" });
  return Object.fromEntries(json.map(({ name, id }: { name: string; id: number }) => [name, id]));
}

const finish = (id: number | undefined, status: "success" | "failed" = "success") =>
  app.admin.jobs.finish(id as number, { status });
const jobOf = async (project: CiProject, id: number | undefined) =>
  (await project.call(`GET /jobs/${id}`, { as: "developer" })).json;
const act = (project: CiProject, id: number | undefined, what: string, as: Person = "developer") =>
  project.call(`POST /jobs/${id}/${what}`, { as });
const set = (project: CiProject, json: object) => project.call("PUT ", { as: "owner", json });
const deployments = async (project: CiProject) => {
  const { json } = await project.call("GET /deployments", { as: "developer" });
  return json.map(({ status }: { status: string }) => status);
};

async function runnerOf(project: CiProject): Promise<string> {
  const json = { runner_type: "project_type", project_id: project.id };
  return (await app.call("POST /user/runners", { as: "owner", json })).json.token;
}
const ask = (token: string) => app.call("POST /jobs/request", { json: { token } });

it("of older pipelines fail when they would start, and are not tried again by themselves", async () => {
  const project = await ciProject(app, "outdated", SHIP);
  await keepOlder(project);
  const older = await start(project);
  const newer = await start(project);
  await finish(newer["build"]);
  await finish(newer["ship"]);
  await finish(older["build"]);
  const refused = await jobOf(project, older["ship"]);
  expect(refused).toMatchObject({ ...OUTDATED, started_at: null, finished_at: expect.any(String) });
  expect((await jobOf(project, older["tell"])).status).toBe("skipped");
  expect(await deployments(project)).toEqual(["failed", "success"]);
  const { json } = await project.call(`GET /pipelines/${refused.pipeline.id}/jobs`, {
    as: "developer",
  });
  expect(json).toHaveLength(3);
  expect(refused.pipeline.status).toBe("failed");
});

it("that wait for a runner fail when one asks for them, which gets the next job", async () => {
  const project = await ciProject(app, "outdated-pending", SHIP);
  await keepOlder(project);
  const token = await runnerOf(project);
  const older = await start(project);
  await finish(older["build"]);
  const newer = await start(project);
  await finish(newer["build"]);
  expect((await jobOf(project, older["ship"])).status).toBe("pending");
  await finish(newer["ship"]);
  const got = await ask(token);
  expect([got.status, got.json.id]).toEqual([201, newer["tell"]]);
  expect(await jobOf(project, older["ship"])).toMatchObject({ ...OUTDATED, started_at: null });
  expect((await ask(token)).status).toBe(204);
});

it("of the same commit, and newer ones, are done, and run meanwhile", async () => {
  const project = await ciProject(app, "same-commit", SHIP);
  const token = await runnerOf(project);
  const older = await start(project);
  const made = await project.call("POST /pipeline", { as: "developer", json: { ref: "main" } });
  const { json } = await project.call(`GET /pipelines/${made.json.id}/jobs`, { as: "developer" });
  const jobs = Object.fromEntries(
    json.map(({ name, id }: { name: string; id: number }) => [name, id]),
  );
  await finish(jobs["build"]);
  await finish(jobs["ship"]);
  await finish(jobs["tell"]);
  await finish(older["build"]);
  const got = await ask(token);
  expect(got.json.id).toBe(older["ship"]);
  expect(await deployments(project)).toEqual(["running", "success"]);
});

it("can't be started by hand, and fail when their time has come", async () => {
  const project = await ciProject(app, "outdated-manual", BY_HAND);
  await keepOlder(project);
  const [older, newer] = [await start(project), await start(project)];
  expect((await act(project, newer["ship"], "play")).status).toBe(200);
  await finish(newer["ship"]);
  expect((await act(project, older["ship"], "play", "owner")).status).toBe(403);
  expect((await jobOf(project, older["ship"])).status).toBe("manual");
  await set(project, { ci_forward_deployment_enabled: false });
  expect((await act(project, older["ship"], "play")).status).toBe(200);

  const delayed = await ciProject(app, "outdated-delayed", LATER);
  await keepOlder(delayed);
  const [first, second] = [await start(delayed), await start(delayed)];
  await act(delayed, second["ship"], "play");
  await finish(second["ship"]);
  time += 2 * 3_600_000;
  await app.admin.maintenance.runTimedJobs();
  expect(await jobOf(delayed, first["ship"])).toMatchObject(OUTDATED);
});

it("roll back when they are retried, unless the project does not allow it", async () => {
  const project = await ciProject(app, "rollback", SHIP);
  await keepOlder(project);
  const older = await start(project);
  await finish(older["build"]);
  await finish(older["ship"]);
  const newer = await start(project);
  await finish(newer["build"]);
  await finish(newer["ship"]);
  const back = await act(project, older["ship"], "retry");
  expect([back.status, back.json.status]).toEqual([201, "pending"]);
  expect(await finish(back.json.id)).toMatchObject({ id: back.json.id });
  expect((await jobOf(project, back.json.id)).status).toBe("success");

  await set(project, { ci_forward_deployment_rollback_allowed: false });
  expect((await act(project, newer["ship"], "retry", "owner")).status).toBe(403);
  expect((await act(project, newer["build"], "retry")).status).toBe(201);
  await set(project, { ci_forward_deployment_rollback_allowed: true });
  expect((await act(project, newer["ship"], "retry")).status).toBe(201);
});

it("are left out when a pipeline is retried, where rollbacks are not allowed", async () => {
  const project = await ciProject(app, "retried-outdated", SHIP.replace(", retry: 2", ""));
  await keepOlder(project);
  await set(project, { ci_forward_deployment_rollback_allowed: false });
  const older = await start(project);
  await finish(older["build"]);
  await finish(older["ship"], "failed");
  const newer = await start(project);
  await finish(newer["build"]);
  await finish(newer["ship"]);
  const { pipeline } = await jobOf(project, older["ship"]);
  const retry = () => project.call(`POST /pipelines/${pipeline.id}/retry`, { as: "developer" });
  expect((await retry()).json.status).toBe("failed");
  await set(project, { ci_forward_deployment_rollback_allowed: true });
  expect((await retry()).json.status).toBe("running");
});

it("are done where the project does not mind", async () => {
  const project = await ciProject(app, "careless", SHIP);
  await keepOlder(project);
  await set(project, { ci_forward_deployment_enabled: false });
  const [older, newer] = [await start(project), await start(project)];
  await finish(newer["build"]);
  await finish(newer["ship"]);
  await finish(older["build"]);
  expect((await jobOf(project, older["ship"])).status).toBe("pending");
});
