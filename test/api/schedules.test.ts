import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";
import { type CiProject, ciProject, THREE_STAGES } from "./_pipelines.ts";

/** A moment at which the tests' clock stands, unless they move it. */
const START = Date.parse("2026-11-23T12:00:00Z");
const DAY = 86_400_000;

let time = START;
let app: TestApp;
let project: CiProject;
beforeAll(async () => {
  app = await testApp({
    now: () => {
      time += 1;
      return time;
    },
  });
  project = await ciProject(app, "scheduled", THREE_STAGES);
});
afterAll(() => app.dispose());

const LEAST = { description: "Nightly", ref: "main", cron: "0 1 * * *" };

async function add(more: object = {}, to = project, as: "maintainer" | "developer" = "maintainer") {
  const made = await to.call("POST /pipeline_schedules", { as, json: { ...LEAST, ...more } });
  expect([made.text, made.status]).toEqual([made.text, 201]);
  return made.json;
}

const pipelinesOf = async (id: number, of = project) =>
  (await of.call(`GET /pipeline_schedules/${id}/pipelines`, { as: "maintainer" })).json;

describe("schedules", () => {
  it("are added with the time of their next run", async () => {
    expect(await add()).toEqual({
      id: expect.any(Number),
      description: "Nightly",
      ref: "refs/heads/main",
      cron: "0 1 * * *",
      cron_timezone: "UTC",
      next_run_at: "2026-11-24T01:00:00.000Z",
      active: true,
      created_at: expect.any(String),
      updated_at: expect.any(String),
      owner: expect.objectContaining({ username: "maintainer" }),
      last_pipeline: null,
      variables: [],
      inputs: [],
    });
    const inBerlin = await add({ cron_timezone: "Europe/Berlin", active: false });
    expect(inBerlin).toMatchObject({ next_run_at: "2026-11-24T00:00:00.000Z", active: false });
    const inCalifornia = await add({ cron_timezone: "Pacific Time (US & Canada)", active: false });
    expect(inCalifornia).toMatchObject({
      cron_timezone: "Pacific Time (US & Canada)",
      next_run_at: "2026-11-24T09:00:00.000Z",
    });
    await project.call(`DELETE /pipeline_schedules/${inCalifornia.id}`, { as: "maintainer" });
    const active = await project.call("GET /pipeline_schedules?scope=active", { as: "reporter" });
    expect(active.json).toHaveLength(1);
    expect(active.json[0]).not.toHaveProperty("variables");
    expect(
      (await project.call("GET /pipeline_schedules?scope=inactive", { as: "reporter" })).json,
    ).toHaveLength(1);
  });

  it("need a time that exists", async () => {
    const errors = async (more: object) => {
      const json = { ...LEAST, ...more };
      const answer = await project.call("POST /pipeline_schedules", { as: "maintainer", json });
      return [answer.status, answer.json.message];
    };
    expect(await errors({ cron: "bad" })).toEqual([400, { cron: ["is invalid syntax"] }]);
    expect(await errors({ cron: "99 * * * *" })).toEqual([400, { cron: ["is invalid syntax"] }]);
    expect(await errors({ cron_timezone: "Nowhere/At_All" })).toEqual([
      400,
      { cron_timezone: ["is invalid syntax"] },
    ]);
    expect(await errors({ ref: "no name" })).toEqual([400, { ref: ["is invalid"] }]);
    const unknown = await project.call("GET /pipeline_schedules/99999", { as: "maintainer" });
    expect([unknown.status, unknown.json.message]).toEqual([
      404,
      "404 Pipeline Schedule Not Found",
    ]);
    expect((await project.call("GET /pipeline_schedules", { as: "stranger" })).status).toBe(404);
    expect((await project.call("GET /pipeline_schedules")).status).toBe(401);
  });

  it("may be of a branch that is not there yet, and start nothing until it is", async () => {
    const as = "maintainer";
    const made = await add({ ref: "later" });
    expect(made).toMatchObject({ ref: "later", active: true });
    const play = () => project.call(`POST /pipeline_schedules/${made.id}/play`, { as });
    const pipelines = async () =>
      (await project.call(`GET /pipeline_schedules/${made.id}/pipelines`, { as })).json;
    expect((await play()).status).toBe(400);
    expect(await pipelines()).toEqual([]);
    const branch = { branch: "later", ref: "main" };
    expect((await project.call("POST /repository/branches", { as, json: branch })).status).toBe(
      201,
    );
    expect((await play()).status).toBe(201);
    expect(await pipelines()).toMatchObject([{ ref: "later" }]);
    const gone = await project.call(`PUT /pipeline_schedules/${made.id}`, {
      as,
      json: { ref: "refs/tags/none" },
    });
    expect([gone.status, gone.json.ref]).toEqual([200, "refs/tags/none"]);
    await project.call(`DELETE /pipeline_schedules/${made.id}`, { as });
  });

  it("are changed by their owner, and taken over and removed by maintainers", async () => {
    const { id } = await add({}, project, "developer");
    const one = `/pipeline_schedules/${id}`;
    const json = { cron: "30 2 * * *", cron_timezone: "America/New_York", description: "Later" };
    expect((await project.call(`PUT ${one}`, { as: "maintainer", json })).status).toBe(403);
    const changed = await project.call(`PUT ${one}`, { as: "developer", json });
    expect([changed.status, changed.json]).toMatchObject([
      200,
      { ...json, next_run_at: "2026-11-24T07:30:00.000Z" },
    ]);
    const other = await add();
    const taken = await project.call(`POST /pipeline_schedules/${other.id}/take_ownership`, {
      as: "developer",
    });
    expect(taken.status).toBe(403);
    const mine = await project.call(`POST ${one}/take_ownership`, { as: "maintainer" });
    expect([mine.status, mine.json.owner.username]).toEqual([201, "maintainer"]);
    const again = await project.call(`POST ${one}/take_ownership`, { as: "maintainer" });
    expect([again.status, again.json]).toEqual([200, mine.json]);
    expect((await project.call(`DELETE ${one}`, { as: "developer" })).status).toBe(403);
    expect((await project.call(`DELETE ${one}`, { as: "owner" })).status).toBe(204);
    await project.call(`DELETE /pipeline_schedules/${other.id}`, { as: "maintainer" });
  });

  it("have variables, which only their owner and maintainers see", async () => {
    const { id } = await add();
    const path = `/pipeline_schedules/${id}/variables`;
    const made = await project.call(`POST ${path}?key=A&value=b`, { as: "maintainer" });
    const expected = { key: "A", value: "b", variable_type: "env_var", raw: false };
    expect([made.status, made.json]).toEqual([201, expected]);
    const again = await project.call(`POST ${path}?key=A&value=b`, { as: "maintainer" });
    expect([again.status, again.json.message]).toEqual([400, { key: ["has already been taken"] }]);
    const bad = await project.call(`POST ${path}?key=A-B&value=b`, { as: "maintainer" });
    expect(bad.json.message).toHaveProperty("key");
    expect((await project.call(`POST ${path}?key=B&value=b`, { as: "owner" })).status).toBe(403);
    const changed = await project.call(`PUT ${path}/A?value=c&variable_type=file`, {
      as: "maintainer",
    });
    expect([changed.status, changed.json]).toMatchObject([
      200,
      { value: "c", variable_type: "file" },
    ]);
    const one = `/pipeline_schedules/${id}`;
    const seen = await project.call(`GET ${one}`, { as: "owner" });
    expect(seen.json.variables).toEqual([changed.json]);
    const hidden = await project.call(`GET ${one}`, { as: "developer" });
    expect(hidden.json).not.toHaveProperty("variables");
    const stored = await app.store.rows("select value from pipeline_schedule_variables");
    expect(stored).toEqual([[expect.stringMatching(/^\$1\$/)]]);
    const removed = await project.call(`DELETE ${path}/A`, { as: "maintainer" });
    expect([removed.status, removed.json]).toEqual([202, changed.json]);
    expect((await project.call(`DELETE ${path}/A`, { as: "maintainer" })).json.message).toBe(
      "404 Pipeline Schedule Variable Not Found",
    );
    await project.call(`DELETE ${one}`, { as: "maintainer" });
  });

  it("are played at once, as the caller's", async () => {
    const { id } = await add();
    await project.call(`POST /pipeline_schedules/${id}/variables?key=A&value=b`, {
      as: "maintainer",
    });
    const played = await project.call(`POST /pipeline_schedules/${id}/play`, { as: "developer" });
    expect([played.status, played.json]).toEqual([201, { message: "201 Created" }]);
    const [pipeline] = await pipelinesOf(id);
    expect(pipeline).toMatchObject({ source: "schedule", ref: "main", sha: project.sha });
    const { json } = await project.call(`GET /pipelines/${pipeline.id}/variables`, {
      as: "maintainer",
    });
    expect(json).toMatchObject([{ key: "A", value: "b" }]);
    const seen = await project.call(`GET /pipeline_schedules/${id}`, { as: "maintainer" });
    expect(seen.json.last_pipeline.id).toBe(pipeline.id);
    await project.call(`DELETE /pipeline_schedules/${id}`, { as: "maintainer" });
    expect((await project.call(`GET /pipelines/${pipeline.id}`, { as: "maintainer" })).status).toBe(
      200,
    );
  });
});

describe("due schedules", () => {
  it("run once, whatever the number of processes, and missed runs are made up for once", async () => {
    const own = await ciProject(app, "due", THREE_STAGES);
    const { id } = await add({}, own);
    const others = await Promise.all([app.another(), app.another(), app.another()]);
    const all = [app, ...others];
    const runAll = async () => {
      await Promise.all(all.map(({ admin }) => admin.maintenance.runSchedules()));
      return (await pipelinesOf(id, own)).length;
    };
    expect(await runAll()).toBe(0);
    time = Date.parse("2026-11-24T01:00:01Z");
    expect(await runAll()).toBe(1);
    expect(await runAll()).toBe(1);
    const after = await own.call(`GET /pipeline_schedules/${id}`, { as: "maintainer" });
    expect(after.json.next_run_at).toBe("2026-11-25T01:00:00.000Z");
    const [pipeline] = await pipelinesOf(id, own);
    expect(pipeline).toMatchObject({ source: "schedule", sha: own.sha });
    time += 10 * DAY;
    expect(await runAll()).toBe(2);
    expect(await runAll()).toBe(2);
    await own.call(`PUT /pipeline_schedules/${id}?active=false`, { as: "maintainer" });
    time += 2 * DAY;
    expect(await runAll()).toBe(2);
    for (const other of others) await other.close();
  });

  it("are switched off if their owner may run none any more", async () => {
    const own = await ciProject(app, "left", THREE_STAGES);
    const { id } = await add({}, own, "developer");
    await app.admin.users.block("developer");
    time += 2 * DAY;
    await app.admin.maintenance.runSchedules();
    const { json } = await own.call(`GET /pipeline_schedules/${id}`, { as: "maintainer" });
    expect([json.active, json.last_pipeline]).toEqual([false, null]);
    await app.admin.users.unblock("developer");
  });

  it("show mistakes of the configuration as failed pipelines, and go on", async () => {
    const own = await ciProject(app, "broken", "job: { stage: nowhere, script: [a] }");
    const { id } = await add({}, own);
    time += 2 * DAY;
    await app.admin.maintenance.runSchedules();
    expect(await pipelinesOf(id, own)).toMatchObject([{ status: "failed", source: "schedule" }]);
    const none = await ciProject(app, "bare", undefined);
    const bare = await add({}, none);
    time += 2 * DAY;
    await app.admin.maintenance.runSchedules();
    expect(await pipelinesOf(bare.id, none)).toEqual([]);
    const { json } = await none.call(`GET /pipeline_schedules/${bare.id}`, { as: "maintainer" });
    expect(json.active).toBe(true);
    expect(Date.parse(json.next_run_at)).toBeGreaterThan(time);
  });
});
