import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { everyone, type TestApp, testApp } from "../helpers.ts";

// Numbers in test names are case ids.

let app: TestApp;
let user: number;
let at: string;
beforeAll(async () => {
  app = await testApp({ now: () => Date.parse("2026-06-15T12:34:56.789Z") });
});
afterAll(() => app.dispose());

const call: TestApp["call"] = (request, options) => app.call(request, { as: "admin", ...options });

let made = 0;
beforeEach(async () => {
  made += 1;
  const username = `user${made}`;
  const email = `${username}@example.com`;
  user = (await app.admin.users.create({ username, name: "U", email })).id;
  at = `/users/${user}/impersonation_tokens`;
});

async function newToken(more: object = {}) {
  const { status, json } = await call(`POST ${at}`, {
    json: { name: "a token", scopes: ["api"], ...more },
  });
  expect(status).toBe(201);
  return json;
}

describe("who may do what", () => {
  //                    anonymous stranger guest reporter developer maintainer owner admin
  it.each<[string, object | undefined, number[]]>([
    ["GET ", undefined, [401, 403, 403, 403, 403, 403, 403, 200]],
    ["GET /:id", undefined, [401, 403, 403, 403, 403, 403, 403, 200]],
    ["POST ", { name: "x", scopes: ["api"] }, [401, 403, 403, 403, 403, 403, 403, 201]],
    ["DELETE /:id", undefined, [401, 403, 403, 403, 403, 403, 403, 204]],
  ])("%s %j", async (template, json, expected) => {
    const token = await newToken();
    const statuses: number[] = [];
    for (const as of everyone) {
      const request = template.replace(" ", ` ${at}`).replace(":id", String(token.id));
      statuses.push((await app.call(request, { as, ...(json && { json }) })).status);
    }
    expect(statuses).toEqual(expected);
  });

  it("253: the role is checked before the user", async () => {
    const { status, json } = await call("GET /users/0/impersonation_tokens", { as: "owner" });
    expect([status, json]).toEqual([403, { message: "403 Forbidden" }]);
  });
});

describe("creating", () => {
  it("shows the secret once, and never again", async () => {
    const token = await newToken({ scopes: ["api", "read_user"], expires_at: "2026-08-01" });
    expect(token).toEqual({
      id: expect.any(Number),
      name: "a token",
      description: null,
      revoked: false,
      created_at: "2026-06-15T12:34:56.789Z",
      scopes: ["api", "read_user"],
      user_id: user,
      last_used_at: null,
      active: true,
      expires_at: "2026-08-01",
      impersonation: true,
      token: expect.stringMatching(/^pmat-[0-9a-f]{40}$/),
    });
    const { token: secret, ...rest } = token;
    expect((await call(`GET ${at}/${token.id}`)).json).toEqual(rest);
    const list = await call(`GET ${at}`);
    expect(list.json).toEqual([rest]);
    expect(list.text).not.toContain(secret);
    const stored = await app.store.rows("select * from tokens");
    expect(JSON.stringify(stored)).not.toContain(secret);
  });

  it("266: creates a token that acts as its user, within its scopes", async () => {
    const { token } = await newToken({ scopes: "read_user" });
    const headers = { "private-token": token };
    const me = await app.call("GET /user", { headers });
    expect([me.status, me.json.id]).toEqual([200, user]);
    expect((await app.call("GET /projects", { headers })).status).toBe(403);
  });

  it("accepts scopes as an array or comma-separated, and no expiry date", async () => {
    for (const scopes of [["api", "read_user"], "api, read_user"]) {
      const token = await newToken({ scopes });
      expect([token.scopes, token.expires_at]).toEqual([["api", "read_user"], null]);
    }
    const { json } = await call(`POST ${at}`, {
      form: "name=x&scopes[]=api&scopes[]=sudo&expires_at=",
    });
    expect([json.scopes, json.expires_at]).toEqual([["api", "sudo"], null]);
  });

  it("creates an expired token if its expiry date has come", async () => {
    for (const [expires_at, active] of [
      ["2026-06-14", false],
      ["2026-06-15", false],
      ["2026-06-16", true],
    ] as const) {
      const token = await newToken({ expires_at });
      expect(token.active).toBe(active);
      const { status } = await app.call("GET /user", { headers: { "private-token": token.token } });
      expect(status).toBe(active ? 200 : 401);
    }
  });

  it.each([
    [{ scopes: ["api"] }, '400 (Bad request) "name" not given'], // 259
    [{ name: "", scopes: ["api"] }, { name: ["can't be blank"] }],
    [{ name: "x" }, { scopes: ["can't be blank"] }],
    [{ name: "x", scopes: [] }, { scopes: ["can't be blank"] }],
    [{ name: "x", scopes: "" }, { scopes: ["can't be blank"] }],
    [{ name: "x", scopes: ["api", "root"] }, { scopes: ["can only contain available scopes"] }],
    [{ name: "x", scopes: ["api sudo"] }, { scopes: ["can only contain available scopes"] }],
    [{ name: "x", scopes: ["api"], expires_at: "soon" }, { expires_at: ["is invalid"] }],
  ])("refuses %j", async (json, message) => {
    const answer = await call(`POST ${at}`, { json });
    expect([answer.status, answer.json]).toEqual([400, { message }]);
    expect((await call(`GET ${at}`)).json).toEqual([]);
  });
});

describe("reading", () => {
  it("254, 256: lists active and revoked ones, and no personal ones", async () => {
    await app.admin.tokens.create({ user: `user${made}`, name: "personal", scopes: ["api"] });
    const [active, revoked, expired] = [
      await newToken({ name: "active" }),
      await newToken({ name: "revoked" }),
      await newToken({ name: "expired", expires_at: "2026-06-15" }),
    ];
    await call(`DELETE ${at}/${revoked.id}`);
    for (const [query, expected] of [
      ["", [active.id, revoked.id, expired.id]],
      ["?state=all", [active.id, revoked.id, expired.id]],
      ["?state=active", [active.id]],
      ["?state=inactive", [revoked.id, expired.id]],
    ] as const) {
      const { status, json, headers } = await call(`GET ${at}${query}`);
      expect([status, json.map(({ id }: { id: number }) => id)]).toEqual([200, expected]);
      expect(headers.get("x-total")).toBe(String(expected.length));
      for (const token of json) {
        expect(token.active).toBe(token.id === active.id);
        expect(token.revoked).toBe(token.id === revoked.id);
        expect(token).not.toHaveProperty("token");
      }
    }
    const { status, json } = await call(`GET ${at}?state=dead`); // 257
    expect([status, json]).toEqual([400, { message: { state: ["does not have a valid value"] } }]);
  });

  it("262: returns one", async () => {
    const { token: _, ...token } = await newToken();
    expect((await call(`GET ${at}/${token.id}`)).json).toEqual(token);
  });
});

describe("deleting", () => {
  it("revokes for good; the record stays", async () => {
    const token = await newToken();
    const { status, text } = await call(`DELETE ${at}/${token.id}`);
    expect([status, text]).toEqual([204, ""]);
    expect((await call(`GET ${at}/${token.id}`)).json).toMatchObject({
      active: false,
      revoked: true,
    });
    const used = await app.call("GET /user", { headers: { "private-token": token.token } });
    expect(used.status).toBe(401);
    expect((await call(`DELETE ${at}/${token.id}`)).status).toBe(204);
  });

  it("265: is 412 if the token was changed since", async () => {
    const token = await newToken();
    const headers = { "if-unmodified-since": "Fri, 12 Jan 1990 06:00:48 GMT" };
    const { status } = await call(`DELETE ${at}/${token.id}`, { headers });
    expect(status).toBe(412);
    expect((await call(`GET ${at}/${token.id}`)).json.revoked).toBe(false);
  });
});

describe("missing records", () => {
  it("260, 263: are 404 by name, the user first", async () => {
    const personal = await app.admin.tokens.create({
      user: `user${made}`,
      name: "p",
      scopes: ["api"],
    });
    const token = await newToken();
    const noUser = { message: "404 User Not Found" };
    const noToken = { message: "404 Impersonation Token Not Found" };
    for (const [request, body] of [
      ["GET /users/4711/impersonation_tokens", noUser],
      ["POST /users/4711/impersonation_tokens?name=x&scopes=api", noUser],
      [`GET /users/4711/impersonation_tokens/${token.id}`, noUser],
      [`DELETE /users/4711/impersonation_tokens/${token.id}`, noUser],
      [`GET ${at}/4711`, noToken],
      [`DELETE ${at}/4711`, noToken],
      [`GET ${at}/${personal.id}`, noToken],
      [`DELETE ${at}/${personal.id}`, noToken],
      [`GET /users/1/impersonation_tokens/${token.id}`, noToken],
    ] as const) {
      const { status, json } = await call(request);
      expect([request, status, json]).toEqual([request, 404, body]);
    }
    const used = await app.call("GET /user", { headers: { "private-token": personal.token } });
    expect(used.status).toBe(200);
  });
});
