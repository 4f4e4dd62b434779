import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestApp, testApp, waitFor } from "../helpers.ts";
import { openWorkshop, type Workshop } from "./_git.ts";
import { type CiProject, ciProject, THREE_STAGES } from "./_pipelines.ts";

let app: TestApp;
let workshop: Workshop;
beforeAll(async () => {
  app = await testApp({ background: true });
  workshop = await openWorkshop(app);
});
afterAll(async () => {
  await workshop.close();
  await app.dispose();
});

interface Shown {
  id: number;
  sha: string;
  ref: string;
  source: string;
  status: string;
}

/** Waits until there is a pipeline of a commit, and returns all of them, the newest first. */
async function ofCommit(project: CiProject, sha: string, count = 1): Promise<Shown[]> {
  const list = async () =>
    (await project.call(`GET /pipelines?sha=${sha}`, { as: "developer" })).json as Shown[];
  await waitFor(async () => (await list()).length >= count);
  return list();
}

describe("a commit through the API", () => {
  it("starts a pipeline of its branch, for its author", async () => {
    const project = await ciProject(app, "by-api", THREE_STAGES);
    const before = project.sha;
    const sha = await project.commit("a", "a\n");
    const [made] = await ofCommit(project, sha);
    expect(made).toMatchObject({ sha, ref: "main", source: "push", status: "pending" });
    const { json } = await project.call(`GET /pipelines/${made?.id}`, { as: "developer" });
    expect(json).toMatchObject({ before_sha: before, user: { username: "owner" } });
  });

  it("is configured where the project says", async () => {
    const project = await ciProject(app, "elsewhere", undefined);
    const json = { ci_config_path: "ci/team.yml", build_timeout: 900, ci_default_git_depth: 5 };
    expect((await project.call("PUT ", { as: "owner", json })).json).toMatchObject(json);
    const refused = [{ build_timeout: 599 }, { ci_default_git_depth: 1001 }];
    for (const json of refused) {
      expect((await project.call("PUT ", { as: "owner", json })).status).toBe(400);
    }
    const sha = await project.commit(
      "ci/team.yml",
      "short: { script: [make], timeout: 10 minutes }\ntest: { script: [echo $CI_CONFIG_PATH] }\n",
    );
    expect(await ofCommit(project, sha)).toMatchObject([{ source: "push", status: "pending" }]);
    const linted = await project.call("GET /ci/lint", { as: "owner" });
    expect(linted.json).toMatchObject({ valid: true });

    const made = await project.call("POST /runners/reset_registration_token", { as: "owner" });
    const runner = await app.call("POST /runners", { json: { token: made.json.token } });
    const claim = () => app.call("POST /jobs/request", { json: { token: runner.json.token } });
    const jobs = [(await claim()).json, (await claim()).json];
    expect(jobs.map(({ job_info, runner_info }) => [job_info.name, runner_info.timeout])).toEqual([
      ["short", 600],
      ["test", 900],
    ]);
    expect(jobs.map(({ git_info }) => git_info.depth)).toEqual([5, 5]);
    expect(jobs[1].variables).toContainEqual(
      expect.objectContaining({ key: "CI_CONFIG_PATH", value: "ci/team.yml" }),
    );
  });

  it("makes a skipped one if its message says so", async () => {
    const project = await ciProject(app, "skips", THREE_STAGES);
    const [made] = await ofCommit(project, project.sha);
    expect(made).toMatchObject({ status: "skipped", source: "push" });
  });

  it("makes a failed one if the configuration has mistakes", async () => {
    const project = await ciProject(app, "fails", THREE_STAGES);
    const sha = await project.commit(".gitlab-ci.yml", "check:\n  stage: test\n");
    const [made] = await ofCommit(project, sha);
    const { json } = await project.call(`GET /pipelines/${made?.id}`, { as: "developer" });
    expect(json).toMatchObject({
      status: "failed",
      yaml_errors: expect.stringContaining("check config should implement"),
    });
    const listed = await project.call("GET /pipelines?yaml_errors=true", { as: "developer" });
    expect(listed.json.map(({ id }: Shown) => id)).toEqual([made?.id]);
  });
});

it("a push starts a pipeline, with the variables of its options", async () => {
  const project = await ciProject(app, "by-push", THREE_STAGES);
  const url = workshop.url("secret/by-push", "maintainer");
  await workshop.git("", "clone", "--quiet", url, "by-push");
  await workshop.git("by-push", "commit", "--quiet", "--allow-empty", "-m", "Empty");
  const options = ["-o", 'ci.variable="A=b c"'];
  await workshop.git("by-push", "push", "--quiet", ...options, "origin", "HEAD:refs/heads/new");
  const sha = await workshop.git("by-push", "rev-parse", "HEAD");
  const [made] = await ofCommit(project, sha);
  expect(made).toMatchObject({ ref: "new", source: "push", status: "pending" });
  const { json } = await project.call(`GET /pipelines/${made?.id}/variables`, { as: "maintainer" });
  expect(json).toEqual([{ variable_type: "env_var", key: "A", value: "b c", raw: false }]);
  await workshop.git("by-push", "commit", "--quiet", "--allow-empty", "-m", "Again");
  await workshop.git(
    "by-push",
    "push",
    "--quiet",
    "-o",
    "ci.skip",
    "origin",
    "HEAD:refs/heads/new",
  );
  const [skipped] = await ofCommit(project, await workshop.git("by-push", "rev-parse", "HEAD"));
  expect(skipped?.status).toBe("skipped");
});

it("a merge request gets pipelines of its own, if the configuration has some", async () => {
  const project = await ciProject(
    app,
    "of-requests",
    `${THREE_STAGES}
review:
  script: [review]
  rules: [{ if: '$CI_PIPELINE_SOURCE == "merge_request_event"' }]
`,
  );
  const commit = await project.call("POST /repository/commits", {
    as: "developer",
    json: {
      branch: "feature",
      start_branch: "main",
      commit_message: "Change",
      actions: [{ action: "create", file_path: "b", content: "b\n" }],
    },
  });
  const request = await project.call("POST /merge_requests", {
    as: "developer",
    json: { title: "Change", source_branch: "feature", target_branch: "main" },
  });
  const made = await ofCommit(project, commit.json.id, 2);
  expect(made.map(({ ref, source }) => [ref, source]).sort()).toEqual([
    ["feature", "push"],
    [`refs/merge-requests/${request.json.iid}/head`, "merge_request_event"],
  ]);
  const listed = await project.call(`GET /merge_requests/${request.json.iid}/pipelines`, {
    as: "developer",
  });
  expect(listed.json).toEqual(made);
  const own = made.find(({ source }) => source === "merge_request_event");
  const { json } = await project.call(`GET /pipelines/${own?.id}/jobs`, { as: "developer" });
  expect(json.map(({ name }: { name: string }) => name)).toEqual(["review"]);
  const again = await project.call(`POST /merge_requests/${request.json.iid}/pipelines`, {
    as: "developer",
  });
  expect([again.status, again.json.source]).toEqual([200, "merge_request_event"]);
});

it("is shown with its commit, and decides about merging if the project says so", async () => {
  const project = await ciProject(app, "must-pass", undefined);
  await project.call("PUT ?only_allow_merge_if_pipeline_succeeds=true", { as: "owner" });
  const commit = await project.call("POST /repository/commits", {
    as: "developer",
    json: {
      branch: "feature",
      start_branch: "main",
      commit_message: "Change",
      actions: [{ action: "create", file_path: "b", content: "b\n" }],
    },
  });
  const { json: made } = await project.call("POST /merge_requests", {
    as: "developer",
    json: { title: "Change", source_branch: "feature", target_branch: "main" },
  });
  const request = async () =>
    (await project.call(`GET /merge_requests/${made.iid}`, { as: "developer" })).json;
  const shown = async () =>
    (await project.call(`GET /repository/commits/${commit.json.id}`, { as: "developer" })).json;
  expect(await request()).toMatchObject({
    head_pipeline: null,
    pipeline: null,
    detailed_merge_status: "ci_must_pass",
  });
  expect(await shown()).toMatchObject({ status: null, last_pipeline: null });
  const report = (state: string) =>
    project.call(`POST /statuses/${commit.json.id}`, {
      as: "developer",
      json: { state, ref: "feature" },
    });
  const merge = async () =>
    (await project.call(`PUT /merge_requests/${made.iid}/merge`, { as: "developer" })).status;
  await report("running");
  expect(await request()).toMatchObject({
    head_pipeline: { status: "running", detailed_status: { group: "running" } },
    pipeline: { status: "running", sha: commit.json.id },
    detailed_merge_status: "ci_still_running",
  });
  expect(await merge()).toBe(405);
  await report("failed");
  expect((await request()).detailed_merge_status).toBe("ci_must_pass");
  await report("success");
  expect(await shown()).toMatchObject({
    status: "success",
    last_pipeline: { status: "success", ref: "feature", source: "external" },
  });
  expect((await request()).detailed_merge_status).toBe("mergeable");
  expect(await merge()).toBe(200);
});

it("may be skipped if the project says that this is enough to merge", async () => {
  const project = await ciProject(app, "may-skip", "review: {script: [make]}\n");
  const json = { only_allow_merge_if_pipeline_succeeds: true };
  const { json: settings } = await project.call("PUT ", { as: "owner", json });
  expect(settings.allow_merge_on_skipped_pipeline).toBe(false);
  const commit = await project.call("POST /repository/commits", {
    as: "developer",
    json: {
      branch: "feature",
      start_branch: "main",
      commit_message: "Change [skip ci]",
      actions: [{ action: "create", file_path: "b", content: "b\n" }],
    },
  });
  expect(await ofCommit(project, commit.json.id, 1)).toMatchObject([{ status: "skipped" }]);
  const made = await project.call("POST /merge_requests", {
    as: "developer",
    json: { title: "Change", source_branch: "feature", target_branch: "main" },
  });
  const state = async () =>
    (await project.call(`GET /merge_requests/${made.json.iid}`, { as: "developer" })).json
      .detailed_merge_status;
  const merge = async () =>
    (await project.call(`PUT /merge_requests/${made.json.iid}/merge`, { as: "developer" })).status;
  expect([await state(), await merge()]).toEqual(["ci_must_pass", 405]);
  const allowed = await project.call("PUT ?allow_merge_on_skipped_pipeline=true", { as: "owner" });
  expect([allowed.status, allowed.json.allow_merge_on_skipped_pipeline]).toEqual([200, true]);
  expect([await state(), await merge()]).toEqual(["mergeable", 200]);
});

it("tells jobs which merge request they are of, by rules and to the runner", async () => {
  const project = await ciProject(
    app,
    "told",
    `
review:
  image: ruby
  script: [make]
  rules:
    - if: $CI_MERGE_REQUEST_LABELS =~ /(^|,)ready(,|$)/ && $CI_MERGE_REQUEST_TARGET_BRANCH_PROTECTED == "true"
      when: manual
`,
  );
  await project.call("POST /protected_branches?name=main", { as: "owner" });
  const fork = await project.call("POST /fork", { as: "owner", json: { path: "told-fork" } });
  const path = `/projects/${fork.json.id}`;
  await app.call(`POST ${path}/repository/commits`, {
    as: "owner",
    json: {
      branch: "feature",
      start_branch: "main",
      commit_message: "Change [skip ci]",
      actions: [{ action: "create", file_path: "b", content: "b\n" }],
    },
  });
  const { json: milestone } = await project.call("POST /milestones", {
    as: "owner",
    json: { title: "1.0" },
  });
  const { json: owner } = await app.call("GET /user", { as: "owner" });
  const { json: made } = await app.call(`POST ${path}/merge_requests`, {
    as: "owner",
    json: {
      title: "Draft: change",
      description: "x".repeat(3000),
      source_branch: "feature",
      target_branch: "main",
      target_project_id: project.id,
      labels: "later,ready",
      milestone_id: milestone.id,
      assignee_ids: [owner.id],
      squash: true,
    },
  });
  const run = await project.call(`POST /merge_requests/${made.iid}/pipelines`, { as: "owner" });
  expect(run.status, run.text).toBe(200);
  const { json: jobs } = await app.call(`GET ${path}/pipelines/${run.json.id}/jobs`, {
    as: "owner",
  });
  await app.call(`POST ${path}/jobs/${jobs[0].id}/play`, { as: "owner" });
  const { json: runner } = await app.call("POST /user/runners", {
    as: "owner",
    json: { runner_type: "project_type", project_id: fork.json.id },
  });
  const { json: job } = await app.call("POST /jobs/request", { json: { token: runner.token } });
  const values = Object.fromEntries(
    job.variables.map(({ key, value }: { key: string; value: string }) => [key, value]),
  );
  const { json: versions } = await project.call(`GET /merge_requests/${made.iid}/versions`, {
    as: "owner",
  });
  expect(values).toMatchObject({
    CI_JOB_IMAGE: "ruby",
    CI_JOB_MANUAL: "true",
    CI_MERGE_REQUEST_ID: String(made.id),
    CI_MERGE_REQUEST_IID: String(made.iid),
    CI_MERGE_REQUEST_TITLE: "Draft: change",
    CI_MERGE_REQUEST_DESCRIPTION: "x".repeat(2700),
    CI_MERGE_REQUEST_DESCRIPTION_IS_TRUNCATED: "true",
    CI_MERGE_REQUEST_DRAFT: "true",
    CI_MERGE_REQUEST_SQUASH_ON_MERGE: "true",
    CI_MERGE_REQUEST_MILESTONE: "1.0",
    CI_MERGE_REQUEST_LABELS: "later,ready",
    CI_MERGE_REQUEST_ASSIGNEES: "owner",
    CI_MERGE_REQUEST_PROJECT_ID: String(project.id),
    CI_MERGE_REQUEST_PROJECT_PATH: "secret/told",
    CI_MERGE_REQUEST_PROJECT_URL: "http://pm.test/secret/told",
    CI_MERGE_REQUEST_SOURCE_PROJECT_ID: String(fork.json.id),
    CI_MERGE_REQUEST_SOURCE_PROJECT_PATH: "owner/told-fork",
    CI_MERGE_REQUEST_SOURCE_BRANCH_NAME: "feature",
    CI_MERGE_REQUEST_SOURCE_BRANCH_PROTECTED: "false",
    CI_MERGE_REQUEST_TARGET_BRANCH_NAME: "main",
    CI_MERGE_REQUEST_TARGET_BRANCH_PROTECTED: "true",
    CI_MERGE_REQUEST_TARGET_BRANCH_SHA: "",
    CI_MERGE_REQUEST_DIFF_ID: String(versions[0].id),
    CI_MERGE_REQUEST_DIFF_BASE_SHA: versions[0].base_commit_sha,
    CI_MERGE_REQUEST_EVENT_TYPE: "detached",
  });
});
