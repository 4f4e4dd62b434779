// What pushes mean for merge requests: new versions, closing and merging (R095 and R119).
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { tidy } from "../../src/git/tidy.ts";
import { verifyRepositories } from "../../src/git/verify.ts";
import { type TestApp, testApp } from "../helpers.ts";
import { type CodeProject, codeProject, newCodeProject } from "./_merge-requests.ts";

let app: TestApp;
let project: CodeProject;
const failures: unknown[] = [];
beforeAll(async () => {
  app = await testApp({ onError: (error) => failures.push(error) });
  project = await newCodeProject(app);
});
afterAll(async () => {
  expect(await verifyRepositories(app.store, 10)).toEqual([]);
  await app.dispose();
  expect(failures).toEqual([]);
});

/** Packs repositories again, and deletes what nothing has been for two days. */
const tidyUp = async () => {
  const { repositories } = await tidy(app.store, Date.now());
  expect(repositories).toBeGreaterThan(0);
  await tidy(app.store, Date.now() + 2 * 86_400_000);
};

let branches = 0;
/** A new branch with a commit, and a merge request from it. */
async function newRequest({ target = "main" } = {}) {
  branches += 1;
  const branch = `b${branches}`;
  const head = await project.commit(branch, { [`${branch}.txt`]: "new\n" }, { from: target });
  const { iid, diff_refs: refs } = await project.open(branch, { target_branch: target });
  const at = `/merge_requests/${iid}`;
  return {
    iid,
    branch,
    head,
    start: refs.start_sha as string,
    at,
    now: async () => (await project.get(at)).json,
    versions: async () =>
      (await project.get(`${at}/versions`)).json.map(
        ({ head_commit_sha }: { head_commit_sha: string }) => head_commit_sha,
      ),
    notes: async () =>
      (await project.get(`${at}/notes?sort=asc`)).json.map(
        ({
          body,
          system,
          author,
        }: {
          body: string;
          system: boolean;
          author: { username: string };
        }) => ({
          body,
          system,
          by: author.username,
        }),
      ),
    change: (files: Record<string, string>, message = "Change") =>
      project.commit(branch, files, { message, as: "maintainer" }),
  };
}

/** A new branch at a commit. */
async function newTarget() {
  branches += 1;
  const branch = `t${branches}`;
  const head = await project.commit(branch, { [`${branch}.txt`]: "1\n" }, { from: "main" });
  return { branch, head };
}

/** Makes a branch be what another one is, which loses its own commits. */
const reset = (branch: string, files: Record<string, string>, start_branch: string) =>
  project.send(
    "POST",
    "/repository/commits",
    {
      branch,
      start_branch,
      force: true,
      commit_message: "Anew",
      actions: Object.entries(files).map(([file_path, content]) => ({
        action: "create",
        file_path,
        content,
      })),
    },
    "maintainer",
  );

const lastEvents = async (count: number) =>
  (await project.get(`/events?per_page=${count}`)).json.map(
    (event: { action_name: string; author_username: string; target_iid: number | null }) => [
      event.author_username,
      event.action_name,
      event.target_iid,
    ],
  );

describe("a push to the source branch", () => {
  it("makes a new version, and a note of its commits", async () => {
    const { branch, head, change, now, versions, notes, iid } = await newRequest();
    const second = await change({ "x<y>.txt": "1\n" }, "Compare x < y\n\nLonger");
    expect(await now()).toMatchObject({
      sha: second,
      diff_refs: { head_sha: second },
      changes_count: "2",
      merge_status: "can_be_merged",
    });
    expect(await versions()).toEqual([second, head]);
    expect(await notes()).toEqual([
      {
        body: expect.stringMatching(
          new RegExp(
            `^added 1 commit\n\n<ul><li>${second.slice(0, 8)} - Compare x &lt; y</li></ul>\n\n` +
              `\\[Compare with previous version\\]\\(/${project.fullPath}/-/merge_requests/${iid}/diffs\\?diff_id=\\d+&start_sha=${head}\\)$`,
          ),
        ),
        system: true,
        by: "maintainer",
      },
    ]);
    expect((await now()).user_notes_count).toBe(0);
    const commits = (await project.get(`/merge_requests/${iid}/commits`)).json;
    expect(commits.map(({ id }: { id: string }) => id)).toEqual([second, head]);
    expect((await project.get(`/repository/branches/${branch}`)).json.commit.id).toBe(second);
  });

  it("that replaces commits keeps the versions before", async () => {
    const { at, branch, head, versions } = await newRequest();
    const [{ id }] = (await project.get(`${at}/versions`)).json;
    const { json } = await reset(branch, { "anew.txt": "1\n" }, "main");
    expect(await versions()).toEqual([json.id, head]);
    await tidyUp();
    const before = (await project.get(`${at}/versions/${id}`)).json;
    expect(before.commits.map((commit: { id: string }) => commit.id)).toEqual([head]);
    expect(before.diffs).toEqual([expect.objectContaining({ new_path: `${branch}.txt` })]);
  });

  it.each(["fixup! That", "squash! That"])("with a commit %j makes it a draft", async (message) => {
    const { change, now, notes } = await newRequest();
    const id = await change({ "f.txt": message }, message);
    expect(await now()).toMatchObject({
      title: "Draft: A change",
      draft: true,
      detailed_merge_status: "draft_status",
    });
    expect((await notes()).at(-1)?.body).toBe(
      `marked this merge request as **draft** from ${id.slice(0, 8)}`,
    );
  });

  it("does nothing to those that are closed", async () => {
    const { at, head, change, now, versions } = await newRequest();
    await project.send("PUT", at, { state_event: "close" });
    const second = await change({ "x.txt": "1\n" });
    expect(await now()).toMatchObject({ state: "closed", sha: head });
    await project.send("PUT", at, { state_event: "reopen" });
    expect(await versions()).toEqual([second, head]);
  });

  it("closes it if the branch is deleted; it can't be reopened then", async () => {
    const { at, branch, now, iid } = await newRequest();
    await project.send("DELETE", `/repository/branches/${branch}`, {}, "maintainer");
    expect(await now()).toMatchObject({
      state: "closed",
      closed_by: { username: "maintainer" },
      changes_count: "1",
    });
    expect(await lastEvents(2)).toEqual([
      ["maintainer", "closed", iid],
      ["maintainer", "deleted", null],
    ]);
    const again = await project.send("PUT", at, { state_event: "reopen" });
    expect([again.status, again.json]).toEqual([
      400,
      { message: { source_branch: ["does not exist"] } },
    ]);
    await tidyUp();
    expect((await project.get(`${at}/changes`)).json.changes).toHaveLength(1);
  });
});

describe("a push to the target branch", () => {
  it("with the merge request's commits merges it", async () => {
    const target = await newTarget();
    const { at, branch, head, now, iid } = await newRequest({ target: target.branch });
    const other = await newRequest({ target: target.branch });
    // Another merge request makes the target have the commits: a merge commit, on which another commit follows.
    const merging = { start_branch: branch, force: true };
    const { json } = await project.send(
      "POST",
      "/repository/commits",
      {
        branch: target.branch,
        ...merging,
        commit_message: "After it",
        actions: [{ action: "create", file_path: "after.txt", content: "1\n" }],
      },
      "owner",
    );
    expect(json.parent_ids).toEqual([head]);
    expect(await now()).toMatchObject({
      state: "merged",
      merged_by: { username: "owner" },
      merge_user: { username: "owner" },
      merge_commit_sha: head,
      detailed_merge_status: "not_open",
    });
    expect((await other.now()).state).toBe("opened");
    expect(await lastEvents(2)).toEqual([
      ["owner", "accepted", iid],
      ["owner", "pushed", null],
    ]);
    const history = await project.get(`${at}/resource_state_events`);
    expect(history.json.map(({ state }: { state: string }) => state)).toEqual(["merged"]);
  });

  it("that replaces commits makes new versions", async () => {
    const target = await newTarget();
    const { start, versions, now } = await newRequest({ target: target.branch });
    expect(start).toBe(target.head);
    const { json } = await reset(target.branch, { "anew.txt": "1\n" }, "main");
    expect(await versions()).toHaveLength(2);
    expect((await now()).diff_refs).toMatchObject({ start_sha: json.id });
    expect((await now()).changes_count).toBe("2");
  });

  it("that adds commits changes no version", async () => {
    const target = await newTarget();
    const { versions, now, start } = await newRequest({ target: target.branch });
    await project.commit(target.branch, { "more.txt": "1\n" });
    expect(await versions()).toHaveLength(1);
    expect((await now()).diff_refs.start_sha).toBe(start);
  });
});

describe("a merge request from a fork", () => {
  let fork: CodeProject;
  beforeAll(async () => {
    const { json } = await app.call(`POST ${project.path}/fork`, { as: "developer" });
    fork = codeProject(app, json.id, json.path_with_namespace);
    await fork.send("DELETE", "/protected_branches/main");
  });

  it("follows pushes to the fork, and stays when the fork is deleted", async () => {
    const as = "developer";
    // The target has moved on since the fork was made.
    await project.commit("main", { "later.txt": "1\n" });
    const first = await fork.commit("f", { "f.txt": "1\n" }, { from: "main", as });
    const made = await fork.open("f", { target_project_id: project.id });
    expect(made).toMatchObject({
      project_id: project.id,
      source_project_id: fork.id,
      target_project_id: project.id,
      sha: first,
      changes_count: "1",
      merge_status: "can_be_merged",
    });
    const at = `/merge_requests/${made.iid}`;
    const second = await fork.commit("f", { "f.txt": "2\n", "g.txt": "1\n" }, { as });
    expect((await project.get(at)).json).toMatchObject({ sha: second, changes_count: "2" });
    const versions = (await project.get(`${at}/versions`)).json;
    expect(versions).toHaveLength(2);
    await fork.send("DELETE", "");
    await tidyUp();
    const left = (await project.get(`${at}/changes`)).json;
    expect(left).toMatchObject({ state: "closed", source_project_id: null, sha: second });
    expect(left.changes.map(({ new_path }: { new_path: string }) => new_path)).toEqual([
      "f.txt",
      "g.txt",
    ]);
  });
});

describe("what a client of Git sees", () => {
  it("are the heads of merge requests, but not what is kept of older versions", async () => {
    const { iid, change } = await newRequest();
    const head = await change({ "x.txt": "1\n" });
    const shown = async (service: string) => {
      const path = `http://pm.test/${project.fullPath}.git/info/refs?service=${service}`;
      const authorization = `Basic ${Buffer.from("any:token-of-maintainer").toString("base64")}`;
      return (await app.call(`GET ${path}`, { headers: { authorization } })).text;
    };
    const fetched = await shown("git-upload-pack");
    expect(fetched).toContain(`${head} refs/merge-requests/${iid}/head`);
    expect(fetched).not.toContain("refs/keep-around/");
    expect(await shown("git-receive-pack")).not.toContain("refs/merge-requests/");
  });
});
