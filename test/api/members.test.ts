import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { baseSeed, everyone, type Person, type TestApp, testApp } from "../helpers.ts";

// Numbers in test names are case ids.

const TODAY = Date.parse("2026-06-15T12:00:00Z");
let clock = TODAY;

let app: TestApp;
const ids: Record<string, number> = {};

beforeAll(async () => {
  app = await testApp({
    now: () => clock,
    seed: {
      ...baseSeed,
      users: [
        ...(baseSeed.users ?? []),
        ...["ann", "bob", "cleo", "dora"].map((username) => ({
          username,
          tokens: [{ token: `token-of-${username}` }],
        })),
      ],
    },
  });
  for (const one of (await app.call("GET /users?per_page=100", { as: "admin" })).json) {
    ids[one.username] = one.id;
  }
});
afterAll(() => app.dispose());

const call: TestApp["call"] = (request, options) => app.call(request, { as: "owner", ...options });
const as = (username: string) => ({ headers: { "private-token": `token-of-${username}` } });

let made = 0;
/** Creates a public group of the owner's, optionally within another, and returns its id. */
async function newGroup(parent_id?: number, visibility = "public") {
  made += 1;
  const { status, json } = await call("POST /groups", {
    json: {
      name: `Made ${made}`,
      path: `made-${made}`,
      visibility,
      ...(parent_id && { parent_id }),
    },
  });
  expect(status).toBe(201);
  return json.id as number;
}
async function newProject(namespace_id: number, visibility = "public") {
  made += 1;
  const { status, json } = await call("POST /projects", {
    json: { path: `made-${made}`, namespace_id, visibility },
  });
  expect(status).toBe(201);
  return json.id as number;
}

const add = (at: string, username: string, access_level: number, more: object = {}) =>
  call(`POST ${at}/members`, { json: { user_id: ids[username], access_level, ...more } });
const levels = (members: { username: string; access_level: number }[]) =>
  members.map(({ username, access_level }) => [username, access_level]);

const ann = (access_level: number, expires_at: string | null = null) => ({
  id: ids["ann"],
  name: "ann",
  username: "ann",
  state: "active",
  avatar_url: expect.stringMatching(/^http:\/\/pm\.test\/-\/avatars\//),
  web_url: "http://pm.test/ann",
  locked: false,
  public_email: "",
  access_level,
  created_at: expect.any(String),
  created_by: expect.objectContaining({ username: "owner" }),
  expires_at,
  membership_state: "active",
});

describe("who may do what", () => {
  // In a public group or project                          anonymous stranger guest reporter developer maintainer owner admin
  it.each<[string, object | undefined, number[]]>([
    ["GET /groups/acme/members", undefined, [401, 200, 200, 200, 200, 200, 200, 200]],
    ["GET /groups/acme/members/all", undefined, [401, 200, 200, 200, 200, 200, 200, 200]],
    ["GET /groups/acme/members/:owner", undefined, [401, 200, 200, 200, 200, 200, 200, 200]],
    ["POST /groups/acme/members", { user_id: 0 }, [401, 403, 403, 403, 403, 403, 201, 201]], // 334
    [
      "PUT /groups/acme/members/:ann",
      { access_level: 20 },
      [401, 403, 403, 403, 403, 403, 200, 200],
    ],
    ["DELETE /groups/acme/members/:ann", undefined, [401, 403, 403, 403, 403, 403, 204, 204]], // 338
    ["GET /projects/acme%2Fsite/members", undefined, [401, 200, 200, 200, 200, 200, 200, 200]],
    ["GET /projects/acme%2Fsite/members/all", undefined, [401, 200, 200, 200, 200, 200, 200, 200]],
    [
      "POST /projects/acme%2Fsite/members",
      { user_id: 0 },
      [401, 403, 403, 403, 403, 201, 201, 201],
    ],
    [
      "PUT /projects/acme%2Fsite/members/:ann",
      { access_level: 20 },
      [401, 403, 403, 403, 403, 200, 200, 200],
    ],
    [
      "DELETE /projects/acme%2Fsite/members/:ann",
      undefined,
      [401, 403, 403, 403, 403, 204, 204, 204],
    ],
    ["GET /groups/secret/members", undefined, [401, 404, 200, 200, 200, 200, 200, 200]],
    ["GET /groups/secret/members/all", undefined, [401, 404, 200, 200, 200, 200, 200, 200]],
    ["POST /groups/secret/members", { user_id: 0 }, [401, 404, 403, 403, 403, 403, 201, 201]],
    ["GET /projects/secret%2Fvault/members", undefined, [401, 404, 200, 200, 200, 200, 200, 200]],
    [
      "POST /projects/secret%2Fvault/members",
      { user_id: 0 },
      [401, 404, 403, 403, 403, 201, 201, 201],
    ],
  ])("%s %j", async (template, json, expected) => {
    const at = template.replace(/^\w+ /, "").replace(/\/members.*/, "");
    const request = template
      .replace(":ann", String(ids["ann"]))
      .replace(":owner", String(ids["owner"]));
    const statuses: number[] = [];
    for (const person of everyone) {
      if (request.startsWith("POST"))
        await call(`DELETE ${at}/members/${ids["ann"]}`, { as: "admin" });
      else
        await call(`POST ${at}/members`, {
          as: "admin",
          json: { user_id: ids["ann"], access_level: 10 },
        });
      const sent = json && ("user_id" in json ? { user_id: ids["ann"], access_level: 10 } : json);
      const answer = await call(request, { as: person, ...(sent && { json: sent }) });
      statuses.push(answer.status);
    }
    expect(statuses).toEqual(expected);
    await call(`DELETE ${at}/members/${ids["ann"]}`, { as: "admin" });
  });
});

describe.each(["group", "project"] as const)("members of a %s", (kind) => {
  const newPlace = async () => {
    const group = await newGroup();
    return kind === "group" ? `/groups/${group}` : `/projects/${await newProject(group)}`;
  };

  it("329: are added with a level and an expiry date", async () => {
    const at = await newPlace();
    const { status, json } = await add(at, "ann", 30, { expires_at: "2026-08-01" });
    expect(status).toBe(201);
    expect(json).toEqual(ann(30, "2026-08-01"));
    expect((await call(`GET ${at}/members/${ids["ann"]}`)).json).toEqual(json);
    const bob = await call(`POST ${at}/members`, {
      form: { user_id: String(ids["bob"]), access_level: "20" },
    });
    expect([bob.status, bob.json.access_level, bob.json.expires_at]).toEqual([201, 20, null]);
  });

  it("are added only once: 409", async () => {
    const at = await newPlace();
    await add(at, "ann", 30);
    const { status, json } = await add(at, "ann", 20);
    expect([status, json]).toEqual([409, { message: "Member already exists" }]);
    expect((await call(`GET ${at}/members/${ids["ann"]}`)).json.access_level).toBe(30);
    const answers = await Promise.all(Array.from({ length: 5 }, () => add(at, "bob", 10)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409]);
  });

  it.each([
    [{ access_level: 30 }, '400 (Bad request) "user_id" not given'],
    [{ user_id: 1 }, '400 (Bad request) "access_level" not given'], // 332
    [{ user_id: "ann", access_level: 30 }, { user_id: ["is invalid"] }],
    [{ user_id: 1, access_level: "developer" }, { access_level: ["is invalid"] }],
    [{ user_id: 1, access_level: 30, expires_at: "soon" }, { expires_at: ["is invalid"] }],
    [
      { user_id: "ann", access_level: "x" },
      { user_id: ["is invalid"], access_level: ["is invalid"] },
    ],
  ])("%j is 400, never 422", async (json, message) => {
    const at = await newPlace();
    const answer = await call(`POST ${at}/members`, { json });
    expect([answer.status, answer.json]).toEqual([400, { message }]);
  });

  it.each([0, 5, 35, 60, -10])("can't have the level %s", async (access_level) => {
    const at = await newPlace();
    const message = { access_level: ["is not included in the list"] };
    const added = await add(at, "ann", access_level);
    expect([added.status, added.json]).toEqual([400, { message }]);
    await add(at, "ann", 10);
    const changed = await call(`PUT ${at}/members/${ids["ann"]}`, { json: { access_level } });
    expect([changed.status, changed.json]).toEqual([400, { message }]);
  });

  it("331: must be existing users: 404", async () => {
    const at = await newPlace();
    for (const user_id of [0, 4711, -1]) {
      const { status, json } = await call(`POST ${at}/members`, {
        json: { user_id, access_level: 30 },
      });
      expect([status, json]).toEqual([404, { message: "404 User Not Found" }]);
    }
  });

  it("335: change their level and expiry date", async () => {
    const at = await newPlace();
    await add(at, "ann", 30);
    const change = (json: object) => call(`PUT ${at}/members/${ids["ann"]}`, { json });
    const { status, json } = await change({ access_level: 40 });
    expect([status, json]).toEqual([200, ann(40)]);
    expect((await change({ access_level: 40, expires_at: "2026-08-01" })).json.expires_at).toBe(
      "2026-08-01",
    );
    expect((await change({ access_level: 20 })).json).toEqual(ann(20, "2026-08-01"));
    for (const expires_at of [null, ""]) {
      await change({ access_level: 20, expires_at: "2026-08-01" });
      expect((await change({ access_level: 20, expires_at })).json).toEqual(ann(20));
    }
    const missing = await change({ expires_at: "2026-08-01" });
    expect(missing.json).toEqual({ message: '400 (Bad request) "access_level" not given' });
  });

  it("are 404 if they are not members", async () => {
    const at = await newPlace();
    for (const [request, json] of [
      [`GET ${at}/members/${ids["ann"]}`],
      [`PUT ${at}/members/${ids["ann"]}`, { access_level: 30 }],
      [`DELETE ${at}/members/4711`],
    ] as const) {
      const answer = await call(request, json && { json });
      expect([request, answer.status, answer.json]).toEqual([
        request,
        404,
        { message: "404 Not found" },
      ]);
    }
  });

  it("337: may leave by themselves, but remove nobody else", async () => {
    const at = await newPlace();
    await add(at, "ann", 30);
    await add(at, "bob", 10);
    const other = await app.call(`DELETE ${at}/members/${ids["bob"]}`, as("ann"));
    expect([other.status, other.json]).toEqual([403, { message: "403 Forbidden" }]);
    const self = await app.call(`DELETE ${at}/members/${ids["ann"]}`, as("ann"));
    expect([self.status, self.text]).toEqual([204, ""]);
    expect((await call(`GET ${at}/members/${ids["ann"]}`)).status).toBe(404);
    expect((await call(`GET ${at}/members/${ids["bob"]}`)).status).toBe(200);
  });

  it("340: are found by name and user name", async () => {
    const at = await newPlace();
    for (const username of ["ann", "bob", "cleo"]) await add(at, username, 10);
    for (const [query, expected] of [
      ["query=BOB", ["bob"]],
      ["query=o", kind === "group" ? ["owner", "bob", "cleo"] : ["bob", "cleo"]],
      ["query=nobody", []],
      ["query=%25", []],
      ["query=BOB@example.com", []],
      ["query=example.com", []],
    ] as const) {
      const { json, headers } = await call(`GET ${at}/members?${query}`);
      expect(json.map(({ username }: { username: string }) => username)).toEqual(expected);
      expect(headers.get("x-total")).toBe(String(expected.length));
    }
  });

  it("are removed only if unchanged", async () => {
    const at = await newPlace();
    await add(at, "ann", 10);
    const headers = { "if-unmodified-since": "Mon, 15 Jun 2026 11:59:59 GMT" };
    const { status } = await call(`DELETE ${at}/members/${ids["ann"]}`, { headers });
    expect(status).toBe(412);
    expect((await call(`GET ${at}/members/${ids["ann"]}`)).status).toBe(200);
  });
});

describe("reach", () => {
  it("callers can neither grant more than their own level nor change members above it", async () => {
    const project = `/projects/${await newProject(await newGroup())}`;
    await add(project, "ann", 40);
    const asAnn = (request: string, json?: object) =>
      app.call(request, { ...as("ann"), ...(json && { json }) });
    expect(
      (await asAnn(`POST ${project}/members`, { user_id: ids["bob"], access_level: 40 })).status,
    ).toBe(201);
    expect((await asAnn(`PUT ${project}/members/${ids["bob"]}`, { access_level: 30 })).status).toBe(
      200,
    );
    const owner = await asAnn(`POST ${project}/members`, {
      user_id: ids["cleo"],
      access_level: 50,
    });
    expect(owner.status).toBe(400);
  });

  it("projects have no owners of their own", async () => {
    const project = `/projects/${await newProject(await newGroup())}`;
    const { status, json } = await add(project, "ann", 50);
    expect([status, json]).toEqual([
      400,
      { message: { access_level: ["is not included in the list"] } },
    ]);
  });

  it("a group always has an owner", async () => {
    const group = `/groups/${await newGroup()}`;
    const last = { message: "403 Forbidden - The last owner of a group cannot be removed." };
    for (const [method, json] of [
      ["DELETE", undefined],
      ["PUT", { access_level: 40 }],
    ] as const) {
      const answer = await call(`${method} ${group}/members/${ids["owner"]}`, json && { json });
      expect([answer.status, answer.json]).toEqual([403, last]);
    }
    await add(group, "ann", 50);
    expect((await call(`DELETE ${group}/members/${ids["owner"]}`)).status).toBe(204);
    expect((await app.call(`PUT ${group}?name=Mine`, as("ann"))).status).toBe(200);
    expect((await call(`PUT ${group}?name=x`)).status).toBe(403);
  });

  it("a group's only owner can't be removed now, but may have an expiry date", async () => {
    const group = `/groups/${await newGroup()}`;
    const end = (name: string, expires_at: string | null) =>
      call(`PUT ${group}/members/${ids[name]}`, { json: { access_level: 50, expires_at } });
    const today = new Date(clock).toISOString().slice(0, 10);
    for (const day of ["2020-01-01", today]) expect((await end("owner", day)).status).toBe(403);
    expect((await end("owner", "2999-01-01")).json.expires_at).toBe("2999-01-01");
    expect((await end("owner", null)).status).toBe(200);
    // A member whose membership expired does not count as owner.
    await add(group, "ann", 50);
    expect((await end("ann", "2020-01-01")).status).toBe(200);
    expect((await call(`DELETE ${group}/members/${ids["owner"]}`)).status).toBe(403);
    expect((await call(`DELETE ${group}/members/${ids["ann"]}`)).status).toBe(204);
  });

  it("if two owners leave at once, one stays", async () => {
    const group = `/groups/${await newGroup()}`;
    await add(group, "ann", 50);
    const answers = await Promise.all([
      call(`DELETE ${group}/members/${ids["owner"]}`),
      app.call(`DELETE ${group}/members/${ids["ann"]}`, as("ann")),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 403]);
  });
});

describe("inherited roles", () => {
  it("apply to descendants, and the highest counts", async () => {
    const top = await newGroup(undefined, "private");
    const middle = await newGroup(top, "private");
    const bottom = await newGroup(middle, "private");
    const project = await newProject(bottom, "private");
    const may = async (request: string, username = "ann") =>
      (await app.call(request, as(username))).status;

    expect(await may(`GET /projects/${project}`)).toBe(404);
    await add(`/groups/${top}`, "ann", 20);
    expect(await may(`GET /projects/${project}`)).toBe(200);
    expect(await may(`PUT /projects/${project}?description=x`)).toBe(403);
    await add(`/groups/${middle}`, "ann", 40);
    expect(await may(`PUT /projects/${project}?description=x`)).toBe(200);
    expect(await may(`POST /groups/${top}/milestones?title=x`)).toBe(403);
    expect(await may(`POST /groups/${bottom}/milestones?title=x`)).toBe(201);
    await call(`DELETE /groups/${middle}/members/${ids["ann"]}`);
    expect(await may(`PUT /projects/${project}?description=x`)).toBe(403);
    await call(`DELETE /groups/${top}/members/${ids["ann"]}`);
    expect(await may(`GET /projects/${project}`)).toBe(404);
  });

  it("can't be lowered in descendants", async () => {
    const top = await newGroup();
    const bottom = await newGroup(top);
    const project = await newProject(bottom);
    await add(`/groups/${top}`, "ann", 30);
    const name = (await call(`GET /groups/${top}`)).json.name;
    const message = {
      access_level: [
        `should be greater than or equal to Developer inherited membership from group ${name}`,
      ],
    };
    for (const at of [`/groups/${bottom}`, `/projects/${project}`]) {
      const lower = await add(at, "ann", 20);
      expect([lower.status, lower.json]).toEqual([400, { message }]);
      expect((await add(at, "ann", 40)).status).toBe(201);
      const changed = await call(`PUT ${at}/members/${ids["ann"]}`, { json: { access_level: 10 } });
      expect([changed.status, Object.keys(changed.json.message)]).toEqual([400, ["access_level"]]);
      await call(`DELETE ${at}/members/${ids["ann"]}`);
    }
  });

  it("appear in members/all, each person once with their highest role", async () => {
    const top = await newGroup();
    const bottom = await newGroup(top);
    const project = await newProject(bottom);
    await add(`/groups/${top}`, "ann", 10);
    await add(`/groups/${bottom}`, "ann", 20);
    await add(`/projects/${project}`, "ann", 30);
    await add(`/groups/${top}`, "bob", 20);
    await add(`/projects/${project}`, "cleo", 10);
    const all = async (at: string) => levels((await call(`GET ${at}`)).json);
    expect(await all(`/groups/${top}/members/all`)).toEqual([
      ["owner", 50],
      ["ann", 10],
      ["bob", 20],
    ]);
    expect(new Map((await all(`/groups/${bottom}/members/all`)) as [string, number][])).toEqual(
      new Map([
        ["owner", 50],
        ["ann", 20],
        ["bob", 20],
      ]),
    );
    const ofProject = await call(`GET /projects/${project}/members/all`);
    expect(new Map(levels(ofProject.json) as [string, number][])).toEqual(
      new Map([
        ["owner", 50],
        ["ann", 30],
        ["bob", 20],
        ["cleo", 10],
      ]),
    );
    expect(ofProject.headers.get("x-total")).toBe("4");
    const found = await call(`GET /projects/${project}/members/all?query=ann`);
    expect(levels(found.json)).toEqual([["ann", 30]]);
    expect(levels((await call(`GET /projects/${project}/members`)).json)).toEqual([
      ["ann", 30],
      ["cleo", 10],
    ]);
  });

  it("of a project's member don't apply to its group", async () => {
    const group = await newGroup(undefined, "private");
    const [project, other] = [
      await newProject(group, "private"),
      await newProject(group, "private"),
    ];
    await add(`/projects/${project}`, "ann", 40);
    const may = async (request: string) => (await app.call(request, as("ann"))).status;
    expect(await may(`GET /projects/${project}`)).toBe(200);
    expect(await may(`GET /groups/${group}`)).toBe(200);
    expect(await may(`POST /groups/${group}/labels?name=x&color=%23000`)).toBe(403);
    expect(await may(`GET /projects/${other}`)).toBe(404);
  });
});

describe("a membership that ends", () => {
  const on = async <T>(day: string, run: () => Promise<T>): Promise<T> => {
    clock = Date.parse(`${day}T12:00:00Z`);
    try {
      return await run();
    } finally {
      clock = TODAY;
    }
  };

  it("counts until the day before, in every respect", async () => {
    const group = await newGroup(undefined, "private");
    const sub = await newGroup(group, "private");
    const project = await newProject(sub, "private");
    await add(`/groups/${group}`, "dora", 50, { expires_at: "2026-06-20" });
    const may = async (request: string) => (await app.call(request, as("dora"))).status;
    const everything = async () => ({
      group: await may(`GET /groups/${group}`),
      sub: await may(`GET /groups/${sub}/boards`),
      project: await may(`GET /projects/${project}`),
      change: await may(`PUT /groups/${sub}?description=x`),
      groups: (await app.call("GET /groups", as("dora"))).json.length,
      owned: (await app.call("GET /groups?owned=true", as("dora"))).json.length,
      projects: (await app.call("GET /projects?membership=true", as("dora"))).json.length,
      make: await may(`POST /projects?path=p${made}&namespace_id=${group}`),
    });
    expect(await on("2026-06-19", everything)).toEqual({
      group: 200,
      sub: 200,
      project: 200,
      change: 200,
      groups: 2,
      owned: 2,
      projects: 1,
      make: 201,
    });
    for (const day of ["2026-06-20", "2026-06-21", "2030-01-01"]) {
      expect(await on(day, everything)).toEqual({
        group: 404,
        sub: 404,
        project: 404,
        change: 404,
        groups: 0,
        owned: 0,
        projects: 0,
        make: 400,
      });
    }
  });

  it("in an ancestor, once expired, neither hides nor forbids one below", async () => {
    const group = await newGroup();
    const sub = await newGroup(group);
    await add(`/groups/${group}`, "ann", 50, { expires_at: "2026-06-20" });
    expect((await add(`/groups/${sub}`, "ann", 20)).status).toBe(400);
    await on("2026-06-20", async () => {
      expect((await add(`/groups/${sub}`, "ann", 20)).status).toBe(201);
      const all = await call(`GET /groups/${sub}/members/all?query=ann`);
      expect(levels(all.json)).toEqual([["ann", 20]]);
    });
  });

  it("of a project expires likewise, also in permissions", async () => {
    const group = await newGroup();
    const project = await newProject(group);
    await add(`/projects/${project}`, "ann", 30, { expires_at: "2026-06-20" });
    const access = async () =>
      (await app.call(`GET /projects/${project}`, as("ann"))).json.permissions.project_access;
    expect(await on("2026-06-19", access)).toEqual({ access_level: 30, notification_level: 3 });
    expect(await on("2026-06-20", access)).toBe(null);
  });
});

describe("the memberships of a user", () => {
  it("are those of groups and projects, for administrators", async () => {
    const group = await newGroup();
    const project = await newProject(group);
    await app.admin.seed({ users: [{ username: "eve" }] });
    ids["eve"] = (await call("GET /users?username=eve")).json[0].id;
    await add(`/groups/${group}`, "eve", 30);
    await add(`/projects/${project}`, "eve", 40);
    const get = async (query = "", as: Person = "admin") => {
      const { status, json } = await call(`GET /users/${ids["eve"]}/memberships${query}`, { as });
      return [status, json];
    };
    const source_name = (at: string) => call(`GET ${at}`).then(({ json }) => json.name);
    const ofGroup = {
      source_id: group,
      source_name: await source_name(`/groups/${group}`),
      source_type: "Namespace",
      access_level: 30,
    };
    const ofProject = {
      source_id: project,
      source_name: await source_name(`/projects/${project}`),
      source_type: "Project",
      access_level: 40,
    };
    expect(await get()).toEqual([200, [ofGroup, ofProject]]);
    expect(await get("?type=Namespace")).toEqual([200, [ofGroup]]);
    expect(await get("?type=Project")).toEqual([200, [ofProject]]);
    expect(await get("?type=Group")).toEqual([
      400,
      { message: { type: ["does not have a valid value"] } },
    ]);
    expect((await get("", "owner"))[0]).toBe(403);
    expect((await call("GET /users/0/memberships", { as: "admin" })).status).toBe(404);
  });
});

describe("blocked members", () => {
  it("stay members, but can do nothing", async () => {
    const group = await newGroup();
    const blocked: Person = "blocked";
    const { status, json } = await add(`/groups/${group}`, blocked, 50);
    expect([status, json.state]).toEqual([201, "blocked"]);
    expect((await call(`GET /groups/${group}`, { as: blocked })).status).toBe(403);
  });
});

describe("expired memberships", () => {
  const days = (count: number) => new Date(TODAY + count * 86_400_000).toISOString().slice(0, 10);
  const eventsOf = async (project: number) => {
    const { json } = await call(`GET /projects/${project}/events`);
    return json
      .filter(({ target_type }: { target_type: string | null }) => target_type === null)
      .map((event: { action_name: string; author_username: string }) => [
        event.action_name,
        event.author_username,
      ]);
  };
  const isMember = async (at: string, username: string) =>
    (await call(`GET ${at}/members/${ids[username]}`)).status === 200;

  it("are removed, with an event for those of projects", async () => {
    const group = await newGroup();
    const project = await newProject(group);
    const [inGroup, inProject] = [`/groups/${group}`, `/projects/${project}`];
    await add(inGroup, "ann", 30, { expires_at: days(10) });
    await add(inProject, "bob", 30, { expires_at: days(10) });
    await add(inProject, "cleo", 30, { expires_at: days(11) });
    await add(inProject, "dora", 30);
    const before = await eventsOf(project);

    clock = TODAY + 9 * 86_400_000;
    await app.admin.maintenance.removeExpiredMembers();
    expect(await isMember(inGroup, "ann")).toBe(true);
    clock = TODAY + 10 * 86_400_000;
    expect(await app.admin.maintenance.removeExpiredMembers()).toEqual({ members: 2 });
    expect(await app.admin.maintenance.removeExpiredMembers()).toEqual({ members: 0 });
    expect(await isMember(inGroup, "ann")).toBe(false);
    expect(await isMember(inProject, "bob")).toBe(false);
    expect(await isMember(inProject, "cleo")).toBe(true);
    expect(await isMember(inProject, "dora")).toBe(true);
    const expired = ["removed due to membership expiration from", "bob"];
    expect(await eventsOf(project)).toEqual([expired, ...before]);
    const filtered = await call(`GET /projects/${project}/events?action=expired`);
    expect(filtered.headers.get("x-total")).toBe("1");
    clock = TODAY;
  });

  it("are recorded in the audit log with their role when they are removed", async () => {
    const group = await newGroup();
    const project = await newProject(group);
    await add(`/groups/${group}`, "ann", 30, { expires_at: days(10) });
    await add(`/projects/${project}`, "bob", 20, { expires_at: days(10) });
    const { full_path } = await app.admin.projects.get(String(project));
    clock = TODAY + 10 * 86_400_000;
    await app.admin.maintenance.removeExpiredMembers();
    clock = TODAY;
    const filter = { action: "member expired", limit: 2 };
    const byUser = async (user: string) =>
      (await app.admin.auditEvents.list({ ...filter, user }))[0];
    const author = "operator";
    const path = full_path.slice(0, full_path.lastIndexOf("/"));
    expect(await byUser("ann")).toMatchObject({
      author,
      user: "ann",
      target: `${path} (developer)`,
    });
    expect(await byUser("bob")).toMatchObject({ author, target: `${full_path} (reporter)` });
  });

  it("are swept away in batches, however many there are", async () => {
    const project = await newProject(await newGroup());
    const usernames = Array.from({ length: 150 }, (_, at) => `brief-${at}`);
    await app.admin.seed({ users: usernames.map((username) => ({ username })) });
    const { json: users } = await call("GET /users?per_page=100&search=brief-", { as: "admin" });
    const more = await call("GET /users?per_page=100&page=2&search=brief-", { as: "admin" });
    for (const { id } of [...users, ...more.json]) {
      const json = { user_id: id, access_level: 20, expires_at: days(1) };
      expect((await call(`POST /projects/${project}/members`, { json })).status).toBe(201);
    }
    clock = TODAY + 86_400_000;
    expect(await app.admin.maintenance.removeExpiredMembers()).toEqual({ members: 150 });
    const { headers } = await call(`GET /projects/${project}/events?action=expired`);
    expect(headers.get("x-total")).toBe("150");
    clock = TODAY;
  });

  it("create the expiry event when removed by hand", async () => {
    const project = await newProject(await newGroup());
    await add(`/projects/${project}`, "bob", 30, { expires_at: days(1) });
    clock = TODAY + 86_400_000;
    expect((await call(`DELETE /projects/${project}/members/${ids["bob"]}`)).status).toBe(204);
    expect((await eventsOf(project))[0]?.[0]).toBe("removed due to membership expiration from");
    clock = TODAY;
  });
});

describe("more than one member", () => {
  it("is added by ids or names separated by commas", async () => {
    const at = `/groups/${await newGroup()}`;
    const two = { user_id: `${ids["ann"]},${ids["bob"]}`, access_level: 30 };
    const added = await call(`POST ${at}/members`, { json: two });
    expect([added.status, added.json]).toEqual([201, { status: "success" }]);
    const named = { username: "bob, cleo, nobody", access_level: 20 };
    const some = await call(`POST ${at}/members`, { json: named });
    expect([some.status, some.json]).toEqual([
      201,
      {
        status: "error",
        message: { bob: "Member already exists", nobody: "404 User Not Found" },
      },
    ]);
    const { json } = await call(`GET ${at}/members?per_page=100`);
    expect(levels(json)).toEqual([
      ["owner", 50],
      ["ann", 30],
      ["bob", 30],
      ["cleo", 20],
    ]);
    const odd = { username: "__proto__,nobody", access_level: 77 };
    expect(JSON.parse((await call(`POST ${at}/members`, { json: odd })).text)).toMatchObject({
      status: "error",
      message: Object.fromEntries([["__proto__", "404 User Not Found"]]),
    });
    const wrongLevel = { username: "dora,ann", access_level: 77 };
    expect((await call(`POST ${at}/members`, { json: wrongLevel })).json.message).toEqual({
      dora: "is not included in the list",
      ann: "Member already exists",
    });
    const one = await call(`POST ${at}/members`, { json: { username: "dora", access_level: 10 } });
    expect([one.status, one.json.username]).toEqual([201, "dora"]);
    for (const wrong of [{}, { user_id: "x" }, { user_id: "1,x" }, { user_id: "," }]) {
      const refused = await call(`POST ${at}/members`, { json: { ...wrong, access_level: 10 } });
      expect(refused.status, JSON.stringify(wrong)).toBe(400);
    }
    const both = { user_id: ids["ann"], username: "ann", access_level: 10 };
    expect((await call(`POST ${at}/members`, { json: both })).json).toEqual({
      error: "user_id, username are mutually exclusive",
    });
  });
});

describe("somebody who leaves a group", () => {
  /** A group with a subgroup and a project, of all of which ann is a member. */
  async function withAnn(below: number) {
    const group = await newGroup();
    const sub = await newGroup(group);
    const project = await newProject(sub);
    await add(`/groups/${group}`, "ann", 20);
    await add(`/groups/${sub}`, "ann", below);
    await add(`/projects/${project}`, "ann", 40);
    return { group, sub, project };
  }
  const isMember = async (at: string) =>
    (await call(`GET ${at}/members/${ids["ann"]}`)).status === 200;

  it("leaves what is below it, unless skip_subresources", async () => {
    const kept = await withAnn(30);
    const skips = `DELETE /groups/${kept.group}/members/${ids["ann"]}?skip_subresources=true`;
    expect((await call(skips)).status).toBe(204);
    expect(await isMember(`/groups/${kept.group}`)).toBe(false);
    expect(await isMember(`/groups/${kept.sub}`)).toBe(true);
    expect(await isMember(`/projects/${kept.project}`)).toBe(true);

    const left = await withAnn(30);
    expect((await call(`DELETE /groups/${left.group}/members/${ids["ann"]}`)).status).toBe(204);
    expect(await isMember(`/groups/${left.sub}`)).toBe(false);
    expect(await isMember(`/projects/${left.project}`)).toBe(false);
  });

  it("stays the owner of a group that has no other", async () => {
    const { group, sub, project } = await withAnn(50);
    const [owners, subs] = [group, sub].map((id) => `/groups/${id}/members/${ids["owner"]}`);
    await call(`DELETE ${subs}`);
    await add(`/groups/${group}`, "bob", 50);
    await call(`DELETE ${owners}?skip_subresources=true`);
    const by = as("bob");
    await call(`PUT /groups/${group}/members/${ids["bob"]}`, { ...by, json: { access_level: 50 } });
    expect((await call(`DELETE /groups/${group}/members/${ids["ann"]}`, by)).status).toBe(204);
    // Bob owns it, too, by the group above.
    expect((await call(`GET /groups/${sub}/members/${ids["ann"]}`, by)).status).toBe(404);
    expect((await call(`GET /projects/${project}/members/${ids["ann"]}`, by)).status).toBe(404);
  });

  it("is unassigned there, if that is asked for", async () => {
    const { group, project } = await withAnn(30);
    const other = await newProject(await newGroup());
    await add(`/projects/${other}`, "ann", 30);
    const assigned = { title: "Work", assignee_ids: [ids["ann"]] };
    for (const id of [project, other])
      await call(`POST /projects/${id}/issues`, { json: assigned });
    const of = async (id: number) =>
      (await call(`GET /projects/${id}/issues/1`)).json.assignees.length;
    await call(`DELETE /groups/${group}/members/${ids["ann"]}`);
    expect(await of(project)).toBe(1);
    await add(`/groups/${group}`, "ann", 30);
    await call(`DELETE /groups/${group}/members/${ids["ann"]}?unassign_issuables=true`);
    expect([await of(project), await of(other)]).toEqual([0, 1]);
  });
});
