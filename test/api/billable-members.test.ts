// Those who use a seat in a top-level group or below it.
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

const PATH = "/groups/acme/billable_members";
const get = (path: string, as: Person = "owner") => app.call(`GET ${path}`, { as });
const idOf = async (username: string): Promise<number> =>
  (await get(`/users?username=${username}`, "admin")).json[0].id;
const names = async (query = "") =>
  (await get(`${PATH}${query}`)).json.map((one: { username: string }) => one.username);

it("are listed for owners of top-level groups", async () => {
  const { status, json, headers } = await get(PATH);
  expect([status, headers.get("x-total")]).toEqual([200, "4"]);
  expect(await names()).toEqual(["owner", "maintainer", "developer", "reporter"]);
  expect(json[0]).toEqual({
    id: expect.any(Number),
    username: "owner",
    name: "The owner",
    state: "active",
    avatar_url: expect.any(String),
    web_url: expect.stringContaining("/owner"),
    last_activity_on: expect.toSatisfy((day) => day === null || typeof day === "string"),
    membership_type: "group_member",
    removable: false,
    created_at: expect.any(String),
    last_login_at: null,
  });
  expect(json[1].removable).toBe(true);
  expect((await get(PATH, "maintainer")).status).toBe(403);
  expect((await get(PATH, "anonymous")).status).toBe(401);
  const below = await get("/groups/acme%2Fteam/billable_members");
  expect([below.status, below.json]).toEqual([400, { message: "400 Bad request" }]);
});

it("take as many statements for many as for one", async () => {
  const statements = async (size: number) => {
    app.statements.length = 0;
    expect((await get(`${PATH}?per_page=${size}`)).json).toHaveLength(size);
    return app.statements.length;
  };
  expect(await statements(4)).toBe(await statements(1));
});

it("are searched and sorted", async () => {
  expect(await names("?search=devel")).toEqual(["developer"]);
  expect(await names("?sort=name_asc")).toEqual(["developer", "maintainer", "owner", "reporter"]);
  expect(await names("?sort=name_desc")).toEqual(["reporter", "owner", "maintainer", "developer"]);
  expect(await names("?sort=access_level_asc")).toEqual([
    "reporter",
    "developer",
    "maintainer",
    "owner",
  ]);
  expect((await names("?sort=access_level_desc"))[0]).toBe("owner");
  for (const sort of [
    ...["last_joined", "oldest_joined", "last_activity_on_asc", "last_activity_on_desc"],
    ...["recent_sign_in", "oldest_sign_in"],
  ]) {
    expect(await names(`?sort=${sort}`)).toHaveLength(4);
  }
  expect((await get(`${PATH}?sort=size`)).status).toBe(400);
  expect(await names("?per_page=2&page=2")).toEqual(["developer", "reporter"]);
});

it("include members of projects and of invited groups, whose memberships are told, and only own ones can be ended", async () => {
  const stranger = await idOf("stranger");
  const site = await app.call("POST /projects/acme%2Fteam%2Fcore/members", {
    as: "owner",
    json: { user_id: stranger, access_level: 30 },
  });
  expect(site.status).toBe(201);
  const shown = async (username: string) =>
    (await get(PATH)).json.find((one: { username: string }) => one.username === username);
  expect(await shown("stranger")).toMatchObject({
    membership_type: "project_member",
    removable: true,
  });
  const memberships = await get(`${PATH}/${stranger}/memberships`);
  expect(memberships.json).toEqual([
    {
      id: expect.any(Number),
      source_id: expect.any(Number),
      source_full_name: "Acme / Team / Core",
      source_members_url: expect.stringMatching(/\/acme\/team\/core\/-\/project_members$/),
      created_at: expect.any(String),
      expires_at: null,
      access_level: { string_value: "Developer", integer_value: 30 },
    },
  ]);
  expect((await get(`${PATH}/${stranger}/indirect`)).json).toEqual([]);
  const gone = await app.call(`DELETE ${PATH}/${stranger}`, { as: "owner" });
  expect([gone.status, await shown("stranger")]).toEqual([204, undefined]);
  expect((await get(`${PATH}/${stranger}/memberships`)).status).toBe(404);

  const club = await app.call("POST /groups", {
    as: "admin",
    json: { name: "Club", path: "club", visibility: "public" },
  });
  await app.call("POST /groups/club/members", {
    as: "admin",
    json: { user_id: stranger, access_level: 40 },
  });
  const share = await app.call("POST /groups/acme/share", {
    as: "admin",
    json: { group_id: club.json.id, group_access: 30 },
  });
  expect(share.status).toBe(201);
  expect(await shown("stranger")).toMatchObject({
    membership_type: "group_invite",
    removable: false,
  });
  expect((await get(`${PATH}/${stranger}/memberships`)).json).toEqual([]);
  expect((await get(`${PATH}/${stranger}/indirect`)).json).toEqual([
    expect.objectContaining({
      source_full_name: "Club",
      access_level: { string_value: "Maintainer", integer_value: 40 },
    }),
  ]);
  expect((await app.call(`DELETE ${PATH}/${stranger}`, { as: "owner" })).status).toBe(404);
  await app.call(`DELETE /groups/acme/share/${club.json.id}`, { as: "owner" });
});

it("those who can do less than reporters, are blocked or are bots use no seat; the last owner stays", async () => {
  const developer = await idOf("developer");
  await app.call(`POST /users/${developer}/block`, { as: "admin" });
  expect(await names()).not.toContain("developer");
  await app.call(`POST /users/${developer}/unblock`, { as: "admin" });
  const token = await app.call("POST /groups/acme/access_tokens", {
    as: "owner",
    json: { name: "bot", scopes: ["api"], access_level: 40, expires_at: "2027-01-01" },
  });
  expect(token.status).toBe(201);
  expect(await names()).toEqual(["owner", "maintainer", "developer", "reporter"]);
  const last = await app.call(`DELETE ${PATH}/${await idOf("owner")}`, { as: "owner" });
  expect(last.status).toBe(409);
});
