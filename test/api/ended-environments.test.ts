import { afterAll, beforeAll, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { type CiProject, ciProject } from "./_pipelines.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp({ background: false });
});
afterAll(() => app.dispose());

const REVIEW = (rules: string) => `
review:
  script: [deploy]
  environment: { name: review/$CI_COMMIT_REF_SLUG, on_stop: stop }
  rules: [${rules}]
plain:
  script: [deploy]
  environment: plain/$CI_COMMIT_REF_SLUG
  rules: [${rules}]
stop:
  script: [remove]
  environment: { name: review/$CI_COMMIT_REF_SLUG, action: stop }
  rules: [{ if: $NEVER, when: never }, { when: manual, allow_failure: true }]
`;
const OF_BRANCHES = REVIEW("{ if: $CI_COMMIT_BRANCH }");
const OF_REQUESTS = REVIEW("{ if: $CI_MERGE_REQUEST_ID }");

const get = async (project: CiProject, path: string) =>
  (await project.call(`GET ${path}`, { as: "developer" })).json;

/** Commits to a branch, which begins at the newest commit of main. */
async function branch(project: CiProject, name: string): Promise<void> {
  const made = await project.call("POST /repository/commits", {
    as: "developer",
    json: {
      branch: name,
      start_branch: "main",
      commit_message: "Change",
      actions: [{ action: "create", file_path: `${name}.txt`, content: "text\n" }],
    },
  });
  expect(made.status, made.text).toBe(201);
  await app.admin.maintenance.runPipelines();
}

/** Ends all jobs of a project that are pending; returns their names. */
async function work(project: CiProject): Promise<string[]> {
  const jobs = await get(project, "/jobs?scope[]=pending");
  for (const { id } of jobs) await app.admin.jobs.finish(id);
  return jobs.map(({ name }: { name: string }) => name).sort();
}

/** The states of a project's environments by their names. */
async function states(project: CiProject): Promise<Record<string, string>> {
  await app.admin.maintenance.runPipelines();
  const all = await get(project, "/environments");
  return Object.fromEntries(
    all.map(({ name, state }: { name: string; state: string }) => [name, state]),
  );
}

const open = async (project: CiProject, source: string): Promise<number> => {
  const json = { title: "Change", source_branch: source, target_branch: "main" };
  const made = await project.call("POST /merge_requests", { as: "developer", json });
  await app.admin.maintenance.runPipelines();
  return made.json.iid;
};

it("are stopped when the branch is deleted that was last deployed there", async () => {
  const project = await ciProject(app, "branches-end", OF_BRANCHES);
  await branch(project, "one");
  await branch(project, "two");
  expect(await work(project)).toEqual(["plain", "plain", "review", "review"]);
  const deleted = await project.call("DELETE /repository/branches/one", { as: "developer" });
  expect(deleted.status).toBe(204);
  expect(await states(project)).toEqual({
    "review/one": "stopping",
    "plain/one": "stopped",
    "review/two": "available",
    "plain/two": "available",
  });
  const [stop] = await get(project, "/jobs?scope[]=pending");
  expect(stop).toMatchObject({ name: "stop", ref: "one", user: { username: "developer" } });
  await work(project);
  expect((await states(project))["review/one"]).toBe("stopped");
});

it("stay when another branch was deployed there since, or whoever deletes it may not run jobs", async () => {
  const shared = "ship: {script: [x], environment: staging, rules: [{if: $CI_COMMIT_BRANCH}]}\n";
  const project = await ciProject(app, "branches-share", shared);
  await branch(project, "one");
  await work(project);
  await branch(project, "two");
  await work(project);
  await project.call("DELETE /repository/branches/one", { as: "developer" });
  expect(await states(project)).toEqual({ staging: "available" });
  await project.call("PUT ?jobs_enabled=false", { as: "owner" });
  await project.call("DELETE /repository/branches/two", { as: "developer" });
  await app.admin.maintenance.runPipelines();
  await project.call("PUT ?jobs_enabled=true", { as: "owner" });
  expect(await states(project)).toEqual({ staging: "available" });
});

it.each(["closed", "merged"])("are stopped when their merge request is %s", async (how) => {
  const project = await ciProject(app, `requests-${how}`, OF_REQUESTS);
  await branch(project, "one");
  await branch(project, "two");
  const iid = await open(project, "one");
  await open(project, "two");
  expect(await work(project)).toEqual(["plain", "plain", "review", "review"]);
  const as: Person = "maintainer";
  const ended = await (how === "closed"
    ? project.call(`PUT /merge_requests/${iid}?state_event=close`, { as })
    : project.call(`PUT /merge_requests/${iid}/merge?should_remove_source_branch=true`, { as }));
  expect([ended.status, ended.json.state]).toEqual([200, how]);
  expect(await states(project)).toEqual({
    "review/one": "stopping",
    "plain/one": "stopped",
    "review/two": "available",
    "plain/two": "available",
  });
  const [stop] = await get(project, "/jobs?scope[]=pending");
  expect(stop).toMatchObject({ name: "stop", user: { username: "maintainer" } });
  await work(project);
  expect((await states(project))["review/one"]).toBe("stopped");
});

it("of branches stay when a merge request is closed, and those that others have added", async () => {
  const shared = "ship: {script: [x], environment: staging, rules: [{if: $CI_MERGE_REQUEST_ID}]}\n";
  const project = await ciProject(app, "requests-share", shared);
  await branch(project, "one");
  await branch(project, "two");
  const [first, second] = [await open(project, "one"), await open(project, "two")];
  await work(project);
  const close = (iid: number) =>
    project.call(`PUT /merge_requests/${iid}?state_event=close`, { as: "developer" });
  // The first one has added it, whoever has deployed there since.
  await close(first);
  expect(await states(project)).toEqual({ staging: "stopped" });
  await project.call(`PUT /merge_requests/${first}?state_event=reopen`, { as: "developer" });
  await project.call(`POST /merge_requests/${second}/pipelines`, { as: "developer" });
  await work(project);
  expect(await states(project)).toEqual({ staging: "available" });
  // The second one has added none: its newest pipeline has deployed there.
  await close(second);
  expect(await states(project)).toEqual({ staging: "stopped" });

  const branches = await ciProject(app, "requests-of-branches", OF_BRANCHES);
  await branch(branches, "one");
  await work(branches);
  const iid = await open(branches, "one");
  await branches.call(`PUT /merge_requests/${iid}?state_event=close`, { as: "developer" });
  expect(await states(branches)).toMatchObject({ "review/one": "available" });
});
