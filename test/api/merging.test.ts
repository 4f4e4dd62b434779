import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { openWorkshop, type Workshop } from "./_git.ts";
import { type CodeProject, lines, newCodeProject } from "./_merge-requests.ts";

let app: TestApp;
let workshop: Workshop;
let project: CodeProject;
let branches = 0;

beforeAll(async () => {
  app = await testApp();
  workshop = await openWorkshop(app);
  project = await newCodeProject(app);
});
afterAll(async () => {
  await workshop.close();
  await app.dispose();
});

/** A merge request of a new branch with some commits, each of which adds a file. */
async function opened(json: object = {}, { commits = 1, at = project, from = "main" } = {}) {
  branches += 1;
  const source = `b${branches}`;
  const shas: string[] = [];
  for (let number = 1; number <= commits; number += 1) {
    const message = `Commit ${branches}.${number}`;
    const options = number === 1 ? { from, message } : { message };
    shas.push(await at.commit(source, { [`${source}-${number}.txt`]: "text\n" }, options));
  }
  const request = await at.open(source, json);
  return { ...request, source, shas, head: shas.at(-1) as string };
}

const merge = (iid: number, json: object = {}, as: Person = "maintainer", at = project) =>
  at.send("PUT", `/merge_requests/${iid}/merge`, json, as);

/** Merges what can be merged. */
async function merged(iid: number, json: object = {}, as?: Person, at = project) {
  const answer = await merge(iid, json, as, at);
  expect(answer.status, answer.text).toBe(200);
  return answer.json;
}

const commitOf = async (sha: string, at = project) =>
  (await at.get(`/repository/commits/${encodeURIComponent(sha)}`)).json;
const headOf = async (branch: string, at = project) =>
  (await at.get(`/repository/branches/${branch}`)).json.commit?.id as string | undefined;

const set = async (json: object, at = project) => {
  const answer = await app.call(`PUT ${at.path}`, { as: "owner", json });
  expect(answer.status, answer.text).toBe(200);
};

describe("a merge", () => {
  it("makes a merge commit", async () => {
    const before = await headOf("main");
    const { iid, source, head } = await opened({ title: "Add things" });
    const answer = await merged(iid);
    expect(answer).toMatchObject({
      state: "merged",
      merged_by: { username: "maintainer" },
      sha: head,
      squash_commit_sha: null,
      merge_error: null,
    });
    expect(answer.merged_at).toMatch(/^20/);
    const commit = await commitOf(answer.merge_commit_sha);
    expect(commit.parent_ids).toEqual([before, head]);
    expect(commit.message).toBe(
      `Merge branch '${source}' into 'main'\n\nAdd things\n\nSee merge request ${project.fullPath}!${iid}`,
    );
    expect([commit.author_name, commit.committer_name]).toEqual([
      "The maintainer",
      "The maintainer",
    ]);
    expect(await headOf("main")).toBe(answer.merge_commit_sha);
    expect(await headOf(source)).toBe(head);
    const events = await project.get("/events?per_page=2", "maintainer");
    expect(events.json.map((event: { action_name: string }) => event.action_name)).toEqual([
      "accepted",
      "pushed",
    ]);
    expect(events.json[1].push_data).toMatchObject({
      ref: "main",
      commit_from: before,
      commit_to: answer.merge_commit_sha,
      commit_count: 2,
    });
    const states = await project.get(`/merge_requests/${iid}/resource_state_events`);
    expect(states.json.map(({ state }: { state: string }) => state)).toEqual(["merged"]);
  });

  it("is refused if it is merged, closed or a draft", async () => {
    const { iid } = await opened();
    await merged(iid);
    const closed = await opened();
    await project.send("PUT", `/merge_requests/${closed.iid}`, { state_event: "close" });
    const draft = await opened({ title: "Draft: not yet" });
    for (const number of [iid, closed.iid, draft.iid]) {
      const answer = await merge(number);
      expect([answer.status, answer.json]).toEqual([405, { message: "405 Method Not Allowed" }]);
    }
  });

  it("is refused if the branch is for another commit than the client has seen", async () => {
    const { iid, head } = await opened();
    const answer = await merge(iid, { sha: "0".repeat(40) });
    expect([answer.status, answer.json.message]).toEqual([
      409,
      `SHA does not match HEAD of source branch: ${head}`,
    ]);
    expect((await merged(iid, { sha: head })).state).toBe("merged");
  });

  it("is for those who may merge or push to the branch", async () => {
    const { iid } = await opened();
    const canMerge = async (as: Person) =>
      (await project.get(`/merge_requests/${iid}`, as)).json.user.can_merge;
    expect([await canMerge("reporter"), await canMerge("developer")]).toEqual([false, true]);
    const guest = await merge(iid, {}, "reporter");
    expect([guest.status, guest.json]).toEqual([401, { message: "401 Unauthorized" }]);
    const protect = { name: "main", push_access_level: 40, merge_access_level: 40 };
    await project.send("POST", "/protected_branches", protect, "maintainer");
    expect((await merge(iid, {}, "developer")).status).toBe(401);
    expect([await canMerge("developer"), await canMerge("maintainer")]).toEqual([false, true]);
    await project.send("DELETE", "/protected_branches/main", {}, "maintainer");
    const all = { name: "ma*", push_access_level: 0, merge_access_level: 40 };
    await project.send("POST", "/protected_branches", all, "maintainer");
    expect([await canMerge("developer"), await canMerge("maintainer")]).toEqual([false, true]);
    await project.send("DELETE", "/protected_branches/ma*", {}, "maintainer");
    const developers = { name: "main", push_access_level: 0, merge_access_level: 30 };
    await project.send("POST", "/protected_branches", developers, "maintainer");
    expect(await canMerge("developer")).toBe(true);
    expect((await merged(iid, {}, "developer")).merged_by.username).toBe("developer");
    await project.send("DELETE", "/protected_branches/main", {}, "maintainer");
  });

  it("checks the right, the state, the branches and the sha in this order", async () => {
    const draft = await opened({ title: "Draft: not yet" });
    const wrong = { sha: "0".repeat(40) };
    expect((await merge(draft.iid, wrong, "reporter")).status).toBe(401);
    expect((await merge(draft.iid, wrong)).status).toBe(405);
    await project.commit("left", { "a.txt": lines(20, { 1: "left" }) }, { from: "main" });
    await project.commit("main", { "a.txt": lines(20, { 1: "right" }) });
    const { iid } = await project.open("left");
    const conflicting = await merge(iid, wrong);
    expect([conflicting.status, conflicting.json]).toEqual([
      406,
      { message: "Branch cannot be merged" },
    ]);
    expect((await merge(999_999, wrong)).status).toBe(404);
    const ref = await project.get(`/merge_requests/${iid}/merge_ref`);
    expect([ref.status, ref.json]).toEqual([400, { message: "Merge request is not mergeable" }]);
  });

  it("merges what both branches changed", async () => {
    await project.commit("main", { "both.txt": lines(20) });
    await project.commit("one", { "both.txt": lines(20, { 2: "one" }) }, { from: "main" });
    await project.commit("main", { "both.txt": lines(20, { 18: "main" }) });
    const { iid } = await project.open("one");
    await merged(iid);
    const file = await project.get("/repository/files/both.txt/raw?ref=main");
    expect(file.text).toBe(lines(20, { 2: "one", 18: "main" }));
  });
});

describe("messages", () => {
  it("are those of the request", async () => {
    const { iid } = await opened({}, { commits: 2 });
    const long = "x".repeat(14_000);
    const sent = {
      squash: true,
      merge_commit_message: `M ${long}`,
      squash_commit_message: "S\n\nMore",
    };
    const { merge_commit_sha, squash_commit_sha } = await merged(iid, sent);
    expect((await commitOf(merge_commit_sha)).message).toBe(`M ${long}`);
    expect((await commitOf(squash_commit_sha)).message).toBe("S\n\nMore");
  });

  it("are those of the project's templates", async () => {
    await set({
      merge_commit_template:
        "%{title} (%{local_reference})\n\n%{issues}\n\n%{all_commits}\n\n%{merged_by}",
      squash_commit_template: "%{source_branch}\n\n%{co_authored_by}",
    });
    const { iid, source, shas } = await opened({ title: "Much" }, { commits: 2 });
    expect(shas).toHaveLength(2);
    const { merge_commit_sha, squash_commit_sha } = await merged(iid, { squash: true });
    const [first, second] = [`* Commit ${branches}.1`, `* Commit ${branches}.2`];
    expect((await commitOf(merge_commit_sha)).message).toBe(
      `Much (!${iid})\n\n${second}\n\n${first}\n\nThe maintainer <maintainer@example.com>`,
    );
    expect((await commitOf(squash_commit_sha)).message).toBe(
      `${source}\n\nCo-authored-by: The maintainer <maintainer@example.com>`,
    );
    await set({ merge_commit_template: null, squash_commit_template: null });
  });

  it("can't become too long by a template that repeats a text: 400", async () => {
    await set({ merge_commit_template: "%{description}%{description}" });
    const { iid } = await opened({ description: "x".repeat(600_000) });
    const answer = await merge(iid);
    expect([answer.status, answer.json]).toEqual([
      400,
      { message: { merge_commit_message: ["is too long (maximum is 1048576 characters)"] } },
    ]);
    await merged(iid, { merge_commit_message: "Short" });
    await set({ merge_commit_template: null });
  });
});

describe("squashing", () => {
  it("makes one commit of all, by the author of the merge request", async () => {
    const before = await headOf("main");
    const { iid, source, head } = await opened({ title: "Two in one" }, { commits: 2 });
    const answer = await merged(iid, { squash: true });
    expect(answer).toMatchObject({ squash: true, sha: head });
    const squashed = await commitOf(answer.squash_commit_sha);
    expect(squashed).toMatchObject({
      parent_ids: [before],
      message: "Two in one",
      author_name: "The developer",
      committer_name: "The maintainer",
    });
    const commit = await commitOf(answer.merge_commit_sha);
    expect(commit.parent_ids).toEqual([before, squashed.id]);
    const files = await project.get(`/repository/tree?ref=main&per_page=100`);
    const names = files.json.map(({ name }: { name: string }) => name);
    expect(names).toEqual(expect.arrayContaining([`${source}-1.txt`, `${source}-2.txt`]));
  });

  it("is what the merge request asks for, unless the merger says otherwise", async () => {
    const one = await opened({ squash: true }, { commits: 2 });
    expect((await merged(one.iid)).squash_commit_sha).toMatch(/^[0-9a-f]{40}$/);
    const other = await opened({ squash: true }, { commits: 2 });
    expect(await merged(other.iid, { squash: false })).toMatchObject({
      squash: false,
      squash_commit_sha: null,
    });
  });

  it("leaves a single commit with the same message alone", async () => {
    const { iid, head } = await opened();
    const message = `Commit ${branches}.1`;
    const answer = await merged(iid, { squash: true, squash_commit_message: message });
    expect(answer.squash_commit_sha).toBe(head);
  });
});

describe("the source branch", () => {
  it("hands the merge requests into it to its target branch if it is deleted, except doubles", async () => {
    const first = await opened();
    const second = await opened({ target_branch: first.source }, { from: first.source });
    const double = await opened({ target_branch: first.source }, { from: first.source });
    await project.open(double.source);
    await merged(first.iid, { should_remove_source_branch: true });
    const target = async (iid: number) =>
      (await project.get(`/merge_requests/${iid}`)).json.target_branch;
    expect([await target(second.iid), await target(double.iid)]).toEqual(["main", first.source]);
    const { json: notes } = await project.get(`/merge_requests/${second.iid}/notes`);
    expect(notes[0].body).toBe(`changed target branch from \`${first.source}\` to \`main\``);
    const { json: request } = await project.get(`/merge_requests/${second.iid}`);
    expect(request.diff_refs.start_sha).toBe(await headOf("main"));
    const { json: commits } = await project.get(`/merge_requests/${second.iid}/commits`);
    expect(commits.map(({ id }: { id: string }) => id)).toEqual([second.head]);
    expect((await merged(second.iid)).state).toBe("merged");
  });

  it("is deleted if the merger or the merge request asks for it", async () => {
    const asked = await opened();
    await merged(asked.iid, { should_remove_source_branch: true });
    const wanted = await opened({ remove_source_branch: true });
    await merged(wanted.iid);
    for (const { source } of [asked, wanted]) {
      expect((await project.get(`/repository/branches/${source}`)).status).toBe(404);
    }
    const kept = await opened({ remove_source_branch: true });
    const answer = await merged(kept.iid, { should_remove_source_branch: false });
    expect(answer.should_remove_source_branch).toBe(false);
    expect(await headOf(kept.source)).toBe(kept.head);
    const [event] = (
      await project.get("/events?action=pushed&per_page=50", "maintainer")
    ).json.filter(
      (one: { push_data: { ref: string; action: string } }) =>
        one.push_data.ref === asked.source && one.push_data.action === "removed",
    );
    expect(event.author_username).toBe("maintainer");
  });

  it("stays if it is protected", async () => {
    const { iid, source, head } = await opened();
    await project.send("POST", "/protected_branches", { name: source }, "maintainer");
    await merged(iid, { should_remove_source_branch: true });
    expect(await headOf(source)).toBe(head);
  });

  it("stays if it is the default branch", async () => {
    await project.commit("release", { "release.txt": "1\n" }, { from: "main" });
    await project.commit("main", { "later.txt": "1\n" });
    const { iid } = await project.open("main", { target_branch: "release" });
    const answer = await merged(iid, { should_remove_source_branch: true });
    expect(await headOf("release")).toBe(answer.merge_commit_sha);
    expect(await headOf("main")).toBe(answer.sha);
  });

  it("is deleted by default if the project wants that", async () => {
    await set({ remove_source_branch_after_merge: true });
    const removed = await opened();
    const kept = await opened({ remove_source_branch: false });
    await set({ remove_source_branch_after_merge: false });
    expect([removed, kept].map((one) => one.force_remove_source_branch)).toEqual([true, false]);
    for (const { iid } of [removed, kept]) await merged(iid);
    expect(await headOf(removed.source)).toBeUndefined();
    expect(await headOf(kept.source)).toBe(kept.head);
  });

  it("may be in a fork", async () => {
    const forked = await project.send("POST", "/fork", { path: "fork-to-merge" }, "maintainer");
    const fork = `/projects/${forked.json.id}`;
    const add = async (branch: string) => {
      const actions = [{ action: "create", file_path: `${branch}.txt`, content: "x\n" }];
      const json = { branch, start_branch: "main", commit_message: "From a fork", actions };
      const made = await app.call(`POST ${fork}/repository/commits`, { as: "maintainer", json });
      expect(made.status, made.text).toBe(201);
      const request = await app.call(`POST ${fork}/merge_requests`, {
        as: "maintainer",
        json: {
          title: "Fork",
          source_branch: branch,
          target_branch: "main",
          target_project_id: project.id,
        },
      });
      expect(request.status, request.text).toBe(201);
      return { iid: request.json.iid, sha: made.json.id };
    };
    const kept = await add("forked-1");
    const answer = await merged(kept.iid, {});
    expect((await commitOf(answer.merge_commit_sha)).parent_ids[1]).toBe(kept.sha);
    const removed = await add("forked-2");
    await merged(removed.iid, { should_remove_source_branch: true });
    const foreign = await add("forked-3");
    await merged(foreign.iid, { should_remove_source_branch: true }, "owner");
    const statuses = await Promise.all(
      ["forked-1", "forked-2", "forked-3"].map((name) =>
        app.call(`GET ${fork}/repository/branches/${name}`, { as: "maintainer" }),
      ),
    );
    // The group's owner has no role in the fork.
    expect(statuses.map(({ status }) => status)).toEqual([200, 404, 200]);
    const { git, url } = workshop;
    await git("", "clone", "--quiet", "--mirror", url(project.fullPath, "owner"), "with-fork.git");
    await git("with-fork.git", "fsck", "--full", "--strict");
  });
});

describe("the squash option of a project", () => {
  it.each([
    ["never", false, true, false],
    ["default_off", false, true, true],
    ["default_on", true, true, true],
    ["default_on", true, false, false],
    ["always", true, false, true],
  ])(
    "%s: new merge requests have %s; with %s, the commits are squashed: %s",
    async (squash_option, fresh, asked, squashed) => {
      await set({ squash_option });
      const { iid, squash } = await opened({}, { commits: 2 });
      expect(squash).toBe(fresh);
      const { squash_commit_sha } = await merged(iid, { squash: asked });
      expect(squash_commit_sha !== null).toBe(squashed);
      await set({ squash_option: "default_off" });
    },
  );

  it("is one of four: 400", async () => {
    const answer = await app.call(`PUT ${project.path}`, {
      as: "owner",
      json: { squash_option: "no" },
    });
    expect(answer.status).toBe(400);
  });
});

describe("merge methods", () => {
  it("fast-forward moves the branch, if it can", async () => {
    await set({ merge_method: "ff" });
    const one = await opened();
    const two = await opened();
    const answer = await merged(one.iid);
    expect(answer).toMatchObject({ merge_commit_sha: null, squash_commit_sha: null });
    expect(await headOf("main")).toBe(one.head);
    const { json } = await project.get(`/merge_requests/${two.iid}`);
    expect(json.detailed_merge_status).toBe("need_rebase");
    expect((await merge(two.iid)).status).toBe(406);
    const squashed = await opened({}, { commits: 2 });
    const { squash_commit_sha } = await merged(squashed.iid, { squash: true });
    expect((await commitOf(squash_commit_sha)).parent_ids).toEqual([one.head]);
    expect(await headOf("main")).toBe(squash_commit_sha);
    await set({ merge_method: "merge" });
    expect((await merged(two.iid)).merge_commit_sha).toMatch(/^[0-9a-f]{40}$/);
  });

  it("semi-linear history makes merge commits of branches that could be moved to", async () => {
    await set({ merge_method: "rebase_merge" });
    const [one, two] = [await opened(), await opened()];
    const before = await headOf("main");
    const { merge_commit_sha } = await merged(one.iid);
    expect((await commitOf(merge_commit_sha)).parent_ids).toEqual([before, one.head]);
    expect((await merge(two.iid)).status).toBe(406);
    await set({ merge_method: "merge" });
  });
});

describe("rebasing", () => {
  const rebase = (iid: number, as: Person = "developer") =>
    project.send("PUT", `/merge_requests/${iid}/rebase`, {}, as);

  it("puts the branch on top of its target, which can then be moved to it", async () => {
    await set({ merge_method: "ff" });
    const { iid, source, head } = await opened({}, { commits: 2 });
    const main = await project.commit("main", { [`main-${branches}`]: "x\n" });
    const answer = await rebase(iid);
    expect([answer.status, answer.json]).toEqual([202, { rebase_in_progress: true }]);
    const { json } = await project.get(
      `/merge_requests/${iid}?include_rebase_in_progress=true&include_diverged_commits_count=true`,
    );
    expect(json).toMatchObject({ merge_error: null, detailed_merge_status: "mergeable" });
    expect(json.sha).not.toBe(head);
    const rebased = await commitOf(json.sha);
    expect(rebased).toMatchObject({
      message: `Commit ${branches}.2`,
      author_name: "The maintainer",
      committer_name: "The developer",
    });
    expect((await commitOf(rebased.parent_ids[0])).parent_ids).toEqual([main]);
    expect(await headOf(source)).toBe(json.sha);
    await merged(iid);
    expect(await headOf("main")).toBe(json.sha);
    await set({ merge_method: "merge" });
  });

  it("changes nothing if the branch is there already", async () => {
    const { iid, head, source } = await opened();
    expect((await rebase(iid)).status).toBe(202);
    expect(await headOf(source)).toBe(head);
  });

  it("notes conflicts, until it succeeds", async () => {
    branches += 1;
    const source = `conflicting-${branches}`;
    await project.commit("main", { "c.txt": lines(9) });
    const head = await project.commit(source, { "c.txt": lines(9, { 1: "a" }) }, { from: "main" });
    await project.commit("main", { "c.txt": lines(9, { 1: "b" }) });
    const { iid } = await project.open(source);
    expect((await rebase(iid)).status).toBe(202);
    const errorOf = async () => (await project.get(`/merge_requests/${iid}`)).json.merge_error;
    expect(await errorOf()).toBe(
      "Rebase failed: Rebase locally, resolve all conflicts, then push the branch.",
    );
    expect(await headOf(source)).toBe(head);
    await project.commit("main", { "c.txt": lines(9) });
    expect((await rebase(iid)).status).toBe(202);
    expect(await errorOf()).toBe(null);
  });

  it("is refused to those who may not replace the branch", async () => {
    const { iid, source } = await opened();
    expect((await rebase(iid, "guest")).status).toBe(403);
    const reporter = await rebase(iid, "reporter");
    expect([reporter.status, reporter.json.message]).toEqual([
      403,
      "403 Forbidden - Cannot push to source branch",
    ]);
    await project.send("POST", "/protected_branches", { name: source }, "maintainer");
    const forced = await rebase(iid, "maintainer");
    expect([forced.status, forced.json.message]).toEqual([
      403,
      "403 Forbidden - Source branch is protected from force push",
    ]);
    await project.send("DELETE", `/protected_branches/${source}`, {}, "maintainer");
    await project.send("PUT", `/merge_requests/${iid}`, { state_event: "close" });
    expect((await rebase(iid)).status).toBe(409);
    await project.send("DELETE", `/repository/branches/${source}`);
    const missing = await rebase(iid);
    expect([missing.status, missing.json.message]).toEqual([
      403,
      "403 Forbidden - Source branch does not exist",
    ]);
  });

  it("works in forks, onto what their source has by now", async () => {
    const forked = await project.send("POST", "/fork", { path: "fork-to-rebase" }, "developer");
    const fork = `/projects/${forked.json.id}`;
    const json = {
      branch: "topic",
      start_branch: "main",
      commit_message: "From a fork",
      actions: [{ action: "create", file_path: "topic.txt", content: "x\n" }],
    };
    await app.call(`POST ${fork}/repository/commits`, { as: "developer", json });
    const main = await project.commit("main", { "after-fork.txt": "x\n" });
    const request = await app.call(`POST ${fork}/merge_requests`, {
      as: "developer",
      json: {
        title: "Fork",
        source_branch: "topic",
        target_branch: "main",
        target_project_id: project.id,
      },
    });
    expect(request.status, request.text).toBe(201);
    expect((await rebase(request.json.iid)).status).toBe(202);
    const { json: branch } = await app.call(`GET ${fork}/repository/branches/topic`, {
      as: "developer",
    });
    expect(branch.commit.parent_ids).toEqual([main]);
    const { json: shown } = await project.get(`/merge_requests/${request.json.iid}`);
    expect(shown.sha).toBe(branch.commit.id);
    const { git, url } = workshop;
    await git(
      "",
      "clone",
      "--quiet",
      "--mirror",
      url(forked.json.path_with_namespace, "developer"),
      "rebased.git",
    );
    await git("rebased.git", "fsck", "--full", "--strict");
    await merged(request.json.iid);
  });
});

it("merge_ref is the commit that merging would make, which can be fetched", async () => {
  const { iid, head } = await opened();
  const main = await headOf("main");
  const refOf = async () => {
    const answer = await project.get(`/merge_requests/${iid}/merge_ref`);
    expect(answer.status, answer.text).toBe(200);
    return answer.json.commit_id as string;
  };
  const id = await refOf();
  expect((await commitOf(id)).parent_ids).toEqual([main, head]);
  expect(await refOf()).toBe(id);
  expect(await headOf("main")).toBe(main);
  const { git, url } = workshop;
  const address = url(project.fullPath, "developer");
  expect(await git("", "ls-remote", address, `refs/merge-requests/${iid}/merge`)).toContain(id);
  const next = await project.commit("main", { [`ref-${iid}`]: "x\n" });
  expect((await commitOf(await refOf())).parent_ids).toEqual([next, head]);
  expect((await app.call(`GET ${project.path}/merge_requests/${iid}/merge_ref`)).status).toBe(401);
  await merged(iid);
  expect((await project.get(`/merge_requests/${iid}/merge_ref`)).status).toBe(400);
});

describe("issues", () => {
  const newIssue = async () => {
    const { json } = await project.send("POST", "/issues", { title: "Broken" });
    return json.iid as number;
  };
  const issue = async (iid: number) => (await project.get(`/issues/${iid}`)).json;

  it("that a merge request says it closes are closed when it is merged", async () => {
    const [one, two] = [await newIssue(), await newIssue()];
    const { iid } = await opened({ title: `Fix #${one}`, description: `Closes #${two}` });
    expect((await issue(one)).state).toBe("opened");
    const { merge_commit_sha } = await merged(iid);
    for (const number of [one, two]) {
      expect(await issue(number)).toMatchObject({
        state: "closed",
        closed_by: { username: "maintainer" },
      });
    }
    const { json } = await project.get(`/issues/${one}/resource_state_events`);
    const { json: request } = await project.get(`/merge_requests/${iid}`);
    expect(json).toMatchObject([
      { state: "closed", source_commit: null, source_merge_request_id: request.id },
    ]);
    expect((await commitOf(merge_commit_sha)).message).toContain(
      `\n\nCloses #${one} and #${two}\n\n`,
    );
  });

  it("stay open if only the message of the merge says so", async () => {
    const iid = await newIssue();
    const request = await opened();
    await merged(request.iid, { merge_commit_message: `Closes #${iid}` });
    expect((await issue(iid)).state).toBe("opened");
  });

  it("stay open if it goes into another branch", async () => {
    const iid = await newIssue();
    await project.commit("other", { "other.txt": "x\n" }, { from: "main" });
    const request = await opened({ description: `Closes #${iid}`, target_branch: "other" });
    await merged(request.iid);
    expect((await issue(iid)).state).toBe("opened");
  });

  it("are named by its commits, too, also after pushes", async () => {
    const [one, two] = [await newIssue(), await newIssue()];
    branches += 1;
    const source = `closing-${branches}`;
    await project.commit(
      source,
      { [`${source}.txt`]: "1\n" },
      { from: "main", message: `Fixes #${one}` },
    );
    const { iid } = await project.open(source);
    const closes = async () =>
      (await project.get(`/merge_requests/${iid}/closes_issues`)).json.map(
        (one: { iid: number }) => one.iid,
      );
    expect(await closes()).toEqual([one]);
    await project.commit(source, { [`${source}.txt`]: "2\n" }, { message: `Fixes #${two}` });
    expect(await closes()).toEqual([one, two]);
    const closing = await project.get(`/issues/${two}/closed_by`);
    expect(closing.json.map((one: { iid: number }) => one.iid)).toEqual([iid]);
    expect((await issue(two)).merge_requests_count).toBe(1);
    await project.send("PUT", `/merge_requests/${iid}`, { description: "Nothing" });
    expect(await closes()).toEqual([one, two]);
    await merged(iid, { squash: true, squash_commit_message: "S", merge_commit_message: "M" });
    expect([(await issue(one)).state, (await issue(two)).state]).toEqual(["closed", "closed"]);
  });
});

describe("merging when the pipeline succeeds", () => {
  it("merges at once what can be merged", async () => {
    const { iid } = await opened();
    expect((await merged(iid, { merge_when_pipeline_succeeds: true })).state).toBe("merged");
    const other = await opened();
    expect((await merged(other.iid, { auto_merge: true })).state).toBe("merged");
  });

  it("is noted for what is not ready, and can be cancelled by those who may merge, and the author", async () => {
    const { iid } = await opened({ title: "Draft: soon" });
    const noted = await merged(iid, { merge_when_pipeline_succeeds: true });
    expect(noted).toMatchObject({ state: "opened", merge_when_pipeline_succeeds: true });
    const cancel = (as: Person) =>
      project.send("POST", `/merge_requests/${iid}/cancel_merge_when_pipeline_succeeds`, {}, as);
    expect((await cancel("reporter")).status).toBe(401);
    for (const person of ["developer", "maintainer"] as const) {
      const answer = await cancel(person);
      expect([answer.status, answer.json]).toEqual([201, { status: "success" }]);
    }
    const { json } = await project.get(`/merge_requests/${iid}`);
    expect(json.merge_when_pipeline_succeeds).toBe(false);
  });

  it("tells the author when a push to the target makes conflicts, once", async () => {
    await project.commit("waits", { "waits.txt": "theirs\n" }, { from: "main" });
    const waiting = await project.open("waits", { title: "Draft: wait" });
    await merged(waiting.iid, { auto_merge: true });
    await project.commit("waits-not", { "waits.txt": "theirs, too\n" }, { from: "main" });
    const other = await project.open("waits-not", { title: "Draft: do not wait" });
    const told = async () => {
      const { json } = await app.call("GET /todos?action=unmergeable", { as: "developer" });
      return json.map(({ target }: { target: { id: number } }) => target.id);
    };
    await project.commit("main", { "unrelated.txt": "1\n" });
    expect(await told()).toEqual([]);
    await project.commit("main", { "waits.txt": "ours\n" });
    expect(await told()).toEqual([waiting.id]);
    await project.commit("main", { "waits.txt": "still ours\n" });
    expect(await told()).toEqual([waiting.id]);
    const { json } = await project.get(`/merge_requests/${other.iid}`);
    expect(json.has_conflicts).toBe(true);
  });
});

describe("picks of a merged merge request", () => {
  it("are made of its merge commit, and name it", async () => {
    const { iid, shas } = await opened({ title: "Both" }, { commits: 2 });
    const { merge_commit_sha: id } = await merged(iid);
    const post = (what: string, branch: string) =>
      project.send("POST", `/repository/commits/${id}/${what}`, { branch }, "maintainer");
    const reverted = await post("revert", "main");
    expect(reverted.status, reverted.text).toBe(201);
    const { title } = await commitOf(id);
    expect(reverted.json.message).toBe(`Revert "${title}"\n\nThis reverts merge request !${iid}`);
    const picked = await post("cherry_pick", "main");
    expect(picked.status, picked.text).toBe(201);
    expect(picked.json.message).toContain(
      `(cherry picked from commit ${id})\n\n${shas[0]?.slice(0, 8)} Commit ${branches}.1\n` +
        `${shas[1]?.slice(0, 8)} Commit ${branches}.2\n\nCo-authored-by: `,
    );
  });
});

it("merges and pushes at the same time lose nothing", async () => {
  const at = await newCodeProject(app);
  const requests = [];
  for (let number = 0; number < 12; number += 1) requests.push(await opened({}, { at }));
  const pushes = Array.from({ length: 8 }, (_, number) =>
    app.call(`POST ${at.path}/repository/commits`, {
      as: "maintainer",
      json: {
        branch: "main",
        commit_message: "Push",
        actions: [{ action: "create", file_path: `pushed-${number}.txt`, content: "x\n" }],
      },
    }),
  );
  const merges = requests.map(({ iid }) => merge(iid, {}, "maintainer", at));
  for (const { status, text } of await Promise.all([...pushes, ...merges])) {
    expect([200, 201], text).toContain(status);
  }
  const { json } = await at.get("/repository/tree?ref=main&per_page=100");
  expect(json).toHaveLength(1 + 12 + 8);
  const commits = await at.get("/repository/commits?ref_name=main&per_page=100");
  expect(commits.json).toHaveLength(1 + 2 * 12 + 8);
});
