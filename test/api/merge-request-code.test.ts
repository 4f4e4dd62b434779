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
