import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";
import { type CiProject, ciProject, THREE_STAGES } from "./_pipelines.ts";

let app: TestApp;
let project: CiProject;
beforeAll(async () => {
  app = await testApp();
  project = await ciProject(app, "statuses", THREE_STAGES);
});
afterAll(() => app.dispose());

const post = (json: object, as: "developer" | "reporter" | "maintainer" = "developer") =>
  project.call(`POST /statuses/${project.sha}`, { as, json });

describe("POST /projects/:id/statuses/:sha", () => {
  it("C026: reports a status of the default name on the first branch with the commit", async () => {
    const { status, json } = await post({ state: "pending" });
    expect([status, json]).toEqual([
      201,
      {
        id: expect.any(Number),
        sha: project.sha,
        ref: "main",
        status: "pending",
        name: "default",
        target_url: null,
        description: null,
        created_at: expect.any(String),
        started_at: null,
        finished_at: null,
        allow_failure: false,
        coverage: null,
        pipeline_id: expect.any(Number),
        author: expect.objectContaining({ username: "developer" }),
      },
    ]);
  });

  it("C027: takes everything that there is to say", async () => {
    const { status, json } = await post({
      state: "success",
      context: "coverage",
      coverage: 80.5,
      description: "test",
      target_url: "http://x/s",
      ref: "main",
    });
    expect(status).toBe(201);
    expect(json).toMatchObject({
      name: "coverage",
      status: "success",
      coverage: 80.5,
      description: "test",
      target_url: "http://x/s",
      finished_at: expect.any(String),
    });
  });

  it("takes any number as the coverage, as JSON writes it, but none that is endless", async () => {
    const small = await post({ state: "success", name: "small", coverage: 1e-7 });
    expect([small.status, small.json.coverage]).toEqual([201, 1e-7]);
    for (const coverage of [1e16, "1e-7", ".5"]) {
      const { status, json } = await post({ state: "success", name: "odd", coverage });
      expect([status, json]).toEqual([400, { message: { coverage: ["is invalid"] } }]);
    }
  });

  it("C028: changes a status that has not ended, and replaces one that has", async () => {
    const first = await post({ state: "pending", name: "build" });
    const second = await post({ state: "success", name: "build" });
    expect(second.json).toMatchObject({ id: first.json.id, status: "success" });
    const third = await post({ state: "failed", name: "build" });
    expect(third.json.id).toBeGreaterThan(first.json.id);
  });

  it("C029: refuses what goes back, or is said again", async () => {
    expect((await post({ state: "running", name: "twice" })).status).toBe(201);
    const again = await post({ state: "running", name: "twice" });
    expect([again.status, again.json]).toEqual([
      400,
      {
        message:
          'Cannot transition status via :run from :running (Reason(s): Status cannot transition via "run")',
      },
    ]);
    const back = await post({ state: "pending", name: "twice" });
    expect(back.json.message).toMatch(/^Cannot transition status via :enqueue from :running/);
    // Somebody else reports a status of their own.
    expect((await post({ state: "pending", name: "twice" }, "maintainer")).status).toBe(201);
  });

  it("C030-C035: refuses what is wrong", async () => {
    expect((await post({ state: "invalid" })).status).toBe(400);
    expect((await post({})).status).toBe(400);
    const unknown = await project.call("POST /statuses/invalid_sha", {
      as: "developer",
      json: { state: "running" },
    });
    expect([unknown.status, unknown.json.message]).toEqual([404, "404 Commit Not Found"]);
    const url = await post({ state: "pending", target_url: "invalid url" });
    expect([url.status, Object.keys(url.json.message)]).toEqual([400, ["target_url"]]);
    expect((await post({ state: "success" }, "reporter")).status).toBe(403);
    const anonymous = await project.call(`POST /statuses/${project.sha}?state=success`);
    expect(anonymous.status).toBe(401);
    const elsewhere = await post({ state: "success", pipeline_id: 4711 });
    expect([elsewhere.status, elsewhere.json.message]).toEqual([
      404,
      "404 Pipeline for pipeline_id, sha and ref Not Found",
    ]);
  });

  it("needs the right to merge into a protected branch", async () => {
    const made = await ciProject(app, "guarded", undefined);
    await made.call("POST /protected_branches", {
      as: "owner",
      json: { name: "main", push_access_level: 40, merge_access_level: 40 },
    });
    const report = (as: "developer" | "maintainer") =>
      made.call(`POST /statuses/${made.sha}`, { as, json: { state: "success" } });
    expect((await report("developer")).status).toBe(403);
    expect((await report("maintainer")).status).toBe(201);
  });
});

it("C036: lists the newest status of each name, or all", async () => {
  const list = (query: string, as: "reporter" | "guest" = "reporter") =>
    project.call(`GET /repository/commits/${project.sha}/statuses?${query}`, { as });
  const newest = await list("name=build");
  expect(newest.json.map(({ status }: { status: string }) => status)).toEqual(["failed"]);
  const every = await list("name=build&all=1");
  expect(every.json.map(({ status }: { status: string }) => status)).toEqual(["success", "failed"]);
  expect((await list("", "guest")).status).toBe(403);
  const none = await list("ref=none");
  expect(none.json).toEqual([]);
});

it("C037, C038: makes an external pipeline, whose status is that of all", async () => {
  const made = await ciProject(app, "external", undefined);
  const report = (name: string, state: string) =>
    made.call(`POST /statuses/${made.sha}`, { as: "developer", json: { name, state } });
  await report("one", "success");
  const { json } = await made.call(`GET /pipelines?sha=${made.sha}`, { as: "developer" });
  expect(json).toHaveLength(1);
  expect(json[0]).toMatchObject({ source: "external", status: "success", sha: made.sha });
  await report("two", "running");
  const one = () => made.call(`GET /pipelines/${json[0].id}`, { as: "developer" });
  expect((await one()).json.status).toBe("running");
  await report("two", "success");
  await report("three", "failed");
  expect((await one()).json).toMatchObject({
    status: "failed",
    started_at: expect.any(String),
    finished_at: expect.any(String),
    duration: expect.any(Number),
    detailed_status: { text: "Failed", label: "failed", group: "failed", icon: "status_failed" },
    user: { username: "developer" },
  });
});
