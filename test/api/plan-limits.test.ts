import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { ciProject } from "./_pipelines.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

const PATH = "/application/plan_limits";
const put = (json: object, as: Person = "admin") => app.call(`PUT ${PATH}`, { as, json });
const get = async (query = "") => (await app.call(`GET ${PATH}${query}`, { as: "admin" })).json;

it("shows the limits of each plan, and changes them", async () => {
  const initial = await get();
  expect(initial).toMatchObject({
    ci_pipeline_schedules: 100,
    ci_pipeline_size: 0,
    dotenv_size: 5120,
    dotenv_variables: 20,
    generic_packages_max_file_size: 1024 ** 3,
    limits_history: {},
    npm_max_file_size: 524_288_000,
    pipeline_hierarchy_size: 1000,
  });
  const changed = await put({ plan_name: "default", npm_max_file_size: 7, ci_active_jobs: 3 });
  expect([changed.status, changed.json]).toEqual([
    200,
    { ...initial, npm_max_file_size: 7, ci_active_jobs: 3 },
  ]);
  expect((await put({ plan_name: "default", helm_max_file_size: 8 })).json).toMatchObject({
    npm_max_file_size: 7,
    helm_max_file_size: 8,
  });
  expect(await get("?plan_name=premium")).toEqual(initial);
  expect((await put({ plan_name: "premium" })).json).toEqual(initial);
  const [event] = await app.admin.auditEvents.list({ action: "plan limits changed" });
  expect(event).toMatchObject({ target: "premium" });
});

it.each([
  [{}, "plan_name"],
  [{ plan_name: "huge" }, "plan_name"],
  [{ plan_name: "default", ci_pipeline_schedules: 101 }, "ci_pipeline_schedules"],
  [{ plan_name: "default", dotenv_size: -1 }, "dotenv_size"],
  [{ plan_name: "default", npm_max_file_size: "x" }, "npm_max_file_size"],
])("refuses %j", async (json, name) => {
  const { status, text } = await put(json);
  expect([status, text.includes(name)]).toEqual([400, true]);
});

it("is administrators'", async () => {
  expect((await put({ plan_name: "default" }, "owner")).status).toBe(403);
  expect((await app.call(`GET ${PATH}`, { as: "owner" })).status).toBe(403);
  expect((await app.call(`GET ${PATH}`)).status).toBe(401);
});

it("limits schedules, packages and files of variables", async () => {
  const project = await ciProject(
    app,
    "limited",
    "make: {script: [x], artifacts: {reports: {dotenv: build.env}}}",
  );
  await put({
    plan_name: "default",
    ci_pipeline_schedules: 1,
    generic_packages_max_file_size: 4,
    dotenv_variables: 1,
    dotenv_size: 64,
  });
  const schedule = { description: "d", ref: "main", cron: "0 1 * * *" };
  const add = () => project.call("POST /pipeline_schedules", { as: "owner", json: schedule });
  expect((await add()).status).toBe(201);
  const refused = await add();
  expect([refused.status, refused.json.message.base]).toEqual([
    400,
    ["Maximum number of pipeline schedules (1) exceeded"],
  ]);

  const upload = (body: string) =>
    project.call("PUT /packages/generic/p/1.0/f.txt", { as: "owner", body });
  expect((await upload("1234")).status).toBe(201);
  const large = await upload("12345");
  expect([large.status, large.json.message]).toEqual([400, "400 Bad request - File is too large"]);

  const json = { runner_type: "project_type", project_id: project.id };
  const runner = (await app.call("POST /user/runners", { as: "owner", json })).json;
  await project.call("POST /pipeline?ref=main", { as: "developer" });
  const { json: job } = await app.call("POST /jobs/request", { json: { token: runner.token } });
  const hand = async (text: string) => {
    const body = new FormData();
    body.append("file", new Blob([new Uint8Array(gzipSync(text))]), "build.env.gz");
    const query = "artifact_format=gzip&artifact_type=dotenv";
    const headers = { "job-token": job.token };
    const answer = await app.call(`POST /jobs/${job.id}/artifacts?${query}`, { headers, body });
    return [answer.status, answer.json?.message];
  };
  expect(await hand("A=1\nB=2\n")).toEqual([400, "Dotenv files cannot have more than 1 variables"]);
  expect(await hand(`A=${"1".repeat(200)}`)).toEqual([
    400,
    "Dotenv Artifact Too Big. Maximum Allowable Size: 64",
  ]);
  await put({ plan_name: "default", dotenv_size: 0 });
  expect((await hand(`A=${"1".repeat(200)}`))[0]).toBe(201);
});
