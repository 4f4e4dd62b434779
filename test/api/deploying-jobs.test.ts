import { afterAll, beforeAll, expect, it } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";
import { type CiProject, ciProject } from "./_pipelines.ts";

let app: TestApp;
let time = Date.parse("2026-11-22T10:00:00Z");
beforeAll(async () => {
  app = await testApp({ background: false, now: () => time });
});
afterAll(() => app.dispose());

const REVIEW = `
review:
  script: [deploy]
  environment:
    name: review/$CI_COMMIT_REF_SLUG
    url: https://$CI_ENVIRONMENT_SLUG.example.com
    on_stop: stop
    auto_stop_in: 1 day
stop:
  script: [remove]
  when: manual
  environment: { name: review/$CI_COMMIT_REF_SLUG, action: stop }
`;

const get = async (project: CiProject, path: string) =>
  (await project.call(`GET ${path}`, { as: "developer" })).json;

/** Starts a pipeline, and returns the ids of its jobs by their names. */
async function start(project: CiProject): Promise<Record<string, number>> {
  const made = await project.call("POST /pipeline", { as: "developer", json: { ref: "main" } });
  expect(made.status).toBe(201);
  const jobs = await get(project, `/pipelines/${made.json.id}/jobs`);
  return Object.fromEntries(jobs.map(({ name, id }: { name: string; id: number }) => [name, id]));
}

const finish = (id: number | undefined, status: "success" | "failed" = "success") =>
  app.admin.jobs.finish(id as number, { status });

async function environmentOf(project: CiProject) {
  const [listed] = await get(project, "/environments");
  return get(project, `/environments/${listed.id}`);
}

it("deploy, and their environments are stopped by jobs, or when their time has come", async () => {
  const project = await ciProject(app, "reviewed", REVIEW);
  const jobs = await start(project);
  expect(await get(project, "/deployments")).toMatchObject([
    {
      status: "created",
      deployable: { id: jobs["review"], name: "review", commit: { id: project.sha } },
    },
  ]);
  await finish(jobs["review"]);
  const running = await environmentOf(project);
  expect(running).toMatchObject({
    name: "review/main",
    tier: "development",
    state: "available",
    external_url: `https://${running.slug}.example.com`,
    auto_stop_at: "2026-11-23T10:00:00.000Z",
    last_deployment: {
      status: "success",
      ref: "main",
      sha: project.sha,
      user: { username: "developer" },
      deployable: { name: "review", status: "success" },
    },
  });
  const change = `PUT /deployments/${running.last_deployment.id}`;
  const changed = await project.call(change, { as: "owner", json: { status: "failed" } });
  expect(changed.status).toBe(403);
  const stop = await project.call(`POST /environments/${running.id}/stop`, { as: "developer" });
  expect([stop.status, stop.json.state]).toEqual([200, "stopping"]);
  expect((await get(project, `/jobs/${jobs["stop"]}`)).status).toBe("pending");
  await finish(jobs["stop"], "failed");
  expect((await environmentOf(project)).state).toBe("available");
  const retried = await project.call(`POST /jobs/${jobs["stop"]}/retry`, { as: "developer" });
  await finish(retried.json.id);
  expect(await environmentOf(project)).toMatchObject({ state: "stopped", auto_stop_at: null });

  const again = await start(project);
  await finish(again["review"]);
  expect((await environmentOf(project)).state).toBe("available");
  time += 25 * 3_600_000;
  await app.admin.maintenance.runTimedJobs();
  expect((await environmentOf(project)).state).toBe("stopping");
  const forced = await project.call(`POST /environments/${running.id}/stop?force=true`, {
    as: "developer",
  });
  expect(forced.json.state).toBe("stopped");
});

it("are stopped by their job when they are stale, or, if they are set so, only if they have one", async () => {
  const project = await ciProject(app, "stale", REVIEW);
  const jobs = await start(project);
  await finish(jobs["review"]);
  const states = async () => {
    const all = await get(project, "/environments");
    return all.map(({ name, state }: { name: string; state: string }) => [name, state]);
  };
  const add = (name: string, setting: string) =>
    project.call(`POST /environments?name=${name}&auto_stop_setting=${setting}`, {
      as: "developer",
    });
  await add("kept", "with_action");
  await add("dropped", "always");
  time += 9 * 86_400_000;
  const stale = await project.call(
    `POST /environments/stop_stale?before=${new Date(time - 8 * 86_400_000).toISOString()}`,
    { as: "maintainer" },
  );
  expect(stale.status).toBe(200);
  await app.admin.maintenance.runTimedJobs();
  expect(await states()).toEqual([
    ["review/main", "stopping"],
    ["kept", "available"],
    ["dropped", "stopped"],
  ]);
  expect((await get(project, `/jobs/${jobs["stop"]}`)).status).toBe("pending");
  await finish(jobs["stop"]);
  expect((await states())[0]).toEqual(["review/main", "stopped"]);
});

it("leave their environment alone at its time if nothing stops it that should", async () => {
  const project = await ciProject(
    app,
    "with-action",
    "ship: {script: [x], environment: {name: demo, auto_stop_in: 1 day}}\n",
  );
  const jobs = await start(project);
  await finish(jobs["ship"]);
  const { id } = await environmentOf(project);
  const change = { as: "developer", json: { auto_stop_setting: "with_action" } } as const;
  await project.call(`PUT /environments/${id}`, change);
  time += 25 * 3_600_000;
  await app.admin.maintenance.runTimedJobs();
  expect(await environmentOf(project)).toMatchObject({ state: "available", auto_stop_at: null });
});

it("deploy again when they are retried, and tell what became of it", async () => {
  const configuration = "ship:\n  script: [deploy]\n  environment: production\n";
  const project = await ciProject(app, "retried", configuration);
  const jobs = await start(project);
  await finish(jobs["ship"], "failed");
  await project.call(`POST /jobs/${jobs["ship"]}/retry`, { as: "maintainer" });
  expect(await get(project, "/deployments")).toMatchObject([
    { status: "failed", user: { username: "developer" } },
    { status: "created", user: { username: "maintainer" } },
  ]);
  const environment = await environmentOf(project);
  expect([environment.state, environment.last_deployment]).toEqual(["available", null]);
  const stopped = await project.call(`POST /environments/${environment.id}/stop`, {
    as: "developer",
  });
  expect(stopped.json.state).toBe("stopped");
});

it("know their environment", async () => {
  const project = await ciProject(app, "knowing", REVIEW);
  await project.call("POST /variables", {
    as: "maintainer",
    json: { key: "HOST", value: "review-host", environment_scope: "review/*" },
  });
  await start(project);
  const { json: runner } = await app.call("POST /user/runners", {
    as: "owner",
    json: { runner_type: "project_type", project_id: project.id },
  });
  const { json } = await app.call("POST /jobs/request", { json: { token: runner.token } });
  const values = Object.fromEntries(
    json.variables.map(({ key, value }: { key: string; value: string }) => [key, value]),
  );
  const slug = values["CI_ENVIRONMENT_SLUG"];
  const { id } = await environmentOf(project);
  expect(values).toMatchObject({
    HOST: "review-host",
    CI_ENVIRONMENT_ID: String(id),
    CI_ENVIRONMENT_NAME: "review/main",
    CI_ENVIRONMENT_ACTION: "start",
    CI_ENVIRONMENT_TIER: "development",
    CI_ENVIRONMENT_URL: `https://${slug}.example.com`,
  });
});
