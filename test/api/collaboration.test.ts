// Pushes of upstream members to the source branches of merge requests from forks (`allow_collaboration`), by role.
import { beforeAll, describe, expect, it } from "vitest";
import { everyone, type Person, type TestApp } from "../helpers.ts";
import { shareWorkshop, type Workshop } from "./_git.ts";

let app: TestApp;
let workshop: Workshop;
let git: Workshop["git"];
let fork = 0;
const UP = "/projects/acme%2Fup";
const at = () => `/projects/${fork}`;

shareWorkshop(async (opened) => {
  ({ app, workshop, git } = opened);
});

const call = async (request: string, json?: object, as: Person = "stranger") => {
  const answer = await app.call(request, { as, ...(json && { json }) });
  expect([request, answer.status < 300 || answer.text]).toEqual([request, true]);
  return answer.json;
};

let branches = 0;
/** A branch of the fork, and the number of a merge request of it. */
async function offered(json: object = { allow_collaboration: true }) {
  branches += 1;
  const branch = `change-${branches}`;
  const actions = [{ action: "create", file_path: `${branch}.txt`, content: "a\n" }];
  await call(`POST ${at()}/repository/commits`, {
    branch,
    start_branch: "main",
    commit_message: branch,
    actions,
  });
  const request = await call(`POST ${at()}/merge_requests`, {
    title: branch,
    source_branch: branch,
    target_branch: "main",
    target_project_id: (await call(`GET ${UP}`)).id,
    ...json,
  });
  return { branch, request, path: `${UP}/merge_requests/${request.iid}` };
}

beforeAll(async () => {
  const { id } = await call("GET /groups/acme", undefined, "owner");
  const json = { name: "up", namespace_id: id, visibility: "public" };
  await call("POST /projects", json, "owner");
  const files = [{ action: "create", file_path: "a", content: "a\n" }];
  const commit = { branch: "main", commit_message: "First", actions: files };
  await call(`POST ${UP}/repository/commits`, commit, "owner");
  await call(`DELETE ${UP}/protected_branches/main`, undefined, "owner").catch(() => undefined);
  fork = (await call(`POST ${UP}/fork`, {})).id;
});

/** The statuses of writing a file to a branch of the fork, by person. */
async function writing(branch: string, people: readonly Person[] = everyone) {
  const found: Record<string, number> = {};
  for (const as of people) {
    const json = { branch, commit_message: "x", content: as };
    const path = `${at()}/repository/files/${as}-${branch}`;
    found[as] = (await app.call(`POST ${path}`, { as, json })).status;
  }
  return found;
}

const NOBODY = {
  ...{ anonymous: 401, guest: 403, reporter: 403, developer: 403, maintainer: 403, owner: 403 },
  ...{ stranger: 201, admin: 201 },
};
const MERGERS = { ...NOBODY, developer: 201, maintainer: 201, owner: 201 };

describe("allow_collaboration", () => {
  it("is kept and shown of merge requests from forks", async () => {
    const shown = { allow_collaboration: true, allow_maintainer_to_push: true };
    const { request, path } = await offered();
    expect(request).toMatchObject(shown);
    expect(await call(`GET ${path}`)).toMatchObject(shown);
    const off = { allow_collaboration: false, allow_maintainer_to_push: false };
    expect(await call(`PUT ${path}`, { allow_maintainer_to_push: false })).toMatchObject(off);
    expect(await call(`GET ${path}`)).toMatchObject(off);
    // It is for who may push to the fork to say.
    expect(await call(`PUT ${path}`, { allow_collaboration: true }, "owner")).toMatchObject(off);
    const branch = { branch: "own", start_branch: "main", commit_message: "x", actions: [] };
    await call(`POST ${UP}/repository/commits`, { ...branch, allow_empty: true }, "owner");
    const own = { title: "x", source_branch: "own", target_branch: "main", ...shown };
    const made = await call(`POST ${UP}/merge_requests`, own, "owner");
    expect(made).not.toHaveProperty("allow_collaboration");
    const query = `{ project(fullPath: "acme/up") { mergeRequest(iid: "${request.iid}") { allowCollaboration } } }`;
    const { json } = await app.call("POST http://pm.test/api/graphql", {
      json: { query },
      as: "owner",
    });
    expect(json.data.project.mergeRequest).toEqual({ allowCollaboration: false });
  });

  it("lets those who may merge write to the source branch through the API", async () => {
    const { branch, path } = await offered();
    expect(await writing(branch)).toEqual(MERGERS);
    expect(await writing("main", ["developer", "owner"])).toEqual({ developer: 403, owner: 403 });
    const other = await offered({});
    expect(await writing(other.branch)).toEqual(NOBODY);
    // Commits, picks and the flag of branches, like files.
    const json = { branch, commit_message: "x", actions: [], allow_empty: true };
    const commits = `POST ${at()}/repository/commits`;
    expect((await app.call(commits, { as: "developer", json })).status).toBe(201);
    expect((await app.call(commits, { as: "reporter", json })).status).toBe(403);
    const { id } = await call(`${commits}`, { ...json, branch: other.branch });
    const pick = `POST ${at()}/repository/commits/${id}/revert`;
    const picked = await app.call(pick, { as: "developer", json: { branch: other.branch } });
    expect(picked.status).toBe(403);
    const mayPush = async (name: string, as: Person) =>
      (await app.call(`GET ${at()}/repository/branches/${name}`, { as })).json.can_push;
    expect([
      await mayPush(branch, "developer"),
      await mayPush(branch, "reporter"),
      await mayPush(other.branch, "developer"),
    ]).toEqual([true, false, false]);
    await call(`PUT ${path}`, { state_event: "close" });
    expect(await writing(branch, ["developer", "maintainer"])).toEqual({
      developer: 403,
      maintainer: 403,
    });
  });

  it("lets them push with Git, to that branch alone, and not delete it", async () => {
    const { branch, path } = await offered();
    const work = "collaborator";
    const url = (person: Exclude<Person, "anonymous">) => workshop.url("stranger/up", person);
    await git("", "clone", "--quiet", "--branch", branch, url("developer"), work);
    await git(work, "commit", "--quiet", "--allow-empty", "-m", "Helped");
    await git(work, "push", "--quiet", url("developer"), `HEAD:refs/heads/${branch}`);
    const sha = await git(work, "rev-parse", "HEAD");
    expect(await call(`GET ${path}`)).toMatchObject({ sha });
    await git(work, "commit", "--quiet", "--amend", "--allow-empty", "-m", "Forced");
    await git(work, "push", "--quiet", "--force", url("maintainer"), `HEAD:refs/heads/${branch}`);
    const refused = "You are not allowed to push code to this project.";
    for (const [person, ref] of [
      ["developer", "HEAD:refs/heads/other"],
      ["developer", "HEAD:refs/tags/v1"],
      ["developer", `:refs/heads/${branch}`],
      ["reporter", `HEAD:refs/heads/${branch}`],
    ] as const) {
      await git(work, "commit", "--quiet", "--allow-empty", "-m", "More");
      expect(await workshop.failure(work, "push", url(person), ref)).toMatch(
        person === "reporter" ? /not allowed to push|403/ : refused,
      );
    }
    await call(`POST ${at()}/protected_branches`, { name: branch });
    await workshop.failure(work, "push", url("developer"), `HEAD:refs/heads/${branch}`);
    await call(`DELETE ${at()}/protected_branches/${branch}`).catch(() => undefined);
  });

  it("lets them rebase, and leaves the branch to its owner when it is merged", async () => {
    const { branch, path } = await offered();
    const actions = [{ action: "create", file_path: `new-${branch}`, content: "a\n" }];
    const commit = { branch: "main", commit_message: "On", actions };
    await call(`POST ${UP}/repository/commits`, commit, "owner");
    expect((await app.call(`PUT ${path}/rebase`, { as: "reporter" })).status).toBe(403);
    expect((await app.call(`PUT ${path}/rebase`, { as: "developer" })).status).toBe(202);
    const { diverged_commits_count } = await call(
      `GET ${path}?include_diverged_commits_count=true`,
    );
    expect(diverged_commits_count).toBe(0);
    const merged = { should_remove_source_branch: true };
    expect(await call(`PUT ${path}/merge`, merged, "developer")).toMatchObject({ state: "merged" });
    await call(`GET ${at()}/repository/branches/${branch}`);
    expect(await writing(branch, ["developer"])).toEqual({ developer: 403 });
  });

  it("ends when the fork is archived or private", async () => {
    const { branch } = await offered();
    await call(`POST ${at()}/archive`);
    expect(await writing(branch, ["developer"])).toEqual({ developer: 403 });
    await call(`POST ${at()}/unarchive`);
    await call(`PUT ${at()}`, { visibility: "private" });
    expect(await writing(branch, ["developer"])).toEqual({ developer: 404 });
    const { request } = await offered();
    expect(request.allow_collaboration).toBe(false);
    await call(`PUT ${at()}`, { visibility: "public" });
    expect(await writing(branch, ["developer"])).toEqual({ developer: 201 });
  });
});
