import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { baseSeed, everyone, type Person, type TestApp, testApp } from "../helpers.ts";
import { SETTINGS_OF_PROJECTS } from "../kept.ts";

// Numbers in test names are case ids.

let clock = Date.parse("2026-06-15T12:34:56.789Z");

let app: TestApp;
/** Ids of groups and users by path and name. */
const ids: Record<string, number> = {};

beforeAll(async () => {
  app = await testApp({
    // Each request is a second later, so that orders by time are distinguishable.
    now: () => {
      clock += 1000;
      return clock;
    },
    seed: {
      ...baseSeed,
      users: [
        ...(baseSeed.users ?? []),
        { username: "external", external: true, tokens: [{ token: "token-of-external" }] },
        { username: "maker", tokens: [{ token: "token-of-maker" }] },
      ],
      groups: [
        ...(baseSeed.groups ?? []),
        {
          path: "inside",
          visibility: "internal",
          projects: [{ path: "p", visibility: "internal" }],
        },
      ],
      projects: [{ namespace: "guest", path: "personal", topics: ["a", "b"], description: "Mine" }],
    },
  });
  for (const one of (await app.call("GET /groups", { as: "admin" })).json)
    ids[one.full_path] = one.id;
  for (const one of (await app.call("GET /users?per_page=100", { as: "admin" })).json) {
    ids[one.username] = one.id;
  }
});
afterAll(() => app.dispose());

const call: TestApp["call"] = (request, options) => app.call(request, { as: "owner", ...options });
const asMaker = { headers: { "private-token": "token-of-maker" } };
const pathsOf = (projects: { path_with_namespace: string }[]) =>
  projects.map(({ path_with_namespace }) => path_with_namespace);

let made = 0;
/** Creates a project in acme as its owner and returns the answer. */
async function newProject(more: Record<string, unknown> = {}) {
  made += 1;
  const { status, json } = await call("POST /projects", {
    json: { path: `made-${made}`, namespace_id: ids["acme"], ...more },
  });
  expect(status).toBe(201);
  return json;
}

const instant = expect.stringMatching(/^2026-06-15T\d\d:\d\d:\d\d\.\d{3}Z$/);
const basic = (id: number) => ({
  id,
  description: null,
  name: "Site",
  name_with_namespace: "Acme / Site",
  path: "site",
  path_with_namespace: "acme/site",
  created_at: instant,
  default_branch: "main",
  tag_list: [],
  topics: [],
  ssh_url_to_repo: "git@pm.test:acme/site.git",
  http_url_to_repo: "http://pm.test/acme/site.git",
  web_url: "http://pm.test/acme/site",
  readme_url: null,
  avatar_url: null,
  star_count: 0,
  forks_count: 0,
  last_activity_at: instant,
  visibility: "public",
  namespace: {
    id: ids["acme"],
    name: "Acme",
    path: "acme",
    kind: "group",
    full_path: "acme",
    parent_id: null,
    avatar_url: null,
    web_url: "http://pm.test/groups/acme",
  },
});
const full = (id: number) => ({
  ...basic(id),
  _links: {
    self: `http://pm.test/api/v4/projects/${id}`,
    issues: `http://pm.test/api/v4/projects/${id}/issues`,
    merge_requests: `http://pm.test/api/v4/projects/${id}/merge_requests`,
    repo_branches: `http://pm.test/api/v4/projects/${id}/repository/branches`,
    labels: `http://pm.test/api/v4/projects/${id}/labels`,
    events: `http://pm.test/api/v4/projects/${id}/events`,
    members: `http://pm.test/api/v4/projects/${id}/members`,
  },
  empty_repo: true,
  archived: false,
  issues_enabled: true,
  merge_requests_enabled: true,
  wiki_enabled: true,
  jobs_enabled: true,
  snippets_enabled: true,
  issues_access_level: "enabled",
  merge_requests_access_level: "enabled",
  wiki_access_level: "enabled",
  builds_access_level: "enabled",
  snippets_access_level: "enabled",
  shared_runners_enabled: true,
  lfs_enabled: true,
  repository_object_format: "sha1",
  service_desk_address: null,
  creator_id: null,
  import_url: null,
  import_type: null,
  import_status: "none",
  import_error: null,
  open_issues_count: 0,
  public_jobs: true,
  ci_config_path: null,
  ci_default_git_depth: 20,
  build_timeout: 3600,
  max_artifacts_size: null,
  ci_job_token_scope_enabled: false,
  runners_token: null,
  runner_token_expiration_interval: null,
  requirements_enabled: false,
  security_and_compliance_enabled: false,
  secret_push_protection_enabled: false,
  pre_receive_secret_detection_enabled: false,
  compliance_frameworks: [],
  shared_with_groups: [],
  merge_method: "merge",
  request_access_enabled: true,
  only_allow_merge_if_pipeline_succeeds: false,
  allow_merge_on_skipped_pipeline: false,
  only_allow_merge_if_all_discussions_are_resolved: false,
  only_allow_merge_if_all_status_checks_passed: false,
  remove_source_branch_after_merge: false,
  squash_option: "default_off",
  resolve_outdated_diff_discussions: false,
  autoclose_referenced_issues: true,
  merge_commit_template: null,
  squash_commit_template: null,
  updated_at: expect.any(String),
  container_registry_image_prefix: "pm.test/acme/site",
  ...SETTINGS_OF_PROJECTS,
});

describe("who may do what", () => {
  const SITE = "/projects/acme%2Fsite";
  const VAULT = "/projects/secret%2Fvault";

  //                                                 anonymous stranger guest reporter developer maintainer owner admin
  it.each<[string, object | undefined, number[]]>([
    ["GET /projects", undefined, [200, 200, 200, 200, 200, 200, 200, 200]],
    [`GET ${SITE}`, undefined, [200, 200, 200, 200, 200, 200, 200, 200]],
    [`PUT ${SITE}`, { description: "x" }, [401, 403, 403, 403, 403, 200, 200, 200]],
    [`PUT ${SITE}`, { name: "Site" }, [401, 403, 403, 403, 403, 403, 200, 200]],
    [`PUT ${SITE}`, { visibility: "public" }, [401, 403, 403, 403, 403, 403, 200, 200]],
    [`DELETE ${SITE}`, undefined, [401, 403, 403, 403, 403, 403, 412, 412]],
    [`POST ${SITE}/star`, {}, [401, 201, 201, 201, 201, 201, 201, 201]],
    [`POST ${SITE}/unstar`, {}, [401, 201, 201, 201, 201, 201, 201, 201]],
    [`POST ${SITE}/archive`, {}, [401, 403, 403, 403, 403, 403, 201, 201]],
    [`POST ${SITE}/unarchive`, {}, [401, 403, 403, 403, 403, 403, 201, 201]],
    [`GET ${VAULT}`, undefined, [404, 404, 200, 200, 200, 200, 200, 200]], // 341
    [`PUT ${VAULT}`, { description: "x" }, [401, 404, 403, 403, 403, 200, 200, 200]],
    [`DELETE ${VAULT}`, undefined, [401, 404, 403, 403, 403, 403, 412, 412]],
    [`POST ${VAULT}/star`, {}, [401, 404, 201, 201, 201, 201, 201, 201]],
    [`POST ${VAULT}/unstar`, {}, [401, 404, 201, 201, 201, 201, 201, 201]],
    [`POST ${VAULT}/archive`, {}, [401, 404, 403, 403, 403, 403, 201, 201]],
    [`POST ${VAULT}/unarchive`, {}, [401, 404, 403, 403, 403, 403, 201, 201]],
    ["GET /projects/inside%2Fp", undefined, [404, 200, 200, 200, 200, 200, 200, 200]],
    ["GET /projects/nothing%2Fhere", undefined, [404, 404, 404, 404, 404, 404, 404, 404]],
  ])("%s %j", async (request, json, expected) => {
    const statuses: number[] = [];
    for (const as of everyone) {
      const headers = { "if-unmodified-since": "Fri, 12 Jan 1990 06:00:48 GMT" };
      const answer = await app.call(request, { as, headers, ...(json && { json }) });
      statuses.push(answer.status);
      if (answer.status === 404) expect(answer.json).toEqual({ message: "404 Project Not Found" });
      if (answer.status === 403) expect(answer.json).toEqual({ message: "403 Forbidden" });
    }
    expect(statuses).toEqual(expected);
  });

  it("an external user sees no internal project", async () => {
    const headers = { "private-token": "token-of-external" };
    expect((await app.call("GET /projects/inside%2Fp", { headers })).status).toBe(404);
    expect(pathsOf((await app.call("GET /projects", { headers })).json)).toEqual(["acme/site"]);
  });

  it("the owner of a namespace owns its projects", async () => {
    const at = "/projects/guest%2Fpersonal";
    expect((await call(`PUT ${at}`, { as: "guest", json: { name: "Personal" } })).status).toBe(200);
    expect((await call(`GET ${at}`)).status).toBe(404);
    expect((await call(`GET ${at}`, { as: "admin" })).status).toBe(200);
  });
});

describe("GET /projects", () => {
  const all = ["guest/personal", "inside/p", "secret/vault", "acme/team/core", "acme/site"];

  it.each([
    ["", "anonymous", ["acme/site"]],
    ["", "stranger", ["inside/p", "acme/site"]],
    ["", "guest", all],
    ["", "developer", ["inside/p", "secret/vault", "acme/team/core", "acme/site"]],
    ["", "admin", all],
    ["membership=true", "guest", ["guest/personal", "secret/vault", "acme/team/core", "acme/site"]],
    ["membership=true", "stranger", []],
    ["membership=false", "stranger", ["inside/p", "acme/site"]],
    ["owned=true", "guest", ["guest/personal"]],
    ["owned=true", "owner", ["secret/vault", "acme/team/core", "acme/site"]],
    ["owned=true", "maintainer", []],
    ["min_access_level=40", "maintainer", ["secret/vault", "acme/team/core", "acme/site"]],
    ["min_access_level=50", "maintainer", []],
    ["visibility=public", "guest", ["acme/site"]],
    ["visibility=internal", "guest", ["inside/p"]],
    ["visibility=private", "guest", ["guest/personal", "secret/vault", "acme/team/core"]],
    ["visibility=private", "anonymous", []],
    ["search=SIT", "guest", ["acme/site"]],
    ["search=mine", "guest", ["guest/personal"]],
    ["search=_", "guest", []],
    ["search=nothing", "guest", []],
    ["archived=true", "guest", []],
    ["archived=false", "guest", all],
    ["with_issues_enabled=true", "guest", all],
    ["starred=true", "guest", []],
    [
      "order_by=id&sort=asc",
      "guest",
      ["acme/site", "acme/team/core", "secret/vault", "inside/p", "guest/personal"],
    ],
    ["order_by=id", "guest", all],
    [
      "order_by=name&sort=asc",
      "developer",
      ["acme/team/core", "acme/site", "secret/vault", "inside/p"],
    ],
    [
      "order_by=path&sort=desc",
      "developer",
      ["secret/vault", "acme/site", "inside/p", "acme/team/core"],
    ],
    [
      "order_by=created_at&sort=asc",
      "developer",
      ["acme/site", "acme/team/core", "secret/vault", "inside/p"],
    ],
    ["id_after=2&order_by=id&sort=asc", "developer", ["secret/vault", "inside/p"]],
    ["id_before=2", "developer", ["acme/site"]],
    ["simple=true&search=site", "developer", ["acme/site"]],
  ] as const)("?%s as %s", async (query, as, expected) => {
    const { status, json, headers } = await call(`GET /projects?${query}`, { as });
    expect([status, pathsOf(json)]).toEqual([200, expected]);
    expect(headers.get("x-total")).toBe(String(expected.length));
  });

  it("can be ordered by last update", async () => {
    await call("PUT /projects/acme%2Fsite", { json: { description: "changed" } });
    for (const order of ["updated_at", "last_activity_at"]) {
      const { json } = await call(`GET /projects?order_by=${order}`, { as: "developer" });
      expect(pathsOf(json)[0]).toBe("acme/site");
    }
    await call("PUT /projects/acme%2Fsite", { json: { description: "" } });
  });

  it("shows the same fields as a single project", async () => {
    for (const as of ["anonymous", "stranger", "guest"] as const) {
      const list = await call("GET /projects?search=site", { as });
      const alone = await call("GET /projects/acme%2Fsite", { as });
      expect(list.json).toEqual([alone.json]);
    }
    const simple = await call("GET /projects?search=site&simple=true");
    expect(simple.json).toEqual((await app.call("GET /projects?search=site")).json);
  });
});

describe("GET /projects/:id", () => {
  it("shows the basics to anyone, and the rest to users, with their permissions", async () => {
    const { json: anonymous } = await app.call("GET /projects/acme%2Fsite");
    expect(anonymous).toEqual(basic(anonymous.id));
    const access = async (as: Person) => {
      const { json } = await call(`GET /projects/${anonymous.id}`, { as });
      const { permissions, can_create_merge_request_in, ...rest } = json;
      expect(rest).toEqual(full(anonymous.id));
      expect(can_create_merge_request_in).toBe(true);
      return permissions;
    };
    const nothing = { project_access: null, group_access: null };
    expect(await access("stranger")).toEqual(nothing);
    expect(await access("admin")).toEqual(nothing);
    const group_access = { access_level: 30, notification_level: 3 };
    expect(await access("developer")).toEqual({ project_access: null, group_access });
  });

  it("shows the owner of a personal one", async () => {
    const { json } = await call("GET /projects/guest%2Fpersonal", { as: "guest" });
    expect(json).toMatchObject({
      path_with_namespace: "guest/personal",
      description: "Mine",
      topics: ["a", "b"],
      tag_list: ["a", "b"],
      namespace: { kind: "user", full_path: "guest", web_url: "http://pm.test/guest" },
      owner: { id: ids["guest"], username: "guest" },
      permissions: {
        project_access: { access_level: 50, notification_level: 3 },
        group_access: null,
      },
    });
    expect(Object.keys(json.owner)).toEqual([
      "id",
      "name",
      "username",
      "state",
      "avatar_url",
      "web_url",
    ]);
  });
});

describe("POST /projects", () => {
  it("343: creates a private personal project from a name, deriving the path", async () => {
    const { status, json } = await app.call("POST /projects", {
      ...asMaker,
      json: { name: "Ma première – Idée 2.0!" },
    });
    expect(status).toBe(201);
    expect(json).toMatchObject({
      name: "Ma première – Idée 2.0!",
      path: "ma-premiere-idee-2.0",
      path_with_namespace: "maker/ma-premiere-idee-2.0",
      visibility: "private",
      creator_id: ids["maker"],
      owner: { username: "maker" },
      permissions: { project_access: { access_level: 50 } },
    });
    expect(Object.keys(json).sort()).toEqual(
      [...Object.keys(full(1)), "owner", "can_create_merge_request_in", "permissions"].sort(),
    );
    const members = await app.call(`GET /projects/${json.id}/members`, asMaker);
    expect(members.json).toMatchObject([{ username: "maker", access_level: 50 }]);
  });

  it("344: creates one from a path, deriving the name", async () => {
    const { status, json } = await app.call("POST /projects", {
      ...asMaker,
      form: { path: "the-path" },
    });
    expect([status, json.name, json.path]).toEqual([201, "the-path", "the-path"]);
  });

  it("accepts every attribute of a project", async () => {
    const json = await newProject({
      name: "Everything",
      description: "é",
      visibility: "public",
      default_branch: "main",
      merge_method: "ff",
      topics: ["one", "two"],
      issues_enabled: false,
      wiki_enabled: false,
      lfs_enabled: false,
      request_access_enabled: true,
      only_allow_merge_if_pipeline_succeeds: true,
    });
    const expected = {
      name: "Everything",
      description: "é",
      visibility: "public",
      default_branch: "main",
      merge_method: "ff",
      topics: ["one", "two"],
      tag_list: ["one", "two"],
      issues_enabled: false,
      wiki_enabled: false,
      lfs_enabled: false,
      request_access_enabled: true,
      only_allow_merge_if_pipeline_succeeds: true,
      merge_requests_enabled: true,
    };
    expect(json).toMatchObject(expected);
    expect((await call(`GET /projects/${json.id}`)).json).toMatchObject(expected);
    expect((await newProject({ tag_list: "a, b" })).topics).toEqual(["a", "b"]);
  });

  it.each([
    ["issues_enabled", "issues_access_level"],
    ["merge_requests_enabled", "merge_requests_access_level"],
    ["wiki_enabled", "wiki_access_level"],
    ["jobs_enabled", "builds_access_level"],
    ["snippets_enabled", "snippets_access_level"],
  ])("shows and takes %s as %s, too", async (flag, level) => {
    const { id, ...made } = await newProject({ [level]: "disabled" });
    expect([made[flag], made[level]]).toEqual([false, "disabled"]);
    const { json } = await call(`PUT /projects/${id}`, { json: { [level]: "enabled" } });
    expect([json[flag], json[level]]).toEqual([true, "enabled"]);
    const kept = await call(`PUT /projects/${id}`, { json: { [level]: "private" } });
    expect([kept.json[flag], kept.json[level]]).toEqual([true, "private"]);
    const refused = await call(`PUT /projects/${id}`, { json: { [level]: "public" } });
    expect([refused.status, refused.json]).toEqual([
      400,
      { message: { [level]: ["does not have a valid value"] } },
    ]);
  });

  it.each([
    [{}, "400 (Bad request) name, path are missing, at least one parameter must be provided"],
    [
      { description: "x" },
      "400 (Bad request) name, path are missing, at least one parameter must be provided",
    ],
    [
      { name: null, path: null },
      "400 (Bad request) name, path are missing, at least one parameter must be provided",
    ],
    [{ name: "" }, { name: ["can't be blank"] }],
    [{ name: "x", visibility: "open" }, { visibility: ["does not have a valid value"] }],
    [{ name: "x", merge_method: "magic" }, { merge_method: ["does not have a valid value"] }],
    [{ name: "x", issues_enabled: "maybe" }, { issues_enabled: ["is invalid"] }],
    [{ name: "x", namespace_id: "acme" }, { namespace_id: ["is invalid"] }],
    [{ name: "x", namespace_id: 4711 }, { namespace: ["is not valid"] }],
  ])("refuses %j", async (json, message) => {
    const answer = await app.call("POST /projects", { ...asMaker, json });
    expect([answer.status, answer.json]).toEqual([400, { message }]);
  });

  it.each([
    { name: "新" },
    { name: "x", path: "a b" },
    { path: "a/b" },
    { path: ".git" },
    { path: "x.git" },
  ])("refuses the path of %j", async (json) => {
    const answer = await app.call("POST /projects", { ...asMaker, json });
    expect([answer.status, Object.keys(answer.json.message)]).toEqual([400, ["path"]]);
  });

  it.each(["x.git", "x.GIT", "x.atom", "x.wiki"])(
    "refuses the path %s everywhere",
    async (path) => {
      const refusal = path.endsWith("wiki")
        ? "cannot end in '.wiki': that is the address of a wiki"
        : "can contain only letters, digits, '_', '-' and '.'. Cannot start with '-', end in '.git' or end in '.atom'";
      const project = await newProject();
      for (const [request, json] of [
        ["POST /projects", { path }],
        ["POST /projects", { name: path }],
        ["POST /projects", { path, initialize_with_readme: true }],
        [`PUT /projects/${project.id}`, { path }],
        [`POST /projects/${project.id}/fork`, { path }],
      ] as const) {
        const { status, json: answer } = await call(request, { json });
        expect([status, answer]).toEqual([400, { message: { path: [refusal] } }]);
      }
      const record = { namespace: "acme", name: "x", path };
      await expect(app.admin.projects.create(record)).rejects.toThrow(refusal);
    },
  );

  it("keeps the path that an older version allowed", async () => {
    const { id, path } = await newProject();
    const old = `${path}.wiki`;
    await app.store.transaction((db) =>
      db.run("update projects set path = ?, full_path = ? where id = ?", [old, `acme/${old}`, id]),
    );
    const { status } = await call(`PUT /projects/${id}`, { json: { path: old, name: "Old" } });
    expect(status).toBe(200);
  });

  it("is for maintainers of the namespace", async () => {
    for (const [as, expected] of [
      ["stranger", 400],
      ["guest", 400],
      ["reporter", 400],
      ["developer", 400],
      ["maintainer", 201],
      ["owner", 201],
      ["admin", 201],
    ] as const) {
      for (const group of ["acme", "secret"]) {
        const { status, json } = await call("POST /projects", {
          as,
          json: { path: `by-${as}`, namespace_id: ids[group] },
        });
        expect([as, group, status]).toEqual([as, group, expected]);
        if (status === 400) expect(json).toEqual({ message: { namespace: ["is not valid"] } });
        else await call(`DELETE /projects/${json.id}`);
      }
    }
    const { status } = await call("POST /projects?name=x");
    expect(status).toBe(201);
    expect((await app.call("POST /projects?name=x")).status).toBe(401);
  });

  it("355: is 409 for a taken name or path, in any case", async () => {
    const taken = ["has already been taken"];
    const { name, path } = await newProject({ name: "Taken name", path: "taken-path" });
    for (const [sent, message] of [
      [{ name, path: "other" }, { name: taken }],
      [{ name: "TAKEN NAME", path: "other" }, { name: taken }],
      [{ name: "Other", path }, { path: taken }],
      [{ path: "Taken-Path" }, { path: taken }],
      [
        { name, path },
        { name: taken, path: taken },
      ],
      [{ path: "team" }, { path: taken }], // a subgroup
    ] as const) {
      const answer = await call("POST /projects", { json: { ...sent, namespace_id: ids["acme"] } });
      expect([answer.status, answer.json]).toEqual([409, { message }]);
    }
    const elsewhere = await call("POST /projects", {
      json: { name, path, namespace_id: ids["secret"] },
    });
    expect(elsewhere.status).toBe(201);
  });

  it("limits visibility to its group's", async () => {
    const { status, json } = await call("POST /projects", {
      json: { name: "x", namespace_id: ids["secret"], visibility: "public" },
    });
    expect([status, json]).toEqual([
      400,
      { message: { visibility_level: ["public is not allowed in a private group."] } },
    ]);
  });

  it("stops at the limit of personal projects", async () => {
    const user = await call("POST /users", {
      as: "admin",
      json: {
        name: "L",
        username: "limited",
        email: "l@example.com",
        password: "long enough",
        projects_limit: 1,
      },
    });
    const { token } = await app.admin.tokens.create({
      user: "limited",
      name: "t",
      scopes: ["api"],
    });
    const make = (path: string) =>
      app.call("POST /projects", { headers: { "private-token": token }, json: { path } });
    expect((await make("one")).status).toBe(201);
    const { status, json } = await make("two");
    expect([status, json]).toEqual([
      403,
      { message: "403 Forbidden - Your project limit is reached." },
    ]);
    await call(`PUT /users/${user.json.id}`, { as: "admin", json: { projects_limit: 2 } });
    expect((await make("two")).status).toBe(201);
  });
});

describe("PUT /projects/:id", () => {
  it("346: requires something to change", async () => {
    const project = await newProject();
    for (const json of [{}, { unknown: 1 }, { name: null, wiki_enabled: "" }]) {
      const answer = await call(`PUT /projects/${project.id}`, { json });
      expect(answer.status).toBe(400);
      expect(answer.json.message).toMatch(
        /^400 \(Bad request\) name, path, .*, description, .* are missing, at least one parameter must be provided$/,
      );
    }
  });

  it("changes only what is sent", async () => {
    const project = await newProject({ description: "before", topics: "a" });
    const { status, json } = await call(`PUT /projects/${project.id}`, {
      json: { name: "New name", path: "new-path", visibility: "internal", wiki_enabled: false },
    });
    expect(status).toBe(200);
    expect(json).toEqual({
      ...project,
      name: "New name",
      name_with_namespace: "Acme / New name",
      path: "new-path",
      path_with_namespace: "acme/new-path",
      container_registry_image_prefix: "pm.test/acme/new-path",
      ssh_url_to_repo: "git@pm.test:acme/new-path.git",
      http_url_to_repo: "http://pm.test/acme/new-path.git",
      web_url: "http://pm.test/acme/new-path",
      visibility: "internal",
      updated_at: expect.any(String),
      wiki_enabled: false,
      wiki_access_level: "disabled",
      last_activity_at: expect.any(String),
    });
    expect(json.last_activity_at > project.last_activity_at).toBe(true);
    expect((await call("GET /projects/acme%2Fnew-path")).json.id).toBe(project.id);
    expect((await call(`GET /projects/acme%2F${project.path}`)).status).toBe(301);
    await call(`DELETE /projects/${project.id}`);
  });

  it.each([
    ["description", "x", null],
    ["default_branch", "trunk", "main"],
  ])("empties %s", async (attribute, value, empty) => {
    const project = await newProject();
    for (const nothing of [null, ""]) {
      const set = await call(`PUT /projects/${project.id}`, { json: { [attribute]: value } });
      expect(set.json[attribute]).toBe(value);
      const { json } = await call(`PUT /projects/${project.id}`, {
        json: { [attribute]: nothing },
      });
      expect(json[attribute]).toBe(empty);
    }
  });

  it("replaces and clears topics", async () => {
    const project = await newProject({ topics: "a,b" });
    for (const [topics, expected] of [
      ["c, d", ["c", "d"]],
      [["e"], ["e"]],
      ["", []],
    ]) {
      const { json } = await call(`PUT /projects/${project.id}`, { json: { topics } });
      expect(json.topics).toEqual(expected);
    }
  });

  it("accepts its own name and path in another case, and no other project's", async () => {
    const [project, other] = [await newProject(), await newProject()];
    const same = { name: project.name.toUpperCase(), path: project.path.toUpperCase() };
    expect((await call(`PUT /projects/${project.id}`, { json: same })).json).toMatchObject(same);
    const taken = ["has already been taken"];
    for (const [sent, message] of [
      [{ name: other.name }, { name: taken }],
      [{ path: other.path.toUpperCase() }, { path: taken }],
      [{ path: "team" }, { path: taken }],
    ]) {
      const answer = await call(`PUT /projects/${project.id}`, { json: sent });
      expect([answer.status, answer.json]).toEqual([409, { message }]);
    }
    expect((await call(`PUT /projects/${project.id}`, { json: { path: "a b" } })).status).toBe(400);
    expect((await call(`GET /projects/${project.id}`)).json).toMatchObject(same);
  });

  it("limits visibility to its group's", async () => {
    const { json } = await call("POST /projects", {
      json: { name: "v", namespace_id: ids["secret"] },
    });
    const answer = await call(`PUT /projects/${json.id}?visibility=internal`);
    expect([answer.status, Object.keys(answer.json.message)]).toEqual([400, ["visibility_level"]]);
  });
});

describe("stars", () => {
  const stars = async (id: number) => (await call(`GET /projects/${id}`)).json.star_count;

  it("347, 349: are given and removed once, else 304", async () => {
    const { id } = await newProject({ visibility: "public" });
    const none = await call(`POST /projects/${id}/unstar`);
    expect([none.status, none.text]).toEqual([304, ""]);
    const { status, json } = await call(`POST /projects/${id}/star`);
    expect([status, json.id, json.star_count]).toEqual([201, id, 1]);
    expect(Object.keys(json)).toContain("permissions");
    const again = await call(`POST /projects/${id}/star`);
    expect([again.status, again.text]).toEqual([304, ""]);
    expect((await call(`POST /projects/${id}/star`, { as: "stranger" })).json.star_count).toBe(2);
    const starred = await call("GET /projects?starred=true", { as: "stranger" });
    expect(starred.json.map(({ id }: { id: number }) => id)).toEqual([id]);
    const back = await call(`POST /projects/${id}/unstar`, { as: "stranger" });
    expect([back.status, back.json.star_count]).toEqual([201, 1]);
    expect(await stars(id)).toBe(1);
  });

  it("given concurrently are all counted", async () => {
    const { id } = await newProject({ visibility: "public" });
    const people = ["stranger", "guest", "reporter", "developer", "maintainer", "owner"] as const;
    const answers = await Promise.all(
      [...people, ...people].map((as) => call(`POST /projects/${id}/star`, { as })),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(6);
    expect(answers.filter(({ status }) => status === 304)).toHaveLength(6);
    expect(await stars(id)).toBe(6);
  });
});

describe("the archive", () => {
  it("archives and unarchives a project, as often as asked", async () => {
    const { id, path_with_namespace } = await newProject();
    for (const [action, archived] of [
      ["archive", true],
      ["archive", true],
      ["unarchive", false],
      ["unarchive", false],
    ] as const) {
      const { status, json } = await call(`POST /projects/${id}/${action}`);
      expect([status, json.archived]).toEqual([201, archived]);
      const list = await call(`GET /projects?archived=true`);
      expect(pathsOf(list.json)).toEqual(archived ? [path_with_namespace] : []);
    }
  });
});

describe("DELETE /projects/:id", () => {
  it("350: is accepted, and deletes the project with all it contains", async () => {
    const { id, path_with_namespace } = await newProject();
    await call(`POST /projects/${id}/star`);
    await call(`POST /projects/${id}/labels?name=x&color=%23000`);
    await call(`POST /projects/${id}/milestones?title=x`);
    const { status, json } = await call(`DELETE /projects/${id}`);
    expect([status, json]).toEqual([202, { message: "202 Accepted" }]);
    for (const one of [id, encodeURIComponent(path_with_namespace)]) {
      expect((await call(`GET /projects/${one}`)).status).toBe(404);
    }
    expect((await call(`DELETE /projects/${id}`)).status).toBe(404);
  });

  it("is 412 if the project was changed since", async () => {
    const { id } = await newProject();
    const del = (at: number) =>
      call(`DELETE /projects/${id}`, {
        headers: { "if-unmodified-since": new Date(at).toUTCString() },
      });
    expect((await del(clock - 60_000)).status).toBe(412);
    expect((await del(clock)).status).toBe(202);
  });
});
