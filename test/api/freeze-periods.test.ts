import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { type CiProject, ciProject } from "./_pipelines.ts";

let app: TestApp;
let project: CiProject;
let time = Date.parse("2026-11-25T10:00:00Z");
beforeAll(async () => {
  app = await testApp({ background: false, now: () => time });
  project = await ciProject(
    app,
    "frozen",
    `build: {script: [make]}
ship: {script: [deploy], rules: [{if: $CI_DEPLOY_FREEZE == null}]}
`,
  );
});
afterAll(() => app.dispose());

const call = (method: string, path = "", json: object = {}, as: Person = "maintainer") =>
  project.call(`${method} /freeze_periods${path}`, { as, ...(method !== "GET" && { json }) });
const WEEKEND = { freeze_start: "0 23 * * 5", freeze_end: "0 7 * * 1" };

beforeEach(async () => {
  for (const { id } of (await call("GET")).json) await call("DELETE", `/${id}`);
});

it("are added, listed, changed and removed", async () => {
  const made = await call("POST", "", {
    freeze_start: "  0 23 * * 5 ",
    freeze_end: "0 7 * * 1",
  });
  const expected = {
    id: expect.any(Number),
    ...WEEKEND,
    cron_timezone: "UTC",
    created_at: expect.any(String),
    updated_at: expect.any(String),
  };
  expect([made.status, made.json]).toEqual([201, expected]);
  const { id } = made.json;
  time += 1000;
  const second = await call("POST", "", { ...WEEKEND, cron_timezone: "Europe/Berlin" });
  const listed = await call("GET", "", {}, "reporter");
  expect(listed.json).toEqual([expected, { ...expected, cron_timezone: "Europe/Berlin" }]);
  expect(listed.json[1].id).toBe(second.json.id);
  expect((await call("GET", `/${id}`, {}, "reporter")).json).toEqual(expected);
  const changed = await call("PUT", `/${id}`, { freeze_end: "0 8 * * 1", cron_timezone: "Japan" });
  const after = { ...expected, freeze_end: "0 8 * * 1", cron_timezone: "Japan" };
  expect([changed.status, changed.json]).toEqual([200, after]);
  expect((await call("DELETE", `/${id}`)).status).toBe(204);
  for (const method of ["GET", "PUT", "DELETE"]) {
    const gone = await call(method, `/${id}`);
    expect([gone.status, gone.json]).toEqual([404, { message: "404 Freeze Period Not Found" }]);
  }
  const log = await app.call("GET /audit_events?per_page=1", { as: "admin" });
  expect(log.json[0].details.custom_message).toBe("freeze period removed");
});

it.each([
  [{ freeze_end: "0 7 * * 1" }, '400 (Bad request) "freeze_start" not given'],
  [{ ...WEEKEND, freeze_start: "x" }, { freeze_start: ["is invalid syntax"] }],
  [{ ...WEEKEND, freeze_end: "" }, { freeze_end: ["is invalid syntax"] }],
  [{ ...WEEKEND, cron_timezone: "Mars" }, { cron_timezone: ["is invalid syntax"] }],
])("are refused with %j", async (json, message) => {
  const answer = await call("POST", "", json);
  expect([answer.status, answer.json]).toEqual([400, { message }]);
});

it("are read by reporters, and changed by maintainers", async () => {
  expect((await call("GET", "", {}, "guest")).status).toBe(403);
  expect((await call("POST", "", WEEKEND, "developer")).status).toBe(403);
});

it("give pipelines CI_DEPLOY_FREEZE while one lasts", async () => {
  const jobs = async (at: string) => {
    time = Date.parse(at);
    const made = await project.call("POST /pipeline", { as: "developer", json: { ref: "main" } });
    const { json } = await project.call(`GET /pipelines/${made.json.id}/jobs`, {
      as: "developer",
    });
    return json.map(({ name }: { name: string }) => name).sort();
  };
  await call("POST", "", { ...WEEKEND, cron_timezone: "Europe/Berlin" });
  // Berlin is an hour ahead of UTC then.
  expect(await jobs("2026-11-27T21:59:00Z")).toEqual(["build", "ship"]);
  expect(await jobs("2026-11-27T22:00:00Z")).toEqual(["build"]);
  const runner = { runner_type: "project_type", project_id: project.id };
  const { token } = (await app.call("POST /user/runners", { as: "owner", json: runner })).json;
  const { json: job } = await app.call("POST /jobs/request", { json: { token } });
  const told = job.variables.find(({ key }: { key: string }) => key === "CI_DEPLOY_FREEZE");
  expect(told.value).toBe("true");
  expect(await jobs("2026-11-30T05:59:00Z")).toEqual(["build"]);
  expect(await jobs("2026-11-30T06:00:00Z")).toEqual(["build", "ship"]);
});
