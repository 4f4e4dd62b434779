import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

const paths = async (as: Person, query = "") => {
  const { status, json } = await app.call(`GET /namespaces${query}`, { as });
  expect(status).toBe(200);
  return json.map(({ full_path }: { full_path: string }) => full_path).sort();
};

describe("namespaces", () => {
  it("are listed for those who belong to them", async () => {
    expect(await paths("guest")).toEqual(["acme", "acme/team", "guest", "secret"]);
    expect(await paths("stranger")).toEqual(["stranger"]);
    expect((await app.call("GET /namespaces")).status).toBe(401);
    expect(await paths("admin")).toEqual(expect.arrayContaining(["acme", "guest", "owner"]));
  });

  it("are limited to those the caller owns, to those at the top, and by a text", async () => {
    expect(await paths("guest", "?owned_only=true")).toEqual(["guest"]);
    expect(await paths("guest", "?top_level_only=true")).toEqual(["acme", "guest", "secret"]);
    expect(await paths("admin", "?owned_only=true")).toEqual(["admin"]);
    expect(await paths("admin", "?search=GUES")).toEqual(["guest"]);
  });

  it("are got by id and by full path", async () => {
    const { json: group } = await app.call("GET /namespaces/acme", { as: "guest" });
    expect(group).toEqual({
      id: expect.any(Number),
      name: "Acme",
      path: "acme",
      kind: "group",
      full_path: "acme",
      parent_id: null,
      avatar_url: null,
      web_url: expect.stringMatching(/\/groups\/acme$/),
    });
    expect((await app.call(`GET /namespaces/${group.id}`, { as: "guest" })).json).toEqual(group);
    const below = await app.call("GET /namespaces/acme%2Fteam", { as: "guest" });
    expect(below.json).toMatchObject({ full_path: "acme/team", parent_id: group.id });
    const { json: own } = await app.call("GET /namespaces/Guest", { as: "guest" });
    expect(own).toMatchObject({
      kind: "user",
      avatar_url: expect.stringMatching(/\/-\/avatars\/g-\d+\.svg$/),
      web_url: expect.stringMatching(/[^s]\/guest$/),
    });
  });

  it("of others answer 404", async () => {
    for (const path of ["acme", "guest", "nowhere", "99999999999999999999"]) {
      const { status, json } = await app.call(`GET /namespaces/${path}`, { as: "stranger" });
      expect([path, status, json]).toEqual([path, 404, { message: "404 Namespace Not Found" }]);
    }
  });
});

describe("a path", () => {
  const exists = async (path: string, query = "", as: Person = "guest") =>
    (await app.call(`GET /namespaces/${path}/exists${query}`, { as })).json;

  it("that is taken comes with one that is free", async () => {
    expect(await exists("ACME")).toEqual({ exists: true, suggests: ["ACME1"] });
    for (const path of ["guest1", "guest2"]) {
      const json = { name: path, path };
      expect((await app.call("POST /groups", { as: "owner", json })).status).toBe(201);
    }
    expect(await exists("guest")).toEqual({ exists: true, suggests: ["guest3"] });
    expect(await exists("free")).toEqual({ exists: false, suggests: [] });
  });

  it.each(["[]=1", "[][]=1", "[a]=1"])("is 400 within %s, which is no id", async (id) => {
    expect(await exists("team", `?parent_id${id}`)).toEqual({
      message: { parent_id: ["is invalid"] },
    });
  });

  it("is looked up within a group", async () => {
    const { id } = (await app.call("GET /groups/acme", { as: "guest" })).json;
    expect(await exists("team", `?parent_id=${id}`)).toEqual({ exists: true, suggests: ["team1"] });
    expect(await exists("acme", `?parent_id=${id}`)).toEqual({ exists: false, suggests: [] });
    expect(await exists("team")).toEqual({ exists: false, suggests: [] });
    expect(await exists("team", "?parent_id=999999")).toEqual({ message: "404 Group Not Found" });
  });

  it("is told to users only", async () => {
    expect((await app.call("GET /namespaces/acme/exists")).status).toBe(401);
  });
});
