import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { type CiProject, ciProject, THREE_STAGES } from "./_pipelines.ts";

let app: TestApp;
let project: CiProject;

const INCLUDING = `
include: /ci/test.yml
stages: [test, deploy]
deploy:
  stage: deploy
  script: [make deploy]
  environment: production
  rules:
    - if: $CI_COMMIT_BRANCH == "main"
  needs: [{ job: unit, optional: true }]
`;
const INCLUDED = `
unit:
  before_script: [make]
  script: [make test]
  after_script: [make clean]
  tags: [linux]
  only: [tags]
`;

beforeAll(async () => {
  app = await testApp();
  project = await ciProject(app, "linted", THREE_STAGES);
  await project.commit("ci/test.yml", INCLUDED, "Add tests [skip ci]");
});

afterAll(() => app.dispose());

const get = (query = "", as: Person = "developer") => project.call(`GET /ci/lint${query}`, { as });
const post = (json: object, as: Person = "developer") =>
  project.call("POST /ci/lint", { as, json });

it("includes and needs as much as the administrator allows", async () => {
  const set = async (path: string, json: object) => {
    const answer = await app.call(`PUT /application/${path}`, { as: "admin", json });
    expect(answer.status, answer.text).toBe(200);
  };
  const errorsOf = async (content: object) =>
    (await post({ content: JSON.stringify(content) })).json.errors;
  const including = { include: Array(3).fill("/ci/test.yml"), a: { script: "b" } };
  const needed = Array.from({ length: 51 }, (_, at) => `n${at}`);
  const needing = {
    ...Object.fromEntries(needed.map((name) => [name, { script: "b" }])),
    ...{ a: { script: "b", needs: needed } },
  };
  expect(await errorsOf(including)).toEqual([]);
  expect(await errorsOf(needing)).toEqual([expect.stringContaining("only need 50 others")]);
  await set("settings", { ci_max_includes: 2 });
  await set("plan_limits", { plan_name: "default", ci_needs_size_limit: 51 });
  expect(await errorsOf(including)).toEqual(["Maximum of 2 nested includes are allowed!"]);
  expect(await errorsOf(needing)).toEqual([]);
  await set("settings", { ci_max_includes: 150 });
  const tooMany = { as: "admin", json: { ci_max_includes: 501 } } as const;
  expect((await app.call("PUT /application/settings", tooMany)).status).toBe(400);
});

describe("the configuration of a commit", () => {
  it("takes a blank ref for none, as programs send it", async () => {
    const json = { content: "a: {script: [b]}", dry_run: true, ref: "" };
    const { status, json: checked } = await post(json);
    expect([status, checked.valid]).toEqual([200, true]);
    expect((await get("?dry_run=true&dry_run_ref=&content_ref=")).json.valid).toBe(true);
  });

  it("is that of the default branch's head", async () => {
    const { status, json } = await get();
    expect({ status, json }).toEqual({
      status: 200,
      json: {
        valid: true,
        errors: [],
        warnings: [],
        merged_yaml: expect.stringMatching(/^---\ncompile:\n {2}stage: build\n/),
        includes: [],
      },
    });
  });

  it.each(["content_ref", "sha"])("is chosen by %s", async (parameter) => {
    const { json: first } = await project.call(
      "GET /repository/commits?per_page=1&path=README.md",
      {
        as: "developer",
      },
    );
    const { status, json } = await get(`?${parameter}=${first[0].id}`);
    expect({ status, json }).toEqual({
      status: 200,
      json: {
        valid: false,
        errors: ["Please provide content of .gitlab-ci.yml"],
        warnings: [],
        merged_yaml: null,
        includes: null,
      },
    });
  });

  it("is not found at a commit that does not exist", async () => {
    const { status, json } = await get("?content_ref=nowhere");
    expect({ status, json }).toEqual({ status: 404, json: { message: "404 Commit Not Found" } });
  });

  it("is not found in an empty repository", async () => {
    const { json: made } = await app.call("POST /projects", {
      as: "developer",
      json: { name: "Nothing to lint" },
    });
    const { status, json } = await app.call(`GET /projects/${made.id}/ci/lint`, {
      as: "developer",
    });
    expect({ status, json }).toEqual({
      status: 404,
      json: { message: "404 Repository Not Found" },
    });
  });

  it("is chosen by one of two names", async () => {
    const { status, json } = await get("?content_ref=main&sha=main");
    expect({ status, json }).toEqual({
      status: 400,
      json: { error: "sha, content_ref are mutually exclusive" },
    });
  });

  it("has the jobs that a pipeline of a branch would have", async () => {
    const { json } = await get("?dry_run=true&include_jobs=true&ref=main");
    expect(json.jobs.map(({ name }: { name: string }) => name)).toEqual([
      "compile",
      "check",
      "publish",
    ]);
    expect(json.jobs[2]).toEqual({
      name: "publish",
      stage: "deploy",
      before_script: [],
      script: ["make publish"],
      after_script: [],
      tag_list: [],
      environment: null,
      when: "manual",
      allow_failure: true,
    });
  });

  it("can't be planned by whoever may not run pipelines", async () => {
    const { status, json } = await get("?dry_run=true&include_jobs=true", "reporter");
    expect({ status, json }).toEqual({
      status: 200,
      json: {
        valid: false,
        errors: ["Insufficient permissions to create a new pipeline"],
        warnings: [],
        merged_yaml: null,
        includes: null,
        jobs: [],
      },
    });
  });
});

describe("a configuration that is sent", () => {
  it("has the project's variables in the paths of what it includes", async () => {
    const variable = { key: "TESTS", value: "ci/test.yml" };
    await project.call("POST /variables", { as: "maintainer", json: variable });
    const { json } = await post({ content: 'include: "$TESTS"\n', include_jobs: true });
    expect([json.errors, json.jobs.length]).toEqual([[], 1]);
    await project.call("DELETE /variables/TESTS", { as: "maintainer" });
  });

  it("includes files of the default branch's head", async () => {
    const { status, json } = await post({ content: INCLUDING, include_jobs: true });
    const { json: head } = await project.call("GET /repository/branches/main", { as: "developer" });
    expect(status).toBe(200);
    expect(json).toMatchObject({ valid: true, errors: [], warnings: [] });
    expect(json.merged_yaml).toContain("unit:\n  before_script:\n  - make\n");
    expect(json.merged_yaml).toContain("stages:\n- .pre\n- test\n- deploy\n- .post\n");
    expect(json.merged_yaml).not.toContain("include");
    expect(json.includes).toEqual([
      {
        type: "local",
        location: "ci/test.yml",
        blob: expect.stringContaining(`/secret/linted/-/blob/${head.commit.id}/ci/test.yml`),
        raw: expect.stringContaining(`/secret/linted/-/raw/${head.commit.id}/ci/test.yml`),
        extra: {},
        context_project: "secret/linted",
        context_sha: head.commit.id,
      },
    ]);
    expect(json.jobs).toEqual([
      {
        name: "unit",
        stage: "test",
        before_script: ["make"],
        script: ["make test"],
        after_script: ["make clean"],
        tag_list: ["linux"],
        environment: null,
        when: "on_success",
        allow_failure: false,
        only: { refs: ["tags"] },
        except: null,
        needs: null,
      },
      {
        name: "deploy",
        stage: "deploy",
        before_script: [],
        script: ["make deploy"],
        after_script: [],
        tag_list: [],
        environment: "production",
        when: "on_success",
        allow_failure: false,
        only: null,
        except: null,
        needs: [{ name: "unit", artifacts: true, optional: true }],
      },
    ]);
  });

  it("is planned for a branch", async () => {
    const sent = { content: INCLUDING, dry_run: true, include_jobs: true, ref: "main" };
    const { json } = await post(sent);
    expect(json.errors).toEqual([]);
    expect(json.jobs.map(({ name }: { name: string }) => name)).toEqual(["deploy"]);
  });

  it("is not planned for a branch that does not exist", async () => {
    const { json } = await post({ content: INCLUDING, dry_run: true, ref: "nowhere" });
    expect(json).toMatchObject({ valid: false, errors: ["Reference not found"] });
  });

  it("is not planned without jobs", async () => {
    const content = "a: {script: x, rules: [{if: $NEVER}]}";
    expect((await post({ content })).json).toMatchObject({ valid: true, errors: [] });
    const { json } = await post({ content, dry_run: true });
    expect(json).toMatchObject({
      valid: false,
      errors: [
        "Pipeline will not run for the selected trigger. The rules configuration prevented any jobs from being added to the pipeline.",
      ],
    });
  });

  it("has errors and warnings", async () => {
    const { json: wrong } = await post({ content: "rubocop: {scriptt: [x]}", include_jobs: true });
    expect(wrong).toEqual({
      valid: false,
      errors: [
        "jobs rubocop config should implement the script:, run:, or trigger: keyword",
        "jobs config should contain at least one visible job",
      ],
      warnings: [],
      merged_yaml: "---\nrubocop:\n  scriptt:\n  - x\n",
      includes: [],
      jobs: [],
    });
    const { json: doubtful } = await post({ content: "a: {script: x, rules: [{when: always}]}" });
    expect(doubtful).toMatchObject({
      valid: true,
      warnings: [expect.stringContaining("jobs:a may allow multiple pipelines to run")],
    });
  });

  it("names files that are not there", async () => {
    const { json } = await post({ content: "include: ci/nothing.yml\na: {script: x}" });
    expect(json).toMatchObject({
      valid: false,
      errors: ["Local file `ci/nothing.yml` does not exist!"],
      merged_yaml: null,
      includes: null,
    });
  });

  it("is checked in a project without commits", async () => {
    const { json: made } = await app.call("POST /projects", {
      as: "developer",
      json: { name: "Lint before the first commit" },
    });
    const { status, json } = await app.call(`POST /projects/${made.id}/ci/lint`, {
      as: "developer",
      json: { content: "a: {script: x}" },
    });
    expect({ status, valid: json.valid }).toEqual({ status: 200, valid: true });
  });

  it("must be sent", async () => {
    const { status, json } = await post({});
    expect({ status, json }).toEqual({
      status: 400,
      json: { message: '400 (Bad request) "content" not given' },
    });
  });

  it("is not checked for reporters", async () => {
    const { status } = await post({ content: "a: {script: x}" }, "reporter");
    expect(status).toBe(403);
  });
});

describe("a configuration without a project", () => {
  const lint = (json: object, as: Person = "developer") => app.call("POST /ci/lint", { as, json });

  it("is valid or not", async () => {
    const { status, json } = await lint({ content: "a: {script: x}" });
    expect({ status, json }).toEqual({
      status: 200,
      json: { status: "valid", errors: [], warnings: [] },
    });
    const { json: wrong } = await lint({ content: "a: {script: 1}" });
    expect(wrong).toEqual({
      status: "invalid",
      errors: [
        "jobs:a:script config should be a string or a nested array of strings up to 10 levels deep",
      ],
      warnings: [],
    });
  });

  it("is shown merged, with its jobs", async () => {
    const content = ".a: {script: x}\nb: {extends: .a}";
    const { json } = await lint({ content, include_merged_yaml: true, include_jobs: true });
    expect(json).toMatchObject({
      status: "valid",
      merged_yaml: "---\n.a:\n  script: x\nb:\n  script: x\n  extends: .a\n",
      jobs: [{ name: "b", stage: "test", script: ["x"] }],
    });
  });

  it("is checked for whoever has signed in", async () => {
    const { status } = await app.call("POST /ci/lint", { json: { content: "a: {script: x}" } });
    expect(status).toBe(401);
  });
});
