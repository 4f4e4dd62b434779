import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CallOptions, type TestApp, testApp } from "../helpers.ts";
import { type CiProject, ciProject, THREE_STAGES } from "./_pipelines.ts";

let app: TestApp;
let project: CiProject;
beforeAll(async () => {
  app = await testApp();
  project = await ciProject(app, "triggered", THREE_STAGES);
});
afterAll(() => app.dispose());

const add = async (description = "t", more: object = {}) => {
  const json = { description, ...more };
  const made = await project.call("POST /triggers", { as: "maintainer", json });
  expect(made.status).toBe(201);
  return made.json as { id: number; token: string };
};

describe("triggers", () => {
  it("need a description, and show their token to their owner only", async () => {
    const unnamed = await project.call("POST /triggers", { as: "maintainer" });
    expect([unnamed.status, unnamed.json.message]).toEqual([
      400,
      '400 (Bad request) "description" not given',
    ]);
    const made = await project.call("POST /triggers?description=t", { as: "maintainer" });
    expect([made.status, made.json]).toEqual([
      201,
      {
        id: expect.any(Number),
        token: expect.stringMatching(/^glptt-[0-9a-f]{40}$/),
        description: "t",
        created_at: expect.any(String),
        updated_at: expect.any(String),
        last_used: null,
        expires_at: null,
        owner: expect.objectContaining({ username: "maintainer" }),
      },
    ]);
    const shown = await project.call("GET /triggers", { as: "owner" });
    expect(shown.json[0].token).toBe(made.json.token.slice(6, 10));
    const own = await project.call(`GET /triggers/${made.json.id}`, { as: "maintainer" });
    expect(own.json).toEqual(made.json);
    expect((await project.call("POST /triggers?description=t", { as: "developer" })).status).toBe(
      403,
    );
    const stored = await app.store.rows("select token, digest from pipeline_triggers");
    expect(JSON.stringify(stored)).not.toContain(made.json.token);
  });

  it("are changed by their owner, and removed by any maintainer", async () => {
    const { id, token } = await add();
    const change = { json: { description: "Nightly" } };
    expect((await project.call(`PUT /triggers/${id}`, { as: "owner", ...change })).status).toBe(
      403,
    );
    const changed = await project.call(`PUT /triggers/${id}`, { as: "maintainer", ...change });
    expect([changed.status, changed.json.description]).toEqual([200, "Nightly"]);
    expect((await project.call(`DELETE /triggers/${id}`, { as: "owner" })).status).toBe(204);
    expect((await project.call(`GET /triggers/${id}`, { as: "owner" })).json).toEqual({
      message: "404 Trigger Not Found",
    });
    const late = await project.call("POST /trigger/pipeline", { json: { token, ref: "main" } });
    expect(late.status).toBe(404);
  });
});

describe("a pipeline by trigger", () => {
  it("needs no login, and is its owner's", async () => {
    const { id, token } = await add();
    const json = { token, ref: "main", variables: { DEPLOY: "yes" } };
    const made = await project.call("POST /trigger/pipeline", { json });
    expect([made.status, made.json]).toMatchObject([
      201,
      { sha: project.sha, ref: "main", source: "trigger", user: { username: "maintainer" } },
    ]);
    const { json: variables } = await project.call(`GET /pipelines/${made.json.id}/variables`, {
      as: "maintainer",
    });
    expect(variables).toMatchObject([
      { key: "DEPLOY", value: "yes", variable_type: "env_var" },
      { key: "TRIGGER_PAYLOAD", variable_type: "file" },
    ]);
    expect(JSON.parse(variables[1].value)).toEqual({ ref: "main", variables: { DEPLOY: "yes" } });
    const used = await project.call(`GET /triggers/${id}`, { as: "maintainer" });
    expect(used.json.last_used).not.toBeNull();
    const form = { token, ref: "nope", "variables[A]": "b" };
    const byPath = await project.call("POST /ref/main/trigger/pipeline", { form });
    expect([byPath.status, byPath.json.ref]).toEqual([201, "main"]);
    await project.call("POST /repository/branches?branch=feature/one&ref=main", { as: "owner" });
    const withSlash = await project.call("POST /ref/feature/one/trigger/pipeline", { form });
    expect([withSlash.status, withSlash.json.ref]).toEqual([201, "feature/one"]);
    const byName = await app.call("POST /projects/secret%2FTriggered/trigger/pipeline", {
      form: { token, ref: "main" },
    });
    expect(byName.status).toBe(201);
  });

  it("tells its jobs four characters of the token, and which languages are known", async () => {
    const own = await ciProject(app, "told", "a: {script: [make]}\n");
    const json = { runner_type: "project_type", project_id: own.id };
    const { token: runner } = (await app.call("POST /user/runners", { as: "owner", json })).json;
    /** The variables of the job of a pipeline that a request starts. */
    const variablesOf = async (request: string, options: CallOptions) => {
      expect((await own.call(request, options)).status).toBe(201);
      const asked = await app.call("POST /jobs/request", { json: { token: runner } });
      expect(asked.status).toBe(201);
      const variables: { key: string; value: string }[] = asked.json.variables;
      return Object.fromEntries(variables.map(({ key, value }) => [key, value]));
    };
    const trigger = (await own.call("POST /triggers?description=t", { as: "maintainer" })).json;
    const start = { json: { token: trigger.token, ref: "main" } };
    const told = await variablesOf("POST /trigger/pipeline", start);
    expect(told).toMatchObject({
      CI_PIPELINE_TRIGGERED: "true",
      CI_TRIGGER_SHORT_TOKEN: trigger.token.slice("glptt-".length, "glptt-".length + 4),
      CI_PROJECT_CLASSIFICATION_LABEL: "",
    });
    for (const unknown of ["CI_PROJECT_REPOSITORY_LANGUAGES", "CI_DEPLOY_USER"]) {
      expect(told).not.toHaveProperty(unknown);
    }
    await own.commit("b.rb", "puts 1\n", "Add Ruby [skip ci]");
    await own.commit("c.js", "let a = 1;\nlet b;\n", "Add JavaScript [skip ci]");
    await own.call("GET /languages", { as: "owner" });
    const later = await variablesOf("POST /pipeline?ref=main", { as: "maintainer" });
    expect(later).toMatchObject({ CI_PROJECT_REPOSITORY_LANGUAGES: "javascript,ruby" });
    expect(later).not.toHaveProperty("CI_TRIGGER_SHORT_TOKEN");
  });

  it("is refused without a token of the project, or a branch or tag", async () => {
    const { token } = await add();
    const other = await ciProject(app, "other", THREE_STAGES);
    const send = async (json: object, to = project) => {
      const answer = await to.call("POST /trigger/pipeline", { json });
      return [answer.status, answer.json.message];
    };
    expect((await send({ ref: "main" }))[0]).toBe(400);
    expect((await send({ token }))[0]).toBe(400);
    const unknown = [404, "404 Not found"];
    expect(await send({ token: "glptt-nope", ref: "main" })).toEqual(unknown);
    expect(await send({ token, ref: "main" }, other)).toEqual(unknown);
    expect(await send({ token, ref: "other-branch" })).toEqual([
      400,
      { base: ["Reference not found"] },
    ]);
    expect(await send({ token, ref: "main", variables: "value" })).toEqual([
      400,
      { variables: ["is invalid"] },
    ]);
    expect(await send({ token, ref: "main", variables: { a: { b: "c" } } })).toEqual([
      400,
      "variables needs to be a map of key-valued strings",
    ]);
    const hook = await project.call("POST /trigger/pipeline", {
      json: { token, ref: "main" },
      headers: { "x-gitlab-event": "Pipeline Hook" },
    });
    expect(hook.status).toBe(403);
  });

  it("is refused once the token has expired, or its owner may run none", async () => {
    const expired = await add("t", { expires_at: "2020-01-01" });
    const gone = { token: expired.token, ref: "main" };
    expect((await project.call("POST /trigger/pipeline", { json: gone })).status).toBe(404);
    const { token } = await add();
    await app.admin.users.block("maintainer");
    const blocked = await project.call("POST /trigger/pipeline", { json: { token, ref: "main" } });
    expect([blocked.status, blocked.json.message]).toEqual([
      400,
      { base: ["Insufficient permissions to create a new pipeline"] },
    ]);
    await app.admin.users.unblock("maintainer");
  });
});
