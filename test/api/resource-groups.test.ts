// Resource groups: which jobs wait for each other, in which order they run, and what frees the resource.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { type CiProject, ciProject, keepOlder } from "./_pipelines.ts";

let app: TestApp;
let time = Date.parse("2026-11-25T10:00:00Z");
beforeAll(async () => {
  app = await testApp({ background: false, now: () => time });
});
afterAll(() => app.dispose());

const SHIP = "ship: {script: [deploy], resource_group: production}\n";
const STAGES = `
build: {stage: build, script: [make]}
ship: {stage: deploy, script: [deploy], resource_group: production}
`;

type Jobs = Readonly<Record<string, number>>;

async function start(project: CiProject): Promise<{ id: number; jobs: Jobs }> {
  const made = await project.call("POST /pipeline", { as: "developer", json: { ref: "main" } });
  expect(made.status).toBe(201);
  const { json } = await project.call(`GET /pipelines/${made.json.id}/jobs`, { as: "developer" });
  const jobs = json.map(({ name, id }: { name: string; id: number }) => [name, id]);
  return { id: made.json.id, jobs: Object.fromEntries(jobs) };
}

const finish = (id: number | undefined, status: "success" | "failed" = "success") =>
  app.admin.jobs.finish(id as number, { status });
const act = (project: CiProject, id: number | undefined, what: string) =>
  project.call(`POST /jobs/${id}/${what}`, { as: "developer" });
const statusOf = async (project: CiProject, { jobs, id }: { jobs: Jobs; id: number }) => {
  const job = await project.call(`GET /jobs/${jobs["ship"]}`, { as: "developer" });
  const pipeline = await project.call(`GET /pipelines/${id}`, { as: "developer" });
  return [job.json.status, pipeline.json.status];
};
const ask = (project: CiProject, path = "", as: Person = "developer") =>
  project.call(`GET /resource_groups${path}`, { as });
const upcoming = async (project: CiProject) =>
  (await ask(project, "/production/upcoming_jobs")).json.map(({ id }: { id: number }) => id);
const current = async (project: CiProject) => {
  const { status, json } = await ask(project, "/production/current_job");
  return status === 200 ? json.id : status;
};
const setMode = (project: CiProject, process_mode: string, as: Person = "developer") =>
  project.call("PUT /resource_groups/production", { as, json: { process_mode } });

const WAITS = ["waiting_for_resource", "waiting_for_resource"];
const PENDING = ["pending", "pending"];

async function runnerOf(project: CiProject): Promise<string> {
  const json = { runner_type: "project_type", project_id: project.id };
  return (await app.call("POST /user/runners", { as: "owner", json })).json.token;
}
const request = (token: string) => app.call("POST /jobs/request", { json: { token } });

describe("a job with a resource group", () => {
  it("waits as long as another one has the resource, and no runner gets it", async () => {
    const project = await ciProject(app, "waits", SHIP);
    const token = await runnerOf(project);
    const first = await start(project);
    const second = await start(project);
    expect(await statusOf(project, first)).toEqual(PENDING);
    expect(await statusOf(project, second)).toEqual(WAITS);
    expect((await request(token)).json.id).toBe(first.jobs["ship"]);
    expect((await request(token)).status).toBe(204);
    expect(await current(project)).toBe(first.jobs["ship"]);
    expect(await upcoming(project)).toEqual([second.jobs["ship"]]);
    await finish(first.jobs["ship"]);
    expect(await statusOf(project, second)).toEqual(PENDING);
    expect((await request(token)).json.id).toBe(second.jobs["ship"]);
    expect(await upcoming(project)).toEqual([]);
    await finish(second.jobs["ship"]);
    expect(await current(project)).toBe(404);
  });

  it("waits for jobs of its own pipeline, too, and not for those of other groups", async () => {
    const project = await ciProject(
      app,
      "own",
      `${SHIP}again: {script: [deploy], resource_group: production}\nother: {script: [make], resource_group: tests}\n`,
    );
    const { id } = await start(project);
    const { json } = await project.call(`GET /pipelines/${id}/jobs`, { as: "developer" });
    const statuses = Object.fromEntries(
      json.map(({ name, status }: { name: string; status: string }) => [name, status]),
    );
    expect(statuses).toEqual({ ship: "pending", again: "waiting_for_resource", other: "pending" });
    const { json: waiting } = await project.call("GET /jobs?scope=waiting_for_resource", {
      as: "developer",
    });
    expect(waiting).toHaveLength(1);
  });

  it("gets the resource whatever ends the job before it", async () => {
    const project = await ciProject(app, "ends", SHIP);
    const token = await runnerOf(project);
    const [first, second, third, fourth, fifth, last] = [
      await start(project),
      await start(project),
      await start(project),
      await start(project),
      await start(project),
      await start(project),
    ];
    const is = async (one: typeof first) => expect(await statusOf(project, one)).toEqual(PENDING);
    await finish(first.jobs["ship"], "failed");
    await is(second);
    await act(project, second.jobs["ship"], "cancel");
    await is(third);
    await project.call(`POST /pipelines/${third.id}/cancel`, { as: "developer" });
    await is(fourth);
    await project.call(`DELETE /pipelines/${fourth.id}`, { as: "owner" });
    await is(fifth);
    // Its runner is never heard of again.
    expect((await request(token)).status).toBe(201);
    time += 2 * 3_600_000;
    await app.admin.maintenance.runTimedJobs();
    await is(last);
  });

  it("waits no longer once it is canceled, and waits again when it is tried again or played", async () => {
    const project = await ciProject(app, "again", SHIP);
    await keepOlder(project);
    const first = await start(project);
    const second = await start(project);
    await act(project, second.jobs["ship"], "cancel");
    expect(await statusOf(project, second)).toEqual(["canceled", "canceled"]);
    const retried = await act(project, second.jobs["ship"], "retry");
    expect(retried.json.status).toBe("waiting_for_resource");
    await finish(first.jobs["ship"]);
    expect(await current(project)).toBe(retried.json.id);
    await project.commit(
      ".gitlab-ci.yml",
      "ship: {script: [deploy], resource_group: production, when: manual}\n",
      "By hand [skip ci]",
    );
    const manual = await start(project);
    expect(await upcoming(project)).toEqual([]);
    const played = await act(project, manual.jobs["ship"], "play");
    expect(played.json.status).toBe("waiting_for_resource");
    expect((await act(project, manual.jobs["ship"], "play")).status).toBe(400);
    await finish(retried.json.id);
    expect(await current(project)).toBe(played.json.id);
  });

  it("fails in place of getting the resource if what it would deploy is outdated, and the next one gets it", async () => {
    const project = await ciProject(
      app,
      "outdated-resource",
      "ship: {script: [deploy], environment: production, resource_group: production}\n",
    );
    await keepOlder(project);
    const first = await start(project);
    const older = await start(project);
    await project.commit("README.md", "# Newer\n", "Change [skip ci]");
    const newer = await start(project);
    const newest = await start(project);
    await setMode(project, "newest_ready_first");
    await finish(first.jobs["ship"]);
    expect(await current(project)).toBe(newest.jobs["ship"]);
    await finish(newest.jobs["ship"]);
    expect(await current(project)).toBe(newer.jobs["ship"]);
    await finish(newer.jobs["ship"]);
    expect(await statusOf(project, older)).toEqual(["failed", "failed"]);
    expect(await current(project)).toBe(404);
  });

  it("has the group that its key names once variables are replaced, or none if that can't be one", async () => {
    const project = await ciProject(
      app,
      "keys",
      `a: {script: [make], resource_group: "deploy/$CI_COMMIT_REF_NAME"}
b: {script: [make], resource_group: $NOTHING}
c: {script: [make], resource_group: "/no"}
d: {script: [make], resource_group: "${"x".repeat(256)}"}
`,
    );
    await start(project);
    const { json } = await ask(project);
    expect(json.map(({ key }: { key: string }) => key)).toEqual(["deploy/main"]);
    expect((await ask(project, "/deploy%2Fmain")).json).toEqual(json[0]);
  });

  it("has it as long as the pipeline runs that it has started and waits for", async () => {
    const project = await ciProject(
      app,
      "bridges",
      "ship: {trigger: {include: child.yml, strategy: depend}, resource_group: production}\n",
    );
    await project.commit("child.yml", "one: {script: [make]}\n", "Add a child [skip ci]");
    const first = await project.call("POST /pipeline", { as: "developer", json: { ref: "main" } });
    const second = await project.call("POST /pipeline", { as: "developer", json: { ref: "main" } });
    await app.admin.maintenance.runPipelines();
    const statuses = async () =>
      Promise.all(
        [first, second].map(async ({ json }) => {
          const { json: bridges } = await project.call(`GET /pipelines/${json.id}/bridges`, {
            as: "developer",
          });
          return bridges[0].status;
        }),
      );
    expect(await statuses()).toEqual(["running", "waiting_for_resource"]);
    const { json: jobs } = await project.call("GET /jobs", { as: "developer" });
    await finish(jobs[0].id);
    await app.admin.maintenance.runPipelines();
    expect(await statuses()).toEqual(["success", "running"]);
  });
});

describe("the process mode", () => {
  /** Three pipelines of which the first one's job has the resource, and the second one's is not ready yet. */
  async function three(name: string, mode: string) {
    const project = await ciProject(app, name, STAGES);
    const first = await start(project);
    await finish(first.jobs["build"]);
    expect((await setMode(project, mode)).json.process_mode).toBe(mode);
    const second = await start(project);
    const third = await start(project);
    return { project, first, second, third };
  }

  it("oldest_first lets jobs wait for those of older pipelines that are not ready", async () => {
    const { project, first, second, third } = await three("oldest", "oldest_first");
    await finish(third.jobs["build"]);
    expect(await upcoming(project)).toEqual([second.jobs["ship"], third.jobs["ship"]]);
    await finish(first.jobs["ship"]);
    expect(await current(project)).toBe(404);
    expect((await statusOf(project, third))[0]).toBe("waiting_for_resource");
    await finish(second.jobs["build"]);
    expect(await current(project)).toBe(second.jobs["ship"]);
    await finish(second.jobs["ship"]);
    expect(await current(project)).toBe(third.jobs["ship"]);
  });

  it("oldest_first goes on once an older job is skipped, or the mode is another one", async () => {
    const { project, first, second, third } = await three("skipped", "oldest_first");
    await finish(third.jobs["build"]);
    await finish(first.jobs["ship"]);
    await finish(second.jobs["build"], "failed");
    expect(await current(project)).toBe(third.jobs["ship"]);
    const fourth = await start(project);
    const fifth = await start(project);
    await finish(fifth.jobs["build"]);
    await finish(third.jobs["ship"]);
    expect(await current(project)).toBe(404);
    await setMode(project, "unordered");
    expect(await current(project)).toBe(fifth.jobs["ship"]);
    expect(await upcoming(project)).toEqual([]);
    await finish(fourth.jobs["build"]);
    expect(await upcoming(project)).toEqual([fourth.jobs["ship"]]);
  });

  it("newest_first lets jobs wait for those of newer pipelines that are not ready", async () => {
    const { project, first, second, third } = await three("newest", "newest_first");
    await finish(second.jobs["build"]);
    expect(await upcoming(project)).toEqual([third.jobs["ship"], second.jobs["ship"]]);
    await finish(first.jobs["ship"]);
    expect(await current(project)).toBe(404);
    await finish(third.jobs["build"]);
    expect(await current(project)).toBe(third.jobs["ship"]);
  });

  it("newest_ready_first takes the newest one of those that wait", async () => {
    const { project, first, second, third } = await three("ready", "newest_ready_first");
    await finish(second.jobs["build"]);
    const fourth = await start(project);
    await finish(third.jobs["build"]);
    expect(await upcoming(project)).toEqual([third.jobs["ship"], second.jobs["ship"]]);
    await finish(first.jobs["ship"]);
    expect(await current(project)).toBe(third.jobs["ship"]);
    expect((await statusOf(project, fourth))[0]).toBe("created");
  });

  it("of new groups is that of the project's setting", async () => {
    const project = await ciProject(app, "default-mode", SHIP);
    await project.call("PUT ", {
      as: "owner",
      json: { resource_group_default_process_mode: "newest_first" },
    });
    await start(project);
    expect((await ask(project)).json[0].process_mode).toBe("newest_first");
  });

  it("is one of four", async () => {
    const project = await ciProject(app, "modes", SHIP);
    await start(project);
    expect(await setMode(project, "random")).toMatchObject({
      status: 400,
      json: { message: { process_mode: ["does not have a valid value"] } },
    });
    const { status, json } = await project.call("PUT /resource_groups/production", {
      as: "developer",
      json: {},
    });
    expect([status, json.message]).toEqual([400, '400 (Bad request) "process_mode" not given']);
    expect((await setMode(project, "newest_first", "reporter")).status).toBe(403);
  });
});

it("a resource group is shown to developers", async () => {
  const project = await ciProject(app, "shown", SHIP);
  await start(project);
  const group = {
    id: expect.any(Number),
    key: "production",
    process_mode: "unordered",
    created_at: expect.any(String),
    updated_at: expect.any(String),
  };
  expect((await ask(project)).json).toEqual([group]);
  expect((await ask(project, "/production")).json).toEqual(group);
  for (const path of ["", "/production", "/production/upcoming_jobs", "/production/current_job"]) {
    expect((await ask(project, path, "reporter")).status).toBe(403);
    expect((await ask(project, path, "stranger")).status).toBe(404);
  }
  for (const path of ["/none", "/none/upcoming_jobs", "/none/current_job"]) {
    expect(await ask(project, path)).toMatchObject({
      status: 404,
      json: { message: "404 Not found" },
    });
  }
});
