import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

const SITE = "/projects/acme%2Fsite";
const get = async (path: string, as: Person = "owner") =>
  (await app.call(`GET ${path}`, { as })).json;
const send = (request: string, json: object, as: Person = "owner") =>
  app.call(request, { as, json });

/** What Terraform sends right after it has made a project. */
const ALONE = {
  ci_forward_deployment_enabled: false,
  container_registry_enabled: true,
  container_registry_access_level: "private",
  packages_enabled: true,
  pages_access_level: "private",
  printing_merge_request_link_enabled: false,
  auto_cancel_pending_pipelines: "disabled",
  auto_devops_enabled: true,
  auto_devops_deploy_strategy: "manual",
  build_coverage_regex: "\\d+%",
  build_git_strategy: "clone",
  ci_delete_pipelines_in_seconds: 86_400,
  ci_separated_caches: false,
  emails_disabled: true,
  emails_enabled: true,
  issue_branch_template: "%{id}-x",
  issues_template: "## What",
  keep_latest_artifact: false,
  merge_requests_template: "## Why",
  suggestion_commit_message: "Apply",
  analytics_access_level: "disabled",
  forking_access_level: "private",
  requirements_access_level: "enabled",
  repository_storage: "default",
  mirror: false,
  merge_trains_enabled: true,
  resource_group_default_process_mode: "oldest_first",
  ci_id_token_sub_claim_components: ["project_path", "ref"],
};

describe("settings of projects that are kept", () => {
  it("each can be sent alone, and is shown by every answer", async () => {
    const before = await get(SITE);
    for (const [name, value] of Object.entries(ALONE)) {
      const changed = await send(`PUT ${SITE}`, { [name]: value });
      expect([changed.status, changed.json[name]], name).toEqual([200, value]);
      expect((await get(SITE))[name]).toEqual(value);
    }
    const expected = { ...ALONE, emails_disabled: false };
    expect(await get(SITE)).toMatchObject(expected);
    const [listed] = await get("/projects?search=site");
    expect(listed).toMatchObject(expected);
    const [ofGroup] = (await get("/groups/acme")).projects;
    expect(ofGroup).toMatchObject(expected);
    expect(await get("/projects/acme%2Fteam%2Fcore")).toMatchObject({
      ci_forward_deployment_enabled: true,
      build_git_strategy: "fetch",
      suggestion_commit_message: null,
    });
    const back = Object.fromEntries(Object.keys(ALONE).map((name) => [name, before[name]]));
    expect((await send(`PUT ${SITE}`, back)).json).toMatchObject(back);
  });

  it("are those of a new project, too", async () => {
    const json = { name: "Kept", build_git_strategy: "clone", emails_disabled: true };
    const made = await send("POST /projects", json);
    expect(made.json).toMatchObject({ build_git_strategy: "clone", emails_enabled: false });
  });

  it.each([
    { group_runners_enabled: false },
    { ci_pipeline_variables_minimum_override_role: "owner" },
    { external_authorization_classification_label: "secret" },
  ])("%o is refused, since nothing would enforce it", async (json) => {
    const { status, json: answer } = await send(`PUT ${SITE}`, json);
    const [name] = Object.keys(json) as [string];
    const message = { [name]: ["is not supported on this server"] };
    expect([status, answer]).toEqual([400, { message }]);
  });

  it("are of GitLab's types", async () => {
    const { status, json } = await send(`PUT ${SITE}`, { build_git_strategy: "svn" });
    const message = { build_git_strategy: ["does not have a valid value"] };
    expect([status, json]).toEqual([400, { message }]);
  });

  it("forking is for members, or for nobody", async () => {
    const fork = (as: Person) => send(`POST ${SITE}/fork`, { path: "a-fork" }, as);
    await send(`PUT ${SITE}`, { forking_access_level: "private" });
    expect((await fork("stranger")).status).toBe(404);
    expect((await fork("guest")).status).toBe(201);
    await send(`PUT ${SITE}`, { forking_access_level: "disabled" });
    expect((await fork("owner")).status).toBe(404);
    await send(`PUT ${SITE}`, { forking_access_level: "enabled" });
    expect((await fork("stranger")).status).toBe(201);
  });

  it("forking into another tree is prevented by groups above", async () => {
    const fork = (json: object, as: Person = "owner") =>
      send("POST /projects/acme%2Fteam%2Fcore/fork", json, as);
    const set = (isOn: boolean) =>
      send("PUT /groups/acme", { prevent_forking_outside_group: isOn });
    expect((await set(true)).json.prevent_forking_outside_group).toBe(true);
    const own = await fork({ path: "outside" });
    expect([own.status, own.json]).toEqual([404, { message: "404 Target Namespace Not Found" }]);
    expect((await fork({ path: "outside" }, "admin")).status).toBe(404);
    expect((await fork({ path: "inside", namespace_path: "acme" })).status).toBe(201);
    await set(false);
    expect((await fork({ path: "outside" })).status).toBe(201);
  });

  it("have the one storage that there is", async () => {
    const { status, json } = await send(`PUT ${SITE}`, { repository_storage: "other" });
    expect([status, json]).toEqual([400, { message: { repository_storage: ["is invalid"] } }]);
  });

  it("are shown by GitLab's name: that of public_builds is public_jobs", async () => {
    const { json } = await send(`PUT ${SITE}`, { public_builds: false });
    expect([json.public_jobs, "public_builds" in json]).toEqual([false, false]);
    await send(`PUT ${SITE}`, { public_jobs: true });
  });

  it.each([
    ["projects", SITE, `{ project(fullPath: "acme/site") { lfsEnabled } }`],
    ["groups", "/groups/acme", `{ group(fullPath: "acme") { lfsEnabled } }`],
  ])("of %s say that there is LFS until that is switched off", async (_, at, query) => {
    const shown = async () => [
      (await get(at)).lfs_enabled,
      Object.values((await send("POST http://pm.test/api/graphql", { query })).json.data)[0],
    ];
    expect(await shown()).toEqual([true, { lfsEnabled: true }]);
    for (const asked of [false, true]) {
      const { json } = await send(`PUT ${at}`, { lfs_enabled: asked });
      expect(json.lfs_enabled).toBe(asked);
      expect(await shown()).toEqual([asked, { lfsEnabled: asked }]);
    }
  });
});

describe("settings of groups that are kept", () => {
  const settings = {
    share_with_group_lock: true,
    mentions_disabled: true,
    auto_devops_enabled: false,
    two_factor_grace_period: 8,
    project_creation_level: "developer",
    subgroup_creation_level: "maintainer",
    prevent_sharing_groups_outside_hierarchy: true,
    emails_enabled: false,
    require_two_factor_authentication: false,
    default_branch_protection: 2,
  };

  it("are shown by every answer, and can be changed", async () => {
    const made = await send("POST /groups", { name: "Kept", path: "kept", ...settings }, "admin");
    expect([made.status, made.json]).toEqual([
      201,
      expect.objectContaining({ ...settings, emails_disabled: true }),
    ]);
    expect(await get("/groups/kept", "admin")).toMatchObject(settings);
    const changed = await send("PUT /groups/kept", { mentions_disabled: false }, "admin");
    expect(changed.json).toMatchObject({ ...settings, mentions_disabled: false });
    const [listed] = await get("/groups?search=kept", "admin");
    expect(listed).toMatchObject({ ...settings, mentions_disabled: false });
  });

  it.each([
    { require_two_factor_authentication: true },
    { membership_lock: true },
    { default_branch_protection: 0 },
    { ip_restriction_ranges: "10.0.0.0/8" },
    { shared_runners_setting: "disabled_and_unoverridable" },
  ])("%o is refused, since nothing would enforce it", async (json) => {
    const { status } = await send("PUT /groups/acme", json);
    expect(status).toBe(400);
  });

  it("says who creates projects and subgroups", async () => {
    const { id } = await get("/groups/acme");
    const project = (name: string, as: Person) =>
      send("POST /projects", { name, namespace_id: id }, as);
    const subgroup = (path: string, as: Person) =>
      send("POST /groups", { name: path, path, parent_id: id }, as);
    expect((await project("By developer", "developer")).status).toBe(400);
    expect((await subgroup("by-maintainer", "maintainer")).status).toBe(403);
    await send("PUT /groups/acme", {
      project_creation_level: "developer",
      subgroup_creation_level: "maintainer",
    });
    expect((await project("By developer", "developer")).status).toBe(201);
    expect((await subgroup("by-maintainer", "maintainer")).status).toBe(201);
    expect((await subgroup("by-developer", "developer")).status).toBe(403);
    await send("PUT /groups/acme", { project_creation_level: "noone" });
    expect((await project("By owner", "owner")).status).toBe(400);
  });
});

it("a group says what the default branch of its new projects is", async () => {
  const { id } = await get("/groups/acme");
  const settings = { default_branch_name: "of-all" };
  await send("PUT /application/settings", settings, "admin");
  await send("PUT /groups/acme", { default_branch: "of-group" });
  const made = async (name: string, json: object = {}) =>
    (await send("POST /projects", { name, namespace_id: id, ...json }, "admin")).json
      .default_branch;
  expect(await made("Empty")).toBe("of-group");
  const readme = { initialize_with_readme: true };
  expect(await made("Begun", readme)).toBe("of-group");
  expect(await made("Told", { ...readme, default_branch: "own" })).toBe("own");
  await send("PUT /groups/acme", { default_branch: null });
  expect(await made("Cleared")).toBe("of-all");
  expect((await send("PUT /groups/acme", { default_branch: "two..dots" })).status).toBe(400);
});

describe("mails of a project", () => {
  it("are sent to nobody while it or a group above it has them disabled", async () => {
    await app.call("PUT /notification_settings", { as: "reporter", json: { level: "watch" } });
    const told = async () => {
      await send(`POST ${SITE}/issues`, { title: "News" });
      const last = await app.store.one<{ id: number }>("select max(id) as id from events");
      const { id } = last as { id: number };
      return (await app.admin.activity.recipients(id)).length;
    };
    expect(await told()).toBe(1);
    await send(`PUT ${SITE}`, { emails_enabled: false });
    expect(await told()).toBe(0);
    await send(`PUT ${SITE}`, { emails_enabled: true });
    expect(await told()).toBe(1);
    await send("PUT /groups/acme", { emails_disabled: true });
    expect(await told()).toBe(0);
  });
});
