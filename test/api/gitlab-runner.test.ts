import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Answer, type TestApp, testApp } from "../helpers.ts";
import { type CiProject, ciProject } from "./_pipelines.ts";

// Requests in the very form in which GitLab's own runner sends them.

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

/** What the runner says about itself with most requests. */
const info = {
  name: "gitlab-runner",
  version: "17.5.0",
  revision: "12030cf4",
  platform: "linux",
  architecture: "amd64",
  executor: "docker",
  shell: "bash",
  features: {
    variables: true,
    image: true,
    services: true,
    artifacts: true,
    cache: true,
    fallback_cache_keys: true,
    shared: false,
    upload_multiple_artifacts: true,
    upload_raw_artifacts: true,
    session: true,
    terminal: true,
    refspecs: true,
    masking: true,
    proxy: false,
    raw_variables: true,
    artifacts_exclude: true,
    multi_build_steps: true,
    trace_reset: true,
    trace_checksum: true,
    trace_size: true,
    vault_secrets: true,
    cancelable: true,
    return_exit_code: true,
    service_variables: true,
    service_multiple_aliases: true,
    image_executor_opts: true,
    service_executor_opts: true,
    cancel_gracefully: false,
    native_steps_integration: true,
    two_phase_job_commit: true,
  },
  config: { gpus: "" },
  labels: {},
};
const session = { url: "https://127.0.0.1:8093/session/a1", certificate: "", authorization: "b2" };
const output = { checksum: "crc32:4a17b156", bytesize: 5 };

const send = (request: string, json: object, token = "") =>
  app.call(request, {
    json,
    headers: { accept: "application/json", "runner-token": token },
  });
const ask = (token: string) =>
  send("POST /jobs/request", { info, token, system_id: "s_a1b2", session }, token);
const end = (id: number, token: string, json: object = { state: "success" }) =>
  app.call(`PUT /jobs/${id}`, {
    json: { info, token, checksum: output.checksum, output, ...json },
    headers: { "job-token": token },
  });
/** Uploads a file as the runner's helper does. */
function upload(id: number, token: string, query: string, content: string | Buffer) {
  const form = new FormData();
  form.append("file", new Blob([content as BlobPart]), "artifact");
  return app.call(`POST /jobs/${id}/artifacts?${query}`, {
    headers: { "job-token": token },
    body: form,
  });
}
const uploadVariables = (job: Answer["json"], text: string) =>
  upload(job.id, job.token, "artifact_format=gzip&artifact_type=dotenv", gzipSync(text));
const valuesOf = (job: Answer["json"]) =>
  Object.fromEntries(
    job.variables.map(({ key, value }: { key: string; value: string }) => [key, value]),
  );

async function runnerOf(project: CiProject) {
  const json = { runner_type: "project_type", project_id: project.id };
  return (await app.call("POST /user/runners", { as: "owner", json })).json;
}
async function start(project: CiProject) {
  return (await project.call("POST /pipeline?ref=main", { as: "developer" })).json;
}

describe("the runner's own records", () => {
  it("is registered, checked, given another token, and removed, each with JSON", async () => {
    const project = await ciProject(app, "registering", "a: {script: [x]}");
    const { json: registration } = await project.call("POST /runners/reset_registration_token", {
      as: "owner",
    });
    const registered = await send("POST /runners", {
      description: "docker-1",
      maintenance_note: "ask Ann",
      tag_list: "docker,linux",
      run_untagged: true,
      locked: false,
      access_level: "not_protected",
      maximum_timeout: 3600,
      paused: false,
      info,
      token: registration.token,
    });
    expect([registered.status, registered.json]).toEqual([
      201,
      { id: expect.any(Number), token: expect.any(String), token_expires_at: null },
    ]);
    const { id, token } = registered.json;
    const verified = await send("POST /runners/verify", { token, system_id: "s_a1b2" }, token);
    expect([verified.status, verified.json]).toEqual([200, { id, token, token_expires_at: null }]);
    // What it is becomes known as soon as it says so.
    expect((await ask(token)).status).toBe(204);
    const { json: managers } = await app.call(`GET /runners/${id}/managers`, { as: "owner" });
    expect(managers).toMatchObject([
      { system_id: "s_a1b2", version: "17.5.0", revision: "12030cf4", platform: "linux" },
    ]);
    await send("POST /runners/verify", { token, system_id: "s_a1b2" }, token);
    const again = await app.call(`GET /runners/${id}/managers`, { as: "owner" });
    expect(again.json[0].version).toBe("17.5.0");
    const renewed = await send("POST /runners/reset_authentication_token", { token });
    expect([renewed.status, renewed.json]).toEqual([
      201,
      { token: expect.stringMatching(/^glrt-/), token_expires_at: null },
    ]);
    expect((await ask(token)).status).toBe(403);
    const now = renewed.json.token;
    expect((await ask(now)).status).toBe(204);
    const manager = { token: now, system_id: "s_a1b2" };
    expect((await send("DELETE /runners/managers", manager, now)).status).toBe(204);
    expect((await send("DELETE /runners", { token: now }, now)).status).toBe(204);
    expect((await send("POST /runners/verify", manager, now)).status).toBe(403);
    expect((await send("POST /runners/reset_authentication_token", { token: now })).status).toBe(
      403,
    );
  });
});

describe("a job", () => {
  it("is done with heart-beats, a log, all kinds of files, and an end of which the log is known", async () => {
    const project = await ciProject(app, "doing", "a: {script: [x]}");
    const runner = await runnerOf(project);
    await start(project);
    const { json: job, headers } = await ask(runner.token);
    expect(headers.get("content-type")).toBe("application/json");
    const touched = await end(job.id, job.token, { state: "running" });
    expect([touched.status, touched.headers.get("job-status")]).toEqual([200, "running"]);
    const written = await app.call(`PATCH /jobs/${job.id}/trace?debug_trace=false`, {
      headers: { "job-token": job.token, "content-range": "0-4", "content-type": "text/plain" },
      body: "hello",
    });
    expect([
      written.status,
      ...["job-status", "range", "x-gitlab-trace-update-interval"].map((name) =>
        written.headers.get(name),
      ),
    ]).toEqual([202, "running", "0-5", "3"]);
    const kinds: [query: string, content: string | Buffer][] = [
      ["artifact_format=zip&artifact_type=archive&expire_in=1+week", "PK"],
      ["artifact_format=gzip&artifact_type=metadata", gzipSync("{}")],
      ["artifact_format=gzip&artifact_type=junit", gzipSync("<testsuites/>")],
      ["artifact_format=gzip&artifact_type=coverage_report", gzipSync("<coverage/>")],
      ["artifact_format=raw&artifact_type=codequality", "[]"],
    ];
    for (const [query, content] of kinds) {
      const { status, text } = await upload(job.id, job.token, query, content);
      expect([query, status, text]).toEqual([query, 201, '{"message":"201 Created"}']);
    }
    const ended = await end(job.id, job.token);
    expect([ended.status, ended.headers.get("job-status")]).toEqual([200, "success"]);
    const { json } = await project.call(`GET /jobs/${job.id}`, { as: "reporter" });
    expect(json.status).toBe("success");
    expect(json.artifacts.map((one: { file_type: string }) => one.file_type)).toEqual(
      expect.arrayContaining(["archive", "metadata", "junit", "coverage_report", "codequality"]),
    );
  });

  it("fails for any reason that a newer runner may know", async () => {
    const project = await ciProject(app, "failing", "a: {script: [x]}");
    const runner = await runnerOf(project);
    for (const [reason, shown] of [
      ["runner_system_failure", "runner_system_failure"],
      ["runner_of_the_future_failure", "unknown_failure"],
    ]) {
      await start(project);
      const { json: job } = await ask(runner.token);
      const outcome = { state: "failed", failure_reason: reason, exit_code: 137 };
      const ended = await end(job.id, job.token, outcome);
      expect([ended.status, ended.headers.get("job-status")]).toEqual([200, "failed"]);
      const { json } = await project.call(`GET /jobs/${job.id}`, { as: "reporter" });
      expect(json.failure_reason).toBe(shown);
    }
  });
});

describe("variables that a job hands on in a file", () => {
  let project: CiProject;
  let runner: { token: string };
  beforeAll(async () => {
    project = await ciProject(
      app,
      "dotenv",
      `
stages: [build, test, deploy]
make: {stage: build, script: [x], variables: {FROM_FILE: job}, artifacts: {reports: {dotenv: build.env}}}
all: {stage: test, script: [x], variables: {VERSION: own}}
none: {stage: test, script: [x], dependencies: []}
without: {stage: test, script: [x], needs: [{job: make, artifacts: false}]}
needing: {stage: test, script: [x], needs: [make]}
review:
  stage: deploy
  script: [x]
  environment: {name: review, url: "https://$SUBDOMAIN.example.com/$CI_ENVIRONMENT_SLUG"}
`,
    );
    runner = await runnerOf(project);
  });

  it("reach the jobs that depend on it, and override what these say themselves", async () => {
    const made = { key: "VERSION", value: "of the project" };
    await project.call("POST /variables", { as: "maintainer", json: { ...made, key: "OF_ALL" } });
    await start(project);
    const { json: first } = await ask(runner.token);
    expect(first.artifacts[0]).toMatchObject({
      artifact_type: "dotenv",
      artifact_format: "gzip",
      paths: ["build.env"],
    });
    const text = "VERSION=1.2.3\nEMPTY=\n SPACED = a = b \r\nOF_ALL=file\nVERSION=1.2.4\n";
    expect((await uploadVariables(first, text)).status).toBe(201);
    await end(first.id, first.token);
    const seen: Record<string, (string | undefined)[]> = {};
    for (let left = 4; left > 0; left -= 1) {
      const { json: job } = await ask(runner.token);
      const values = valuesOf(job);
      const names = ["VERSION", "EMPTY", "SPACED", "OF_ALL"];
      seen[job.job_info.name] = names.map((name) => values[name]);
      // It has no archive to download.
      expect(job.dependencies).toEqual([]);
      await end(job.id, job.token);
    }
    const reached = ["1.2.4", "", "a = b", "of the project"];
    const missed = [undefined, undefined, undefined, "of the project"];
    expect(seen).toEqual({ all: reached, needing: reached, none: missed, without: missed });
    const { json: deploying } = await ask(runner.token);
    await uploadVariables(deploying, "SUBDOMAIN=fix-1");
    await end(deploying.id, deploying.token);
    const { json: environments } = await project.call("GET /environments", { as: "reporter" });
    expect(environments).toMatchObject([
      { name: "review", external_url: "https://fix-1.example.com/review" },
    ]);
  });

  it("are refused if the file is none of variables", async () => {
    await start(project);
    const { json: job } = await ask(runner.token);
    const message = async (text: string) => {
      const { status, json } = await uploadVariables(job, text);
      return [status, json.message];
    };
    const tooBig = "Dotenv Artifact Too Big. Maximum Allowable Size: 5120";
    expect(await message("A=1\n\nB=2")).toEqual([400, "Invalid Format"]);
    expect(await message("# a comment")).toEqual([400, "Invalid Format"]);
    expect(await message("A B=1")).toEqual([400, expect.stringContaining("Key can contain only")]);
    expect(await message(`A=${"a".repeat(6000)}`)).toEqual([400, tooBig]);
    expect(await message("A=\0")).toEqual([400, "Invalid Format"]);
    const many = Array.from({ length: 21 }, (_, at) => `A${at}=1`).join("\n");
    expect(await message(many)).toEqual([400, "Dotenv files cannot have more than 20 variables"]);
    const query = "artifact_format=gzip&artifact_type=dotenv";
    const plain = await upload(job.id, job.token, query, "A=1");
    expect([plain.status, plain.json]).toEqual([400, { message: "Invalid Format" }]);
    expect(
      (await upload(job.id, job.token, "artifact_type=dotenv&artifact_format=raw", "A=1")).status,
    ).toBe(201);
    await end(job.id, job.token);
  });
});
