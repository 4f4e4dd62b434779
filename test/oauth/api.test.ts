import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Visitor } from "../visitor.ts";
import { authorizePath, codeFor, type OAuthApp, oauthApp, redemption } from "./helpers.ts";

let app: OAuthApp;
let visitor: Visitor;
beforeAll(async () => {
  app = await oauthApp();
  visitor = await app.signedIn();
});
afterAll(() => app.dispose());

/** Creates an access token of `developer` with these scopes. */
async function tokenWith(scope: string): Promise<string> {
  const client = await app.register({ scopes: scope.split(" ") });
  return (await app.pair(visitor, client, { scope })).access_token;
}

describe("access tokens in the API", () => {
  it("are accepted wherever OAuth2 tokens can be sent", async () => {
    const token = await tokenWith("api");
    for (const [query, headers] of [
      [`?access_token=${token}`, {}],
      ["", { authorization: `Bearer ${token}` }],
      ["", { authorization: `bearer ${token}` }],
      [`?bearer_token=${token}`, {}],
    ] as [string, Record<string, string>][]) {
      const { status, json } = await app.call(`GET /user${query}`, { headers });
      expect([status, json.username]).toEqual([200, "developer"]);
    }
  });

  it("are accepted in one place only", async () => {
    const token = await tokenWith("api");
    const { status, json } = await app.call(`GET /user?access_token=${token}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect([status, json]).toEqual([
      400,
      {
        error: "invalid_request",
        error_description: "Both Authorization header and payload includes access token.",
      },
    ]);
  });

  it("are refused with a challenge if invalid", async () => {
    const { status, json, headers } = await app.call("GET /user?access_token=123a");
    expect([status, json]).toEqual([401, { message: "401 Unauthorized" }]);
    expect(headers.get("www-authenticate")).toContain('error="invalid_token"');
  });

  it.each([
    ["api", { "GET /user": 200, "GET /projects": 200, "POST /projects?name=by-api": 201 }],
    ["read_api", { "GET /user": 200, "GET /projects": 200, "POST /projects?name=x": 403 }],
    ["read_user", { "GET /user": 200, "GET /events": 200, "GET /projects": 403 }],
    ["profile", { "GET /user": 403, "GET /events": 403, "GET /projects": 403 }],
    ["sudo", { "GET /user": 403, "GET /projects": 403 }],
    ["profile read_user", { "GET /user": 200, "GET /projects": 403 }],
  ])("are limited to the routes of the scope %s", async (scope, expected) => {
    const headers = { authorization: `Bearer ${await tokenWith(scope)}` };
    const statuses: Record<string, number> = {};
    for (const request of Object.keys(expected)) {
      statuses[request] = (await app.call(request, { headers })).status;
    }
    expect(statuses).toEqual(expected);
  });
});

describe("applications, for administrators", () => {
  const data = {
    name: "Dash",
    redirect_uri: "https://a.test/cb\nhttps://b.test/cb",
    scopes: "api read_user",
  };

  it("are registered with a secret that is shown once, listed and deleted", async () => {
    const made = await app.call("POST /applications", { as: "admin", form: data });
    expect(made.status).toBe(201);
    expect(made.json).toEqual({
      id: expect.any(Number),
      application_id: expect.stringMatching(/^[0-9a-f]{64}$/),
      application_name: "Dash",
      callback_url: "https://a.test/cb\nhttps://b.test/cb",
      confidential: true,
      trusted: false,
      scopes: ["api", "read_user"],
      secret: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    const { secret, ...record } = made.json;
    const { json, headers } = await app.call("GET /applications", { as: "admin" });
    expect(json).toContainEqual(record);
    expect(JSON.stringify(json)).not.toContain(secret);
    expect(headers.get("x-total")).toBe(String(json.length));

    const renewed = await app.call(`POST /applications/${record.id}/renew-secret`, { as: "admin" });
    expect([renewed.status, renewed.json]).toEqual([
      201,
      { ...record, secret: expect.any(String) },
    ]);
    expect(renewed.json.secret).not.toBe(secret);

    const path = `DELETE /applications/${record.id}`;
    const long = { "if-unmodified-since": "Sat, 01 Jan 2000 00:00:00 GMT" };
    expect((await app.call(path, { as: "admin", headers: long })).status).toBe(412);
    expect((await app.call(path, { as: "admin" })).status).toBe(204);
    const gone = await app.call(path, { as: "admin" });
    expect([gone.status, gone.json]).toEqual([404, { message: "404 Application Not Found" }]);
    const unknown = await app.call("POST /applications/0/renew-secret", { as: "admin" });
    expect(unknown.status).toBe(404);
  });

  it("can be public, without a secret", async () => {
    const json = { ...data, confidential: false, trusted: true };
    const made = await app.call("POST /applications", { as: "admin", json });
    expect(made.json).toMatchObject({ confidential: false, trusted: true, secret: null });
    const path = `POST /applications/${made.json.id}/renew-secret`;
    expect((await app.call(path, { as: "admin" })).json.secret).toBeNull();
    const client = {
      ...(await app.register()),
      client_id: made.json.application_id,
      redirect_uris: ["https://a.test/cb"],
    };
    const challenge = { code_challenge: "c".repeat(43), code_challenge_method: "plain" };
    const { page } = await visitor.get(authorizePath(client, challenge));
    expect(page).toContain("registered by the administrators");
  });

  it("may be registered with all of GitLab's scopes, of which those of OpenID Connect are granted", async () => {
    const scopes = "api openid profile email ai_features manage_runner";
    const json = { ...data, scopes };
    const made = await app.call("POST /applications", { as: "admin", json });
    expect([made.status, made.json.scopes]).toEqual([201, scopes.split(" ")]);
    const client = {
      ...(await app.register()),
      client_id: made.json.application_id,
      redirect_uris: ["https://a.test/cb"],
    };
    const asked = await visitor.get(authorizePath(client, { scope: "openid email profile" }));
    expect(asked.page).toContain("Know who you are");
    expect(asked.page).toContain("Read your e-mail address");
    const { page } = await visitor.get(authorizePath(client, { scope: "ai_features api" }));
    expect(page).toContain("Nothing on this server");
  });

  it("are accessible only to administrators", async () => {
    for (const [request, as, status] of [
      ["GET /applications", "owner", 403],
      ["GET /applications", "anonymous", 401],
      ["POST /applications", "owner", 403],
      ["DELETE /applications/1", "owner", 403],
      ["POST /applications/1/renew-secret", "owner", 403],
    ] as const) {
      expect([request, (await app.call(request, { as })).status]).toEqual([request, status]);
    }
  });

  it.each(["name", "redirect_uri", "scopes"])("need %s", async (name) => {
    const { [name as "name"]: _, ...form } = data;
    const { status, json } = await app.call("POST /applications", { as: "admin", form });
    expect([status, json.message]).toEqual([400, `400 (Bad request) "${name}" not given`]);
  });

  it.each([
    [{ name: " " }, { name: ["can't be blank"] }],
    [{ name: "x".repeat(256) }, { name: ["is too long (maximum is 255 characters)"] }],
    [{ scopes: "magic" }, { scopes: ["can only contain available scopes"] }],
    [{ scopes: "," }, { scopes: ["can't be blank"] }],
    ...[
      ["/callback", "must be an absolute URI."],
      ["client.test/callback", "must be an absolute URI."],
      ["https:/client.test/callback", "must be an absolute URI."],
      ["https://", "must be an absolute URI."],
      ["https://client.test/\u0000", "is invalid"],
      ["https://client.test/ü", "must be an absolute URI."],
      ['https://client.test/"', "must be an absolute URI."],
      ["https://client.test\\evil", "must be an absolute URI."],
      ["https://client.test/#x", "cannot contain a fragment."],
      ["https://client.test/#", "cannot contain a fragment."],
      ["https://user:pass@client.test/", "must name a host, and no user."],
      ["javascript:alert(1)", "has a forbidden scheme."],
      ["JavaScript:alert(1)", "has a forbidden scheme."],
      ["data:text/html,x", "has a forbidden scheme."],
      ["vbscript:x", "has a forbidden scheme."],
      ["file:///etc/passwd", "has a forbidden scheme."],
      [`https://client.test/${"x".repeat(2048)}`, "is too long (maximum is 2048 characters)"],
      [
        Array.from({ length: 51 }, (_, at) => `https://client.test/${at}`).join("\n"),
        "can't be more than 50",
      ],
    ].map(([redirect_uri, problem]) => [{ redirect_uri }, { redirect_uri: [problem] }]),
  ] as [Record<string, string>, object][])("refuse %j", async (wrong, message) => {
    const form = { ...data, ...wrong };
    const { status, json } = await app.call("POST /applications", { as: "admin", form });
    expect([status, json]).toEqual([400, { message }]);
  });

  it("are recorded in the audit log", async () => {
    const form = { ...data, name: "Traced" };
    const { json } = await app.call("POST /applications", { as: "admin", form });
    await app.call(`POST /applications/${json.id}/renew-secret`, { as: "admin" });
    await app.call(`DELETE /applications/${json.id}`, { as: "admin" });
    const rows = await app.store.rows(
      "select action, author_name from audit_events where target = ? order by id",
      ["Traced"],
    );
    expect(rows).toEqual([
      ["application made", "admin"],
      ["application secret renewed", "admin"],
      ["application deleted", "admin"],
    ]);
  });
});

describe("operators", () => {
  it("register, list, renew and delete applications of users", async () => {
    const made = await app.admin.applications.create({
      user: "Guest",
      name: "Ops",
      redirect_uris: ["https://ops.test/cb"],
      scopes: ["read_api"],
      trusted: true,
    });
    expect(made).toEqual({
      id: expect.any(Number),
      username: "guest",
      name: "Ops",
      client_id: expect.stringMatching(/^[0-9a-f]{64}$/),
      client_secret: expect.stringMatching(/^[0-9a-f]{64}$/),
      redirect_uris: ["https://ops.test/cb"],
      scopes: ["read_api"],
      confidential: true,
      trusted: true,
    });
    const { client_secret, ...record } = made;
    expect(await app.admin.applications.list({ user: "guest" })).toEqual([record]);
    expect(await app.admin.applications.list()).toContainEqual(record);
    const renewed = await app.admin.applications.renewSecret(made.id);
    expect(renewed).toEqual({ ...record, client_secret: expect.any(String) });
    expect(renewed.client_secret).not.toBe(client_secret);
    expect(await app.admin.applications.delete(made.client_id)).toEqual(record);
    expect(await app.admin.applications.list({ user: "guest" })).toEqual([]);
    await expect(app.admin.applications.delete(made.id)).rejects.toThrow(
      "404 Application Not Found",
    );
  });

  it("get clear errors", async () => {
    const data = { name: "x", redirect_uris: ["https://x.test/"], scopes: ["api"] };
    const create = (more: object) =>
      app.admin.applications.create({ user: "guest", ...data, ...more });
    await expect(create({ user: "nobody" })).rejects.toThrow("404 User Not Found");
    await expect(create({ redirect_uris: [] })).rejects.toThrow("can't be blank");
    await expect(create({ scopes: ["magic"] })).rejects.toThrow("available scopes");
    const open = await create({ confidential: false });
    expect(open.client_secret).toBeNull();
    await expect(app.admin.applications.renewSecret(open.id)).rejects.toThrow("has no secret");
  });
});

it("deleting a user revokes their authorizations and deletes their applications", async () => {
  const client = await app.register({ user: "stranger" });
  const own = await app.signedIn("reporter");
  const code = await codeFor(own, client);
  const { json } = await app.token(redemption(client, code));
  const { json: found } = await app.call("GET /users?username=stranger", { as: "admin" });
  await app.call(`DELETE /users/${found[0].id}`, { as: "admin" });
  expect((await app.user(json.access_token)).status).toBe(401);
  expect(
    await app.store.rows("select 1 from oauth_applications where id = ?", [client.id]),
  ).toEqual([]);
});
