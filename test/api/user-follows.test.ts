import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
const ids: Partial<Record<Person, number>> = {};

beforeAll(async () => {
  app = await testApp();
  for (const as of ["guest", "reporter", "developer", "admin"] as const) {
    ids[as] = (await app.call("GET /user", { as })).json.id;
  }
});
afterAll(() => app.dispose());

const follow = (whom: Person, as: Person, verb = "follow") =>
  app.call(`POST /users/${ids[whom]}/${verb}`, { as });
const names = async (whom: Person, list: string, as: Person = "guest") => {
  const { status, json } = await app.call(`GET /users/${ids[whom]}/${list}`, { as });
  return status === 200 ? json.map(({ username }: { username: string }) => username) : status;
};

describe("following users", () => {
  it("answers the user, and 304 for what is so already", async () => {
    const { status, json } = await follow("developer", "guest");
    expect([status, json.username]).toEqual([201, "developer"]);
    expect((await follow("developer", "guest")).status).toBe(304);
    expect((await follow("guest", "guest")).status).toBe(304);
    expect((await follow("developer", "reporter")).status).toBe(201);
    expect(await names("developer", "followers")).toEqual(["reporter", "guest"]);
    expect(await names("guest", "following", "reporter")).toEqual(["developer"]);
    expect((await follow("developer", "guest", "unfollow")).json.username).toBe("developer");
    expect((await follow("developer", "guest", "unfollow")).status).toBe(304);
    expect(await names("developer", "followers")).toEqual(["reporter"]);
  });

  it("needs a signed-in caller and a user", async () => {
    expect((await follow("developer", "anonymous")).status).toBe(401);
    expect(await names("developer", "followers", "anonymous")).toBe(401);
    const missing = await app.call("POST /users/99999/follow", { as: "guest" });
    expect([missing.status, missing.json]).toEqual([404, { message: "404 User Not Found" }]);
  });

  it("is shown of private profiles only to their users and administrators", async () => {
    await app.call(`PUT /users/${ids.reporter}`, { as: "admin", json: { private_profile: true } });
    expect(await names("reporter", "following")).toBe(404);
    expect(await names("reporter", "following", "reporter")).toEqual(["developer"]);
    expect(await names("reporter", "following", "admin")).toEqual(["developer"]);
  });

  it("ends with the user", async () => {
    await app.call(`DELETE /users/${ids.reporter}`, { as: "admin" });
    expect(await names("developer", "followers")).toEqual([]);
  });
});

it("users of access tokens can be left out of lists", async () => {
  const made = await app.call("POST /projects/acme%2Fsite/access_tokens", {
    as: "owner",
    json: { name: "Robot", scopes: ["api"], expires_at: "2027-06-01" },
  });
  expect(made.status, made.text).toBe(201);
  const list = async (more: string) =>
    (await app.call(`GET /users?search=Robot${more}`, { as: "guest" })).json.length;
  expect([await list(""), await list("&without_project_bots=true")]).toEqual([1, 0]);
});
