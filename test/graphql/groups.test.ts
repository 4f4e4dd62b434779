import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";
import { ask, NOT_AVAILABLE, send } from "./ask.ts";

let app: TestApp;

beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

describe("a group", () => {
  it("has the values that REST shows", async () => {
    const { group } = await ask(
      app,
      `{ group(fullPath: "ACME/team") { id fullPath path name fullName description visibility webUrl
        webPath avatarUrl createdAt requestAccessEnabled parent { fullPath }
        projectsCount groupMembersCount descendantGroupsCount maxAccessLevel { integerValue stringValue }
        userPermissions { readGroup createProjects adminGroup adminIssue } } }`,
    );
    const { json } = await app.call("GET /groups/acme%2Fteam", { as: "owner" });
    expect(group).toEqual({
      id: `gid://gitlab/Group/${json.id}`,
      fullPath: "acme/team",
      path: "team",
      name: "Team",
      fullName: json.full_name,
      description: json.description,
      visibility: "private",
      webUrl: json.web_url,
      webPath: "/groups/acme/team",
      avatarUrl: json.avatar_url,
      createdAt: json.created_at.replace(/\.\d+Z$/, "Z"),
      requestAccessEnabled: json.request_access_enabled,
      parent: { fullPath: "acme" },
      projectsCount: 1,
      groupMembersCount: 0,
      descendantGroupsCount: 0,
      maxAccessLevel: { integerValue: 50, stringValue: "OWNER" },
      userPermissions: {
        readGroup: true,
        createProjects: true,
        adminGroup: true,
        adminIssue: true,
      },
    });
  });

  it("is null for those who may not see it", async () => {
    for (const as of ["anonymous", "stranger"] as const) {
      const { data, errors } = await send(app, as, '{ group(fullPath: "secret") { id } }');
      expect([data, errors]).toEqual([{ group: null }, undefined]);
    }
    expect(await ask(app, '{ group(fullPath: "acme/site") { id } }')).toEqual({ group: null });
  });

  it("tells what the caller may do", async () => {
    const mayDo = async (as: "guest" | "reporter" | "developer") =>
      (
        await ask(
          app,
          '{ group(fullPath: "acme") { userPermissions { createProjects adminGroup adminIssue } } }',
          {},
          as,
        )
      ).group.userPermissions;
    expect(await mayDo("guest")).toEqual({
      createProjects: false,
      adminGroup: false,
      adminIssue: false,
    });
    expect(await mayDo("reporter")).toEqual({
      createProjects: false,
      adminGroup: false,
      adminIssue: true,
    });
    expect(await mayDo("developer")).toEqual({
      createProjects: false,
      adminGroup: false,
      adminIssue: true,
    });
  });

  it("counts no members for anonymous callers, to whom REST lists none", async () => {
    const query = '{ group(fullPath: "acme") { groupMembersCount groupMembers { count } } }';
    expect(await ask(app, query, {}, "anonymous")).toEqual({
      group: { groupMembersCount: 0, groupMembers: { count: 0 } },
    });
    expect(await ask(app, query, {}, "stranger")).toEqual({
      group: { groupMembersCount: 5, groupMembers: { count: 5 } },
    });
  });
});

describe("lists of groups", () => {
  const paths = async (args: string, as: "owner" | "stranger" | "admin" = "owner") => {
    const { data, errors } = await send(app, as, `{ groups${args} { nodes { fullPath } } }`);
    if (errors) return errors[0].message;
    return data.groups.nodes.map(({ fullPath }: { fullPath: string }) => fullPath);
  };

  it.each([
    ["", ["acme", "secret", "acme/team"]],
    ['(search: "TEA")', ["acme/team"]],
    ['(parentPath: "acme")', ["acme/team"]],
    ['(parentPath: "none")', []],
    ["(topLevelOnly: true)", ["acme", "secret"]],
    ["(ownedOnly: true)", ["acme", "secret", "acme/team"]],
    ["(allAvailable: false)", ["acme", "secret", "acme/team"]],
    ["(active: false)", []],
    ["(active: true, first: 1)", ["acme"]],
    ['(sort: "name_desc")', ["acme/team", "secret", "acme"]],
    ['(sort: "path_asc")', ["acme", "secret", "acme/team"]],
    ['(sort: "id_desc", topLevelOnly: true)', ["secret", "acme"]],
    ['(sort: "height")', '"height" is not an order of groups'],
    ['(ids: ["gid://gitlab/Group/0"])', []],
    ["(ids: [])", []],
  ])("%s", async (args, expected) => {
    expect(await paths(args)).toEqual(expected);
  });

  it("show each caller what REST lists", async () => {
    for (const as of ["owner", "stranger", "admin"] as const) {
      const { json } = await app.call("GET /groups?all_available=true", { as });
      const listed = json.map(({ full_path }: { full_path: string }) => full_path);
      expect((await paths("", as)).sort()).toEqual(listed.sort());
    }
    expect(await paths("(ownedOnly: true)", "stranger")).toEqual([]);
    expect(await paths("(allAvailable: false)", "stranger")).toEqual([]);
  });

  it("below a group", async () => {
    await app.call("POST /groups", {
      as: "admin",
      json: {
        name: "Deep",
        path: "deep",
        parent_id: (await app.call("GET /groups/acme%2Fteam", { as: "admin" })).json.id,
      },
    });
    const { group } = await ask(
      app,
      `{ group(fullPath: "acme") { all: descendantGroups { count nodes { fullPath } }
        direct: descendantGroups(includeParentDescendants: false) { nodes { fullPath } }
        found: descendantGroups(search: "deep") { nodes { fullPath } } } }`,
    );
    expect(group).toEqual({
      all: { count: 2, nodes: [{ fullPath: "acme/team/deep" }, { fullPath: "acme/team" }] },
      direct: { nodes: [{ fullPath: "acme/team" }] },
      found: { nodes: [{ fullPath: "acme/team/deep" }] },
    });
  });
});

describe("namespaces", () => {
  it.each([
    ["acme/team", { fullPath: "acme/team", visibility: "private", parent: { fullPath: "acme" } }],
    ["OWNER", { fullPath: "owner", visibility: "public", parent: null }],
    ["none", null],
  ])("%s", async (fullPath, expected) => {
    const query =
      "query ($path: ID!) { namespace(fullPath: $path) { fullPath visibility parent { fullPath } } }";
    expect(await ask(app, query, { path: fullPath })).toEqual({ namespace: expected });
  });
});

describe("groupUpdate", () => {
  const change = (input: object, as: "owner" | "maintainer") =>
    send(
      app,
      as,
      "mutation ($input: GroupUpdateInput!) { groupUpdate(input: $input) { errors group { name visibility } } }",
      { input },
    );

  it("changes a group", async () => {
    const { data } = await change({ fullPath: "secret", name: "Secrets" }, "owner");
    expect(data.groupUpdate).toEqual({
      errors: [],
      group: { name: "Secrets", visibility: "private" },
    });
    const { json } = await app.call("GET /groups/secret", { as: "owner" });
    expect(json.name).toBe("Secrets");
  });

  it("refuses values as REST does, and callers who are not owners", async () => {
    const { data } = await change(
      { fullPath: "acme/team", visibility: "public", path: "-" },
      "owner",
    );
    expect(data.groupUpdate.group).toBeNull();
    expect(data.groupUpdate.errors).not.toEqual([]);
    const { data: none, errors } = await change({ fullPath: "secret", name: "x" }, "maintainer");
    expect([none, errors?.[0].message]).toEqual([{ groupUpdate: null }, NOT_AVAILABLE]);
  });
});
