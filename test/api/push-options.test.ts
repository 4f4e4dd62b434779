// What `git push -o` asks for: merge requests that are opened or changed, with Git's own client.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { send } from "../graphql/ask.ts";
import { type Person, type TestApp, tokenOf, waitFor } from "../helpers.ts";
import { shareWorkshop, type Workshop } from "./_git.ts";
import { startReceiver } from "./_receiver.ts";

let app: TestApp;
let workshop: Workshop;
let git: Workshop["git"];
shareWorkshop(
  (opened) => {
    ({ app, workshop, git } = opened);
  },
  { webhooks: { deliver: true, allowLocalRequests: true, interval: 10 } },
);

const PROJECT = "/projects/acme%2Fpushed";
const work = "pushed";
let names = 0;

const push = async (branch: string, ...options: string[]): Promise<string> => {
  const given = options.flatMap((option) => ["-o", option]);
  return said(work, "push", ...given, "origin", `HEAD:refs/heads/${branch}`);
};

/** What the remote says about a push that succeeds. */
async function said(where: string, ...args: string[]): Promise<string> {
  const script = `git ${args.map((arg) => `'${arg.replaceAll("'", "'\\''")}'`).join(" ")} 2>&1`;
  const output = await git(where, "-c", `alias.said=!${script}`, "said");
  return output.replace(/^remote: ?/gm, "").replace(/[ \t]+$/gm, "");
}

/** Commits on top of the default branch, and returns the name of a new branch. */
async function branchWith(...messages: string[]): Promise<string> {
  names += 1;
  await git(work, "checkout", "--quiet", "--detach", "origin/main");
  for (const [at, message] of messages.entries()) {
    await git(
      work,
      "commit",
      "--quiet",
      "--allow-empty",
      "-m",
      message,
      "--date",
      `2026-01-0${at + 1}`,
    );
  }
  return `work_on-it${names}`;
}

// As client-go sends them, for glab and the Terraform provider.
const CREATE_RULE = `mutation CreateTargetBranchRule($input: ProjectTargetBranchRuleCreateInput!) {
  projectTargetBranchRuleCreate(input: $input) {
    targetBranchRule { id name targetBranch createdAt } errors } }`;
const REMOVE_RULE = `mutation DeleteTargetBranchRule($input: ProjectTargetBranchRuleDestroyInput!) {
  projectTargetBranchRuleDestroy(input: $input) { errors } }`;

const requestsFrom = async (branch: string, at = PROJECT) =>
  (await app.call(`GET ${at}/merge_requests?source_branch=${branch}`, { as: "owner" })).json;

beforeAll(async () => {
  const { json: group } = await app.call("GET /groups/acme", { as: "owner" });
  const json = { name: "pushed", namespace_id: group.id, visibility: "public" };
  const made = await app.call("POST /projects", { as: "owner", json });
  expect(made.status, made.text).toBe(201);
  await git("", "init", "--quiet", "--initial-branch=main", work);
  await git(work, "remote", "add", "origin", workshop.url("acme/pushed", "owner"));
  await git(work, "commit", "--quiet", "--allow-empty", "-m", "First");
  await git(work, "push", "--quiet", "origin", "main", "main:stable");
  await git(work, "remote", "set-url", "origin", workshop.url("acme/pushed", "developer"));
  await git(work, "fetch", "--quiet");
  await app.call(`POST ${PROJECT}/labels`, { as: "owner", json: { name: "a", color: "#fff" } });
  await app.call(`POST ${PROJECT}/labels`, { as: "owner", json: { name: "b c", color: "#fff" } });
  await app.call(`POST ${PROJECT}/milestones`, { as: "owner", json: { title: "v 1" } });
  await app.call(`POST ${PROJECT}/issues`, { as: "owner", json: { title: "Broken" } });
});

describe("merge_request.create", () => {
  it("opens a merge request with what the options say", async () => {
    const branch = await branchWith("One");
    const shown = await push(
      branch,
      ...["merge_request.create", "merge_request.target=stable", "mr.title=A title, so=far"],
      ...[
        "merge_request.description=one\\ntwo",
        "merge_request.label=a",
        "merge_request.label=b c",
      ],
      ...["merge_request.milestone=v 1", "merge_request.assign=maintainer", "mr.draft"],
      ...["merge_request.remove_source_branch", "merge_request.squash"],
    );
    const [request, ...others] = await requestsFrom(branch);
    expect(others).toEqual([]);
    expect(request).toMatchObject({
      title: "Draft: A title, so=far",
      description: "one\ntwo",
      target_branch: "stable",
      author: { username: "developer" },
      labels: ["a", "b c"],
      milestone: { title: "v 1" },
      force_remove_source_branch: true,
      squash: true,
      draft: true,
    });
    const assigned = request.assignees.map(({ username }: { username: string }) => username);
    expect(assigned.sort()).toEqual(["developer", "maintainer"]);
    const link = new RegExp(
      `View merge request for ${branch}:\n  http://.*/merge_requests/${request.iid}\n`,
    );
    expect(shown).toMatch(link);
    expect(shown).not.toContain("WARNINGS");
  });

  it("takes title and description from the commits, the issue or the branch", async () => {
    const about = async (branch: string) => {
      await push(branch, "merge_request.create");
      const [{ title, description, assignees, target_branch }] = await requestsFrom(branch);
      expect([assignees[0].username, target_branch]).toEqual(["developer", "main"]);
      return [title, description];
    };
    expect(await about(await branchWith("Only one\n\nMore\nof it"))).toEqual([
      "Only one",
      "More\nof it",
    ]);
    expect(await about(await branchWith("One", "Two\n\nBoth", "Three\n\nLast"))).toEqual([
      "Two",
      "Both",
    ]);
    const plain = await branchWith("One", "Two");
    expect(await about(plain)).toEqual([`Work on it${names}`, null]);
    await branchWith("One", "Two");
    expect(await about("1-broken")).toEqual(['Resolve "Broken"', "Closes #1"]);
    await branchWith();
    expect((await about("nothing-new"))[0]).toBe("Draft: Nothing new");
  });

  it("leads where a rule of the project about its branch says, which maintainers make", async () => {
    const { json: project } = await app.call(`GET ${PROJECT}`, { as: "owner" });
    const create = async (as: Person, name: string, targetBranch = "stable") => {
      const input = { projectId: `gid://gitlab/Project/${project.id}`, name, targetBranch };
      const { data } = await send(app, as, CREATE_RULE, { input });
      return data?.projectTargetBranchRuleCreate;
    };
    for (const as of ["anonymous", "stranger", "guest", "reporter", "developer"] as const) {
      expect([as, await create(as, "*")]).toEqual([as, null]);
    }
    const made = await create("maintainer", "Work_ON-it*");
    expect(made).toEqual({
      targetBranchRule: {
        id: expect.stringMatching(/^gid:\/\/gitlab\/Projects::TargetBranchRule\/\d+$/),
        name: "work_on-it*",
        targetBranch: "stable",
        createdAt: expect.any(String),
      },
      errors: [],
    });
    const wrong = async (name: string, target?: string) =>
      (await create("owner", name, target)).errors;
    expect(await wrong("work_on-it*")).toEqual(["Name has already been taken"]);
    expect(await wrong("../x")).toEqual(["Name is invalid"]);
    expect(await wrong("a b")).toEqual(["Name is invalid"]);
    expect(await wrong("x", "y".repeat(256))).toHaveLength(1);
    const branch = await branchWith("Ruled");
    expect(await push(branch, "merge_request.create")).not.toContain("WARNINGS");
    expect(await requestsFrom(branch)).toMatchObject([{ target_branch: "stable" }]);
    const said = await branchWith("Said");
    await push(said, "merge_request.create", "merge_request.target=main");
    expect(await requestsFrom(said)).toMatchObject([{ target_branch: "main" }]);
    const list = `query($fullPath: ID!) { project(fullPath: $fullPath) {
      targetBranchRules { nodes { id name targetBranch createdAt } } } }`;
    const rules = async (as: Person) =>
      (await send(app, as, list, { fullPath: "acme/pushed" })).data.project.targetBranchRules.nodes;
    expect(await rules("anonymous")).toEqual([made.targetBranchRule]);
    const remove = async (as: Person) =>
      (await send(app, as, REMOVE_RULE, { input: { id: made.targetBranchRule.id } })).data
        .projectTargetBranchRuleDestroy;
    expect(await remove("developer")).toBeNull();
    expect(await remove("owner")).toEqual({ errors: [] });
    expect(await remove("owner")).toBeNull();
    expect(await rules("owner")).toEqual([]);
  });

  it("is for whoever may push, also with a token that is for nothing else", async () => {
    const json = { name: "push", scopes: ["write_repository"], expires_at: "2027-01-01" };
    const id = (await app.call("GET /user", { as: "developer" })).json.id;
    const made = await app.call(`POST /users/${id}/personal_access_tokens`, { as: "admin", json });
    const branch = await branchWith("One");
    const url = workshop
      .url("acme/pushed", "developer")
      .replace(tokenOf("developer"), made.json.token);
    await git(
      work,
      "push",
      "--quiet",
      "-o",
      "merge_request.create",
      url,
      `HEAD:refs/heads/${branch}`,
    );
    expect(await requestsFrom(branch)).toHaveLength(1);
  });

  it("opens one for each branch, of ten at most", async () => {
    await branchWith("Some");
    const refs = Array.from({ length: 11 }, (_, at) => `HEAD:refs/heads/many-${at}`);
    const some = await said(work, "push", "-o", "mr.create", "origin", ...refs.slice(0, 2));
    expect(some).not.toContain("WARNINGS");
    expect([await requestsFrom("many-0"), await requestsFrom("many-1")]).toMatchObject([
      [{}],
      [{}],
    ]);
    await branchWith("Other");
    const all = await said(work, "push", "--force", "-o", "mr.create", "origin", ...refs);
    expect(all).toContain("Too many branches pushed (11 were pushed, limit is 10)");
    expect(await requestsFrom("many-9")).toEqual([]);
  });
});

describe("without merge_request.create", () => {
  it("an open merge request is changed, with its event, note and hook", async () => {
    const branch = await branchWith("One");
    await push(branch, "mr.create", "mr.label=a", "mr.title=Before");
    await git(work, "commit", "--quiet", "--allow-empty", "-m", "More");
    const receiver = await startReceiver();
    const hook = { url: receiver.url, merge_requests_events: true, push_events: true };
    expect((await app.call(`POST ${PROJECT}/hooks`, { as: "owner", json: hook })).status).toBe(201);
    await push(
      branch,
      ...["mr.label=b c", "mr.unlabel=a", "mr.unassign=developer", "mr.assign=owner"],
      ...["mr.target=stable", "mr.title=After", "ci.variable=A=b", "ci.variable=A=b"],
    );
    const [request, ...others] = await requestsFrom(branch);
    expect(others).toEqual([]);
    expect(request).toMatchObject({
      title: "After",
      labels: ["b c"],
      target_branch: "stable",
      assignees: [{ username: "owner" }],
    });
    const { json: notes } = await app.call(
      `GET ${PROJECT}/merge_requests/${request.iid}/notes?activity_filter=only_activity`,
      { as: "owner" },
    );
    expect(notes.map(({ body }: { body: string }) => body)).toContain(
      "changed target branch from `main` to `stable`",
    );
    await waitFor(async () => receiver.received.length >= 2);
    await receiver.close();
    const told = receiver.received.map(({ json }) => json);
    expect(told.find(({ object_kind }) => object_kind === "push").push_options).toEqual({
      ci: { variable: { "A=b": 2 } },
      merge_request: {
        label: { "b c": 1 },
        unlabel: { a: 1 },
        assign: { owner: 1 },
        unassign: { developer: 1 },
        target: "stable",
        title: "After",
      },
    });
    expect(told.find(({ object_kind }) => object_kind === "merge_request")).toBeDefined();
  });

  it("leave out build servers", async () => {
    const receiver = await startReceiver();
    const set = await app.call(`PUT ${PROJECT}/integrations/jenkins`, {
      as: "owner",
      json: { jenkins_url: receiver.url, project_name: "p", merge_requests_events: false },
    });
    expect(set.status).toBe(200);
    await push(await branchWith("One"), "integrations.skip_ci");
    const built = await branchWith("Two");
    await push(built);
    await waitFor(async () => receiver.received.length > 0);
    await receiver.close();
    expect(receiver.received.map(({ json }) => json.ref)).toEqual([`refs/heads/${built}`]);
    await app.call(`DELETE ${PROJECT}/integrations/jenkins`, { as: "owner" });
  });

  it("others are refused, in GitLab's words, and the push is made", async () => {
    const branch = await branchWith("One");
    const shown = await push(branch, "merge_request.title=A title");
    expect(shown).toContain(
      `WARNINGS:\nError encountered with push options 'merge_request.title=A title': ` +
        `A merge_request.create push option is required to create a merge request for branch ${branch}`,
    );
    expect(shown).toContain(`HEAD -> ${branch}`);
    expect(await requestsFrom(branch)).toEqual([]);
  });
});

it("what can't be done is told", async () => {
  const branch = await branchWith("One");
  expect(await push(branch, "mr.create", "mr.target=nowhere")).toContain(
    "Target branch acme/pushed:nowhere does not exist",
  );
  expect(await push(`${branch}b`, "mr.create", "mr.target_project=owner/secret")).toContain(
    "Project owner/secret could not be found",
  );
  const missing = ["mr.milestone=v 9", "mr.assign=nobody-here", "mr.assign=@reporter"];
  expect(await push(`${branch}f`, "mr.create", ...missing)).toMatch(
    /User nobody-here could not be found\n\nMilestone v 9 could not be found/,
  );
  expect((await requestsFrom(`${branch}f`))[0].assignees).toHaveLength(2);
  expect(await push(`${branch}c`, "mr.created", "ci.input=a=b", "nonsense")).toMatch(
    /'mr.created' is no push option of this server\n\n'ci.input=a=b' is no push option/,
  );
  await app.call(`PUT ${PROJECT}`, { as: "owner", json: { merge_requests_enabled: false } });
  expect(await push(`${branch}d`, "mr.create")).toContain(
    "Merge requests are not enabled for project acme/pushed",
  );
  await app.call(`PUT ${PROJECT}`, { as: "owner", json: { merge_requests_enabled: true } });
  const many = Array.from({ length: 101 }, () => "ci.skip");
  const options = many.flatMap((option) => ["-o", option]);
  await workshop.failure(work, "push", ...options, "origin", `HEAD:refs/heads/${branch}e`);
});

describe("of a fork", () => {
  it("merge requests are for its source, unless they are to be its own", async () => {
    const fork = await app.call(`POST ${PROJECT}/fork`, { as: "stranger" });
    expect(fork.status, fork.text).toBe(201);
    const url = workshop.url("stranger/pushed", "stranger");
    const branch = await branchWith("From afar");
    const shown = await said(work, "push", "-o", "mr.create", url, `HEAD:refs/heads/${branch}`);
    expect(shown).not.toContain("WARNINGS");
    const [request] = await requestsFrom(branch);
    expect(request).toMatchObject({ title: "From afar", source_project_id: fork.json.id });
    const own = ["-o", "mr.create", "-o", "mr.target_project=stranger/pushed"];
    const other = await said(work, "push", ...own, url, `HEAD:refs/heads/${branch}-own`);
    expect(other).not.toContain("WARNINGS");
    expect(await requestsFrom(`${branch}-own`, `/projects/${fork.json.id}`)).toHaveLength(1);
  });
});

describe("auto_merge", () => {
  const options = ["-o", "mr.create", "-o", "merge_request.auto_merge"];
  const waiting = { state: "opened", merge_when_pipeline_succeeds: true };

  it("merges once it is known that the push starts no pipeline", async () => {
    await app.admin.maintenance.runPipelines();
    const branch = await branchWith("Without jobs");
    const merger = workshop.url("acme/pushed", "owner");
    const shown = await said(work, "push", ...options, merger, `HEAD:refs/heads/${branch}`);
    expect(shown).not.toContain("WARNINGS");
    expect(await requestsFrom(branch)).toMatchObject([waiting]);
    await app.admin.maintenance.runPipelines();
    expect(await requestsFrom(branch)).toMatchObject([{ state: "merged" }]);
  });

  it("waits for the pipeline that the push starts", async () => {
    const branch = await branchWith();
    const configuration = Buffer.from("test:\n  script: [make]\n");
    await writeFile(join(workshop.folder, work, ".gitlab-ci.yml"), configuration);
    await git(work, "add", ".");
    await git(work, "commit", "--quiet", "-m", "With jobs");
    const merger = workshop.url("acme/pushed", "owner");
    await said(work, "push", ...options, merger, `HEAD:refs/heads/${branch}`);
    await app.admin.maintenance.runPipelines();
    const [{ iid, sha, ...request }] = await requestsFrom(branch);
    expect(request).toMatchObject(waiting);
    const { json: pipelines } = await app.call(`GET ${PROJECT}/pipelines?sha=${sha}`, {
      as: "owner",
    });
    expect(pipelines).toMatchObject([{ status: "pending", source: "push" }]);
    const { json: jobs } = await app.call(`GET ${PROJECT}/pipelines/${pipelines[0].id}/jobs`, {
      as: "owner",
    });
    await app.admin.jobs.finish(jobs[0].id, { status: "success" });
    await app.admin.maintenance.runPipelines();
    expect(await requestsFrom(branch)).toMatchObject([{ iid, state: "merged" }]);
  });

  it("is for those who may merge", async () => {
    const branch = await branchWith("One");
    const shown = await push(branch, "mr.create", "mr.merge_when_pipeline_succeeds");
    expect(shown).toContain("User access was denied");
    expect(await requestsFrom(branch)).toMatchObject([{ merge_when_pipeline_succeeds: false }]);
  });
});
