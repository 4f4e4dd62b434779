import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { baseSeed, everyone, type Person, type TestApp, testApp } from "../helpers.ts";
import { SETTINGS_OF_GROUPS } from "../kept.ts";

// Numbers in test names are case ids.

const NOW = Date.parse("2026-06-15T12:34:56.789Z");

let app: TestApp;
beforeAll(async () => {
  app = await testApp({
    now: () => NOW,
    seed: {
      ...baseSeed,
      users: [
        ...(baseSeed.users ?? []),
        { username: "external", external: true, tokens: [{ token: "token-of-external" }] },
      ],
      groups: [
        ...(baseSeed.groups ?? []),
        {
          path: "inside",
          visibility: "internal",
          projects: [{ path: "p", visibility: "internal" }],
        },
        {
          path: "upper",
          subgroups: [
            {
              path: "lower",
              projects: [{ path: "shared", members: { stranger: "guest" } }, { path: "hidden" }],
            },
          ],
        },
      ],
    },
  });
});
afterAll(() => app.dispose());

const call: TestApp["call"] = (request, options) => app.call(request, { as: "owner", ...options });
const paths = (groups: { full_path: string }[]) => groups.map(({ full_path }) => full_path);
const external = { headers: { "private-token": "token-of-external" } };

/** Creates a group as its owner, with these attributes beside name and path; returns its id and path. */
let made = 0;
async function newGroup(more: Record<string, unknown> = {}) {
  made += 1;
  const path = `made-${made}`;
  const { status, json } = await call("POST /groups", {
    json: { name: `Made ${made}`, path, ...more },
  });
  expect(status).toBe(201);
  return { id: json.id as number, path: json.full_path as string };
}

const acme = {
  id: expect.any(Number),
  web_url: "http://pm.test/groups/acme",
  name: "Acme",
  path: "acme",
  description: "",
  visibility: "public",
  lfs_enabled: true,
  avatar_url: null,
  request_access_enabled: true,
  full_name: "Acme",
  full_path: "acme",
  created_at: "2026-06-15T12:34:56.789Z",
  parent_id: null,
  ...SETTINGS_OF_GROUPS,
  archived: false,
  default_branch_protection_defaults: {
    allowed_to_push: [{ access_level: 40 }],
    allow_force_push: false,
    allowed_to_merge: [{ access_level: 40 }],
    code_owner_approval_required: false,
    developer_can_initial_push: false,
  },
  organization_id: 1,
  marked_for_deletion_on: null,
  ldap_cn: null,
  ldap_access: null,
  repository_storage: "default",
};
/** What only single groups have. */
const details = {
  shared_with_groups: [],
  runners_token: null,
};

describe("who may do what", () => {
  // In a public group                        anonymous stranger guest reporter developer maintainer owner admin
  it.each<[string, object | undefined, number[]]>([
    ["GET /groups", undefined, [200, 200, 200, 200, 200, 200, 200, 200]],
    ["GET /groups/acme", undefined, [200, 200, 200, 200, 200, 200, 200, 200]],
    ["GET /groups/acme/subgroups", undefined, [200, 200, 200, 200, 200, 200, 200, 200]],
    ["GET /groups/acme/descendant_groups", undefined, [200, 200, 200, 200, 200, 200, 200, 200]],
    ["GET /groups/acme/projects", undefined, [200, 200, 200, 200, 200, 200, 200, 200]],
    ["PUT /groups/acme", { name: "Acme" }, [401, 403, 403, 403, 403, 403, 200, 200]], // 326
    ["DELETE /groups/acme", undefined, [401, 403, 403, 403, 403, 403, 412, 412]], // 328
    ["GET /groups/secret", undefined, [404, 404, 200, 200, 200, 200, 200, 200]], // 320
    ["GET /groups/secret/subgroups", undefined, [404, 404, 200, 200, 200, 200, 200, 200]],
    ["GET /groups/secret/descendant_groups", undefined, [404, 404, 200, 200, 200, 200, 200, 200]],
    ["GET /groups/secret/projects", undefined, [404, 404, 200, 200, 200, 200, 200, 200]],
    ["PUT /groups/secret", { name: "Secret" }, [401, 404, 403, 403, 403, 403, 200, 200]],
    ["DELETE /groups/secret", undefined, [401, 404, 403, 403, 403, 403, 412, 412]],
    ["GET /groups/inside", undefined, [404, 200, 200, 200, 200, 200, 200, 200]],
  ])("%s %j", async (request, json, expected) => {
    const statuses: number[] = [];
    for (const as of everyone) {
      // Allowed callers get 412, so nothing is deleted.
      const headers = { "if-unmodified-since": "Fri, 12 Jan 1990 06:00:48 GMT" };
      const answer = await app.call(request, { as, headers, ...(json && { json }) });
      statuses.push(answer.status);
      if (answer.status === 404) expect(answer.json).toEqual({ message: "404 Group Not Found" });
    }
    expect(statuses).toEqual(expected);
  });

  it("an external user sees no internal group, and a public one", async () => {
    expect((await app.call("GET /groups/inside", external)).status).toBe(404);
    expect((await app.call("GET /groups/acme", external)).status).toBe(200);
    const all = await app.call("GET /groups?all_available=true", external);
    expect(paths(all.json)).toEqual(["acme"]);
  });

  it("a member of a project below sees the groups above, but nothing else in them", async () => {
    for (const path of ["upper", "upper%2Flower"]) {
      expect((await call(`GET /groups/${path}`, { as: "stranger" })).status).toBe(200);
      expect((await call(`GET /groups/${path}`, { as: "guest" })).status).toBe(404);
    }
    const { json } = await call("GET /groups/upper%2Flower", { as: "stranger" });
    expect(json.projects.map(({ path }: { path: string }) => path)).toEqual(["shared"]);
    expect((await call("GET /groups/upper/boards", { as: "stranger" })).status).toBe(200);
    expect((await call("PUT /groups/upper?name=x", { as: "stranger" })).status).toBe(403);
  });

  it("a role in a group applies to those below, and the highest counts", async () => {
    const sub = "/groups/acme%2Fteam";
    expect((await call(`PUT ${sub}`, { json: { description: "by the owner above" } })).status).toBe(
      200,
    );
    expect((await call(`GET ${sub}`, { as: "guest" })).status).toBe(200);
    expect((await call(`PUT ${sub}?name=x`, { as: "maintainer" })).status).toBe(403);
  });
});

describe("GET /groups", () => {
  it.each([
    ["", "anonymous", ["acme"]],
    ["", "stranger", ["upper/lower", "upper"]], // 316
    ["", "guest", ["acme", "secret", "acme/team"]],
    ["", "admin", ["acme", "secret", "acme/team", "inside", "upper/lower", "upper"]],
    ["all_available=true", "anonymous", ["acme"]],
    ["all_available=true", "stranger", ["acme", "inside", "upper/lower", "upper"]],
    ["all_available=false", "stranger", ["upper/lower", "upper"]],
    ["owned=true", "guest", []], // 317
    ["owned=true", "owner", ["acme", "secret", "acme/team"]],
    ["owned=true", "anonymous", []],
    ["min_access_level=30", "reporter", []],
    ["min_access_level=30", "developer", ["acme", "secret", "acme/team"]],
    ["search=ACM", "owner", ["acme"]],
    ["search=tea", "owner", ["acme/team"]],
    ["search=%25", "owner", []],
    ["search=", "owner", ["acme", "secret", "acme/team"]],
    ["sort=desc", "owner", ["acme/team", "secret", "acme"]],
    ["order_by=path", "owner", ["acme", "secret", "acme/team"]],
    ["order_by=path&sort=desc", "owner", ["acme/team", "secret", "acme"]],
    ["order_by=id", "owner", ["acme", "acme/team", "secret"]],
    ["order_by=id&sort=desc", "owner", ["secret", "acme/team", "acme"]],
    ["unknown=x", "owner", ["acme", "secret", "acme/team"]],
  ] as const)("?%s as %s", async (query, as, expected) => {
    const { status, json, headers } = await call(`GET /groups?${query}`, { as });
    expect([status, paths(json)]).toEqual([200, expected]);
    expect(headers.get("x-total")).toBe(String(expected.length));
  });

  it("returns groups without their projects", async () => {
    const { json } = await app.call("GET /groups");
    expect(json).toEqual([acme]);
  });
});

describe("GET /groups/:id", () => {
  it("returns the group with the projects the caller may read", async () => {
    const { json } = await call("GET /groups/acme");
    const whole = { ...acme, ...details, projects: [expect.anything()], shared_projects: [] };
    expect(json).toEqual(whole);
    expect(Object.keys(json)).toEqual(Object.keys(whole));
    expect(json.projects[0]).toMatchObject({ path_with_namespace: "acme/site" });
    expect(json.projects[0]).not.toHaveProperty("permissions");

    await call(`POST /projects`, { json: { path: "hidden", namespace_id: json.id } });
    const projects = async (as: "anonymous" | "guest") =>
      (await call("GET /groups/acme", { as })).json.projects.map(
        ({ path }: { path: string }) => path,
      );
    expect(await projects("anonymous")).toEqual(["site"]);
    expect(await projects("guest")).toEqual(["site", "hidden"]);
    await call("DELETE /projects/acme%2Fhidden");
  });

  it("319: omits the projects if asked to", async () => {
    expect((await call("GET /groups/acme?with_projects=false")).json).toEqual({
      ...acme,
      ...details,
    });
    expect((await call("GET /groups/acme?with_projects=true")).json.projects).toHaveLength(1);
  });

  it("shows a subgroup's parent and full path", async () => {
    const parent = (await call("GET /groups/acme")).json.id;
    const { json } = await call("GET /groups/acme%2Fteam?with_projects=false");
    expect(json).toEqual({
      ...acme,
      ...details,
      description: expect.any(String),
      web_url: "http://pm.test/groups/acme/team",
      name: "Team",
      path: "team",
      visibility: "private",
      full_name: "Acme / Team",
      full_path: "acme/team",
      parent_id: parent,
    });
  });

  it("lists what is below it at all levels", async () => {
    const below = async (group: string, query = "") => {
      const answer = await call(`GET /groups/${group}/descendant_groups${query}`);
      return paths(answer.json);
    };
    const upper = await newGroup();
    const lower = await newGroup({ parent_id: upper.id, path: "b" });
    await newGroup({ parent_id: lower.id, path: "a", name: "0" });
    expect(await below(upper.path)).toEqual([`${lower.path}/a`, lower.path]);
    expect(await below(upper.path, "?order_by=id")).toEqual([lower.path, `${lower.path}/a`]);
    expect(await below(lower.path.replace("/", "%2F"))).toEqual([`${lower.path}/a`]);
  });

  it("is 404 for a user's own namespace", async () => {
    const { status, json } = await call("GET /groups/guest", { as: "admin" });
    expect([status, json]).toEqual([404, { message: "404 Group Not Found" }]);
  });
});

describe("GET /projects/:id/groups", () => {
  const above = async (project: string, query = "", as?: Person) => {
    const request = `GET /projects/${encodeURIComponent(project)}/groups${query}`;
    const answer = await app.call(request, as && { as });
    return answer.status === 200 ? paths(answer.json) : answer.status;
  };

  it("lists the groups that a project is in, which the caller may see", async () => {
    expect(await above("acme/site")).toEqual(["acme"]);
    expect(await above("acme/team/core", "", "stranger")).toBe(404);
    expect(await above("acme/team/core", "", "guest")).toEqual(["acme", "acme/team"]);
    expect(await above("acme/team/core", "?search=tea", "guest")).toEqual(["acme/team"]);
    const { json } = await call("GET /projects/acme%2Fteam%2Fcore/groups?per_page=1");
    expect(json).toEqual([
      {
        id: expect.any(Number),
        web_url: "http://pm.test/groups/acme",
        name: "Acme",
        avatar_url: null,
        full_name: "Acme",
        full_path: "acme",
      },
    ]);
    const skipped = `?skip_groups[]=${json[0].id}`;
    expect(await above("acme/team/core", skipped, "guest")).toEqual(["acme/team"]);
  });

  it("is empty for a user's own project", async () => {
    const made = await call("POST /projects", { as: "guest", json: { name: "Own" } });
    expect(await above(made.json.path_with_namespace, "", "guest")).toEqual([]);
  });
});

describe("POST /groups", () => {
  it("creates a private group owned by the caller", async () => {
    const { status, json } = await call("POST /groups", {
      as: "stranger",
      json: { name: "My group", path: "my-group" },
    });
    expect(status).toBe(201);
    expect(json).toEqual({
      ...acme,
      ...details,
      web_url: "http://pm.test/groups/my-group",
      name: "My group",
      path: "my-group",
      visibility: "private",
      full_name: "My group",
      full_path: "my-group",
      projects: [],
      shared_projects: [],
    });
    const members = await call("GET /groups/my-group/members", { as: "stranger" });
    expect(members.json).toMatchObject([{ username: "stranger", access_level: 50 }]);
    expect((await call("GET /groups/my-group")).status).toBe(404);
    await call("DELETE /groups/my-group", { as: "stranger" });
  });

  it("accepts every attribute of a group", async () => {
    const group = await newGroup({
      description: "What it is for",
      visibility: "internal",
      lfs_enabled: false,
      request_access_enabled: true,
    });
    expect((await call(`GET /groups/${group.id}`)).json).toMatchObject({
      description: "What it is for",
      visibility: "internal",
      lfs_enabled: false,
      request_access_enabled: true,
    });
  });

  it.each([
    [{ name: "x" }, '400 (Bad request) "path" not given'], // 323
    [{ path: "x" }, '400 (Bad request) "name" not given'],
    [{ name: "", path: "x" }, { name: ["can't be blank"] }],
    [{ name: "x", path: "" }, { path: ["can't be blank"] }],
    [
      { name: "x", path: "x", visibility: "secret" },
      { visibility: ["does not have a valid value"] },
    ],
    [{ name: "x", path: "x", parent_id: "acme" }, { parent_id: ["is invalid"] }],
    [{ name: "x".repeat(256), path: "x" }, { name: ["is too long (maximum is 255 characters)"] }],
    [{ name: "x", path: "api" }, { path: ["api is a reserved name"] }],
    [{ name: "x", path: "Groups" }, { path: ["Groups is a reserved name"] }],
  ])("refuses %j", async (json, message) => {
    const answer = await call("POST /groups", { json });
    expect([answer.status, answer.json]).toEqual([400, { message }]);
  });

  it.each(["a/b", "a b", ".a", "-a", "a.git", "a.atom", "é", "a%2Fb", "..", "a\n"])(
    "refuses the path %j",
    async (path) => {
      const { status, json } = await call("POST /groups", { json: { name: "x", path } });
      expect(status).toBe(400);
      expect(Object.keys(json.message)).toEqual(["path"]);
    },
  );

  it.each(["acme", "ACME", "guest"])("322: is 409 for the taken path %s", async (path) => {
    const { status, json } = await call("POST /groups", { json: { name: "x", path } });
    expect([status, json]).toEqual([409, { message: { path: ["has already been taken"] } }]);
  });

  it("is 403 for users who may not create groups, except below their own", async () => {
    const user = await call("POST /users", {
      as: "admin",
      json: {
        name: "N",
        username: "nogroups",
        email: "n@example.com",
        password: "long enough",
        can_create_group: false,
      },
    });
    const { token } = await app.admin.tokens.create({
      user: "nogroups",
      name: "t",
      scopes: ["api"],
    });
    const headers = { "private-token": token };
    const top = await app.call("POST /groups", { headers, json: { name: "x", path: "top" } });
    expect([top.status, top.json]).toEqual([403, { message: "403 Forbidden" }]);
    const group = await newGroup();
    await call(`POST /groups/${group.id}/members`, {
      json: { user_id: user.json.id, access_level: 50 },
    });
    const below = await app.call("POST /groups", {
      headers,
      json: { name: "x", path: "below", parent_id: group.id },
    });
    expect(below.status).toBe(201);
  });

  it("creates a subgroup for the owners of its parent only", async () => {
    const { id } = await newGroup({ visibility: "public" });
    const make = (as: "owner" | "guest" | "stranger", parent_id: number) =>
      call("POST /groups", { as, json: { name: "Sub", path: `sub-of-${as}`, parent_id } });
    const created = await make("owner", id);
    expect(created.status).toBe(201);
    expect(created.json).toMatchObject({ parent_id: id, full_name: `Made ${made} / Sub` });
    expect((await make("stranger", id)).status).toBe(403);
    const secret = (await call("GET /groups/secret")).json.id;
    expect((await make("guest", secret)).status).toBe(403);
    for (const parent of [secret, 4711, -1, 0]) {
      const { status, json } = await make("stranger", parent);
      expect([status, json]).toEqual([404, { message: "404 Group Not Found" }]);
    }
    const taken = await make("owner", id);
    expect(taken.status).toBe(409);
  });

  it("limits visibility to the parent's", async () => {
    const { id } = await newGroup({ visibility: "internal" });
    const make = (visibility: string) =>
      call("POST /groups", {
        json: { name: visibility, path: visibility, visibility, parent_id: id },
      });
    const { status, json } = await make("public");
    expect([status, json]).toEqual([
      400,
      {
        message: {
          visibility_level: [
            "public is not allowed since the parent group has a internal visibility.",
          ],
        },
      },
    ]);
    for (const visibility of ["internal", "private"])
      expect((await make(visibility)).status).toBe(201);
  });

  it("nests as deep as full paths of 255 characters allow", async () => {
    const segment = "s".repeat(84);
    let parent: number | undefined;
    for (const depth of [1, 2, 3]) {
      const { status, json } = await call("POST /groups", {
        json: { name: "deep", path: segment, ...(parent && { parent_id: parent }) },
      });
      expect([depth, status]).toEqual([depth, 201]);
      parent = json.id;
      const found = await call(`GET /groups/${encodeURIComponent(json.full_path)}`);
      expect(found.json.id).toBe(parent);
    }
    const tooLong = { path: ["makes the full path too long (maximum is 255 characters)"] };
    const group = await call("POST /groups", { json: { name: "x", path: "x", parent_id: parent } });
    expect([group.status, group.json]).toEqual([400, { message: tooLong }]);
    const project = await call("POST /projects", { json: { path: "x", namespace_id: parent } });
    expect([project.status, project.json]).toEqual([400, { message: tooLong }]);

    const renamed = await call(`PUT /groups/${segment}?path=${segment}ss`);
    expect([renamed.status, renamed.json]).toEqual([400, { message: tooLong }]);
    expect((await call(`GET /groups/${segment}`)).json.path).toBe(segment);
    expect((await call(`PUT /groups/${segment}?path=shorter`)).status).toBe(200);
    expect((await call(`DELETE /groups/shorter`)).status).toBe(202);
  });
});

describe("PUT /groups/:id", () => {
  it("325: changes only what is sent", async () => {
    const group = await newGroup({ description: "before", visibility: "public" });
    const before = (await call(`GET /groups/${group.id}`)).json;
    const { status, json } = await call(`PUT /groups/${group.id}`, { form: { name: "New name" } });
    expect(status).toBe(200);
    expect(json).toEqual({ ...before, name: "New name", full_name: "New name" });
    const flags = await call(`PUT /groups/${group.id}`, {
      json: { lfs_enabled: false, request_access_enabled: true, visibility: "internal" },
    });
    expect(flags.json).toEqual({
      ...json,
      lfs_enabled: false,
      request_access_enabled: true,
      visibility: "internal",
    });
    expect((await call(`PUT /groups/${group.id}`, { json: {} })).json).toEqual(flags.json);
  });

  it("empties the description", async () => {
    const group = await newGroup();
    for (const description of [null, ""]) {
      await call(`PUT /groups/${group.id}`, { json: { description: "x" } });
      const { json } = await call(`PUT /groups/${group.id}`, { json: { description } });
      expect(json.description).toBe("");
    }
  });

  it("renames everything below it too", async () => {
    const top = await newGroup({ visibility: "public" });
    const make = (path: string, parent_id: number) =>
      call("POST /groups", { json: { name: path.toUpperCase(), path, parent_id } });
    const middle = (await make("middle", top.id)).json.id;
    const bottom = (await make("bottom", middle)).json.id;
    const project = (await call("POST /projects", { json: { path: "p", namespace_id: bottom } }))
      .json.id;
    const other = await newGroup();

    const { json } = await call(`PUT /groups/${top.id}`, {
      json: { name: "É 😀", path: "renamed" },
    });
    expect(json).toMatchObject({
      full_path: "renamed",
      full_name: "É 😀",
      web_url: "http://pm.test/groups/renamed",
    });
    const view = async (id: number) => (await call(`GET /groups/${id}`)).json;
    expect(await view(bottom)).toMatchObject({
      full_path: "renamed/middle/bottom",
      full_name: "É 😀 / MIDDLE / BOTTOM",
      path: "bottom",
    });
    const moved = await call("GET /projects/renamed%2Fmiddle%2Fbottom%2Fp");
    expect(moved.json).toMatchObject({
      id: project,
      path_with_namespace: "renamed/middle/bottom/p",
    });
    expect((await call(`GET /groups/${top.path}`)).status).toBe(404);
    expect((await view(other.id)).full_path).toBe(other.path);

    await call(`PUT /groups/${middle}`, { json: { path: "mid" } });
    expect((await view(bottom)).full_path).toBe("renamed/mid/bottom");
    expect((await view(bottom)).full_name).toBe("É 😀 / MIDDLE / BOTTOM");
    await call(`PUT /groups/${top.id}`, { json: { name: "Short" } });
    expect((await view(bottom)).full_name).toBe("Short / MIDDLE / BOTTOM");
  });

  it("accepts its own path in another case, and no taken or invalid one", async () => {
    const group = await newGroup();
    const path = group.path.toUpperCase();
    expect((await call(`PUT /groups/${group.id}`, { json: { path } })).json.full_path).toBe(path);
    expect((await call(`PUT /groups/${group.id}`, { json: { path } })).status).toBe(200);
    const before = (await call(`GET /groups/${group.id}`)).json;
    for (const [sent, status, message] of [
      ["acme", 409, { path: ["has already been taken"] }],
      ["Guest", 409, { path: ["has already been taken"] }],
      ["oauth", 400, { path: ["oauth is a reserved name"] }],
      ["", 400, { path: ["can't be blank"] }],
    ] as const) {
      const answer = await call(`PUT /groups/${group.id}`, {
        json: { name: "changed", path: sent },
      });
      expect([answer.status, answer.json]).toEqual([status, { message }]);
    }
    expect((await call(`PUT /groups/${group.id}`, { json: { path: "a/b" } })).status).toBe(400);
    expect((await call(`GET /groups/${group.id}`)).json).toEqual(before);
  });

  it("requires a name unique among its siblings", async () => {
    const taken = [409, { message: { name: ["has already been taken"] } }];
    const parent = await newGroup();
    const create = (name: string, path: string, parent_id?: number) =>
      call("POST /groups", { json: { name, path, parent_id } });
    const first = await create("Twin", "a", parent.id);
    expect(first.status).toBe(201);
    const second = await create("Twin", "b", parent.id);
    expect([second.status, second.json]).toEqual(taken);
    const both = await create("Twin", "a", parent.id);
    const words = ["has already been taken"];
    expect([both.status, both.json.message]).toEqual([409, { name: words, path: words }]);
    const other = await create("Other", "c", parent.id);
    const renamed = await call(`PUT /groups/${other.json.id}`, { json: { name: "Twin" } });
    expect([renamed.status, renamed.json]).toEqual(taken);
    expect((await call(`GET /groups/${other.json.id}`)).json.name).toBe("Other");
    const own = await call(`PUT /groups/${first.json.id}`, { json: { name: "Twin" } });
    expect(own.status).toBe(200);
    // The same name is free at the top level and in another group.
    for (const at of [undefined, (await newGroup()).id]) {
      expect((await create("Twin", `${parent.path}-d`, at)).status).toBe(201);
    }
    const atOnce = await Promise.all(
      ["x", "y", "z"].map((path) => create("At once", `${parent.path}-${path}`, parent.id)),
    );
    expect(atOnce.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
  });

  it("limits a subgroup's visibility to its parent's", async () => {
    const { status, json } = await call("PUT /groups/secret?visibility=public");
    expect([status, json.visibility]).toEqual([200, "public"]);
    await call("PUT /groups/secret?visibility=private");
    const top = await newGroup();
    const sub = await call("POST /groups", { json: { name: "s", path: "s", parent_id: top.id } });
    const refused = await call(`PUT /groups/${sub.json.id}?visibility=public`);
    expect([refused.status, Object.keys(refused.json.message)]).toEqual([
      400,
      ["visibility_level"],
    ]);
  });
});

describe("DELETE /groups/:id", () => {
  it("is accepted, and deletes everything below", async () => {
    const top = await newGroup();
    const sub = await call("POST /groups", { json: { name: "s", path: "s", parent_id: top.id } });
    const project = await call("POST /projects", {
      json: { path: "p", namespace_id: sub.json.id },
    });
    const board = await call(`POST /groups/${top.id}/boards?name=b`);
    const { status, json } = await call(`DELETE /groups/${top.id}`);
    expect([status, json]).toEqual([202, { message: "202 Accepted" }]);
    for (const path of [
      `/groups/${top.id}`,
      `/groups/${sub.json.id}`,
      `/projects/${project.json.id}`,
      `/groups/${top.id}/boards/${board.json.id}`,
    ]) {
      expect((await call(`GET ${path}`, { as: "admin" })).status).toBe(404);
    }
    expect((await call(`DELETE /groups/${top.id}`)).status).toBe(404);
    expect((await call("POST /groups", { json: { name: "again", path: top.path } })).status).toBe(
      201,
    );
  });

  it("is 412 if the group was changed since, else goes on", async () => {
    const group = await newGroup();
    const del = (since: string) =>
      call(`DELETE /groups/${group.id}`, { headers: { "if-unmodified-since": since } });
    const { status, json } = await del("Mon, 15 Jun 2026 12:34:55 GMT");
    expect([status, json]).toEqual([412, { message: "412 Precondition Failed" }]);
    // Within the second of the change: HTTP dates have no milliseconds.
    expect((await del("Mon, 15 Jun 2026 12:34:56 GMT")).status).toBe(202);
  });
});

describe("GET /groups/:id/subgroups", () => {
  it("lists the groups directly below that the caller can see", async () => {
    const top = await newGroup({ visibility: "public" });
    const make = async (path: string, visibility: string, parent_id: number) =>
      (await call("POST /groups", { json: { name: path, path, visibility, parent_id } })).json.id;
    const open = await make("b-open", "public", top.id);
    await make("a-closed", "private", top.id);
    await make("deeper", "public", open);
    const names = async (query: string, as: "owner" | "anonymous" | "stranger") => {
      const { status, json } = await call(`GET /groups/${top.id}/subgroups${query}`, { as });
      expect(status).toBe(200);
      return json.map(({ path }: { path: string }) => path);
    };
    expect(await names("", "owner")).toEqual(["a-closed", "b-open"]);
    expect(await names("?sort=desc", "owner")).toEqual(["b-open", "a-closed"]);
    expect(await names("?search=closed", "owner")).toEqual(["a-closed"]);
    expect(await names(`?skip_groups[]=${open}`, "owner")).toEqual(["a-closed"]);
    expect(await names("?owned=true", "owner")).toEqual(["a-closed", "b-open"]);
    expect(await names("", "stranger")).toEqual(["b-open"]);
    expect(await names("", "anonymous")).toEqual(["b-open"]);
    expect(
      (await call(`GET /groups/${top.id}/subgroups`, { as: "anonymous" })).json[0],
    ).not.toHaveProperty("projects");
  });
});

describe("GET /groups/:id/projects", () => {
  let group: { id: number; path: string };
  beforeAll(async () => {
    group = await newGroup({ visibility: "public" });
    const sub = await call("POST /groups", {
      json: { name: "s", path: "s", visibility: "public", parent_id: group.id },
    });
    const make = (namespace_id: number, path: string, more: object) =>
      call("POST /projects", { json: { path, namespace_id, visibility: "public", ...more } });
    await make(group.id, "one", { description: "the needle" });
    await make(group.id, "two", { visibility: "private" });
    await make(group.id, "three", { issues_enabled: false });
    await make(group.id, "old", {});
    await make(sub.json.id, "below", {});
    await call(`POST /projects/${encodeURIComponent(`${group.path}/old`)}/archive`);
    await call(`POST /projects/${encodeURIComponent(`${group.path}/one`)}/star`);
  });

  it.each([
    ["", "owner", ["old", "three", "two", "one"]],
    ["", "stranger", ["old", "three", "one"]],
    ["", "anonymous", ["old", "three", "one"]],
    ["archived=true", "owner", ["old"]],
    ["archived=false", "owner", ["three", "two", "one"]],
    ["visibility=private", "owner", ["two"]],
    ["visibility=public", "owner", ["old", "three", "one"]],
    ["search=NEEDLE", "owner", ["one"]],
    ["order_by=name&sort=asc", "owner", ["old", "one", "three", "two"]],
    ["order_by=path&sort=desc", "owner", ["two", "three", "one", "old"]],
    ["order_by=id&sort=asc", "owner", ["one", "two", "three", "old"]],
    ["owned=true", "owner", ["old", "three", "two", "one"]],
    ["owned=true", "stranger", []],
    ["starred=true", "owner", ["one"]],
    ["starred=true", "stranger", []],
    ["with_issues_enabled=true", "owner", ["old", "two", "one"]],
    ["min_access_level=40", "owner", ["old", "three", "two", "one"]],
    ["min_access_level=10", "stranger", []],
    ["include_subgroups=true", "owner", ["below", "old", "three", "two", "one"]],
    ["include_subgroups=false", "owner", ["old", "three", "two", "one"]],
  ] as const)("?%s as %s", async (query, as, expected) => {
    const { status, json } = await call(`GET /groups/${group.id}/projects?${query}`, { as });
    expect([status, json.map(({ path }: { path: string }) => path)]).toEqual([200, expected]);
  });

  it("shows all of a project to users, and its basics to anonymous callers", async () => {
    const keys = async (query: string, as: "owner" | "anonymous") =>
      Object.keys((await call(`GET /groups/${group.id}/projects?${query}`, { as })).json[0]);
    expect(await keys("", "owner")).toContain("archived");
    expect(await keys("simple=true", "owner")).not.toContain("archived");
    expect(await keys("", "anonymous")).not.toContain("archived");
    expect(await keys("", "owner")).not.toContain("permissions");
  });
});
