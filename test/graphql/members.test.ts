import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { ask, NOT_AVAILABLE, send } from "./ask.ts";

let app: TestApp;
/** Ids of users by name. */
const ids: Record<string, number> = {};

beforeAll(async () => {
  app = await testApp();
  for (const one of (await app.call("GET /users", { as: "owner" })).json)
    ids[one.username] = one.id;
  await app.call("POST /projects/acme%2Fsite/members", {
    as: "owner",
    json: { user_id: ids["stranger"], access_level: 20, expires_at: "2999-01-02" },
  });
  await app.call("POST /projects/acme%2Fsite/members", {
    as: "owner",
    json: { user_id: ids["reporter"], access_level: 30 },
  });
  await app.call("POST /groups/acme%2Fteam/members", {
    as: "owner",
    json: { user_id: ids["blocked"], access_level: 10 },
  });
});
afterAll(() => app.dispose());

const GROUP = 'group(fullPath: "acme") { members: groupMembers';
const TEAM = 'group(fullPath: "acme/team") { members: groupMembers';
const SITE = 'project(fullPath: "acme/site") { members: projectMembers';

/** The members of a place, with their access levels. */
async function members(place: string, args = "", as: Person = "owner") {
  const { data, errors } = await send(
    app,
    as,
    `{ place: ${place}${args} { nodes { user { username } accessLevel { stringValue } } } } }`,
  );
  if (errors) return errors[0].message;
  type Member = { user: { username: string }; accessLevel: { stringValue: string } };
  return data.place.members.nodes.map(
    ({ user, accessLevel }: Member) => `${user.username} ${accessLevel.stringValue}`,
  );
}

const OF_ACME = [
  "owner OWNER",
  "maintainer MAINTAINER",
  "developer DEVELOPER",
  "reporter REPORTER",
  "guest GUEST",
];

describe("a membership", () => {
  it("has the values that REST shows", async () => {
    const { project } = await ask(
      app,
      `query ($ids: [ID!]) { project(fullPath: "acme/site") { projectMembers(ids: $ids) { nodes {
        id createdAt expiresAt accessLevel { integerValue stringValue } user { username } createdBy { username }
        ... on ProjectMember { project { fullPath } } ... on GroupMember { group { fullPath } } } } } }`,
      { ids: [`gid://gitlab/User/${ids["stranger"]}`, `gid://gitlab/User/${ids["guest"]}`] },
    );
    const { json } = await app.call(`GET /projects/acme%2Fsite/members/${ids["stranger"]}`, {
      as: "owner",
    });
    expect(project.projectMembers.nodes).toMatchObject([
      {
        id: expect.stringMatching(/^gid:\/\/gitlab\/GroupMember\/\d+$/),
        expiresAt: null,
        accessLevel: { integerValue: 10, stringValue: "GUEST" },
        user: { username: "guest" },
        group: { fullPath: "acme" },
      },
      {
        id: expect.stringMatching(/^gid:\/\/gitlab\/ProjectMember\/\d+$/),
        expiresAt: json.expires_at,
        accessLevel: { integerValue: json.access_level, stringValue: "REPORTER" },
        user: { username: "stranger" },
        createdBy: { username: "owner" },
        project: { fullPath: "acme/site" },
      },
    ]);
  });
});

describe("lists of members", () => {
  it.each([
    [GROUP, "", OF_ACME],
    [GROUP, "(relations: [DIRECT])", OF_ACME],
    [TEAM, "(relations: [DIRECT])", ["blocked GUEST"]],
    [TEAM, "", [...OF_ACME, "blocked GUEST"]],
    [GROUP, "(relations: [DESCENDANTS])", ["blocked GUEST"]],
    [GROUP, "(relations: [DIRECT, DESCENDANTS])", [...OF_ACME, "blocked GUEST"]],
    [GROUP, "(relations: [SHARED_FROM_GROUPS])", []],
    [GROUP, "(relations: [])", []],
    [GROUP, "(sort: ACCESS_LEVEL_ASC)", OF_ACME.toReversed()],
    [GROUP, "(sort: USER_FULL_NAME_ASC, first: 2)", ["developer DEVELOPER", "guest GUEST"]],
    [GROUP, '(search: "main")', ["maintainer MAINTAINER"]],
    [GROUP, "(accessLevels: [GUEST, OWNER])", ["owner OWNER", "guest GUEST"]],
    [GROUP, "(accessLevels: [])", []],
    [
      SITE,
      "(relations: [DIRECT], sort: ACCESS_LEVEL_DESC)",
      ["reporter DEVELOPER", "stranger REPORTER"],
    ],
    [SITE, "(relations: [INVITED_GROUPS])", []],
    [
      SITE,
      "(sort: USER_FULL_NAME_DESC)",
      // Of the memberships of the group and the project, the higher one.
      [
        "stranger REPORTER",
        "reporter DEVELOPER",
        "owner OWNER",
        "maintainer MAINTAINER",
        "guest GUEST",
        "developer DEVELOPER",
      ],
    ],
  ])("%s%s", async (place, args, expected) => {
    expect(await members(place, args)).toEqual(expected);
  });

  it("are those of REST", async () => {
    for (const [place, path] of [
      [TEAM, "/groups/acme%2Fteam/members/all"],
      [SITE, "/projects/acme%2Fsite/members/all"],
    ] as const) {
      const { json } = await app.call(`GET ${path}`, { as: "owner" });
      const levels: Record<number, string> = {
        10: "GUEST",
        20: "REPORTER",
        30: "DEVELOPER",
        40: "MAINTAINER",
        50: "OWNER",
      };
      type Member = { username: string; access_level: number };
      const listed = json.map(
        ({ username, access_level }: Member) => `${username} ${levels[access_level]}`,
      );
      expect((await members(place)).sort()).toEqual(listed.sort());
    }
  });

  it("are empty for anonymous callers, to whom REST answers 401", async () => {
    expect((await app.call("GET /groups/acme/members")).status).toBe(401);
    expect(await members(GROUP, "", "anonymous")).toEqual([]);
    expect(await members(SITE, "", "anonymous")).toEqual([]);
  });

  it("of a user have what the caller may see", async () => {
    const seen = async (as: Person) => {
      const query = `{ user(username: "guest") { groupMemberships { nodes { group { fullPath } } }
        projectMemberships { count } } }`;
      return (await ask(app, query, {}, as)).user;
    };
    expect(await seen("owner")).toEqual({
      groupMemberships: {
        nodes: [{ group: { fullPath: "acme" } }, { group: { fullPath: "secret" } }],
      },
      projectMemberships: { count: 0 },
    });
    expect((await seen("stranger")).groupMemberships.nodes).toEqual([
      { group: { fullPath: "acme" } },
    ]);
  });
});

describe("bulk updates", () => {
  it.each([
    ["group", "acme/team", "blocked"],
    ["project", "acme/site", "stranger"],
  ] as const)("change the members of a %s", async (kind, path, username) => {
    const place = (await ask(app, `{ place: ${kind}(fullPath: "${path}") { id } }`)).place.id;
    const upper = kind === "group" ? "Group" : "Project";
    const change = (as: Person, level = "DEVELOPER") =>
      send(
        app,
        as,
        `mutation ($input: ${upper}MemberBulkUpdateInput!) { change: ${kind}MemberBulkUpdate(input: $input) {
          errors members: ${kind}Members { accessLevel { stringValue } expiresAt user { username } } } }`,
        {
          input: {
            [`${kind}Id`]: place,
            userIds: [`gid://gitlab/User/${ids[username]}`],
            accessLevel: level,
            expiresAt: "2998-03-04T00:00:00Z",
          },
        },
      );
    const { errors } = await change("developer");
    expect(errors?.[0].message).toBe(NOT_AVAILABLE);
    const { data } = await change("owner");
    expect(data.change).toEqual({
      errors: [],
      members: [
        { accessLevel: { stringValue: "DEVELOPER" }, expiresAt: "2998-03-04", user: { username } },
      ],
    });
    const { json } = await app.call(
      `GET /${kind}s/${encodeURIComponent(path)}/members/${ids[username]}`,
      { as: "owner" },
    );
    expect(json).toMatchObject({ access_level: 30, expires_at: "2998-03-04" });
  });
});

it("null stands for the default of an argument, in queries and in changes", async () => {
  const { group } = await ask(
    app,
    `{ group(fullPath: "acme/team") { sent: groupMembers(relations: null) { count } groupMembers { count } } }`,
  );
  expect(group.sent).toEqual(group.groupMembers);
  await app.call("POST /projects/acme%2Fsite/issues", { as: "owner", json: { title: "One" } });
  const { issueSetAssignees } = await ask(
    app,
    `mutation { issueSetAssignees(input: {projectPath: "acme/site", iid: "1",
      assigneeUsernames: ["owner"], operationMode: null}) { errors issue { assignees { nodes { username } } } } }`,
  );
  expect(issueSetAssignees).toEqual({
    errors: [],
    issue: { assignees: { nodes: [{ username: "owner" }] } },
  });
});
