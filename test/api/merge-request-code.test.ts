// Merge requests between branches that exist: facts of GitLab's documentation, R092 to R095 and R106.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";
import { type CodeProject, codeProject, lines, newCodeProject } from "./_merge-requests.ts";

let app: TestApp;
let project: CodeProject;
const failures: unknown[] = [];
beforeAll(async () => {
  app = await testApp({ onError: (error) => failures.push(error) });
  project = await newCodeProject(app);
});
afterAll(async () => {
  await app.dispose();
  expect(failures).toEqual([]);
});

let branches = 0;
/** A new branch with a commit. */
async function newBranch(files = {}, from = "main"): Promise<[branch: string, head: string]> {
  branches += 1;
  const branch = `b${branches}`;
  const head = await project.commit(branch, { [`${branch}.txt`]: "new\n", ...files }, { from });
  return [branch, head];
}

const mainHead = async () => (await project.get("/repository/branches/main")).json.commit.id;

describe("a new merge request", () => {
  it("has the code of its branches", async () => {
    const main = await mainHead();
    const [branch, head] = await newBranch();
    const made = await project.open(branch);
    expect(made).toMatchObject({
      sha: head,
      merge_commit_sha: null,
      diff_refs: { base_sha: main, head_sha: head, start_sha: main },
      changes_count: "1",
      merge_status: "can_be_merged",
      detailed_merge_status: "mergeable",
      has_conflicts: false,
      merge_error: null,
    });
    const { json } = await project.get(`/merge_requests/${made.iid}`);
    expect(json).toEqual({ ...made, subscribed: true });
  });

  it("needs both branches: 400", async () => {
    const [branch] = await newBranch();
    const answers = await Promise.all(
      [
        { source_branch: "none", target_branch: "main" },
        { source_branch: branch, target_branch: "none" },
        { source_branch: "none", target_branch: "neither" },
      ].map((json) => project.send("POST", "/merge_requests", { title: "t", ...json })),
    );
    const missing = ["does not exist"];
    expect(answers.map(({ status, json }) => [status, json])).toEqual([
      [400, { message: { source_branch: missing } }],
      [400, { message: { target_branch: missing } }],
      [400, { message: { source_branch: missing, target_branch: missing } }],
    ]);
  });

  it("can be open only once: 409; and not between a branch and itself: 422", async () => {
    const [branch] = await newBranch();
    const { iid } = await project.open(branch);
    const post = (json: object) =>
      project.send("POST", "/merge_requests", { title: "t", source_branch: branch, ...json });
    const again = await post({ target_branch: "main" });
    expect([again.status, again.json]).toEqual([
      409,
      { message: [`Another open merge request already exists for this source branch: !${iid}`] },
    ]);
    const same = await post({ target_branch: branch });
    expect([same.status, same.json]).toEqual([
      422,
      { error: ["You can't use same project/branch for source and target"] },
    ]);
  });

  it("of a branch without commits of its own can't be merged", async () => {
    branches += 1;
    const json = { branch: `b${branches}`, ref: "main" };
    await project.send("POST", "/repository/branches", json, "maintainer");
    const made = await project.open(json.branch);
    expect(made).toMatchObject({
      changes_count: null,
      merge_status: "cannot_be_merged",
      detailed_merge_status: "commits_status",
    });
    const merging = await project.send(
      "PUT",
      `/merge_requests/${made.iid}/merge`,
      {},
      "maintainer",
    );
    expect([merging.status, merging.json]).toEqual([405, { message: "405 Method Not Allowed" }]);
  });

  it("can conflict with its target, until one of the branches changes", async () => {
    const [target] = await newBranch({ "c.txt": lines(3) });
    const [branch] = await newBranch({ "c.txt": lines(3, { 2: "other" }) }, target);
    await project.commit(target, { "c.txt": lines(3, { 2: "another" }) });
    const made = await project.open(branch, { target_branch: target });
    expect(made).toMatchObject({
      merge_status: "cannot_be_merged",
      detailed_merge_status: "conflict",
      has_conflicts: true,
    });
    const merging = await project.send(
      "PUT",
      `/merge_requests/${made.iid}/merge`,
      {},
      "maintainer",
    );
    expect([merging.status, merging.json]).toEqual([406, { message: "Branch cannot be merged" }]);
    await project.commit(target, { "c.txt": lines(3, { 2: "other" }) });
    const { json } = await project.get(`/merge_requests/${made.iid}`);
    expect(json).toMatchObject({ merge_status: "can_be_merged", has_conflicts: false });
  });

  it("in a project without a repository is a record between any names", async () => {
    const json = {
      name: "empty",
      namespace_id: (await app.call("GET /groups/secret", { as: "owner" })).json.id,
    };
    const { json: made } = await app.call("POST /projects", { as: "owner", json });
    const empty = codeProject(app, made.id, made.path_with_namespace);
    expect(await empty.open("anything")).toMatchObject({
      sha: null,
      diff_refs: null,
      changes_count: null,
      merge_status: "can_be_merged",
      detailed_merge_status: "mergeable",
    });
  });
});

describe("the code of a merge request", () => {
  const pathsOf = (diffs: { new_path: string }[]) => diffs.map(({ new_path }) => new_path);

  it("is its commits, the newest first, its changes and its versions", async () => {
    const [branch, first] = await newBranch();
    const second = await project.commit(branch, { "a.txt": lines(20, { 3: "other" }) });
    const made = await project.open(branch);
    const at = `/merge_requests/${made.iid}`;
    const commits = await project.get(`${at}/commits`);
    expect(commits.json.map(({ id }: { id: string }) => id)).toEqual([second, first]);
    expect(commits.headers.get("x-total")).toBe("2");
    const changes = await project.get(`${at}/changes?unidiff=true`);
    expect(changes.json).toEqual({
      ...made,
      subscribed: true,
      changes: [
        expect.objectContaining({ new_path: "a.txt", new_file: false, collapsed: false }),
        {
          old_path: `${branch}.txt`,
          new_path: `${branch}.txt`,
          a_mode: "0",
          b_mode: "100644",
          new_file: true,
          renamed_file: false,
          deleted_file: false,
          generated_file: false,
          collapsed: false,
          too_large: false,
          diff: `--- /dev/null\n+++ b/${branch}.txt\n@@ -0,0 +1 @@\n+new\n`,
        },
      ],
      overflow: false,
    });
    const withoutHead = await project.get(`${at}/changes`);
    expect(withoutHead.json.changes[1].diff).toBe("@@ -0,0 +1 @@\n+new\n");
    expect((await project.get(`${at}/changes?unidiff=true`)).json).toEqual(changes.json);
    const diffs = await project.get(`${at}/diffs?per_page=1&page=2`);
    expect(pathsOf(diffs.json)).toEqual([`${branch}.txt`]);
    expect(diffs.headers.get("x-total")).toBe("2");
    const versions = await project.get(`${at}/versions`);
    const version = {
      id: expect.any(Number),
      head_commit_sha: second,
      base_commit_sha: made.diff_refs.base_sha,
      start_commit_sha: made.diff_refs.start_sha,
      created_at: expect.any(String),
      merge_request_id: made.id,
      state: "collected",
      real_size: "2",
      patch_id_sha: null,
    };
    expect(versions.json).toEqual([version]);
    const single = await project.get(`${at}/versions/${versions.json[0].id}`);
    expect(single.json).toEqual({
      ...version,
      commits: commits.json,
      diffs: changes.json.changes.map((one: { diff: string }) => ({
        ...one,
        diff: one.diff.replace(/^---.*\n\+\+\+.*\n/, ""),
      })),
    });
  });

  it("is also a text that `git apply` reads", async () => {
    const files = { "a.txt": lines(20, { 20: "last" }), "with ü and spaces.txt": "one" };
    const [branch] = await newBranch(files);
    const { iid } = await project.open(branch);
    const answer = await project.get(`/merge_requests/${iid}/raw_diffs`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toMatch(/^text\/plain/);
    const parts = answer.text.split(/^(?=diff --git )/m);
    const index = "index [0-9a-f]{40}\\.\\.[0-9a-f]{40}";
    expect(parts[0]).toMatch(
      new RegExp(
        `^diff --git a/a.txt b/a.txt\n${index} 100644\n--- a/a.txt\n\\+\\+\\+ b/a.txt\n@@ -17,4 `,
      ),
    );
    expect(parts[0]).toMatch(/\n-line 20\n\+last\n$/);
    expect(parts[1]).toContain(`+++ b/${branch}.txt\n@@ -0,0 +1 @@\n+new\n`);
    expect(parts[2]).toBe(
      `diff --git "a/with \\303\\274 and spaces.txt" "b/with \\303\\274 and spaces.txt"
new file mode 100644
index ${"0".repeat(40)}..43dd47ea691c90a5fa7827892c70241913351963
--- /dev/null
+++ "b/with \\303\\274 and spaces.txt"\t
@@ -0,0 +1 @@
+one
\\ No newline at end of file
`,
    );
    expect(parts).toHaveLength(3);
  });

  it("is found by the number in the project, not by the id: 404", async () => {
    const [branch] = await newBranch();
    const { iid } = await project.open(branch);
    const paths = ["/commits", "/changes", "/diffs", "/raw_diffs", "/versions", "/versions/1"];
    const statuses = await Promise.all(
      paths.map(async (path) => (await project.get(`/merge_requests/99999${path}`)).status),
    );
    expect(statuses).toEqual(paths.map(() => 404));
    const other = await newCodeProject(app);
    await other.commit("b", { "b.txt": "b\n" }, { from: "main" });
    const { iid: theirs } = await other.open("b");
    const [version] = (await other.get(`/merge_requests/${theirs}/versions`)).json;
    const foreign = await project.get(`/merge_requests/${iid}/versions/${version.id}`);
    expect([foreign.status, foreign.json]).toEqual([404, { message: "404 Not found" }]);
  });

  it("shows versions to users only: 401", async () => {
    const { status } = await app.call("GET /projects/acme%2Fsite/merge_requests/1/versions");
    expect(status).toBe(401);
  });

  it("is behind its target by the commits that were pushed there since", async () => {
    const [target] = await newBranch();
    const [branch] = await newBranch({}, target);
    const { iid } = await project.open(branch, { target_branch: target });
    const path = `/merge_requests/${iid}`;
    const asked = `${path}?include_diverged_commits_count=true&include_rebase_in_progress=true`;
    expect((await project.get(asked)).json).toMatchObject({
      diverged_commits_count: 0,
      rebase_in_progress: false,
    });
    await project.commit(target, { "more.txt": "1\n" });
    await project.commit(target, { "more.txt": "2\n" });
    expect((await project.get(asked)).json.diverged_commits_count).toBe(2);
    const plain = (await project.get(path)).json;
    expect(Object.keys(plain)).not.toContain("diverged_commits_count");
    expect(Object.keys(plain)).not.toContain("rebase_in_progress");
  });

  it("has its texts as HTML if asked", async () => {
    const [branch] = await newBranch();
    const texts = { title: "A & B", description: "**Bold** words" };
    const { iid } = await project.open(branch, texts);
    const asked = (await project.get(`/merge_requests/${iid}?render_html=true`)).json;
    expect(asked.title_html).toBe("A &amp; B");
    expect(asked.description_html).toContain("<strong>Bold</strong> words");
    const plain = (await project.get(`/merge_requests/${iid}`)).json;
    expect(Object.keys(plain).filter((name) => name.endsWith("_html"))).toEqual([]);
  });

  it("stays what it is when the target moves on", async () => {
    const [target, start] = await newBranch();
    const [branch, head] = await newBranch({}, target);
    const { iid } = await project.open(branch, { target_branch: target });
    await project.commit(target, { "more.txt": "1\n" });
    const { json } = await project.get(`/merge_requests/${iid}/changes`);
    expect(json.diff_refs).toEqual({ base_sha: start, head_sha: head, start_sha: start });
    expect(pathsOf(json.changes)).toEqual([`${branch}.txt`]);
  });
});

describe("another target", () => {
  it("makes a new version; it must exist", async () => {
    const [target, start] = await newBranch();
    const [branch, head] = await newBranch();
    const { iid } = await project.open(branch);
    const put = (target_branch: string) =>
      project.send("PUT", `/merge_requests/${iid}`, { target_branch });
    const missing = await put("none");
    expect([missing.status, missing.json]).toEqual([
      400,
      { message: { target_branch: ["does not exist"] } },
    ]);
    expect((await put("no name")).json).toEqual({ message: { target_branch: ["is invalid"] } });
    const { json } = await put(target);
    expect(json).toMatchObject({
      target_branch: target,
      diff_refs: { head_sha: head, start_sha: start },
    });
    expect((await project.get(`/merge_requests/${iid}/versions`)).json).toHaveLength(2);
    await put(target);
    expect((await project.get(`/merge_requests/${iid}/versions`)).json).toHaveLength(2);
  });
});

it("another target branch is noted", async () => {
  const [branch] = await newBranch();
  const { iid } = await project.open(branch);
  const at = `/merge_requests/${iid}`;
  await project.send("POST", "/repository/branches?branch=next&ref=main", {}, "maintainer");
  const bodies = async () =>
    (await project.get(`${at}/notes`)).json.map(({ body }: { body: string }) => body);
  expect((await project.send("PUT", at, { target_branch: "main" })).status).toBe(200);
  expect(await bodies()).toEqual([]);
  expect((await project.send("PUT", at, { target_branch: "next" })).status).toBe(200);
  expect(await bodies()).toEqual(["changed target branch from `main` to `next`"]);
});

describe("the author", () => {
  it("contributes for the first time until something was merged, or is a member", async () => {
    const { json: open } = await app.call("POST /projects", {
      as: "owner",
      json: { name: "open", visibility: "public" },
    });
    const target = codeProject(app, open.id, open.path_with_namespace);
    await target.commit("main", { "a.txt": "a\n" }, { as: "owner" });
    const { json: forked } = await app.call(`POST ${target.path}/fork`, { as: "stranger" });
    const fork = codeProject(app, forked.id, forked.path_with_namespace);
    await fork.commit("b", { "b.txt": "b\n" }, { from: "main", as: "stranger" });
    const made = await fork.open("b", { target_project_id: target.id }, "stranger");
    expect(made).toMatchObject({ project_id: target.id, first_contribution: true });
    await target.commit("own", { "c.txt": "c\n" }, { from: "main", as: "owner" });
    expect(await target.open("own", {}, "owner")).toMatchObject({ first_contribution: false });
  });
});

describe("the other branches of a private fork", () => {
  it("are not found by guessing the beginnings of their commits' names", async () => {
    const { json: open } = await app.call("POST /projects", {
      as: "owner",
      json: { name: "target", visibility: "public" },
    });
    const target = codeProject(app, open.id, open.path_with_namespace);
    await target.commit("main", { "a.txt": "a\n" }, { as: "owner" });
    const { json: forked } = await app.call(`POST ${target.path}/fork`, {
      as: "stranger",
      json: { visibility: "private" },
    });
    const fork = codeProject(app, forked.id, forked.path_with_namespace);
    const hidden = await fork.commit("own", { "c.txt": "c\n" }, { from: "main", as: "stranger" });
    const shown = await fork.commit("b", { "b.txt": "b\n" }, { from: "main", as: "stranger" });
    await fork.open("b", { target_project_id: target.id }, "stranger");
    const statusOf = async (project: typeof target, sha: string, as?: "stranger") =>
      (await project.get(`/repository/commits/${sha.slice(0, 12)}`, as)).status;
    expect(await statusOf(target, shown)).toBe(200);
    expect(await statusOf(fork, hidden, "stranger")).toBe(200);
    expect(await statusOf(target, hidden)).toBe(404);
  });
});

describe("merge requests of a seed", () => {
  it("have the code of their branches, and the commit that merged them", async () => {
    const commits = (file: string) => [{ message: file, files: { [file]: "1\n" } }];
    const author = "ada";
    const seeded = await testApp({
      seed: {
        users: [{ username: author, tokens: [{ token: "ada", scopes: ["api"] }] }],
        groups: [
          {
            path: "acme",
            members: { [author]: "owner" },
            projects: [
              {
                path: "site",
                pushes: [
                  { author, ref: "main", commits: commits("main.txt") },
                  { author, ref: "done", commits: commits("done.txt") },
                  { author, ref: "main", commits: [{ message: "Merge", merge: "done" }] },
                  { author, ref: "open", commits: commits("open.txt") },
                ],
                merge_requests: [
                  { title: "Done", author, source_branch: "done", state: "merged" },
                  { title: "Open", author, source_branch: "open" },
                  { title: "Record", author, source_branch: "gone", state: "closed" },
                ],
              },
            ],
          },
        ],
      },
    });
    const headers = { "private-token": "ada" };
    const get = async (path: string) =>
      (await seeded.call(`GET /projects/acme%2Fsite/${path}`, { headers })).json;
    const main = await get("repository/branches/main");
    expect(await get("merge_requests/1")).toMatchObject({
      state: "merged",
      changes_count: "1",
      merge_commit_sha: main.commit.id,
      diff_refs: { start_sha: main.commit.parent_ids[0] },
    });
    expect(await get("merge_requests/2/changes")).toMatchObject({
      merge_status: "can_be_merged",
      changes: [{ new_path: "open.txt" }],
    });
    expect(await get("merge_requests/3")).toMatchObject({ diff_refs: null, changes_count: null });
    await seeded.dispose();
  });
});
