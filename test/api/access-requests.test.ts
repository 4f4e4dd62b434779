import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
let stranger: number;
beforeEach(async () => {
  app = await testApp();
  stranger = (await app.admin.users.get("stranger")).id;
});
afterEach(() => app.dispose());

const SOURCES = [
  ["/groups/acme", "owner"],
  ["/projects/acme%2Fsite", "maintainer"],
] as const;

describe.each(SOURCES)("access to %s", (source, keeper) => {
  const path = `${source}/access_requests`;
  const ask = (as?: Person) => app.call(`POST ${path}`, as && { as });

  it("is asked for, seen by those who decide, and given", async () => {
    const asked = await ask("stranger");
    const shown = {
      id: stranger,
      name: "The stranger",
      username: "stranger",
      state: "active",
      avatar_url: expect.any(String),
      web_url: "http://pm.test/stranger",
      requested_at: expect.stringMatching(/^20.*Z$/),
    };
    expect([asked.status, asked.json]).toEqual([201, shown]);
    expect((await app.call(`GET ${path}`, { as: keeper })).json).toEqual([shown]);
    const approved = await app.call(`PUT ${path}/${stranger}/approve`, { as: keeper });
    expect([approved.status, approved.json]).toMatchObject([
      201,
      { id: stranger, access_level: 30, expires_at: null },
    ]);
    expect((await app.call(`GET ${path}`, { as: keeper })).json).toEqual([]);
    expect((await app.call(`GET ${source}/members/${stranger}`, { as: keeper })).status).toBe(200);
  });

  it("is given with another level", async () => {
    await ask("stranger");
    const approve = (access_level: number, as: Person = keeper) =>
      app.call(`PUT ${path}/${stranger}/approve`, { as, json: { access_level } });
    expect((await approve(15)).status).toBe(400);
    expect((await approve(20, "developer")).status).toBe(403);
    expect((await approve(20)).json).toMatchObject({ access_level: 20 });
    expect((await approve(20)).status).toBe(404);
  });

  it("is asked for once, by users who have none", async () => {
    expect((await ask()).status).toBe(401);
    expect((await ask("guest")).status).toBe(403);
    expect((await ask("stranger")).status).toBe(201);
    const again = await ask("stranger");
    expect([again.status, again.json]).toEqual([
      400,
      { message: "400 Bad request - Access has already been requested" },
    ]);
    const json = { request_access_enabled: false };
    expect((await app.call(`PUT ${source}`, { as: "owner", json })).status).toBe(200);
    expect((await ask("admin")).status).toBe(403);
  });

  it("is refused, or no longer wanted", async () => {
    const remove = (as: Person) => app.call(`DELETE ${path}/${stranger}`, { as });
    expect((await remove("stranger")).status).toBe(404);
    await ask("stranger");
    expect((await remove("developer")).status).toBe(403);
    expect((await remove("stranger")).status).toBe(204);
    await ask("stranger");
    expect((await remove(keeper)).status).toBe(204);
    expect((await remove(keeper)).status).toBe(404);
    expect((await app.call(`GET ${path}`, { as: "developer" })).status).toBe(403);
  });

  it("is no longer asked for by those who were made members", async () => {
    await ask("stranger");
    const json = { user_id: stranger, access_level: 10 };
    expect((await app.call(`POST ${source}/members`, { as: keeper, json })).status).toBe(201);
    expect((await app.call(`GET ${path}`, { as: keeper })).json).toEqual([]);
  });
});

describe("access requests", () => {
  it("are not for what the caller can't see", async () => {
    for (const path of ["/groups/secret", "/projects/secret%2Fvault"]) {
      expect((await app.call(`POST ${path}/access_requests`, { as: "stranger" })).status).toBe(404);
    }
  });
});
