import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
let ids: Record<string, number>;
beforeAll(async () => {
  app = await testApp();
  const { json } = await app.call("GET /users?per_page=100", { as: "admin" });
  ids = Object.fromEntries(
    json.map(({ username, id }: { username: string; id: number }) => [username, id]),
  );
});
afterAll(() => app.dispose());

const add = (email: string, as: Person = "guest") =>
  app.call("POST /user/emails", { as, json: { email } });
const give = (user: string, email: string, more: object = { skip_confirmation: true }) =>
  app.call(`POST /users/${ids[user]}/emails`, { as: "admin", json: { email, ...more } });
const change = (user: string, json: object) =>
  app.call(`PUT /users/${ids[user]}`, { as: "admin", json });

describe("a user's own addresses", () => {
  it("are added, shown and removed", async () => {
    const made = await add("guest@second.example");
    const shown = { id: expect.any(Number), email: "guest@second.example", confirmed_at: null };
    expect([made.status, made.json]).toEqual([201, shown]);
    expect((await app.call("GET /user/emails", { as: "guest" })).json).toEqual([shown]);
    const path = `/user/emails/${made.json.id}`;
    expect((await app.call(`GET ${path}`, { as: "guest" })).json).toEqual(shown);
    expect((await app.call(`GET ${path}`, { as: "owner" })).status).toBe(404);
    expect((await app.call(`DELETE ${path}`, { as: "owner" })).status).toBe(404);
    expect((await app.call("GET /user/emails")).status).toBe(401);
    expect((await app.call(`DELETE ${path}`, { as: "guest" })).status).toBe(204);
    expect((await app.call("GET /user/emails", { as: "guest" })).json).toEqual([]);
  });

  it.each(["", "nobody", "a b@example.com", "owner@example.com", "GUEST@example.com"])(
    "can't be %j",
    async (email) => {
      const { status, json } = await add(email);
      expect([status, Object.keys(json.message)]).toEqual([400, ["email"]]);
    },
  );

  it("are added once, and are of bounded number", async () => {
    const statuses: number[] = [];
    for (let at = 0; at < 101; at += 1) {
      statuses.push((await give("reporter", `a${at}@many.example`)).status);
    }
    expect([statuses.lastIndexOf(201), statuses[100]]).toEqual([99, 400]);
    expect((await add("A0@many.example", "reporter")).status).toBe(400);
  });

  it("are not added for ever, since each gets a mail", async () => {
    const statuses: number[] = [];
    for (let at = 0; at < 101; at += 1) {
      const { status, json } = await add(`n${at}@many.example`, "maintainer");
      statuses.push(status);
      await app.call(`DELETE /user/emails/${json.id}`, { as: "maintainer" });
    }
    expect([statuses.indexOf(429), statuses.lastIndexOf(201)]).toEqual([100, 99]);
  });

  it("block nobody until they are confirmed", async () => {
    expect((await add("wanted@example.com", "reporter")).status).toBe(400);
    expect((await add("wanted@example.com", "stranger")).status).toBe(201);
    expect((await give("developer", "wanted@example.com")).status).toBe(201);
    expect((await add("Wanted@example.com", "owner")).status).toBe(400);
    const user = { username: "w", name: "W", email: "wanted@example.com", password: "12345678" };
    const made = await app.call("POST /users", { as: "admin", json: user });
    expect([made.status, made.json]).toEqual([409, { message: "Email has already been taken" }]);
  });
});

describe("the addresses of a user", () => {
  it("are managed by administrators, who may confirm them", async () => {
    const later = await give("maintainer", "m@later.example", {});
    expect(later.json.confirmed_at).toBeNull();
    const made = await give("maintainer", "m@now.example");
    expect(made.json.confirmed_at).toMatch(/^20.*Z$/);
    const path = `/users/${ids["maintainer"]}/emails`;
    const list = await app.call(`GET ${path}`, { as: "admin" });
    expect(list.json).toEqual([later.json, made.json]);
    expect((await app.call(`GET ${path}`, { as: "maintainer" })).status).toBe(403);
    expect((await app.call(`DELETE ${path}/${later.json.id}`, { as: "maintainer" })).status).toBe(
      403,
    );
    expect((await app.call(`DELETE ${path}/${later.json.id}`, { as: "admin" })).status).toBe(204);
    expect((await app.call("GET /users/1000000/emails", { as: "admin" })).status).toBe(404);
  });
});

describe("choosing", () => {
  it("takes confirmed addresses only, and forgets those that are removed", async () => {
    await add("o@open.example", "owner");
    const made = await give("owner", "o@closed.example");
    for (const name of ["public_email", "commit_email"]) {
      const refused = await change("owner", { [name]: "o@open.example" });
      expect([refused.status, refused.json]).toEqual([
        400,
        { message: { [name]: ["is not an email you own"] } },
      ]);
      const { status, json } = await change("owner", { [name]: "o@closed.example" });
      expect([status, json[name]]).toEqual([200, "o@closed.example"]);
    }
    const settings = (notification_email: string) =>
      app.call("PUT /notification_settings", { as: "owner", json: { notification_email } });
    expect((await settings("o@open.example")).status).toBe(400);
    expect((await settings("o@closed.example")).json.notification_email).toBe("o@closed.example");
    const own = await app.call("GET /user", { as: "owner" });
    expect(own.json).toMatchObject({
      email: "owner@example.com",
      commit_email: "o@closed.example",
      public_email: "o@closed.example",
    });
    await app.call(`DELETE /user/emails/${made.json.id}`, { as: "owner" });
    const after = await app.call("GET /user", { as: "owner" });
    expect(after.json).toMatchObject({ commit_email: "owner@example.com", public_email: "" });
    const { json } = await app.call("GET /notification_settings", { as: "owner" });
    expect(json.notification_email).toBe("owner@example.com");
  });

  it("makes commits with the address for them", async () => {
    await give("owner", "o@commits.example");
    await change("owner", { commit_email: "o@commits.example" });
    const json = { branch: "main", content: "a", commit_message: "c" };
    const path = "/projects/acme%2Fsite/repository";
    expect((await app.call(`POST ${path}/files/a`, { as: "owner", json })).status).toBe(201);
    const commit = await app.call(`GET ${path}/commits/main`, { as: "owner" });
    expect(commit.json).toMatchObject({
      author_email: "o@commits.example",
      committer_email: "o@commits.example",
    });
  });

  it("lets a further address become that of the account", async () => {
    await give("developer", "d@main.example");
    await change("developer", { public_email: "developer@example.com" });
    const { json } = await change("developer", { email: "D@main.example" });
    expect(json).toMatchObject({ email: "D@main.example", public_email: "" });
    const path = `/users/${ids["developer"]}/emails`;
    const list = await app.call(`GET ${path}`, { as: "admin" });
    expect(list.json.map(({ email }: { email: string }) => email)).toEqual(["wanted@example.com"]);
  });
});
