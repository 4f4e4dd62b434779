import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
beforeEach(async () => {
  app = await testApp();
});
afterEach(() => app.dispose());

const SOURCES = [
  ["group", "/groups/secret", "owner", "maintainer"],
  ["project", "/projects/secret%2Fvault", "maintainer", "developer"],
] as const;

describe.each(SOURCES)("an access token of a %s", (kind, source, keeper, other) => {
  const path = `${source}/access_tokens`;
  const create = (json: object, as: Person = keeper) => app.call(`POST ${path}`, { as, json });
  const use = (request: string, token: string) =>
    app.call(request, { headers: { "private-token": token } });

  it("is a member of its own with a level", async () => {
    const made = await create({ name: "ci", scopes: ["api"], access_level: 30 });
    const shown = {
      id: expect.any(Number),
      name: "ci",
      description: null,
      revoked: false,
      created_at: expect.stringMatching(/^20.*Z$/),
      scopes: ["api"],
      user_id: expect.any(Number),
      last_used_at: null,
      active: true,
      expires_at: null,
      access_level: 30,
      resource_type: kind,
      resource_id: expect.any(Number),
    };
    const { token, ...rest } = made.json;
    expect([made.status, rest]).toEqual([201, shown]);
    expect((await app.call(`GET ${path}`, { as: keeper })).json).toEqual([shown]);
    expect((await app.call(`GET ${path}/${rest.id}`, { as: keeper })).json).toEqual(shown);
    const self = (await use("GET /user", token)).json;
    expect(self).toMatchObject({ id: rest.user_id, name: "ci", can_create_group: false });
    expect(self.username).toMatch(new RegExp(`^${kind}_${rest.resource_id}_bot_[0-9a-f]{32}$`));
    const labels = "/projects/secret%2Fvault/labels";
    const json = { name: "made by a bot", color: "#000000" };
    const { headers } = { headers: { "private-token": token as string } };
    expect((await app.call(`POST ${labels}`, { headers, json })).status).toBe(201);
    expect((await use("GET /projects/acme%2Fteam%2Fcore", token)).status).toBe(404);
  });

  it("has the level of a maintainer unless another one is wanted, and none above the caller's", async () => {
    expect((await create({ name: "a", scopes: ["read_api"] })).json).toMatchObject({
      access_level: 40,
    });
    expect((await create({ name: "a", scopes: ["api"], access_level: 35 })).status).toBe(400);
    if (kind === "project") {
      const owner = await create({ name: "a", scopes: ["api"], access_level: 50 });
      expect(owner.status).toBe(400);
    }
    expect((await app.call(`GET ${path}`, { as: keeper })).json).toHaveLength(1);
  });

  it("needs scopes that exist", async () => {
    expect((await create({ name: "t" })).status).toBe(400);
    expect((await create({ name: "t", scopes: [] })).status).toBe(400);
    expect((await create({ name: "t", scopes: ["everything"] })).status).toBe(400);
    expect((await create({ scopes: ["api"] })).status).toBe(400);
    const users = (await app.call("GET /users?search=_bot_", { as: "admin" })).json;
    expect(users).toEqual([]);
  });

  it("is not managed by others", async () => {
    const { id } = (await create({ name: "t", scopes: ["api"] })).json;
    for (const at of [path, `${path}/${id}`]) {
      expect((await app.call(`GET ${at}`, { as: other })).status).toBe(401);
      expect((await app.call(`GET ${at}`, { as: "stranger" })).status).toBe(404);
    }
    expect((await create({ name: "t", scopes: ["api"] }, other)).status).toBe(403);
    expect((await app.call(`DELETE ${path}/${id}`, { as: other })).status).toBe(403);
    expect((await app.call(`POST ${path}/${id}/rotate`, { as: other, json: {} })).status).toBe(403);
  });

  it("is rotated", async () => {
    const { id, token, user_id } = (await create({ name: "t", scopes: ["api"] })).json;
    const json = { expires_at: "2099-01-01" };
    const rotated = await app.call(`POST ${path}/${id}/rotate`, { as: keeper, json });
    expect([rotated.status, rotated.json]).toMatchObject([
      200,
      { name: "t", user_id, access_level: 40, expires_at: "2099-01-01" },
    ]);
    expect((await use("GET /user", token)).status).toBe(401);
    expect((await use("GET /user", rotated.json.token)).json.id).toBe(user_id);
    const again = await app.call(`POST ${path}/${id}/rotate`, { as: keeper, json });
    expect(again.status).toBe(400);
    const states = async (query: string) =>
      (await app.call(`GET ${path}?${query}`, { as: keeper })).json.map(
        (one: { active: boolean }) => one.active,
      );
    expect(await states("state=active")).toEqual([true]);
    expect(await states("revoked=true")).toEqual([false]);
    expect(await states("search=nothing")).toEqual([]);
  });

  it("ends when it is revoked", async () => {
    const { id, token, user_id } = (await create({ name: "t", scopes: ["api"] })).json;
    expect((await app.call(`DELETE ${path}/${id}`, { as: keeper })).status).toBe(204);
    expect((await use("GET /user", token)).status).toBe(401);
    const member = await app.call(`GET ${source}/members/${user_id}`, { as: keeper });
    expect(member.status).toBe(404);
    expect((await app.call(`GET ${path}/4711`, { as: keeper })).status).toBe(404);
  });

  it("ends with its place", async () => {
    const { token, user_id } = (await create({ name: "t", scopes: ["api"] })).json;
    expect((await app.call(`DELETE ${source}`, { as: "owner" })).status).toBe(202);
    expect((await use("GET /user", token)).status).toBe(403);
    const { json } = await app.call(`GET /users/${user_id}`, { as: "admin" });
    expect(json.state).toBe("blocked");
  });
});
