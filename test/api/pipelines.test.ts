import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { type CiProject, ciProject, THREE_STAGES } from "./_pipelines.ts";

let app: TestApp;
let project: CiProject;
/** A project without a configuration. */
let bare: CiProject;
beforeAll(async () => {
  app = await testApp();
  project = await ciProject(app, "pipelines", THREE_STAGES);
  bare = await ciProject(app, "bare", undefined);
});
afterAll(() => app.dispose());

const run = async (as: Person = "developer", json: object = {}) => {
  const made = await project.call("POST /pipeline", { as, json: { ref: "main", ...json } });
  expect([made.status, made.text]).toEqual([201, expect.any(String)]);
  return made.json;
};
const jobsOf = async (id: number, query = "") =>
  (await project.call(`GET /pipelines/${id}/jobs?${query}`, { as: "reporter" })).json;
const namesOf = (jobs: { name: string; status: string }[]) =>
  Object.fromEntries(jobs.map(({ name, status }) => [name, status]));

const BASIC = [
  "id",
  "iid",
  "project_id",
  "sha",
  "ref",
  "status",
  "source",
  "created_at",
  "updated_at",
  "web_url",
  "name",
];

describe("POST /projects/:id/pipeline", () => {
  it("C009: runs what the configuration says, and starts the first stage", async () => {
    const made = await run();
    expect(made).toMatchObject({
      sha: project.sha,
      ref: "main",
      source: "api",
      status: "pending",
      before_sha: "0".repeat(40),
      tag: false,
      detailed_status: { text: "Pending", group: "pending", has_details: true },
    });
    expect("variables" in made || "name" in made).toBe(false);
    expect(namesOf(await jobsOf(made.id))).toEqual({
      compile: "pending",
      check: "created",
      publish: "created",
    });
  });

  it("C010-C013: says why there is none", async () => {
    const refusalOf = async (where: CiProject, json: object, as: Person = "developer") => {
      const { status, json: answer } = await where.call("POST /pipeline", { as, json });
      return [status, answer.message.base ?? answer.message];
    };
    expect(await refusalOf(project, { ref: "invalid_ref" })).toEqual([
      400,
      ["Reference not found"],
    ]);
    expect(await refusalOf(bare, { ref: "main" })).toEqual([400, ["Missing CI config file"]]);
    expect(await refusalOf(project, {})).toEqual([400, expect.stringContaining("ref")]);
    expect(await refusalOf(project, { ref: "main" }, "stranger")).toEqual([
      404,
      "404 Project Not Found",
    ]);
    expect(await refusalOf(project, { ref: "main" }, "reporter")).toEqual([403, "403 Forbidden"]);
  });

  it("stores nothing if the configuration has mistakes", async () => {
    const broken = await ciProject(app, "broken", "check:\n  stage: test\n");
    const { status, json } = await broken.call("POST /pipeline", {
      as: "developer",
      json: { ref: "main" },
    });
    expect([status, json.message.base[0]]).toEqual([
      400,
      expect.stringContaining("jobs check config"),
    ]);
    expect((await broken.call("GET /pipelines", { as: "developer" })).json).toEqual([]);
  });

  it("is refused for protected branches that the caller may not change", async () => {
    const guarded = await ciProject(app, "guarded", THREE_STAGES);
    await guarded.call("POST /protected_branches", {
      as: "owner",
      json: { name: "main", push_access_level: 40, merge_access_level: 40 },
    });
    const { status, json } = await guarded.call("POST /pipeline", {
      as: "developer",
      json: { ref: "main" },
    });
    expect([status, json.message.base[0]]).toEqual([
      400,
      expect.stringMatching(/^You do not have sufficient permission to run a pipeline on 'main'\./),
    ]);
    // Whom the rule names may.
    const { json: users } = await app.call("GET /users?username=developer", { as: "owner" });
    await guarded.call("PATCH /protected_branches/main", {
      as: "owner",
      json: { allowed_to_merge: [{ user_id: users[0].id }] },
    });
    const made = await guarded.call("POST /pipeline", { as: "developer", json: { ref: "main" } });
    expect(made.status, made.text).toBe(201);
    const canceled = await guarded.call(`POST /pipelines/${made.json.id}/cancel`, {
      as: "developer",
    });
    expect(canceled.status).toBe(200);
  });

  it("has only the inputs that the configuration declares", async () => {
    const asked = { ref: "main", inputs: { level: "high" } };
    const { status, json } = await project.call("POST /pipeline", {
      as: "maintainer",
      json: asked,
    });
    const reason =
      "Given inputs not defined in the `spec` section of the included configuration file";
    const message = { base: [reason] };
    expect([status, json]).toEqual([400, { message }]);
  });

  it("C014, C015: keeps its variables, which only maintainers and who gave them see", async () => {
    const variables = [{ key: "A", value: "1" }];
    const made = await run("maintainer", { variables });
    const read = (as: Person, id = made.id) =>
      project.call(`GET /pipelines/${id}/variables`, { as });
    expect((await read("maintainer")).json).toEqual([
      { variable_type: "env_var", key: "A", value: "1", raw: false },
    ]);
    expect((await read("developer")).status).toBe(403);
    const own = await run("developer", { variables });
    expect((await read("developer", own.id)).status).toBe(200);
    const stored = await app.store.rows("select value from pipeline_variables");
    expect(stored.map(([value]) => String(value)).every((value) => value.startsWith("$1$"))).toBe(
      true,
    );
    expect(
      (
        await project.call("POST /pipeline", {
          as: "developer",
          json: { ref: "main", variables: [{ value: "1" }] },
        })
      ).status,
    ).toBe(400);
  });
});

describe("reading", () => {
  it("C001-C008: lists pipelines, filtered", async () => {
    const list = (query = "", as: Person = "reporter") =>
      project.call(`GET /pipelines?${query}`, { as });
    const all = await list();
    expect(all.status).toBe(200);
    expect(Object.keys(all.json[0])).toEqual(BASIC);
    expect(all.headers.get("x-total")).toBe(String(all.json.length));
    expect((await list("", "stranger")).json).toEqual({ message: "404 Project Not Found" });
    for (const wrong of ["scope=invalid-scope", "order_by=lock_version", "yaml_errors=maybe"]) {
      expect((await list(wrong)).status).toBe(400);
    }
    for (const none of [
      "ref=nope",
      "username=nobody",
      "scope=finished",
      "source=push",
      "scope=tags",
    ]) {
      expect((await list(none)).json).toEqual([]);
    }
    const ids = ({ json }: { json: { id: number }[] }) => json.map(({ id }) => id);
    expect(ids(await list("sort=asc"))).toEqual(ids(all).reverse());
    expect(ids(await list("scope=branches"))).toEqual([Math.max(...ids(all))]);
    expect(ids(await list("username=maintainer"))).toHaveLength(1);
    for (const same of [
      `sha=${project.sha}`,
      "status=pending",
      "scope=pending",
      "yaml_errors=false",
      "source=api",
      "ref=main",
      "order_by=status",
      "order_by=updated_at",
      "order_by=ref",
      "created_after=2000-01-01&updated_before=2999-01-01",
    ]) {
      expect([same, ids(await list(same)).sort()]).toEqual([same, ids(all).sort()]);
    }
  });

  it("C016, C017: gets one, or the latest", async () => {
    const made = await run();
    const one = await project.call(`GET /pipelines/${made.id}`, { as: "reporter" });
    expect(Object.keys(one.json)).toHaveLength(23);
    expect(one.json).toMatchObject({ yaml_errors: null, coverage: null, started_at: null });
    const latest = await project.call("GET /pipelines/latest", { as: "reporter" });
    expect(latest.json).toEqual(one.json);
    expect((await project.call("GET /pipelines/latest?ref=no", { as: "reporter" })).status).toBe(
      403,
    );
    const none = await project.call("GET /pipelines/999999", { as: "reporter" });
    expect([none.status, none.json]).toEqual([404, { message: "404 Not found" }]);
    expect((await project.call("GET /pipelines/x", { as: "reporter" })).status).toBe(400);
  });

  it("C023-C025: lists jobs by scope, and an empty test report", async () => {
    const { id } = await run();
    const both = await jobsOf(id, "scope[]=pending&scope[]=running");
    expect(namesOf(both)).toEqual({ compile: "pending" });
    const wrong = await project.call(`GET /pipelines/${id}/jobs?scope[]=unknown`, {
      as: "reporter",
    });
    expect(wrong.status).toBe(400);
    const hash = await project.call(`GET /pipelines/${id}/jobs?scope[a]=b`, { as: "reporter" });
    expect(hash.status).toBe(400);
    const report = await project.call(`GET /pipelines/${id}/test_report`, { as: "reporter" });
    expect(report.json).toMatchObject({ total_count: 0, test_suites: [] });
    const bridges = await project.call(`GET /pipelines/${id}/bridges`, { as: "reporter" });
    expect(bridges.json).toEqual([]);
  });

  it("is for guests only where jobs are public", async () => {
    const list = async (as: Person) => (await bare.call("GET /pipelines", { as })).status;
    expect(await list("guest")).toBe(200);
    await bare.call("PUT ?public_jobs=false", { as: "owner" });
    expect(await list("guest")).toBe(403);
    expect(await list("reporter")).toBe(200);
    await bare.call("PUT ?jobs_enabled=false", { as: "owner" });
    expect(await list("owner")).toBe(403);
  });
});

describe("changing", () => {
  it("names a pipeline", async () => {
    const { id } = await run();
    const name = (text: string) =>
      project.call(`PUT /pipelines/${id}/metadata`, { as: "developer", json: { name: text } });
    expect((await name("Nightly")).json.name).toBe("Nightly");
    const long = await name("x".repeat(256));
    expect([long.status, long.json.message]).toEqual([
      400,
      "Failed to update pipeline - Name is too long (maximum is 255 characters)",
    ]);
  });

  it("C020-C022: cancels, and retries what was canceled", async () => {
    const { id } = await run();
    const act = (what: string, as: Person = "developer") =>
      project.call(`POST /pipelines/${id}/${what}`, { as });
    expect((await act("cancel", "reporter")).status).toBe(403);
    const canceled = await act("cancel");
    expect([canceled.status, canceled.json.status]).toEqual([200, "canceled"]);
    expect((await act("cancel")).status).toBe(200);
    const before = await jobsOf(id);
    const retried = await act("retry");
    expect([retried.status, retried.json.status]).toEqual([201, "pending"]);
    const after = await jobsOf(id);
    expect(namesOf(after)).toEqual({ compile: "pending", check: "created", publish: "created" });
    const every = await jobsOf(id, "include_retried=true");
    expect(every).toHaveLength(6);
    expect(every.slice(0, 3)).toEqual(after);
    expect(before.map((job: { id: number }) => job.id)).toEqual(
      every.slice(3).map((job: { id: number }) => job.id),
    );
  });

  it("C018, C019: is deleted by owners, with its jobs", async () => {
    const { id } = await run();
    const remove = (as: Person) => project.call(`DELETE /pipelines/${id}`, { as });
    const refused = await remove("developer");
    expect([refused.status, refused.json]).toEqual([403, { message: "403 Forbidden" }]);
    const [job] = await jobsOf(id);
    expect((await remove("owner")).status).toBe(204);
    expect((await project.call(`GET /pipelines/${id}`, { as: "owner" })).status).toBe(404);
    expect((await project.call(`GET /jobs/${job.id}`, { as: "owner" })).status).toBe(404);
  });
});
