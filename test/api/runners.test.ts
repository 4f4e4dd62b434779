import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { undocumented } from "../documented.ts";
import { type CallOptions, type Person, type TestApp, testApp } from "../helpers.ts";
import { type CiProject, ciProject, THREE_STAGES } from "./_pipelines.ts";
import { zipped } from "./_zip.ts";

let app: TestApp;
let acme: number;
beforeAll(async () => {
  app = await testApp();
  acme = (await app.call("GET /groups/acme")).json.id;
});
afterAll(() => app.dispose());

/** Makes a runner of a project, and returns its id and token. */
async function runnerOf(project: CiProject, json: object = {}) {
  const made = await app.call("POST /user/runners", {
    as: "owner",
    json: { runner_type: "project_type", project_id: project.id, ...json },
  });
  expect([made.status, made.json]).toEqual([
    201,
    { id: expect.any(Number), token: expect.stringMatching(/^glrt-/), token_expires_at: null },
  ]);
  return made.json as { id: number; token: string };
}

const ask = (token: string | undefined) =>
  app.call("POST /jobs/request", { json: { ...(token && { token }), system_id: "s_1" } });
const update = (id: number, token: string, json: object) =>
  app.call(`PUT /jobs/${id}`, { json: { token, ...json } });
const write = (id: number, token: string, range: string | undefined, body: string) => {
  const headers: Record<string, string> = { "job-token": token, "content-type": "text/plain" };
  if (range !== undefined) headers["content-range"] = range;
  return app.call(`PATCH /jobs/${id}/trace`, { headers, body } satisfies CallOptions);
};

function files(): FormData {
  const form = new FormData();
  form.append("file", new Blob(["PK"]), "artifacts.zip");
  return form;
}

async function start(project: CiProject): Promise<number> {
  const { json } = await project.call("POST /pipeline", { as: "developer", json: { ref: "main" } });
  return json.id;
}

async function statusesOf(project: CiProject, pipeline: number) {
  const { json } = await project.call(`GET /pipelines/${pipeline}/jobs`, { as: "developer" });
  return Object.fromEntries(
    json.map(({ name, status }: { name: string; status: string }) => [name, status]),
  );
}
const pipelineOf = async (project: CiProject, id: number) =>
  (await project.call(`GET /pipelines/${id}`, { as: "developer" })).json;

describe("the protocol", () => {
  let project: CiProject;
  let runner: { id: number; token: string };
  let count = 0;
  beforeEach(async () => {
    count += 1;
    project = await ciProject(app, `protocol-${count}`, THREE_STAGES);
    runner = await runnerOf(project);
  });

  it("C054-C056: refuses requests without a runner's token, and says that there is nothing", async () => {
    const missing = await ask(undefined);
    expect([missing.status, missing.text]).toEqual([400, expect.stringContaining("token")]);
    expect((await ask("invalid")).status).toBe(403);
    const none = await ask(runner.token);
    expect([none.status, none.headers.get("x-gitlab-last-update")]).toEqual([
      204,
      expect.any(String),
    ]);
  });

  it("tells jobs of the message of a tag, and of open merge requests from the branch", async () => {
    const config = { as: "owner" } as const;
    const tag = { tag_name: "v1", ref: "main", message: "First release" };
    expect((await project.call("POST /repository/tags", { ...config, json: tag })).status).toBe(
      201,
    );
    const branch = { branch: "feature", ref: "main" };
    await project.call("POST /repository/branches", { ...config, json: branch });
    await project.call("POST /repository/commits", {
      ...config,
      json: {
        branch: "feature",
        commit_message: "Change [skip ci]",
        actions: [{ action: "create", file_path: "b", content: "b" }],
      },
    });
    const request = { title: "Change", source_branch: "feature", target_branch: "main" };
    const { json: made } = await project.call("POST /merge_requests", { ...config, json: request });
    const variablesAt = async (ref: string) => {
      const created = await project.call("POST /pipeline", { ...config, json: { ref } });
      expect([created.status, created.text]).toEqual([201, created.text]);
      const { json } = await ask(runner.token);
      return Object.fromEntries(
        json.variables.map((one: { key: string; value: string }) => [one.key, one.value]),
      );
    };
    expect(await variablesAt("v1")).toMatchObject({
      CI_COMMIT_TAG: "v1",
      CI_COMMIT_TAG_MESSAGE: "First release",
    });
    expect(await variablesAt("feature")).toMatchObject({
      CI_COMMIT_BRANCH: "feature",
      CI_OPEN_MERGE_REQUESTS: `secret/protocol-${count}!${made.iid}`,
    });
  });

  it("tells jobs, and rules, of the release, the schedule, the trigger and the approvals of their pipeline", async () => {
    const as = "owner";
    await project.commit(
      ".gitlab-ci.yml",
      `
released: {script: a, rules: [{if: $CI_RELEASE_DESCRIPTION}]}
scheduled: {script: a, rules: [{if: $CI_PIPELINE_SCHEDULE_DESCRIPTION == "Nightly"}]}
approved: {script: a, rules: [{if: $CI_MERGE_REQUEST_APPROVED == "true"}]}
others: {script: a, rules: [{if: $CI_RELEASE_DESCRIPTION || $CI_PIPELINE_SCHEDULE_DESCRIPTION || $CI_MERGE_REQUEST_APPROVED, when: never}, {when: always}]}
`,
      "Configure [skip ci]",
    );
    const send = async (request: string, json?: object, status = 201) => {
      const answer = await project.call(request, { as, ...(json && { json }) });
      expect([answer.status, answer.text]).toEqual([status, answer.text]);
      return answer.json;
    };
    const told = async () => {
      const { json } = await ask(runner.token);
      const values = Object.fromEntries(
        json.variables.map((one: { key: string; value: string }) => [one.key, one.value]),
      );
      const names = ["RELEASE_DESCRIPTION", "PIPELINE_SCHEDULE_DESCRIPTION"];
      const all = [...names, "MERGE_REQUEST_APPROVED", "PIPELINE_TRIGGERED"];
      return [json.job_info.name, ...all.map((name) => values[`CI_${name}`])];
    };

    await send("POST /releases", { tag_name: "v1", ref: "main", description: "d".repeat(2000) });
    await send("POST /pipeline", { ref: "v1" });
    expect(await told()).toEqual(["released", "d".repeat(1024), undefined, undefined, undefined]);

    const nightly = { description: "Nightly", ref: "main", cron: "0 1 * * *" };
    const schedule = await send("POST /pipeline_schedules", nightly);
    await send(`POST /pipeline_schedules/${schedule.id}/play`);
    expect(await told()).toEqual(["scheduled", undefined, "Nightly", undefined, undefined]);

    const { token } = await send("POST /triggers", { description: "Elsewhere" });
    await send("POST /trigger/pipeline", { token, ref: "main" });
    expect(await told()).toEqual(["others", undefined, undefined, undefined, "true"]);

    const change = { action: "create", file_path: "b", content: "b" };
    await send("POST /repository/commits", {
      ...{ branch: "feature", start_branch: "main", commit_message: "Change [skip ci]" },
      actions: [change],
    });
    const { iid } = await send("POST /merge_requests", {
      ...{ title: "Change", source_branch: "feature", target_branch: "main" },
    });
    await send(`POST /merge_requests/${iid}/pipelines`, undefined, 200);
    expect(await told()).toEqual(["approved", undefined, undefined, "true", undefined]);
    const rule = { name: "Any", approvals_required: 1 };
    await send(`POST /merge_requests/${iid}/approval_rules`, rule);
    await send(`POST /merge_requests/${iid}/pipelines`, undefined, 200);
    expect(await told()).toEqual(["others", undefined, undefined, undefined, undefined]);
  });

  it("C057: gives out the oldest job, with what it takes to do it", async () => {
    const id = await start(project);
    const { status, json, headers } = await ask(runner.token);
    expect([status, headers.get("content-type")]).toEqual([201, "application/json"]);
    expect(json).toMatchObject({
      id: expect.any(Number),
      token: expect.stringMatching(/^glcbt-/),
      job_info: { name: "compile", stage: "build", project_id: project.id },
      git_info: { ref: "main", sha: project.sha, ref_type: "branch" },
      runner_info: { timeout: 3600 },
      steps: [{ name: "script", script: ["make"], when: "on_success", allow_failure: false }],
      image: null,
      services: [],
    });
    const variables = Object.fromEntries(
      json.variables.map((one: { key: string; value: string }) => [one.key, one.value]),
    );
    expect(variables).toMatchObject({
      CI: "true",
      CI_JOB_ID: String(json.id),
      CI_JOB_NAME: "compile",
      CI_JOB_TOKEN: json.token,
      CI_PIPELINE_ID: String(id),
      CI_PROJECT_ID: String(project.id),
      CI_PROJECT_PATH: `secret/protocol-${count}`,
      CI_REGISTRY: "pm.test",
      CI_REGISTRY_IMAGE: `pm.test/secret/protocol-${count}`,
      CI_REGISTRY_USER: "gitlab-ci-token",
      CI_REGISTRY_PASSWORD: json.token,
      CI_COMMIT_SHA: project.sha,
      CI_COMMIT_REF_NAME: "main",
      CI_COMMIT_BRANCH: "main",
      CI_COMMIT_TITLE: "Configure [skip ci]",
      CI_SERVER_URL: "http://pm.test",
      CI_REPOSITORY_URL: `http://gitlab-ci-token:${json.token}@pm.test/secret/protocol-${count}.git`,
      GITLAB_USER_LOGIN: "developer",
    });
    expect(json.credentials).toEqual([
      { type: "registry", url: "pm.test", username: "gitlab-ci-token", password: json.token },
    ]);
    const { json: version } = await app.call("GET /version", { as: "developer" });
    expect(variables).toMatchObject({
      CI_SERVER_VERSION: version.version,
      CI_API_GRAPHQL_URL: "http://pm.test/api/graphql",
      CI_SERVER_FQDN: "pm.test",
      CI_SERVER_VERSION_MAJOR: "18",
      CI_SERVER_VERSION_MINOR: "5",
      CI_SERVER_VERSION_PATCH: "0",
      CI_SERVER_REVISION: version.revision,
      CI_DEFAULT_BRANCH_SLUG: "main",
      CI_PROJECT_NAMESPACE_ID: expect.stringMatching(/^\d+$/),
      CI_PROJECT_NAMESPACE_SLUG: "secret",
      CI_PROJECT_ROOT_NAMESPACE_SLUG: "secret",
      CI_PROJECT_DESCRIPTION: "",
      CI_PROJECT_TOPICS: "",
      CI_PIPELINE_NAME: "",
      CI_JOB_NAME_SLUG: "compile",
      CI_JOB_GROUP_NAME: "compile",
      CI_RUNNER_ID: String(runner.id),
      CI_RUNNER_DESCRIPTION: expect.any(String),
      CI_RUNNER_TAGS: "[]",
      GITLAB_FEATURES: "",
    });
    expect(variables).not.toHaveProperty("CI_OPEN_MERGE_REQUESTS");
    expect((await pipelineOf(project, id)).status).toBe("running");
    const { json: job } = await project.call(`GET /jobs/${json.id}`, { as: "developer" });
    expect(job).toMatchObject({
      status: "running",
      started_at: expect.any(String),
      runner: { id: runner.id, status: "online", runner_type: "project_type" },
      runner_manager: { system_id: "s_1" },
    });
    expect((await ask(runner.token)).status).toBe(204);
  });

  it("C060: ends jobs, which starts the next ones, until only manual ones are left", async () => {
    const id = await start(project);
    for (const name of ["compile", "check"]) {
      const { json } = await ask(runner.token);
      expect(json.job_info.name).toBe(name);
      const beat = await update(json.id, json.token, { state: "running" });
      expect([beat.status, beat.headers.get("job-status")]).toEqual([200, "running"]);
      const done = await update(json.id, json.token, { state: "success", exit_code: 0 });
      expect([done.status, done.headers.get("job-status")]).toEqual([200, "success"]);
      expect((await update(json.id, json.token, { state: "success" })).status).toBe(403);
    }
    expect(await statusesOf(project, id)).toEqual({
      compile: "success",
      check: "success",
      publish: "manual",
    });
    expect(await pipelineOf(project, id)).toMatchObject({
      status: "success",
      started_at: expect.any(String),
      finished_at: expect.any(String),
    });
    expect((await ask(runner.token)).status).toBe(204);
  });

  it("skips what comes after a failure", async () => {
    const id = await start(project);
    const { json } = await ask(runner.token);
    await update(json.id, json.token, {
      state: "failed",
      failure_reason: "script_failure",
      exit_code: 1,
    });
    expect(await statusesOf(project, id)).toEqual({
      compile: "failed",
      check: "skipped",
      publish: "skipped",
    });
    expect((await pipelineOf(project, id)).status).toBe("failed");
    const { json: job } = await project.call(`GET /jobs/${json.id}`, { as: "developer" });
    expect(job.failure_reason).toBe("script_failure");
  });

  it("C058, C059: takes logs in order", async () => {
    await start(project);
    const { json } = await ask(runner.token);
    expect((await write(json.id, json.token, undefined, "hello")).status).toBe(400);
    const first = await write(json.id, json.token, "0-4", "hello");
    expect([first.status, first.headers.get("range"), first.headers.get("job-status")]).toEqual([
      202,
      "0-5",
      "running",
    ]);
    const gap = await write(json.id, json.token, "100-104", "hello");
    expect([gap.status, gap.headers.get("range")]).toEqual([416, "0-5"]);
    expect((await write(json.id, "none", "5-9", "hello")).status).toBe(403);
    await write(json.id, json.token, "5-10", " world");
    const trace = await project.call(`GET /jobs/${json.id}/trace`, { as: "developer" });
    expect(trace.text).toBe("hello world");
    await update(json.id, json.token, { state: "success" });
    const erased = await project.call(`POST /jobs/${json.id}/erase`, { as: "maintainer" });
    expect([erased.status, erased.json.erased_at]).toEqual([201, expect.any(String)]);
    const after = await project.call(`GET /jobs/${json.id}/trace`, { as: "developer" });
    expect(after.text).toBe("");
  });

  it("never shows a token in a log, also if it arrives in parts", async () => {
    await start(project);
    const { json } = await ask(runner.token);
    const text = `a ${json.token} b ${json.token} c`;
    for (let at = 0; at < text.length; at += 7) {
      const part = text.slice(at, at + 7);
      await write(json.id, json.token, `${at}-${at + part.length - 1}`, part);
    }
    const trace = await project.call(`GET /jobs/${json.id}/trace`, { as: "developer" });
    const hidden = "*".repeat(json.token.length);
    expect(trace.text).toBe(`a ${hidden} b ${hidden} c`);
  });

  it("C043, C051-C053: is over when the job is: its token works no more", async () => {
    await start(project);
    const { json } = await ask(runner.token);
    const own = (headers: Record<string, string>) => app.call("GET /job", { headers });
    const mine = await own({ "job-token": json.token });
    expect([mine.status, mine.json.id, mine.json.pipeline.sha]).toEqual([
      200,
      json.id,
      project.sha,
    ]);
    expect((await app.call("GET /job", { as: "developer" })).status).toBe(404);
    expect((await app.call("GET /job")).status).toBe(401);
    const read = () => project.call("GET /pipelines", { headers: { "job-token": json.token } });
    expect((await read()).status).toBe(200);
    const canceled = await project.call(`POST /jobs/${json.id}/cancel`, { as: "developer" });
    expect([canceled.status, canceled.json.status]).toEqual([201, "canceled"]);
    expect((await own({ "job-token": json.token })).status).toBe(401);
    expect((await read()).status).toBe(401);
    const told = [
      await write(json.id, json.token, "0-4", "hello"),
      await update(json.id, json.token, { state: "success" }),
      await app.call(`POST /jobs/${json.id}/artifacts`, {
        headers: { "job-token": json.token },
        body: files(),
      }),
    ];
    const message = "403 Forbidden - Job is not processing on runner";
    for (const { status, headers, json: answer } of told) {
      expect([status, headers.get("job-status"), answer]).toEqual([403, "canceled", { message }]);
    }
    // Whoever does not have the job's token learns nothing of it.
    for (const other of ["none", runner.token]) {
      const { status, headers } = await write(json.id, other, "0-4", "hello");
      expect([status, headers.get("job-status")]).toEqual([403, null]);
    }
    const { status, headers } = await write(json.id + 1, json.token, "0-4", "hello");
    expect([status, headers.get("job-status")]).toEqual([403, null]);
  });

  it("lets a job start a pipeline with its token, as long as it runs", async () => {
    await start(project);
    const { json } = await ask(runner.token);
    const trigger = () =>
      project.call("POST /trigger/pipeline", { json: { token: json.token, ref: "main" } });
    const made = await trigger();
    expect([made.status, made.json.source, made.json.user.username]).toEqual([
      201,
      "pipeline",
      "developer",
    ]);
    const other = await ciProject(app, `triggered-${count}`, THREE_STAGES);
    const refused = await other.call("POST /trigger/pipeline", {
      json: { token: json.token, ref: "main" },
    });
    expect(refused.status).toBe(404);
    await update(json.id, json.token, { state: "success" });
    expect((await trigger()).status).toBe(404);
  });

  it("keeps runners waiting that know there is nothing, until there is", async () => {
    const token = runner.token;
    const known = (await ask(token)).headers.get("x-gitlab-last-update");
    const request = (last_update: string | null) =>
      app.call("POST /jobs/request", { json: { token, last_update } });
    const waiting = [request(known), request(known)];
    const id = await start(project);
    const answers = await Promise.all(waiting);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 204]);
    expect(await statusesOf(project, id)).toMatchObject({ compile: "running" });
    expect((await request("another")).status).toBe(204);
  });

  const put = (path: string, json: object) => app.call(`PUT ${path}`, { as: "owner", json });
  it.each<[string, () => Promise<unknown>, () => Promise<unknown>]>([
    [
      "gets a tag",
      () => put(`/runners/${runner.id}`, { run_untagged: false, tag_list: ["x"] }),
      () => put(`/runners/${runner.id}`, { run_untagged: true }),
    ],
    [
      "may do jobs of all branches",
      () => put(`/runners/${runner.id}`, { access_level: "ref_protected" }),
      () => put(`/runners/${runner.id}`, { access_level: "not_protected" }),
    ],
    [
      "does jobs of a project whose pipelines are enabled",
      () => put(project.path, { jobs_enabled: false }),
      () => put(project.path, { jobs_enabled: true }),
    ],
    [
      "does jobs of a project that is no longer archived",
      () => project.call("POST /archive", { as: "owner" }),
      () => project.call("POST /unarchive", { as: "owner" }),
    ],
    [
      "does jobs of a user who is no longer blocked",
      async () => app.admin.users.block("developer"),
      async () => app.admin.users.unblock("developer"),
    ],
  ])("gives a job that has waited to a runner that waits and %s", async (_, before, cause) => {
    await start(project);
    await before();
    const known = (await ask(runner.token)).headers.get("x-gitlab-last-update");
    const request = { token: runner.token, last_update: known };
    const waiting = app.call("POST /jobs/request", { json: request });
    // It has begun to wait: what comes later is news.
    await new Promise((resolve) => setTimeout(resolve, 50));
    await cause();
    expect((await waiting).status).toBe(201);
  });

  it("gives a job at once that the runner can do by now, though nothing else is new", async () => {
    await start(project);
    const other = await runnerOf(await ciProject(app, `idle-${count}`, THREE_STAGES));
    const known = (await ask(other.token)).headers.get("x-gitlab-last-update");
    await app.call(`PUT /runners/${other.id}`, { as: "owner", json: { locked: false } });
    const lent = await project.call("POST /runners", {
      as: "owner",
      json: { runner_id: other.id },
    });
    expect(lent.status).toBe(201);
    const json = { token: other.token, last_update: known };
    expect((await app.call("POST /jobs/request", { json })).status).toBe(201);
  });

  it("takes no token of a runner for a user's (GitLab Runner 16.10 to 17.10 sends it as one, too)", async () => {
    await start(project);
    for (const name of ["private-token", "authorization"]) {
      const value = name === "authorization" ? `Bearer ${runner.token}` : runner.token;
      const call = (request: string) =>
        app.call(request, { headers: { [name]: value }, json: { token: runner.token } });
      expect((await call("POST /runners/verify")).status).toBe(200);
      expect([201, 204]).toContain((await call("POST /jobs/request")).status);
    }
  });

  it("tells how many commits are fetched by GIT_DEPTH, and all branches and tags for 0", async () => {
    const depthOf = async (depth: string | undefined) => {
      const key = "GIT_DEPTH";
      await project.call(`DELETE /variables/${key}`, { as: "owner" });
      if (depth !== undefined) {
        const json = { key, value: depth };
        await project.call("POST /variables", { as: "owner", json });
      }
      await start(project);
      const { depth: told, refspecs } = (await ask(runner.token)).json.git_info;
      expect(refspecs[0]).toMatch(/^\+[0-9a-f]{40}:refs\/pipelines\/\d+$/);
      return [told, refspecs.slice(1)];
    };
    const main = ["+refs/heads/main:refs/remotes/origin/main"];
    expect(await depthOf(undefined)).toEqual([20, main]);
    expect(await depthOf("3")).toEqual([3, main]);
    expect(await depthOf("0")).toEqual([
      0,
      ["+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"],
    ]);
  });

  it("lets runners clean up that say they can, unless a maintainer forbids it", async () => {
    const claim = async () => {
      const info = { features: { cancel_gracefully: true } };
      const { json } = await app.call("POST /jobs/request", {
        json: { token: runner.token, system_id: "s_1", info },
      });
      return json as { id: number; token: string };
    };
    const cancel = (id: number, query: string, as: Person) =>
      project.call(`POST /jobs/${id}/cancel${query}`, { as });
    const pipeline = await start(project);
    const first = await claim();
    const canceled = await project.call(`POST /pipelines/${pipeline}/cancel`, { as: "developer" });
    expect(canceled.json.status).toBe("canceling");
    expect(await statusesOf(project, pipeline)).toMatchObject({ compile: "canceling" });
    const heard = await write(first.id, first.token, "0-4", "clean");
    expect([heard.status, heard.headers.get("job-status")]).toEqual([202, "canceling"]);
    const ended = await update(first.id, first.token, { state: "failed" });
    expect([ended.status, ended.headers.get("job-status")]).toEqual([200, "canceled"]);
    expect((await pipelineOf(project, pipeline)).status).toBe("canceled");
    await start(project);
    const second = await claim();
    expect((await cancel(second.id, "", "developer")).json.status).toBe("canceling");
    expect((await cancel(second.id, "?force=true", "developer")).status).toBe(403);
    expect((await cancel(second.id, "?force=true", "maintainer")).json.status).toBe("canceled");
    expect((await update(second.id, second.token, { state: "success" })).status).toBe(403);
  });

  it("gives a runner only jobs that its tags, its settings and its projects fit", async () => {
    const tagged = await ciProject(
      app,
      `tagged-${count}`,
      "check: { script: [make], tags: [docker, linux] }",
    );
    await start(tagged);
    const plain = await runnerOf(tagged);
    const docker = await runnerOf(tagged, { tag_list: ["docker"] });
    const both = await runnerOf(tagged, {
      tag_list: ["docker", "linux", "large"],
      run_untagged: false,
    });
    const guard = await runnerOf(tagged, {
      tag_list: "docker,linux",
      access_level: "ref_protected",
    });
    const paused = await runnerOf(tagged, { tag_list: ["docker", "linux"], paused: true });
    for (const { token } of [runner, plain, docker, guard, paused]) {
      expect((await ask(token)).status).toBe(204);
    }
    expect((await ask(both.token)).status).toBe(201);
    await start(project);
    // It takes no jobs without tags.
    await project.call("POST /runners", { as: "owner", json: { runner_id: both.id } });
    expect((await ask(both.token)).status).toBe(204);
    expect((await ask(runner.token)).status).toBe(201);
  });

  it("tries failed jobs again as their configuration says", async () => {
    const again = await ciProject(
      app,
      `again-${count}`,
      "check: { script: [make], retry: { max: 1, when: script_failure } }",
    );
    const own = await runnerOf(again);
    const id = await start(again);
    const fail = async () => {
      const { json } = await ask(own.token);
      await update(json.id, json.token, { state: "failed", failure_reason: "script_failure" });
      return json.id;
    };
    const first = await fail();
    expect((await pipelineOf(again, id)).status).toBe("pending");
    const second = await fail();
    expect(second).toBeGreaterThan(first);
    expect((await pipelineOf(again, id)).status).toBe("failed");
    expect((await ask(own.token)).status).toBe(204);
  });
});

describe("managing", () => {
  it("registers, verifies and removes runners by tokens", async () => {
    const reset = await app.call("POST /groups/secret/runners/reset_registration_token", {
      as: "owner",
    });
    expect(reset.status).toBe(201);
    const wrong = await app.call("POST /runners", { json: { token: "wrong" } });
    expect(wrong.status).toBe(403);
    const made = await app.call("POST /runners", {
      json: { token: reset.json.token, description: "a machine", tag_list: "a,b" },
    });
    expect([made.status, made.json.token]).toEqual([201, expect.stringMatching(/^glrtr-/)]);
    const verified = await app.call("POST /runners/verify", { json: { token: made.json.token } });
    expect([verified.status, verified.json]).toEqual([200, made.json]);
    const one = await app.call(`GET /runners/${made.json.id}`, { as: "owner" });
    expect(one.json).toMatchObject({
      description: "a machine",
      tag_list: ["a", "b"],
      runner_type: "group_type",
      groups: [{ full_path: "secret" }],
      status: "online",
    });
    expect((await app.call(`GET /runners/${made.json.id}`, { as: "developer" })).status).toBe(403);
    const left = await app.call("DELETE /runners/managers", {
      json: { token: made.json.token, system_id: "" },
    });
    expect(left.status).toBe(204);
    expect((await app.call("DELETE /runners", { json: { token: made.json.token } })).status).toBe(
      204,
    );
    expect(
      (await app.call("POST /runners/verify", { json: { token: made.json.token } })).status,
    ).toBe(403);
  });

  it("creates runners of what the caller manages", async () => {
    const create = async (as: Person, json: object) =>
      (await app.call("POST /user/runners", { as, json })).status;
    const { json: group } = await app.call("GET /groups/secret", { as: "owner" });
    expect(await create("owner", { runner_type: "instance_type" })).toBe(403);
    expect(await create("admin", { runner_type: "instance_type" })).toBe(201);
    expect(await create("maintainer", { runner_type: "group_type", group_id: group.id })).toBe(403);
    expect(await create("owner", { runner_type: "group_type", group_id: group.id })).toBe(201);
    expect(await create("owner", { runner_type: "project_type" })).toBe(400);
    expect((await app.call("GET /runners/all", { as: "owner" })).status).toBe(403);
    const { json } = await app.call("GET /runners/all?type=instance_type&status=never_contacted", {
      as: "admin",
    });
    expect(json).toHaveLength(1);
    const kinds = async (scope: string) => {
      const listed = await app.call(`GET /runners/all?per_page=100&scope=${scope}`, {
        as: "admin",
      });
      expect(listed.status).toBe(200);
      return new Set(listed.json.map((one: { runner_type: string }) => one.runner_type));
    };
    expect(await kinds("shared")).toEqual(new Set(["instance_type"]));
    expect(await kinds("specific")).not.toContain("instance_type");
    expect(await kinds("specific")).toContain("group_type");
    expect(await kinds("paused")).not.toContain("instance_type");
    expect(await kinds("active")).toContain("instance_type");
  });

  it("changes runners, and lends them to other projects", async () => {
    const [one, other] = [
      await ciProject(app, "one", undefined),
      await ciProject(app, "two", undefined),
    ];
    const runner = await runnerOf(one);
    const path = `/runners/${runner.id}`;
    const changed = await app.call(`PUT ${path}`, {
      as: "maintainer",
      json: { description: "new", tag_list: ["x"], paused: true, maximum_timeout: 600 },
    });
    expect(changed.json).toMatchObject({
      description: "new",
      tag_list: ["x"],
      paused: true,
      active: false,
      maximum_timeout: 600,
    });
    expect((await app.call(`PUT ${path}`, { as: "developer", json: {} })).status).toBe(403);
    const lend = () => other.call("POST /runners", { as: "owner", json: { runner_id: runner.id } });
    expect((await lend()).status).toBe(201);
    expect((await lend()).status).toBe(409);
    const listed = await other.call("GET /runners?type=project_type&tag_list=x", { as: "owner" });
    expect(listed.json.map(({ id }: { id: number }) => id)).toEqual([runner.id]);
    expect((await other.call(`DELETE /runners/${runner.id}`, { as: "owner" })).status).toBe(204);
    const last = await one.call(`DELETE /runners/${runner.id}`, { as: "owner" });
    expect(last.status).toBe(400);
    const renewed = await app.call(`POST ${path}/reset_authentication_token`, { as: "owner" });
    expect((await ask(runner.token)).status).toBe(403);
    expect((await ask(renewed.json.token)).status).toBe(204);
    expect((await app.call(`GET ${path}/jobs`, { as: "owner" })).json).toEqual([]);
    expect((await app.call(`GET ${path}/managers`, { as: "owner" })).json).toHaveLength(1);
    expect((await app.call(`DELETE ${path}`, { as: "owner" })).status).toBe(204);
    expect((await app.call(`GET ${path}`, { as: "owner" })).status).toBe(404);
  });
});

describe("artifacts", () => {
  it("C050: are uploaded by a job, passed on to later ones, and downloaded until they are deleted", async () => {
    const project = await ciProject(app, "artifacts", THREE_STAGES);
    const runner = await runnerOf(project);
    const id = await start(project);
    const { json } = await ask(runner.token);
    const get = (as: Person = "reporter") => project.call(`GET /jobs/${json.id}/artifacts`, { as });
    expect((await get()).status).toBe(404);
    const upload = (content: string, token = json.token) => {
      const form = new FormData();
      form.append("file", new Blob([content]), "artifacts.zip");
      return app.call(
        `POST /jobs/${json.id}/artifacts?artifact_format=zip&artifact_type=archive&expire_in=1+week`,
        { headers: { "job-token": token }, body: form },
      );
    };
    expect((await upload("PK", "wrong")).status).toBe(403);
    expect((await upload("PK one")).status).toBe(201);
    expect((await upload("PK one")).status).toBe(201);
    expect((await upload("PK other")).status).toBe(400);
    const archive = await get();
    expect([archive.status, archive.text, archive.headers.get("content-type")]).toEqual([
      200,
      "PK one",
      "application/zip",
    ]);
    const job = async () => (await project.call(`GET /jobs/${json.id}`, { as: "reporter" })).json;
    expect(await job()).toMatchObject({
      artifacts_file: { filename: "artifacts.zip", size: 6 },
      artifacts: [{ file_type: "archive", size: 6, filename: "artifacts.zip", file_format: "zip" }],
      artifacts_expire_at: expect.any(String),
    });
    await update(json.id, json.token, { state: "success" });
    const { json: next } = await ask(runner.token);
    expect(next.dependencies).toEqual([
      {
        id: json.id,
        name: "compile",
        token: next.token,
        artifacts_file: { filename: "artifacts.zip", size: 6 },
      },
    ]);
    const passed = await app.call(`GET /jobs/${json.id}/artifacts`, {
      headers: { "job-token": next.token },
    });
    expect([passed.status, passed.text]).toEqual([200, "PK one"]);
    await update(next.id, next.token, { state: "success" });
    expect((await pipelineOf(project, id)).status).toBe("success");
    const newest = (query: string) =>
      project.call(`GET /jobs/artifacts/${query}`, { as: "reporter" });
    expect((await newest("main/download?job=compile")).text).toBe("PK one");
    expect((await newest("main/download?job=none")).status).toBe(404);
    expect((await newest("main/download")).status).toBe(400);
    const kept = await project.call(`POST /jobs/${json.id}/artifacts/keep`, { as: "developer" });
    expect([kept.status, kept.json.artifacts_expire_at]).toEqual([200, null]);
    const refused = await project.call(`DELETE /jobs/${json.id}/artifacts`, { as: "developer" });
    expect(refused.status).toBe(403);
    const removed = await project.call(`DELETE /jobs/${json.id}/artifacts`, { as: "maintainer" });
    expect(removed.status).toBe(204);
    expect((await get()).status).toBe(404);
    expect("artifacts_file" in (await job())).toBe(false);
  });

  it("I50, I51: are for those whom the configuration lets, by every way out, and for later jobs", async () => {
    const configuration = `
stages: [build, deploy]
default:
  artifacts: {paths: [a], access: none}
open: {stage: build, script: [a], artifacts: {paths: [a]}}
closed: {stage: build, script: [a], artifacts: {paths: [a], public: false}}
developers: {stage: build, script: [a], artifacts: {paths: [a], access: developer}}
maintainers: {stage: build, script: [a], artifacts: {paths: [a], access: maintainer}}
nobody: {stage: build, script: [a]}
last: {stage: deploy, script: [a]}
`;
    const made = await app.call("POST /projects", {
      as: "owner",
      json: { name: "kept back", namespace_id: acme, visibility: "public" },
    });
    const path = `/projects/${made.json.id}`;
    await app.call(`POST ${path}/repository/files/.gitlab-ci.yml`, {
      as: "owner",
      json: { branch: "main", content: configuration, commit_message: "Configure [skip ci]" },
    });
    const call: CiProject["call"] = (request, options) => {
      const [method, rest] = request.split(" ", 2);
      return app.call(`${method} ${path}${rest}`, options);
    };
    const project = { id: made.json.id, path, sha: "", call } as CiProject;
    const runner = await runnerOf(project);
    await call("POST /pipeline", { as: "owner", json: { ref: "main" } });
    const jobs: Record<string, number> = {};
    for (let count = 0; count < 5; count += 1) {
      const { json } = await ask(runner.token);
      expect(json.artifacts[0]).not.toHaveProperty("access");
      jobs[json.job_info.name] = json.id;
      const form = new FormData();
      form.append("file", new Blob([zipped({ a: "content" })]), "artifacts.zip");
      const headers = { "job-token": json.token };
      const sent = await app.call(`POST /jobs/${json.id}/artifacts`, { headers, body: form });
      expect(sent.status).toBe(201);
      await update(json.id, json.token, { state: "success" });
    }
    const { json: last } = await ask(runner.token);
    for (const id of Object.values(jobs)) {
      const passed = await app.call(`GET /jobs/${id}/artifacts`, {
        headers: { "job-token": last.token },
      });
      expect(passed.status).toBe(200);
    }
    expect(last.dependencies).toHaveLength(5);
    await update(last.id, last.token, { state: "success" });
    const statuses = async (name: string, as: Person) => {
      const ways = [
        `/jobs/${jobs[name]}/artifacts`,
        `/jobs/${jobs[name]}/artifacts/a`,
        `/jobs/artifacts/main/download?job=${name}`,
        `/jobs/artifacts/main/raw/a?job=${name}`,
      ];
      const answers = await Promise.all(ways.map((way) => call(`GET ${way}`, { as })));
      return [...new Set(answers.map(({ status }) => status))];
    };
    const seen: Record<string, unknown> = {};
    for (const name of Object.keys(jobs)) {
      const row: number[][] = [];
      const people = ["anonymous", "stranger", "reporter", "developer", "maintainer", "admin"];
      for (const as of people) row.push(await statuses(name, as as Person));
      seen[name] = row.flat();
    }
    expect(seen).toEqual({
      open: [200, 200, 200, 200, 200, 200],
      closed: [403, 403, 403, 200, 200, 200],
      developers: [403, 403, 403, 200, 200, 200],
      maintainers: [403, 403, 403, 403, 200, 200],
      nobody: [403, 403, 403, 403, 403, 403],
    });
  });

  it("are read file by file, also by branch and job, and are deleted together", async () => {
    const project = await ciProject(app, "single-files", THREE_STAGES);
    const runner = await runnerOf(project);
    const statistics = async () =>
      (await project.call("GET ?statistics=true", { as: "owner" })).json.statistics;
    const before = await statistics();
    await start(project);
    const { json } = await ask(runner.token);
    const text = "built well\n".repeat(20_000);
    const zip = zipped({
      "out/log.txt": text,
      "pixel.png": Buffer.from([1, 2, 3]),
      "out/deep/": "",
      "out/deep/er/a.txt": "a",
    });
    const form = new FormData();
    form.append("file", new Blob([zip]), "artifacts.zip");
    const headers = { "job-token": json.token };
    await app.call(`POST /jobs/${json.id}/artifacts`, { headers, body: form });
    const get = (path: string) => project.call(`GET /jobs/${path}`, { as: "reporter" });
    const of = (path: string) => get(`${json.id}/artifacts/${path}`);
    const log = await of("out/log.txt");
    expect([log.status, log.text === text]).toEqual([200, true]);
    expect(log.headers.get("content-type")).toBe("application/octet-stream");
    expect((await of("pixel.png")).headers.get("content-type")).toBe("image/png");
    expect((await of("none.txt")).status).toBe(404);
    expect((await of("out%2F..%2Fpixel.png")).status).toBe(400);
    const tree = await of("tree");
    expect([tree.status, tree.headers.get("x-total"), tree.json]).toEqual([
      200,
      "2",
      [
        { name: "out/", path: "out/", type: "directory", mode: null },
        { name: "pixel.png", path: "pixel.png", type: "file", size: 3, mode: null },
      ],
    ]);
    const at = `/api/v4${project.path}/jobs/${json.id}/artifacts/tree`;
    expect(undocumented("GET", at, tree)).toBeUndefined();
    const paths = async (query: string) =>
      (await of(`tree?${query}`)).json.map(({ path }: { path: string }) => path);
    expect(await paths("path=out")).toEqual(["out/deep/", "out/log.txt"]);
    expect(await paths("path=out/deep/")).toEqual(["out/deep/er/"]);
    expect(await paths("recursive=true&path=out")).toEqual([
      "out/deep/",
      "out/deep/er/a.txt",
      "out/log.txt",
    ]);
    expect(await paths("per_page=1&page=2")).toEqual(["pixel.png"]);
    expect((await of("tree?path=none")).status).toBe(404);
    expect((await of("tree?path=pixel.png")).status).toBe(404);
    await update(json.id, json.token, { state: "success" });
    const { json: next } = await ask(runner.token);
    await update(next.id, next.token, { state: "success" });
    const newest = await get("artifacts/main/raw/out/log.txt?job=compile");
    expect([newest.status, newest.text === text]).toEqual([200, true]);
    expect((await get("artifacts/main/raw/out/log.txt?job=none")).status).toBe(404);
    await project.call("POST /repository/branches?branch=feature/one&ref=main", { as: "owner" });
    await project.call("POST /pipeline?ref=feature/one", { as: "developer" });
    const { json: other } = await ask(runner.token);
    const sent = new FormData();
    sent.append("file", new Blob([zip]), "artifacts.zip");
    const own = { "job-token": other.token };
    await app.call(`POST /jobs/${other.id}/artifacts`, { headers: own, body: sent });
    await update(other.id, other.token, { state: "success" });
    const last = await ask(runner.token);
    await update(last.json.id, last.json.token, { state: "success" });
    for (const ref of ["feature/one", "feature%2Fone"]) {
      expect((await get(`artifacts/${ref}/download?job=compile`)).status).toBe(200);
      const file = await get(`artifacts/${ref}/raw/out/log.txt?job=compile`);
      expect([file.status, file.text === text]).toEqual([200, true]);
    }
    const after = await statistics();
    expect([after.job_artifacts_size, after.storage_size - before.storage_size]).toEqual([
      2 * zip.length,
      2 * zip.length,
    ]);
    const remove = (as: Person) => project.call("DELETE /artifacts", { as });
    expect((await remove("developer")).status).toBe(403);
    expect((await remove("maintainer")).status).toBe(202);
    expect((await of("out/log.txt")).status).toBe(404);
    expect((await statistics()).job_artifacts_size).toBe(0);
  });

  it("that are no archives have no files", async () => {
    const project = await ciProject(app, "no-archives", THREE_STAGES);
    const runner = await runnerOf(project);
    await start(project);
    const { json } = await ask(runner.token);
    const form = new FormData();
    form.append(
      "file",
      new Blob(["PK\x05\x06 and so on, but no directory of files"]),
      "artifacts.zip",
    );
    const headers = { "job-token": json.token };
    await app.call(`POST /jobs/${json.id}/artifacts`, { headers, body: form });
    const of = await project.call(`GET /jobs/${json.id}/artifacts/log.txt`, { as: "reporter" });
    expect(of.status).toBe(404);
  });
});

describe("coverage", () => {
  it("is what a job's expression finds last in its log, and the pipeline's is the average", async () => {
    const project = await ciProject(
      app,
      "coverage",
      `unit:\n  script: [make]\n  coverage: '/Lines: (\\d+\\.\\d+)%/'\nplain:\n  script: [make]\n`,
    );
    const { json: made } = await project.call("POST /pipeline", {
      as: "developer",
      json: { ref: "main" },
    });
    const { json: jobs } = await project.call(`GET /pipelines/${made.id}/jobs`, {
      as: "developer",
    });
    const id = jobs.find(({ name }: { name: string }) => name === "unit").id;
    await app.admin.jobs.finish(id, { log: "Lines: 10.0%\nLines: 71.25% of 80\nDone\n" });
    const { json: job } = await project.call(`GET /jobs/${id}`, { as: "developer" });
    expect(job.coverage).toBe(71.25);
    expect((await pipelineOf(project, made.id)).coverage).toBe("71.25");
  });
});
