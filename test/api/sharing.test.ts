import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ROLES } from "../../src/core/access/roles.ts";
import { check } from "../../src/database/check.ts";
import type { Seed } from "../../src/seed/input.ts";
import { type TestApp, testApp } from "../helpers.ts";

// Groups that are invited to projects and groups. Numbers in test names are case ids of the facts.

const TODAY = Date.parse("2026-06-15T12:00:00Z");
let clock = TODAY;

let app: TestApp;
const users: Record<string, number> = {};
const groups: Record<string, number> = {};
const projects: Record<string, number> = {};

const NAMES = [
  ...["mayor", "mate", "own", "top", "dev", "guest", "low", "chained", "out", "friend"],
  "stranger",
];

/**
 * Everything is private. `mate` is maintainer of P (`town/hall/p`) and guest of H (`club/h`); H has members of all levels, and
 * inherits `top` from the group above. A is invited to H, which lets `chained` into H, but nowhere else.
 */
const seed = (): Seed => ({
  users: [
    { username: "root", admin: true, tokens: [{ token: "token-of-root" }] },
    ...NAMES.map((username) => ({ username, tokens: [{ token: `token-of-${username}` }] })),
  ],
  groups: [
    {
      path: "town",
      members: { mayor: "owner" },
      subgroups: [
        {
          path: "hall",
          projects: [
            {
              path: "p",
              members: { mate: "maintainer" },
              issues: [{ title: "An issue", author: "mayor" }],
            },
            { path: "q" },
          ],
        },
      ],
    },
    {
      path: "club",
      members: { top: "developer", mayor: "guest" },
      subgroups: [
        {
          path: "h",
          members: { own: "owner", mate: "guest", dev: "developer", guest: "guest" },
          shared_with_groups: { chain: "owner" },
          subgroups: [{ path: "below", members: { low: "owner" } }],
        },
      ],
    },
    { path: "chain", members: { chained: "owner" } },
    { path: "known", visibility: "public", members: { friend: "owner" } },
  ],
});

beforeAll(async () => {
  app = await testApp({ seed: seed(), now: () => clock });
  for (const { id, username } of await app.admin.users.list()) users[username] = id;
  const all = async (path: string) => (await call(`GET ${path}?per_page=100`, "root")).json;
  for (const one of await all("/groups")) groups[one.full_path] = one.id;
  for (const one of await all("/projects")) projects[one.path_with_namespace] = one.id;
});
afterAll(() => app.dispose());

const call = (request: string, username?: string, json?: object) =>
  app.call(request, {
    ...(username && { headers: { "private-token": `token-of-${username}` } }),
    ...(json && { json }),
  });

const P = "/projects/town%2Fhall%2Fp";
const T = "/groups/town";
const H = () => groups["club/h"] as number;

const share = (at: string, as: string, group: number, group_access: number, more: object = {}) =>
  call(`POST ${at}/share`, as, { group_id: group, group_access, ...more });

beforeEach(async () => {
  clock = TODAY;
  for (const [path, as] of [
    [P, "root"],
    [T, "root"],
    ["/groups/town%2Fhall", "root"],
  ] as const) {
    const { json } = await call(`GET ${path}`, "root");
    for (const { group_id } of json.shared_with_groups) {
      expect((await call(`DELETE ${path}/share/${group_id}`, as)).status).toBe(204);
    }
  }
});

describe("sharing a project", () => {
  it("R1, R2, R10, R11, R12: makes a link, once, shows it, and ends it", async () => {
    const made = await share(P, "mate", H(), 30);
    expect([made.status, made.json]).toEqual([
      201,
      {
        id: expect.any(Number),
        project_id: projects["town/hall/p"],
        group_id: H(),
        group_access: 30,
        expires_at: null,
      },
    ]);
    const again = await share(P, "mate", H(), 20);
    expect([again.status, again.json.message]).toEqual([
      409,
      "Project already shared with this group",
    ]);
    expect((await call(`GET ${P}`, "mate")).json.shared_with_groups).toEqual([
      {
        group_id: H(),
        group_name: "h",
        group_full_path: "club/h",
        group_access_level: 30,
        expires_at: null,
      },
    ]);
    expect((await call(`GET ${P}`, "dev")).status).toBe(200);
    expect((await call(`DELETE ${P}/share/${H()}`, "mate")).status).toBe(204);
    expect((await call(`GET ${P}`, "dev")).status).toBe(404);
    const { status, json } = await call(`DELETE ${P}/share/${H()}`, "mate");
    expect([status, json.message]).toEqual([404, "404 Group Link Not Found"]);
  });

  it("R3–R6: is for maintainers, with a level that there is, and a group that they are in", async () => {
    await share(P, "mate", H(), 30);
    expect((await share(P, "dev", H(), 30)).status).toBe(403);
    expect((await share(P, "out", H(), 30)).status).toBe(404);
    expect((await call(`POST ${P}/share`, undefined, {})).status).toBe(401);
    const wrong = await share(P, "mate", H(), 33);
    expect([wrong.status, wrong.json]).toEqual([
      400,
      { message: { group_access: ["does not have a valid value"] } },
    ]);
    expect((await call(`POST ${P}/share`, "mate", { group_access: 30 })).status).toBe(400);
    for (const group of [4711, groups["known"], groups["chain"], groups["club"]]) {
      const { status, json } = await share(P, "mate", group as number, 30);
      expect([group, status, json.message]).toEqual([group, 404, "404 Not found"]);
    }
  });

  it("only owners let in owners, and end that", async () => {
    expect((await share(P, "mate", H(), 50)).status).toBe(403);
    const club = groups["club"] as number;
    expect((await share(P, "mayor", club, 50)).status).toBe(201);
    expect((await call(`DELETE ${P}/share/${club}`, "mate")).status).toBe(403);
    expect((await call(`DELETE ${P}/share/${club}`, "mayor")).status).toBe(204);
  });

  it("R7: the lock of a group above refuses it, but ends nothing", async () => {
    await share(P, "mate", H(), 30);
    await call(`PUT ${T}`, "mayor", { share_with_group_lock: true });
    const { status, json } = await share(P, "mate", H(), 30);
    expect([status, json.message]).toEqual([400, "The project sharing with group is disabled"]);
    expect((await call(`GET ${P}/share_locations`, "mate")).json).toEqual([]);
    expect((await call(`GET ${P}`, "dev")).status).toBe(200);
    expect((await call(`DELETE ${P}/share/${H()}`, "mate")).status).toBe(204);
    await call(`PUT ${T}`, "mayor", { share_with_group_lock: false });
    expect((await share(P, "mate", H(), 30)).status).toBe(201);
  });

  it("prevent_sharing_groups_outside_hierarchy allows groups of the hierarchy only", async () => {
    await call(`PUT ${T}`, "mayor", { prevent_sharing_groups_outside_hierarchy: true });
    expect((await share(P, "mate", H(), 30)).status).toBe(404);
    expect((await share(T, "mayor", groups["club"] as number, 30)).status).toBe(404);
    expect((await call(`GET ${P}/share_locations`, "mate")).json).toEqual([]);
    await call(`PUT ${T}`, "mayor", { prevent_sharing_groups_outside_hierarchy: false });
    const { json } = await call(`GET ${P}/share_locations`, "mate");
    expect(json.map(({ full_path }: { full_path: string }) => full_path)).toEqual([
      "club/h/below",
      "club/h",
    ]);
  });

  it("a group that the project is in can't be invited", async () => {
    const { status, json } = await share(P, "root", groups["town"] as number, 30);
    expect([status, json.message]).toEqual([
      409,
      "Project cannot be shared with the group it is in or one of its ancestors.",
    ]);
  });

  it("If-Unmodified-Since keeps a link that has changed since", async () => {
    await share(P, "mate", H(), 30);
    const { status } = await app.call(`DELETE ${P}/share/${H()}`, {
      headers: {
        "private-token": "token-of-mate",
        "if-unmodified-since": "Fri, 12 Jan 1990 06:00:48 GMT",
      },
    });
    expect(status).toBe(412);
    expect((await call(`GET ${P}`, "dev")).status).toBe(200);
  });
});

describe("sharing a group", () => {
  it("R13–R17: is for owners, reaches everything below, and ends at once", async () => {
    const club = groups["club"] as number;
    const made = await share(T, "mayor", club, 20);
    expect([made.status, made.json.full_path, made.json.shared_with_groups]).toEqual([
      201,
      "town",
      [
        {
          group_id: club,
          group_name: "club",
          group_full_path: "club",
          group_access_level: 20,
          expires_at: null,
        },
      ],
    ]);
    const again = await share(T, "mayor", club, 20);
    expect([again.status, again.json.message]).toEqual([
      409,
      "Shared group The group has already been shared with this group",
    ]);
    for (const path of [P, T, "/groups/town%2Fhall", "/projects/town%2Fhall%2Fq"]) {
      expect([path, (await call(`GET ${path}`, "top")).status]).toEqual([path, 200]);
      expect([path, (await call(`GET ${path}`, "own")).status]).toEqual([path, 404]);
    }
    // mate is a maintainer of P only, and sees its groups: not 403.
    expect((await share(T, "mate", H(), 30)).status).toBe(404);
    expect((await call(`DELETE ${T}/share/${club}`, "mate")).status).toBe(404);
    expect((await call(`DELETE ${T}/share/${club}`, "mayor")).status).toBe(204);
    expect((await call(`GET ${P}`, "top")).status).toBe(404);
    const gone = await call(`DELETE ${T}/share/${club}`, "mayor");
    expect([gone.status, gone.json.message]).toEqual([404, "404 Group Link Not Found"]);
  });

  it("with itself or a group above is refused", async () => {
    expect((await share(T, "mayor", groups["town"] as number, 30)).status).toBe(409);
    expect((await share("/groups/town%2Fhall", "mayor", groups["town"] as number, 30)).status).toBe(
      409,
    );
  });
});

/** A person's level in P, and how it is told. */
async function levelOf(username: string) {
  const { status, json } = await call(`GET ${P}`, username);
  return status === 200
    ? (json.permissions.group_access?.access_level ?? json.permissions.project_access?.access_level)
    : status;
}

describe("rights by links", () => {
  it("R8: the lower of the two levels counts, inherited members too, and nobody by a chain", async () => {
    await share(P, "mate", H(), 30);
    expect(await levelOf("own")).toBe(30);
    expect(await levelOf("dev")).toBe(30);
    expect(await levelOf("top")).toBe(30);
    expect(await levelOf("guest")).toBe(10);
    for (const username of ["chained", "low", "out", "friend"]) {
      expect([username, await levelOf(username)]).toEqual([username, 404]);
    }
    // They are in H itself.
    expect((await call("GET /groups/club%2Fh", "chained")).status).toBe(200);
  });

  it.each(Object.entries(ROLES))("a link as %s never gives more", async (_, level) => {
    await share(P, "mayor", groups["club"] as number, level);
    expect(await levelOf("top")).toBe(Math.min(level, 30));
  });

  it("the highest of several links and memberships counts", async () => {
    await share(T, "root", H(), 10);
    await share(P, "mate", H(), 20);
    await share("/groups/town%2Fhall", "root", H(), 30);
    expect(await levelOf("own")).toBe(30);
    await call(`DELETE /groups/town%2Fhall/share/${H()}`, "root");
    expect(await levelOf("own")).toBe(20);
    expect((await call(`GET ${P}`, "mate")).json.permissions).toMatchObject({
      project_access: { access_level: 40 },
      group_access: { access_level: 10 },
    });
    expect((await call(`PUT ${P}`, "mate", { description: "x" })).status).toBe(200);
  });

  it("R9: members/all has everybody once, with the level that counts; members has none", async () => {
    await share(P, "mate", H(), 20, { expires_at: "2026-12-01" });
    const { json } = await call(`GET ${P}/members/all`, "guest");
    type Listed = { username: string; access_level: number; expires_at: string | null };
    const byName = Object.fromEntries(
      json.map((one: Listed) => [one.username, [one.access_level, one.expires_at]]),
    );
    expect(byName).toEqual({
      mayor: [50, null],
      mate: [40, null],
      own: [20, "2026-12-01"],
      dev: [20, "2026-12-01"],
      guest: [10, "2026-12-01"],
      top: [20, "2026-12-01"],
    });
    expect(json).toHaveLength(6);
    const one = await call(`GET ${P}/members/all/${users["own"]}`, "mate");
    expect([one.status, one.json.access_level]).toEqual([200, 20]);
    expect((await call(`GET ${P}/members/${users["own"]}`, "mate")).status).toBe(404);
    const direct = await call(`GET ${P}/members`, "mate");
    expect(direct.json.map((member: Listed) => member.username)).toEqual(["mate"]);
    const people = await call(`GET ${P}/users`, "mate");
    expect(people.json.map(({ username }: Listed) => username)).toEqual([
      ...["mayor", "mate", "own", "top", "dev", "guest"],
    ]);
  });

  it("lists, searches and counts follow", async () => {
    const lists = [
      "/projects",
      "/projects?membership=true",
      "/projects?min_access_level=30",
      "/issues?scope=all",
      "/groups/town%2Fhall/issues",
      "/search?scope=issues&search=An%20issue",
      "/search?scope=projects&search=p",
    ];
    const idsIn = async () =>
      Promise.all(lists.map(async (path) => (await call(`GET ${path}`, "dev")).json.length ?? 404));
    expect(await idsIn()).toEqual([0, 0, 0, 0, 404, 0, 0]);
    await share(P, "mate", H(), 30);
    expect(await idsIn()).toEqual([1, 1, 1, 1, 1, 1, 1]);
    expect((await call("GET /issues_statistics?scope=all", "dev")).json.statistics.counts.all).toBe(
      1,
    );
    const seen = (await call("GET /groups", "dev")).json;
    expect(seen.map(({ full_path }: { full_path: string }) => full_path).sort()).toEqual([
      ...["club", "club/h", "club/h/below", "town", "town/hall"],
    ]);
    await call(`DELETE ${P}/share/${H()}`, "mate");
    expect(await idsIn()).toEqual([0, 0, 0, 0, 404, 0, 0]);
  });

  it("issues can be assigned to who is let in, and todos follow", async () => {
    await share(P, "mate", H(), 30);
    const { status, json } = await call(`PUT ${P}/issues/1`, "mate", {
      assignee_ids: [users["own"]],
      description: "@dev @chained",
    });
    expect([status, json.assignees.length]).toEqual([200, 1]);
    for (const [username, count] of [
      ["own", 1],
      ["dev", 1],
      ["chained", 0],
    ] as const) {
      expect([username, (await call("GET /todos", username)).json.length]).toEqual([
        username,
        count,
      ]);
    }
    await call(`DELETE ${P}/share/${H()}`, "mate");
    expect((await call("GET /todos", "own")).json).toEqual([]);
  });

  it("a link and a membership that have expired give nothing, before and after they are removed", async () => {
    await share(P, "mate", H(), 30, { expires_at: "2026-06-20" });
    expect(await levelOf("dev")).toBe(30);
    clock = Date.parse("2026-06-20T00:00:00Z");
    expect(await levelOf("dev")).toBe(404);
    expect((await call("GET /projects?membership=true", "dev")).json).toEqual([]);
    expect((await call(`GET ${P}`, "mate")).json.shared_with_groups).toHaveLength(1);
    await app.admin.maintenance.removeExpiredMembers();
    expect((await call(`GET ${P}`, "mate")).json.shared_with_groups).toEqual([]);
    const events = await call("GET /audit_events", "root");
    expect(events.json[0].details).toMatchObject({
      custom_message: "invitation of group expired",
      target_details: "club/h in town/hall/p (developer)",
    });
  });

  it("whoever leaves the invited group, or is blocked, has lost it", async () => {
    await share(P, "mate", H(), 30);
    const guest = `/groups/club%2Fh/members/${users["guest"]}`;
    await call(`DELETE ${guest}`, "own");
    expect(await levelOf("guest")).toBe(404);
    await call("POST /groups/club%2Fh/members", "own", {
      user_id: users["guest"],
      access_level: 10,
      expires_at: "2026-06-16",
    });
    expect(await levelOf("guest")).toBe(10);
    clock = Date.parse("2026-06-16T00:00:00Z");
    expect(await levelOf("guest")).toBe(404);
    clock = TODAY;
    await call(`PUT ${guest}`, "own", { access_level: 40, expires_at: "" });
    expect(await levelOf("guest")).toBe(30);
    await call(`PUT ${guest}`, "own", { access_level: 10 });
    expect(await levelOf("guest")).toBe(10);
    await call(`POST /users/${users["guest"]}/block`, "root");
    expect(await levelOf("guest")).toBe(403);
    await call(`POST /users/${users["guest"]}/unblock`, "root");
  });

  it("an access token of the invited group is let in as its members are, until it is revoked", async () => {
    await share(P, "mate", H(), 20);
    const { json } = await call(`POST /groups/${H()}/access_tokens`, "own", {
      name: "robot",
      scopes: ["api"],
      access_level: 30,
      expires_at: "2026-12-01",
    });
    const ask = () => app.call(`GET ${P}`, { headers: { "private-token": json.token } });
    expect((await ask()).json.permissions.group_access.access_level).toBe(20);
    await call(`DELETE /groups/${H()}/access_tokens/${json.id}`, "own");
    expect((await ask()).status).toBe(401);
  });

  it("who inherits into the invited group changes as that is moved", async () => {
    await share(P, "mate", H(), 30);
    await call(`POST /groups/${H()}/transfer`, "root");
    expect(await levelOf("top")).toBe(404);
    expect(await levelOf("dev")).toBe(30);
    await call(`POST /groups/${H()}/transfer`, "root", { group_id: groups["known"] });
    expect(await levelOf("friend")).toBe(30);
    expect((await check(app.store)).flatMap(({ problems }) => problems)).toEqual([]);
    await call(`POST /groups/${H()}/transfer`, "root", { group_id: groups["club"] });
    expect(await levelOf("friend")).toBe(404);
    expect(await levelOf("top")).toBe(30);
  });

  it("a group that is deleted lets nobody in any more", async () => {
    const made = await call("POST /groups", "root", { name: "Gone", path: "gone" });
    const sub = await call("POST /groups", "root", {
      name: "Sub",
      path: "sub",
      parent_id: made.json.id,
    });
    await call(`POST /groups/${sub.json.id}/members`, "root", {
      user_id: users["out"],
      access_level: 30,
    });
    await share(P, "root", sub.json.id, 30);
    expect(await levelOf("out")).toBe(30);
    const { permanently_remove } = { permanently_remove: true };
    await call(`DELETE /groups/${made.json.id}`, "root", { permanently_remove });
    expect(await levelOf("out")).toBe(404);
    expect((await call(`GET ${P}`, "root")).json.shared_with_groups).toEqual([]);
  });
});

describe("what others see of invited groups", () => {
  const openTown = async (visibility: "public" | "private") => {
    const places = [T, "/groups/town%2Fhall", P];
    for (const path of visibility === "public" ? places : places.reverse()) {
      expect((await call(`PUT ${path}`, "root", { visibility })).status).toBe(200);
    }
  };

  it("neither the name nor the members of a private group, unless they see it or belong there, too", async () => {
    await openTown("public");
    await share(P, "mate", H(), 30);
    await share(P, "friend", groups["known"] as number, 20);
    await share(P, "root", groups["known"] as number, 20);
    const namesIn = (json: { username: string }[]) => json.map(({ username }) => username).sort();
    for (const username of [undefined, "stranger"]) {
      const { json } = await call(`GET ${P}`, "stranger");
      expect(
        json.shared_with_groups.map(
          ({ group_full_path }: { group_full_path: string }) => group_full_path,
        ),
      ).toEqual(["known"]);
      const invited = await call(`GET ${P}/invited_groups`, username);
      expect(invited.json.map(({ path }: { path: string }) => path)).toEqual(["known"]);
      const around = await call(`GET ${P}/groups?with_shared=true`, username);
      expect(around.json.map(({ full_path }: { full_path: string }) => full_path).sort()).toEqual([
        ...["known", "town", "town/hall"],
      ]);
      const people = await call(`GET ${P}/users`, username);
      expect(namesIn(people.json)).toEqual(["friend", "mate", "mayor"]);
    }
    const seen = await call(`GET ${P}/members/all`, "stranger");
    expect(namesIn(seen.json)).toEqual(["friend", "mate", "mayor"]);
    expect((await call(`GET ${P}/members/all/${users["dev"]}`, "stranger")).status).toBe(404);
    const found = await call(`GET ${P}/search?scope=users&search=dev`, "stranger");
    expect(found.json).toEqual([]);
    // Those who belong to the project see all who do.
    const own = await call(`GET ${P}/members/all`, "friend");
    expect(namesIn(own.json)).toEqual(["dev", "friend", "guest", "mate", "mayor", "own", "top"]);
    await openTown("private");
  });
});

describe("lists", () => {
  const pathsIn = (json: { full_path?: string; path_with_namespace?: string }[]) =>
    json.map((one) => one.full_path ?? one.path_with_namespace);

  it("R23: the groups of a project have invited ones if asked", async () => {
    await share(P, "mate", H(), 20);
    await share(T, "mayor", groups["club"] as number, 30);
    expect(pathsIn((await call(`GET ${P}/groups`, "mate")).json)).toEqual(["town", "town/hall"]);
    const all = await call(`GET ${P}/groups?with_shared=true`, "mate");
    expect(pathsIn(all.json)).toEqual(["town", "town/hall", "club", "club/h"]);
    const high = await call(`GET ${P}/groups?with_shared=true&shared_min_access_level=30`, "mate");
    expect(pathsIn(high.json)).toEqual(["town", "town/hall", "club"]);
  });

  it("invited groups are those of the project or group and of groups above it, or one of both", async () => {
    await share(P, "mate", H(), 20);
    await share(T, "mayor", groups["club"] as number, 30);
    const of = async (path: string) =>
      pathsIn(
        (await call(`GET ${path}`, "mate")).json.sort(
          (a: { id: number }, b: { id: number }) => a.id - b.id,
        ),
      );
    expect(await of(`${P}/invited_groups`)).toEqual(["club", "club/h"]);
    expect(await of(`${P}/invited_groups?relation=direct`)).toEqual(["club/h"]);
    expect(await of(`${P}/invited_groups?relation[]=inherited`)).toEqual(["club"]);
    expect(await of(`${P}/invited_groups?search=h`)).toEqual(["club/h"]);
    expect(await of(`${P}/invited_groups?min_access_level=10`)).toEqual(["club/h"]);
    expect(await of("/groups/town%2Fhall/invited_groups")).toEqual(["club"]);
    expect(await of("/groups/town%2Fhall/invited_groups?relation=direct")).toEqual([]);
    expect(await of("/groups/town/invited_groups?relation=direct")).toEqual(["club"]);
    expect((await call(`GET ${P}/invited_groups?relation=x`, "mate")).status).toBe(400);
  });

  it("R25: projects and groups that are shared with a group", async () => {
    await share(P, "mate", H(), 20);
    await share("/groups/town%2Fhall", "root", H(), 30);
    const shared = async (path: string, as = "dev") =>
      pathsIn((await call(`GET ${path}`, as)).json);
    expect(await shared("/groups/club%2Fh/projects/shared")).toEqual(["town/hall/p"]);
    expect(await shared("/groups/club%2Fh/projects/shared?search=zzz")).toEqual([]);
    expect(await shared("/groups/club%2Fh/groups/shared")).toEqual(["town/hall"]);
    expect(await shared("/groups/club%2Fh/projects")).toEqual(["town/hall/p"]);
    expect(await shared("/groups/club%2Fh/projects?with_shared=false")).toEqual([]);
    expect(await shared("/groups/club/projects?include_subgroups=true")).toEqual([]);
    const { json } = await call("GET /groups/club%2Fh", "dev");
    expect(pathsIn(json.shared_projects)).toEqual(["town/hall/p"]);
    expect(json.projects).toEqual([]);
  });
});

describe("what else follows", () => {
  const write = (as: string, branch: string, file: string, start?: string) =>
    call(`POST ${P}/repository/files/${file}`, as, {
      branch,
      content: "text",
      commit_message: "Write",
      ...(start && { start_branch: start }),
    });

  it("an invited group and its members hold rights over branches, which go with the link", async () => {
    expect((await write("mate", "main", "first")).status).toBe(201);
    const protect = (name: string, entry: object) =>
      call(`POST ${P}/protected_branches`, "mate", {
        name,
        push_access_level: 0,
        allowed_to_push: [entry],
      });
    expect((await protect("ours", { group_id: H() })).status).toBe(422);
    expect((await protect("own", { user_id: users["own"] })).status).toBe(422);
    await share(P, "mate", H(), 30);
    expect((await protect("ours", { group_id: H() })).status).toBe(201);
    expect((await protect("own", { user_id: users["own"] })).status).toBe(201);
    for (const [index, [username, ours, own]] of (
      [
        ["dev", 201, 403],
        ["top", 201, 403],
        ["own", 201, 201],
        ["mate", 201, 403],
        ["guest", 403, 403],
        ["chained", 404, 404],
      ] as const
    ).entries()) {
      const statuses = [
        (await write(username, "ours", `ours-${index}`, index === 0 ? "main" : undefined)).status,
        (await write(username, "own", `own-${index}`, username === "own" ? "main" : undefined))
          .status,
      ];
      expect([username, ...statuses]).toEqual([username, ours, own]);
    }
    await call(`DELETE ${P}/share/${H()}`, "mate");
    await share(P, "mate", H(), 30);
    for (const name of ["ours", "own"]) {
      const { json } = await call(`GET ${P}/protected_branches/${name}`, "mate");
      expect(
        json.push_access_levels.filter((one: { access_level: number }) => one.access_level),
      ).toEqual([]);
    }
    expect((await write("dev", "ours", "again")).status).toBe(403);
  });

  it("mails, as long as the link is there", async () => {
    await call("PUT /notification_settings", "dev", { level: "watch" });
    const told = async () => {
      expect((await call(`POST ${P}/issues`, "mate", { title: "News" })).status).toBe(201);
      const [newest] = await app.store.rows("select max(id) from events");
      const people = await app.admin.activity.recipients(newest?.[0] as number);
      return people.map(({ username, reason }) => [username, reason]);
    };
    expect(await told()).toEqual([]);
    await share(P, "mate", H(), 10);
    expect(await told()).toEqual([["dev", "watching"]]);
    await share(T, "town", groups["club"] as number, 10);
    await call(`DELETE ${P}/share/${H()}`, "mate");
    expect(await told()).toEqual([]);
    await call("PUT /notification_settings", "dev", { level: "participating" });
  });

  it("who is let in has projects, and creates some as their level allows", async () => {
    const idle = async () =>
      (await call("GET /users?without_projects=true&per_page=100", "root")).json.map(
        ({ username }: { username: string }) => username,
      );
    expect(await idle()).toContain("friend");
    await share(T, "root", groups["known"] as number, 40);
    expect(await idle()).not.toContain("friend");
    const create = (namespace: string) =>
      call("POST /projects", "friend", { path: "made", namespace_id: groups[namespace] });
    const made = await create("town/hall");
    expect(made.status).toBe(201);
    const places = await call("GET /groups?min_access_level=40", "friend");
    expect(places.json.map(({ path }: { path: string }) => path)).toEqual([
      ...["hall", "known", "town"],
    ]);
    await call(`DELETE /projects/${made.json.id}`, "root");
    await call(`DELETE ${T}/share/${groups["known"]}`, "root");
    expect((await create("town/hall")).status).toBe(400);
  });

  it("GraphQL lists them by relation, with the level that counts", async () => {
    await share(P, "mate", H(), 20);
    await share(T, "root", groups["known"] as number, 30);
    const members = async (place: string, relations: string, as = "mate") => {
      const query = `{ place: ${place}(relations: [${relations}]) { nodes { user { username } accessLevel { integerValue } } } } }`;
      const { json } = await app.call("POST /api/graphql", {
        headers: { "private-token": `token-of-${as}` },
        json: { query },
      });
      type Node = { user: { username: string }; accessLevel: { integerValue: number } };
      return json.data.place?.members.nodes
        .map((node: Node) => `${node.user.username} ${node.accessLevel.integerValue}`)
        .sort();
    };
    const project = 'project(fullPath: "town/hall/p") { members: projectMembers';
    const group = 'group(fullPath: "town/hall") { members: groupMembers';
    const invited = ["dev 20", "guest 10", "mate 10", "mayor 10", "own 20", "top 20"];
    expect(await members(project, "INVITED_GROUPS")).toEqual(invited);
    expect(await members(project, "INVITED_GROUPS", "dev")).toEqual(invited);
    expect(await members(project, "SHARED_INTO_ANCESTORS")).toEqual(["friend 30"]);
    expect(await members(project, "DIRECT, INHERITED")).toEqual(["mate 40", "mayor 50"]);
    expect(await members(project, "DIRECT, INVITED_GROUPS, SHARED_INTO_ANCESTORS")).toEqual([
      ...["dev 20", "friend 30", "guest 10", "mate 40", "mayor 10", "own 20", "top 20"],
    ]);
    expect(await members(group, "SHARED_FROM_GROUPS", "friend")).toEqual(["friend 30"]);
    expect(await members(project, "INVITED_GROUPS", "out")).toBeUndefined();
  });
});

it("db check finds links that let in others than the members of their groups", async () => {
  await share(P, "mate", H(), 30);
  await app.store.transaction((db) =>
    db.run("delete from group_link_sources where namespace_id = ?", [H()]),
  );
  const found = (await check(app.store)).flatMap(({ problems }) => problems);
  expect(found).toEqual([
    expect.stringMatching(
      /^the link \d+ does not let in the members of its group and those above$/,
    ),
  ]);
});

describe("seeds", () => {
  it("refuse groups that there are none of, and those that a project is in", async () => {
    const seedOf = (path: string) => ({
      groups: [
        { path: "seeded", projects: [{ path: "p", shared_with_groups: { [path]: "guest" } }] },
      ],
    });
    await expect(app.admin.seed(seedOf("nowhere"))).rejects.toThrow(
      "the seed has no group nowhere",
    );
    await expect(app.admin.seed(seedOf("seeded"))).rejects.toThrow(
      "seeded/p can't be shared with seeded, which it is in",
    );
  });
});
