import { expect, it } from "vitest";
import type { Seed } from "../../src/testing.ts";
import { refusal, serving, users } from "./gitbeaker.ts";

const seed: Seed = {
  users,
  groups: [
    {
      path: "acme",
      members: { ann: "owner", bob: "developer" },
      projects: [{ path: "site" }],
    },
  ],
};

const SITE = "acme/site";

const { ann: gitlab, bob } = await serving(seed, 20);

it("files are created, shown, changed and removed", async () => {
  const files = gitlab.RepositoryFiles;
  const path = "docs/a b.md";
  const made = await files.create(SITE, path, "main", "# Hi\n", "Add a page");
  expect(made).toEqual({ file_path: path, branch: "main" });
  const shown = await files.show(SITE, path, "main");
  expect(shown).toMatchObject({ file_name: "a b.md", file_path: path, ref: "main", size: 5 });
  expect(Buffer.from(shown.content, "base64").toString()).toBe("# Hi\n");
  const content = Buffer.from([0, 1, 2, 255]).toString("base64");
  const options = { encoding: "base64", lastCommitId: shown.last_commit_id, authorName: "Ada" };
  await files.edit(SITE, path, "main", content, "Change it", options);
  const changed = await files.show(SITE, path, "main");
  expect(changed.content).toBe(content);
  expect((await gitlab.Commits.show(SITE, "main")).author_name).toBe("Ada");
  expect(await refusal(files.edit(SITE, path, "main", "", "Again", options))).toEqual([
    400,
    expect.stringContaining("has changed since you started editing it"),
  ]);
  await files.create(SITE, "raw.txt", "main", "as it is", "Add a text");
  const raw = await files.showRaw(SITE, "raw.txt", "main");
  expect(raw instanceof Blob ? await raw.text() : raw).toBe("as it is");
  await files.remove(SITE, path, "main", "Remove it");
  expect((await refusal(files.show(SITE, path, "main")))[0]).toBe(404);
});

it("a commit makes several changes", async () => {
  const actions = [
    { action: "create" as const, filePath: "a.txt", content: "a\n" },
    { action: "create" as const, filePath: "b.txt", content: "Yg==", encoding: "base64" },
  ];
  const commit = await gitlab.Commits.create(SITE, "main", "Both", actions);
  expect(commit).toMatchObject({ title: "Both", parent_ids: [] });
  const moved = await gitlab.Commits.create(
    SITE,
    "topic",
    "Move one",
    [{ action: "move", previousPath: "a.txt", filePath: "c.txt" }],
    { startBranch: "main" },
  );
  expect(moved.parent_ids).toEqual([commit.id]);
  const tree = await gitlab.Repositories.allRepositoryTrees(SITE, { ref: "topic" });
  expect(tree.map(({ path }) => path)).toEqual(["b.txt", "c.txt"]);
});

it("branches and tags are created and removed", async () => {
  await gitlab.RepositoryFiles.create(SITE, "a", "main", "", "First");
  const branch = await bob.Branches.create(SITE, "feature/one", "main");
  expect(branch).toMatchObject({ name: "feature/one", merged: false, default: false });
  await bob.Branches.remove(SITE, "feature/one");
  expect((await refusal(bob.Branches.show(SITE, "feature/one")))[0]).toBe(404);
  await gitlab.Branches.removeMerged(SITE);
  const tag = await bob.Tags.create(SITE, "v1.0", "main", { message: "One" });
  expect(tag).toMatchObject({ name: "v1.0", message: "One", commit: { id: branch.commit.id } });
  await bob.Tags.remove(SITE, "v1.0");
  expect((await refusal(bob.Tags.show(SITE, "v1.0")))[0]).toBe(404);
});

it("a project begins with a README", async () => {
  const project = await gitlab.Projects.create({ name: "Begun", initializeWithReadme: true });
  expect(project).toMatchObject({ default_branch: "main", empty_repo: false });
  expect(project.readme_url).toMatch(/\/-\/blob\/main\/README\.md$/);
});

it("changed lines are discussed, in drafts, too", async () => {
  const text = (line: string) => `one\n${line}\nthree\n`;
  await gitlab.RepositoryFiles.create(SITE, "a", "main", text("two"), "First");
  const options = { startBranch: "main" };
  const head = await gitlab.Commits.create(
    SITE,
    "lines",
    "Second",
    [{ action: "update", filePath: "a", content: text("zwei") }],
    options,
  );
  const request = await gitlab.MergeRequests.create(SITE, "lines", "main", "Lines");
  const { base_sha, start_sha, head_sha } = request.diff_refs;
  const position = {
    baseSha: base_sha,
    startSha: start_sha,
    headSha: head_sha,
    oldPath: "a",
    newPath: "a",
    positionType: "text" as const,
    newLine: "2",
  };
  const shown = { head_sha: head.id, new_path: "a", new_line: 2, old_line: null };
  const begun = await bob.MergeRequestDiscussions.create(SITE, request.iid, "Why?", { position });
  expect(begun.notes).toMatchObject([{ type: "DiffNote", position: shown }]);
  const wrong = { position: { ...position, newLine: "3" } };
  expect(
    await refusal(bob.MergeRequestDiscussions.create(SITE, request.iid, "Why?", wrong)),
  ).toEqual([
    400,
    '400 Bad request - Note {:line_code=>["can\'t be blank", "must be a valid line code"]}',
  ]);

  const drafts = gitlab.MergeRequestDraftNotes;
  const draft = await drafts.create(SITE, request.iid, "Because", {
    // Its types say that ids of discussions are numbers.
    inReplyToDiscussionId: begun.id as unknown as number,
    resolveDiscussion: true,
  });
  expect(await drafts.all(SITE, request.iid)).toEqual([draft]);
  expect(await bob.MergeRequestDraftNotes.all(SITE, request.iid)).toEqual([]);
  await drafts.publishBulk(SITE, request.iid);
  const found = await gitlab.MergeRequestDiscussions.show(SITE, request.iid, begun.id);
  expect(found.notes).toMatchObject([{ resolved: true }, { body: "Because", type: "DiffNote" }]);

  const onCommit = await bob.CommitDiscussions.create(SITE, head.id, "Here?", { position });
  expect(onCommit.notes).toMatchObject([{ noteable_type: "Commit", position: shown }]);
  await gitlab.CommitDiscussions.addNote(SITE, head.id, onCommit.id, "Here");
  const listed = await bob.CommitDiscussions.all(SITE, head.id);
  expect(listed).toMatchObject([{ notes: [{ body: "Here?" }, { body: "Here" }] }]);
});
