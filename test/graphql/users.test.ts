import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { ask, NOT_AVAILABLE, send } from "./ask.ts";

let app: TestApp;

beforeAll(async () => {
  app = await testApp();
  await app.call("POST /projects/acme%2Fsite/star", { as: "developer" });
  const { json } = await app.call("GET /users?username=reporter", { as: "admin" });
  await app.call(`PUT /users/${json[0].id}`, {
    as: "admin",
    json: { private_profile: true, bio: "Hi" },
  });
  await app.call("POST /projects/acme%2Fsite/star", { as: "reporter" });
});
afterAll(() => app.dispose());

const FIELDS = `id username name state avatarUrl webUrl webPath publicEmail bio location organization
  createdAt bot human type userPermissions { createSnippet } status { emoji }`;

describe("a user", () => {
  it("has the values that REST shows", async () => {
    for (const username of ["reporter", "developer", "blocked"]) {
      const { user } = await ask(
        app,
        `query ($name: String) { user(username: $name) { ${FIELDS} } }`,
        { name: username },
      );
      const { json: found } = await app.call(`GET /users?username=${username}`, { as: "owner" });
      const { json } = await app.call(`GET /users/${found[0].id}`, { as: "owner" });
      expect(user).toEqual({
        id: `gid://gitlab/User/${json.id}`,
        username,
        name: json.name,
        state: json.state,
        avatarUrl: json.avatar_url,
        webUrl: json.web_url,
        webPath: `/${username}`,
        publicEmail: json.public_email || null,
        bio: json.bio,
        location: json.location,
        organization: json.organization,
        createdAt: json.created_at?.replace(/\.\d+Z$/, "Z") ?? null,
        bot: false,
        human: true,
        type: "HUMAN",
        userPermissions: { createSnippet: false },
        status: null,
      });
    }
  });

  it("shows groups, counts and activity to themselves and administrators only", async () => {
    const query = `{ user(username: "developer") { lastActivityOn groupCount projectCount
      groups { nodes { fullPath } } } }`;
    const seen = async (as: Person) => (await ask(app, query, {}, as)).user;
    const groups = { nodes: [{ fullPath: "acme" }, { fullPath: "secret" }] };
    const day = "2099-11-20";
    // A later day than that of the requests here, which is stored a second after them, and only if it is later.
    await app.store.transaction((db) =>
      db.run("update users set last_activity_on = ? where username = 'developer'", [day]),
    );
    for (const as of ["developer", "admin"] as const) {
      expect(await seen(as)).toEqual({
        lastActivityOn: day,
        groupCount: 2,
        projectCount: 0,
        groups,
      });
    }
    for (const as of ["owner", "stranger"] as const) {
      expect(await seen(as)).toEqual({
        lastActivityOn: null,
        groupCount: null,
        projectCount: null,
        groups: { nodes: [] },
      });
    }
    const through = `{ project(fullPath: "acme/site") { projectMembers { nodes { user { groups { count } } } } } }`;
    const { project } = await ask(app, through, {}, "stranger");
    expect(project.projectMembers.nodes).toHaveLength(5);
    for (const { user } of project.projectMembers.nodes) expect(user.groups.count).toBe(0);
  });

  it("shows the projects they starred, unless their profile is private", async () => {
    const stars = async (username: string, as: Person) =>
      (
        await ask(
          app,
          `{ user(username: "${username}") { starredProjects { nodes { fullPath } } } }`,
          {},
          as,
        )
      ).user.starredProjects.nodes;
    const site = [{ fullPath: "acme/site" }];
    expect(await stars("developer", "stranger")).toEqual(site);
    expect(await stars("reporter", "stranger")).toEqual([]);
    expect(await stars("reporter", "reporter")).toEqual(site);
    expect(await stars("reporter", "admin")).toEqual(site);
  });

  it("is found by id or name, and not by both", async () => {
    const { user } = await ask(app, '{ user(username: "DEVELOPER") { id } }');
    expect(
      await ask(app, "query ($id: UserID) { user(id: $id) { username } }", { id: user.id }),
    ).toEqual({
      user: { username: "developer" },
    });
    expect(await ask(app, '{ user(username: "nobody") { id } }')).toEqual({ user: null });
    const both = await send(app, "owner", `{ user(username: "x", id: "${user.id}") { id } }`);
    expect(both.errors?.[0].message).toBe(
      "One and only one of [id, username] arguments is required.",
    );
  });
});

describe("currentUser", () => {
  it("is the caller, and null for anonymous ones", async () => {
    expect(
      await ask(app, "{ currentUser { username namespace { fullPath } } }", {}, "guest"),
    ).toEqual({
      currentUser: { username: "guest", namespace: { fullPath: "guest" } },
    });
    expect(await ask(app, "{ currentUser { gitpodEnabled } }", {}, "guest")).toEqual({
      currentUser: { gitpodEnabled: false },
    });
    expect(await ask(app, "{ currentUser { id } }", {}, "anonymous")).toEqual({
      currentUser: null,
    });
  });

  it("lists the groups in which they may create projects", async () => {
    const query = "{ currentUser { groups(permissionScope: CREATE_PROJECTS) { count } } }";
    const countFor = async (as: "maintainer" | "developer") =>
      (await ask(app, query, {}, as)).currentUser.groups.count;
    expect([await countFor("maintainer"), await countFor("developer")]).toEqual([2, 0]);
    const json = { project_creation_level: "developer" };
    await app.call("PUT /groups/acme", { as: "owner", json });
    expect([await countFor("maintainer"), await countFor("developer")]).toEqual([2, 1]);
    const nobody = { project_creation_level: "noone" };
    await app.call("PUT /groups/acme", { as: "owner", json: nobody });
    expect([await countFor("maintainer"), await countFor("developer")]).toEqual([1, 0]);
  });
});

describe("lists of users", () => {
  const names = async (args: string, as: Person = "owner") => {
    const { data, errors } = await send(app, as, `{ users${args} { nodes { username } } }`);
    if (errors) return errors[0].message;
    return data.users.nodes.map(({ username }: { username: string }) => username);
  };
  const ALL = [
    "admin",
    "owner",
    "maintainer",
    "developer",
    "reporter",
    "guest",
    "stranger",
    "blocked",
  ];

  it.each([
    ["", ALL.toReversed()],
    ["(sort: CREATED_ASC)", ALL],
    ["(sort: created_asc, first: 2)", ["admin", "owner"]],
    ['(usernames: ["OWNER", "guest"])', ["guest", "owner"]],
    ["(usernames: [])", []],
    ['(ids: ["gid://gitlab/User/0", "999"])', []],
    ['(search: "the GUEST")', ["guest"]],
    ["(active: false)", ["blocked"]],
    ["(active: true, sort: CREATED_ASC)", ALL.slice(0, -1)],
    ["(humans: false)", []],
    ["(admins: true)", []],
  ])("%s", async (args, expected) => {
    expect(await names(args)).toEqual(expected);
  });

  it("show administrators to administrators", async () => {
    expect(await names("(admins: true)", "admin")).toEqual(["admin"]);
  });

  it("of a group need one that the caller may see", async () => {
    const { group } = await ask(app, '{ group(fullPath: "secret") { id } }');
    expect(await names(`(groupId: "${group.id}", sort: CREATED_ASC)`)).toEqual(ALL.slice(1, 6));
    expect(await names(`(groupId: "${group.id}")`, "stranger")).toBe(NOT_AVAILABLE);
  });

  it("are refused to anonymous callers", async () => {
    expect(await names("", "anonymous")).toBe(NOT_AVAILABLE);
    const { data, errors } = await send(app, "anonymous", '{ user(username: "owner") { id } }');
    expect([data, errors?.[0].message]).toEqual([{ user: null }, NOT_AVAILABLE]);
  });
});

it("accounts of tokens are told from people", async () => {
  const json = { name: "Robot", scopes: ["api"], expires_at: "2027-01-01" };
  const path = "POST /projects/acme%2Fsite/access_tokens";
  const { json: made } = await app.call(path, { as: "owner", json });
  const query = `{ user(id: "gid://gitlab/User/${made.user_id}") { bot human type } }`;
  expect((await ask(app, query)).user).toEqual({ bot: true, human: false, type: "PROJECT_BOT" });
});
