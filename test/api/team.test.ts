// A day of a team: three people work on a private project at the same time, with Git and three client libraries:
// gitbeaker, node-gitlab, which came before it, and one for GraphQL.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Gitlab } from "@gitbeaker/rest";
import { Gitlab as NodeGitlab } from "gitlab";
import { GraphQLClient, gql } from "graphql-request";
import { expect, it } from "vitest";
import { tokenOf } from "../helpers.ts";
import { shareWorkshop, type Workshop } from "./_git.ts";

let workshop: Workshop;
let git: Workshop["git"];
shareWorkshop((opened) => {
  ({ workshop, git } = opened);
});

const VAULT = "secret/vault";

const host = () => new URL(workshop.url(VAULT)).origin;

const clientOf = (person: "developer" | "maintainer") =>
  new Gitlab({ host: host(), token: tokenOf(person) });

const lines = (...changed: string[]) =>
  ["one", "two", "three", "four", "five", "six", "seven", "eight"]
    .map((line) => `${changed.includes(line) ? line.toUpperCase() : line}\n`)
    .join("");

/** Commits a file in a clone. */
async function commit(where: string, file: string, content: string, message: string) {
  writeFileSync(join(workshop.folder, where, file), content);
  await git(where, "add", file);
  await git(where, "commit", "--quiet", "-m", message);
}

it("ends with everybody's work on the default branch", async () => {
  const [developer, maintainer] = [clientOf("developer"), clientOf("maintainer")];
  const owner = new NodeGitlab({ host: host(), token: tokenOf("owner") });
  const graphql = new GraphQLClient(`${host()}/api/graphql`, {
    headers: { authorization: `Bearer ${tokenOf("owner")}` },
  });
  // The evening before.
  await git("", "init", "--quiet", "--initial-branch=main", "begin");
  await commit("begin", "text.md", lines(), "Begin");
  await git("begin", "push", "--quiet", workshop.url(VAULT, "maintainer"), "main");
  for (const title of ["One is too small", "Eight is too small", "Nobody reads it"]) {
    await owner.Issues.create(VAULT, { title });
  }

  // Three at once: a clone, commits over the API, and GraphQL.
  const byGit = async () => {
    await git("", "clone", "--quiet", workshop.url(VAULT, "developer"), "clone");
    await git("clone", "switch", "--quiet", "--create", "one");
    await commit("clone", "text.md", lines("one"), "Enlarge one");
    await git("clone", "push", "--quiet", "origin", "one");
    const [reviewer] = await developer.Users.all({ username: "maintainer" });
    return developer.MergeRequests.create(VAULT, "one", "main", "Enlarge one", {
      description: "Closes #1",
      reviewerIds: [Number(reviewer?.id)],
    });
  };
  const byApi = async () => {
    const update = { action: "update" as const, filePath: "text.md", content: lines("eight") };
    const options = { startBranch: "main" };
    await maintainer.Commits.create(VAULT, "eight", "Enlarge eight\n\nFixes #2", [update], options);
    return maintainer.MergeRequests.create(VAULT, "eight", "main", "Enlarge eight");
  };
  const byGraphql = async () => {
    const { project } = await graphql.request<{ project: { issue: { id: string } } }>(
      gql`
        query ($path: ID!) {
          project(fullPath: $path) {
            issue(iid: "3") {
              id
            }
          }
        }
      `,
      { path: VAULT },
    );
    return graphql.request(
      gql`
        mutation ($id: NoteableID!) {
          createNote(input: { noteableId: $id, body: "I do" }) {
            note {
              body
            }
            errors
          }
        }
      `,
      { id: project.issue.id },
    );
  };
  const [one, eight, noted] = await Promise.all([byGit(), byApi(), byGraphql()]);
  expect(noted).toEqual({ createNote: { note: { body: "I do" }, errors: [] } });
  expect((await maintainer.TodoLists.all()).map(({ action_name }) => action_name)).toContain(
    "review_requested",
  );

  // A review: what it asks for is pushed, and then it approves.
  const { diff_refs } = await maintainer.MergeRequests.show(VAULT, one.iid);
  const { base_sha, head_sha, start_sha } = diff_refs;
  const thread = await maintainer.MergeRequestDiscussions.create(VAULT, one.iid, "And two?", {
    position: {
      baseSha: base_sha,
      headSha: head_sha,
      startSha: start_sha,
      positionType: "text",
      oldPath: "text.md",
      newPath: "text.md",
      newLine: "1",
    },
  });
  await commit("clone", "text.md", lines("one", "two"), "Enlarge two, too");
  await git("clone", "push", "--quiet", "origin", "one");
  expect(await developer.MergeRequests.allDiffVersions(VAULT, one.iid)).toHaveLength(2);
  await developer.MergeRequestDiscussions.resolve(VAULT, one.iid, thread.id, true);
  await maintainer.MergeRequestApprovals.approve(VAULT, one.iid);
  const { iid } = eight;
  expect(await maintainer.MergeRequests.accept(VAULT, iid)).toMatchObject({ state: "merged" });
  const squashed = await maintainer.MergeRequests.accept(VAULT, one.iid, {
    squash: true,
    shouldRemoveSourceBranch: true,
  });
  expect(squashed).toMatchObject({ state: "merged", squash_commit_sha: expect.any(String) });

  // The evening.
  await git("clone", "switch", "--quiet", "main");
  await git("clone", "pull", "--quiet", "--ff-only", "--prune");
  await git("clone", "fsck", "--strict");
  const text = await git("clone", "show", "HEAD:text.md");
  expect(`${text}\n`).toBe(lines("one", "two", "eight"));
  expect(await git("clone", "log", "--first-parent", "--format=%s")).toBe(
    ["Merge branch 'one' into 'main'", "Merge branch 'eight' into 'main'", "Begin"].join("\n"),
  );
  expect(await git("clone", "branch", "--remotes", "--format=%(refname:short)")).not.toContain(
    "origin/one",
  );
  const open = await owner.Issues.all({ projectId: VAULT, state: "opened" });
  expect((open as { title: string }[]).map(({ title }) => title)).toEqual(["Nobody reads it"]);
  const events = await maintainer.Events.all({ projectId: VAULT });
  const done = events.map(({ action_name, target_type }) => `${action_name} ${target_type}`);
  for (const what of ["accepted MergeRequest", "approved MergeRequest", "closed Issue"]) {
    expect(done).toContain(what);
  }
});
