import { expect, it } from "vitest";
import type { Seed } from "../../src/testing.ts";
import { refusal, serving, users } from "./gitbeaker.ts";

const seed: Seed = {
  users,
  groups: [
    {
      path: "acme",
      members: { root: "owner", ann: "maintainer", bob: "developer" },
      projects: [{ path: "site" }],
    },
  ],
};

const SITE = "acme/site";

const { root, ann, bob } = await serving(seed, 20);

const create = (filePath: string, content: string) => ({
  action: "create" as const,
  filePath,
  content,
});

/** Commits the beginning of the project. */
async function begin(files: Record<string, string>): Promise<void> {
  const actions = Object.entries(files).map(([path, content]) => create(path, content));
  await ann.Commits.create(SITE, "main", "Begin", actions);
}

it("a bot comments on what a merge request changes, as danger does", async () => {
  await begin({ "a.txt": "a\n" });
  const { id: bot } = await root.Users.showCurrentUser();
  const add = [create("b.txt", "b\n")];
  await bob.Commits.create(SITE, "work", "Add b", add, { startBranch: "main" });
  const made = await bob.MergeRequests.create(SITE, "work", "main", "Add b", {
    reviewerIds: [bot],
  });
  const { iid } = made;
  expect(made.reviewers).toMatchObject([{ username: "root" }]);
  // What danger reads before it judges.
  const shown = await root.MergeRequests.show(SITE, iid);
  expect(shown.diff_refs).toEqual({
    base_sha: expect.any(String),
    head_sha: shown.sha,
    start_sha: expect.any(String),
  });
  const approvals = await root.MergeRequestApprovals.showConfiguration(SITE, {
    mergerequestIId: iid,
  });
  expect(approvals).toMatchObject({ approved: true, approved_by: [], user_can_approve: true });
  const changes = await root.MergeRequests.allDiffs(SITE, iid);
  expect(changes.map(({ new_path }) => new_path)).toEqual(["b.txt"]);
  const commits = await root.MergeRequests.allCommits(SITE, iid);
  expect(commits.map(({ title }) => title)).toEqual(["Add b"]);
  const { content } = await root.RepositoryFiles.show(SITE, "b.txt", shown.sha);
  expect(Buffer.from(content, "base64").toString()).toBe("b\n");
  // It keeps one note up to date.
  const note = await root.MergeRequestNotes.create(SITE, iid, "One warning");
  await root.MergeRequestNotes.edit(SITE, iid, note.id, { body: "No warnings" });
  const notes = await bob.MergeRequestNotes.all(SITE, iid);
  expect(notes.filter(({ system }) => !system).map(({ body }) => body)).toEqual(["No warnings"]);
  await root.MergeRequestNotes.remove(SITE, iid, note.id);
});

it("a bot proposes updates and merges them once they are approved, as renovate does", async () => {
  await begin({ "package.json": '{"a":1}\n' });
  const project = await root.Projects.show(SITE);
  expect(project).toMatchObject({ default_branch: "main", empty_repo: false, archived: false });
  const rule = await ann.MergeRequestApprovals.createApprovalRule(SITE, "maintainers", 1, {
    usernames: ["ann"],
  });
  expect(rule).toMatchObject({ rule_type: "regular", approvals_required: 1 });
  const update = { action: "update" as const, filePath: "package.json", content: '{"a":2}\n' };
  const branch = "renovate/a-2.x";
  await root.Commits.create(SITE, branch, "Update a to v2", [update], { startBranch: "main" });
  const { iid } = await root.MergeRequests.create(SITE, branch, "main", "Update a to v2", {
    removeSourceBranch: true,
    squash: true,
  });
  // It asks for its own branch before it opens a second one.
  const open = await root.MergeRequests.all({
    projectId: SITE,
    state: "opened",
    sourceBranch: branch,
  });
  expect(open.map((one) => one.iid)).toEqual([iid]);
  const status = async () => (await root.MergeRequests.show(SITE, iid))["detailed_merge_status"];
  expect(await status()).toBe("not_approved");
  expect((await refusal(root.MergeRequests.merge(SITE, iid)))[0]).toBe(405);
  const approved = await ann.MergeRequestApprovals.approve(SITE, iid);
  expect(approved).toMatchObject({ approved: true, approvals_left: 0, user_has_approved: true });
  // A newer version replaces the commit, and the approval is about the older one.
  const newer = { ...update, content: '{"a":3}\n' };
  await root.Commits.create(SITE, branch, "Update a to v3", [newer]);
  expect(await status()).toBe("not_approved");
  const { sha } = await root.MergeRequests.show(SITE, iid);
  expect(
    (await refusal(ann.MergeRequestApprovals.approve(SITE, iid, { sha: "0".repeat(40) })))[0],
  ).toBe(409);
  await ann.MergeRequestApprovals.approve(SITE, iid, { sha });
  const state = await bob.MergeRequestApprovals.showApprovalState(SITE, iid);
  expect(state.rules.map((one) => [one.name, one.approved])).toEqual([["maintainers", true]]);
  const merged = await root.MergeRequests.merge(SITE, iid, { shouldRemoveSourceBranch: true });
  expect(merged.state).toBe("merged");
  const { content } = await bob.RepositoryFiles.show(SITE, "package.json", "main");
  expect(Buffer.from(content, "base64").toString()).toBe('{"a":3}\n');
  expect((await refusal(root.Branches.show(SITE, branch)))[0]).toBe(404);
});

it("a team reviews each other's work", async () => {
  await begin({ CODEOWNERS: "[Docs]\n/docs/ @ann\n", "a.txt": "1\n" });
  await root.ProtectedBranches.unprotect(SITE, "main");
  await root.ProtectedBranches.protect(SITE, "main", { codeOwnerApprovalRequired: true });
  const people = { ann: ann, root: root };
  const numbers: number[] = [];
  for (const [at, folder] of ["docs", "src"].entries()) {
    const branch = `work-${at}`;
    const actions = [create(`${folder}/new.txt`, `${at}\n`)];
    await bob.Commits.create(SITE, branch, `Add ${folder}`, actions, { startBranch: "main" });
    const { id } = await people.ann.Users.showCurrentUser();
    const { iid } = await bob.MergeRequests.create(SITE, branch, "main", `Add ${folder}`, {
      reviewerIds: [id],
    });
    numbers.push(iid);
  }
  const [docs, src] = numbers as [number, number];
  const todos = await ann.TodoLists.all({ action: "review_requested" as never });
  expect(todos.map(({ target }) => target["iid"]).sort()).toEqual([docs, src]);
  const status = async (iid: number) =>
    (await bob.MergeRequests.show(SITE, iid))["detailed_merge_status"];
  // Only the documentation has an owner.
  expect([await status(docs), await status(src)]).toEqual(["not_approved", "mergeable"]);
  await people.root.MergeRequestApprovals.approve(SITE, docs);
  expect(await status(docs)).toBe("not_approved");
  await ann.MergeRequestApprovals.approve(SITE, docs);
  expect(await status(docs)).toBe("mergeable");
  // Both are merged at the same time.
  const merged = await Promise.all([docs, src].map((iid) => ann.MergeRequests.merge(SITE, iid)));
  expect(merged.map(({ state }) => state)).toEqual(["merged", "merged"]);
  const tree = await bob.Repositories.allRepositoryTrees(SITE, { ref: "main" });
  expect(tree.map(({ path }) => path)).toEqual(["docs", "src", "CODEOWNERS", "a.txt"]);
  const events = await bob.Events.all({ projectId: SITE, action: "approved" as never });
  expect(events.map((event) => event.author_username).sort()).toEqual(["ann", "root"]);
});
