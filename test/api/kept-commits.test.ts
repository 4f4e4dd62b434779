// Commits that pipelines run on can be fetched although their branch is gone, by Git's own client as runners use it.
import { gunzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { type TestApp, tokenOf } from "../helpers.ts";
import { shareWorkshop, type Workshop } from "./_git.ts";
import { type CiProject, ciProject, keepOlder } from "./_pipelines.ts";

let app: TestApp;
let workshop: Workshop;
let git: Workshop["git"];
shareWorkshop(
  (opened) => {
    ({ app, workshop, git } = opened);
  },
  { background: false },
);

const CONFIGURATION = `
test: {script: [make], rules: [{if: $CI_COMMIT_BRANCH}, {if: $CI_COMMIT_TAG}]}
review: {script: [make], rules: [{if: $CI_MERGE_REQUEST_ID}]}
`;

interface Job {
  readonly id: number;
  readonly token: string;
  readonly git_info: { readonly sha: string; readonly refspecs: readonly string[] };
}

async function runnerOf({ id }: Pick<CiProject, "id">): Promise<() => Promise<Job>> {
  const json = { runner_type: "project_type", project_id: id };
  const { token } = (await app.call("POST /user/runners", { as: "owner", json })).json;
  return async () => (await app.call("POST /jobs/request", { json: { token } })).json;
}

/** Commits to a branch, from the newest commit of main, and starts its pipelines. */
async function branch(project: CiProject, name: string, file = name): Promise<string> {
  const made = await project.call("POST /repository/commits", {
    as: "developer",
    json: {
      branch: name,
      start_branch: "main",
      force: true,
      commit_message: `Add ${file}`,
      actions: [{ action: "create", file_path: file, content: "text\n" }],
    },
  });
  expect(made.status, made.text).toBe(201);
  await app.admin.maintenance.runPipelines();
  return made.json.id;
}

/** Fetches and checks out what a job needs, as its runner does. */
async function checkOut(path: string, { id, token, git_info }: Job): Promise<string> {
  const url = workshop.url(path).replace("//", `//gitlab-ci-token:${token}@`);
  await git("", "init", "--quiet", `job-${id}`);
  await git(`job-${id}`, "fetch", "--quiet", "--depth", "20", url, ...git_info.refspecs);
  await git(`job-${id}`, "checkout", "--quiet", git_info.sha);
  return git(`job-${id}`, "rev-parse", "HEAD");
}

/** What is kept for pipelines: clients are told nothing of it. */
async function keptIn({ id }: Pick<CiProject, "id">, path: string): Promise<unknown[]> {
  expect(await git("", "ls-remote", workshop.url(path, "owner"))).not.toMatch(
    /refs\/(pipelines|keep-around)/,
  );
  const rows = await app.store.rows(
    `select gr.name from git_refs gr join git_repositories r on r.id = gr.repository_id
     where r.project_id = ? and gr.name like 'refs/pipelines/%' order by length(gr.name), gr.name`,
    [id],
  );
  return rows.flat();
}

it("of a deleted branch are there until their pipeline is deleted", async () => {
  const project = await ciProject(app, "deleted-under", CONFIGURATION);
  const path = "secret/deleted-under";
  const sha = await branch(project, "feature");
  const [{ id }] = (await project.call("GET /pipelines?ref=feature", { as: "developer" })).json;
  const seen = async () =>
    (await project.call(`GET /repository/commits/${sha}`, { as: "developer" })).status;
  expect(await keptIn(project, path)).toEqual([]);
  await project.call("DELETE /repository/branches/feature", { as: "developer" });
  const kept = `refs/pipelines/${id}`;
  expect([await keptIn(project, path), await seen()]).toEqual([[kept], 200]);
  const ask = await runnerOf(project);
  const job = await ask();
  expect(job.git_info).toMatchObject({ sha, refspecs: [`+${sha}:${kept}`] });
  expect(await checkOut(path, job)).toBe(sha);
  await project.call("POST /export", { as: "owner" });
  await app.admin.maintenance.runArchives();
  const headers = { "private-token": tokenOf("owner") };
  const url = `http://pm.test/api/v4${project.path}/export/download`;
  const archive = await app.fetch(new Request(url, { headers }));
  const lines = gunzipSync(await archive.arrayBuffer()).toString();
  expect(lines).toContain("refs/heads/main");
  expect(lines).not.toContain("refs/pipelines");
  await app.call(`PUT /jobs/${job.id}`, { json: { token: job.token, state: "failed" } });
  await project.call("POST /housekeeping", { as: "owner" });
  const retried = await project.call(`POST /jobs/${job.id}/retry`, { as: "developer" });
  expect(retried.status, retried.text).toBe(201);
  expect(await checkOut(path, await ask())).toBe(sha);
  await project.call(`DELETE /pipelines/${id}`, { as: "owner" });
  expect([await keptIn(project, path), await seen()]).toEqual([[], 404]);
});

it("of a deleted branch's deployments are there", async () => {
  const project = await ciProject(app, "deployed", CONFIGURATION);
  const sha = await branch(project, "feature");
  const json = { environment: "production", sha, ref: "feature", tag: false, status: "success" };
  const made = await project.call("POST /deployments", { as: "developer", json });
  expect(made.status, made.text).toBe(201);
  const [{ id }] = (await project.call("GET /pipelines?ref=feature", { as: "developer" })).json;
  await project.call("DELETE /repository/branches/feature", { as: "developer" });
  await project.call(`DELETE /pipelines/${id}`, { as: "owner" });
  await project.call("POST /housekeeping", { as: "owner" });
  const path = `/repository/commits/${sha}`;
  expect((await project.call(`GET ${path}`, { as: "developer" })).status).toBe(200);
});

it("are fetched although their branch is far ahead", async () => {
  const project = await ciProject(app, "ahead", CONFIGURATION);
  const sha = await branch(project, "feature");
  await git("", "clone", "--quiet", workshop.url("secret/ahead", "owner"), "ahead");
  await git("ahead", "checkout", "--quiet", "feature");
  for (let at = 0; at < 25; at += 1) {
    await git("ahead", "commit", "--quiet", "--allow-empty", "-m", `${at} [skip ci]`);
  }
  await git("ahead", "push", "--quiet", "origin", "feature");
  const job = await (await runnerOf(project))();
  expect(job.git_info.sha).toBe(sha);
  expect(await checkOut("secret/ahead", job)).toBe(sha);
});

it("of a replaced branch, tag and merge request are there, too", async () => {
  const project = await ciProject(app, "replaced-under", CONFIGURATION);
  await keepOlder(project);
  const path = "secret/replaced-under";
  const ask = await runnerOf(project);
  const sha = await branch(project, "feature");
  const json = { title: "Change", source_branch: "feature", target_branch: "main" };
  const request = await project.call("POST /merge_requests", { as: "developer", json });
  await app.admin.maintenance.runPipelines();
  await project.call("POST /repository/tags", {
    as: "developer",
    json: { tag_name: "v1", ref: "feature" },
  });
  await app.admin.maintenance.runPipelines();
  const pipelines = (
    await project.call("GET /pipelines?status=pending&sort=asc", { as: "developer" })
  ).json;
  const ids = pipelines.map(({ id }: { id: number }) => id);
  expect(ids).toHaveLength(3);
  const newer = await branch(project, "feature", "other");
  await project.call("DELETE /repository/tags/v1", { as: "developer" });
  const kept = ids.map((id: number) => `refs/pipelines/${id}`);
  expect(await keptIn(project, path)).toEqual(kept);
  const own = [
    "+refs/heads/feature:refs/remotes/origin/feature",
    `+refs/merge-requests/${request.json.iid}/head:refs/merge-requests/${request.json.iid}/head`,
    undefined,
  ];
  for (const [at, name] of kept.entries()) {
    const job = await ask();
    const refspecs = [`+${sha}:${name}`, own[at]].filter(Boolean);
    expect(job.git_info).toMatchObject({ sha, refspecs });
    expect(await checkOut(path, job)).toBe(sha);
  }
  const job = await ask();
  const specs = [expect.stringContaining(`+${newer}:refs/pipelines/`), own[0]];
  expect(job.git_info).toMatchObject({ sha: newer, refspecs: specs });
  for (const id of ids) await project.call(`DELETE /pipelines/${id}`, { as: "owner" });
  expect(await keptIn(project, path)).toEqual([]);
});

it("can't be changed by clients, and nothing is kept for what goes on from there", async () => {
  const project = await ciProject(app, "forward", CONFIGURATION);
  await branch(project, "feature");
  await git("", "clone", "--quiet", workshop.url("secret/forward", "owner"), "forward");
  const refused = await workshop.failure("forward", "push", "origin", "HEAD:refs/pipelines/1");
  expect(refused).toContain("deny updating a hidden ref");
  await git("forward", "checkout", "--quiet", "feature");
  await git("forward", "commit", "--quiet", "--allow-empty", "-m", "More [skip ci]");
  await git("forward", "push", "--quiet", "origin", "feature");
  expect(await keptIn(project, "secret/forward")).toEqual([]);
});

it("of a merge request from a fork are fetched from its branch", async () => {
  const project = await ciProject(app, "forked-from", CONFIGURATION);
  await project.call("PUT ?visibility=internal", { as: "owner" });
  const fork = await project.call("POST /fork", { as: "owner", json: { path: "forked" } });
  const call: CiProject["call"] = (request, options) => {
    const [method, rest] = request.split(" ", 2);
    return app.call(`${method} /projects/${fork.json.id}${rest}`, { ...options, as: "owner" });
  };
  const forked = { ...project, id: fork.json.id, call };
  const ask = await runnerOf(forked);
  const sha = await branch(forked, "feature");
  await ask();
  const json = {
    title: "Change",
    source_branch: "feature",
    target_branch: "main",
    target_project_id: project.id,
  };
  const made = await call("POST /merge_requests", { json });
  expect(made.status, made.text).toBe(201);
  await app.admin.maintenance.runPipelines();
  const job = await ask();
  expect(job.git_info.refspecs).toEqual([
    expect.stringContaining(`+${sha}:refs/pipelines/`),
    "+refs/heads/feature:refs/remotes/origin/feature",
  ]);
  expect(await checkOut("owner/forked", job)).toBe(sha);
});
