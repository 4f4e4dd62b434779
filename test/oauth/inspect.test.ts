import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Visitor } from "../visitor.ts";
import { approve, bearer, type Client, credentials, type OAuthApp, oauthApp } from "./helpers.ts";

let clock = Date.UTC(2026, 10, 21);
let app: OAuthApp;
let client: Client;
let other: Client;
let open: Client;
let visitor: Visitor;
beforeAll(async () => {
  app = await oauthApp({ now: () => clock });
  client = await app.register();
  other = await app.register({ name: "Other" });
  open = await app.register({ name: "Open", confidential: false });
  visitor = await app.signedIn();
});
afterAll(() => app.dispose());

const pairOf = (own: Client, more: Record<string, string> = {}) => app.pair(visitor, own, more);

describe("token info", () => {
  it("returns a token's user, scopes and application", async () => {
    const { access_token } = await pairOf(client, { scope: "api read_user" });
    clock += 1500;
    const expected = {
      scope: ["api", "read_user"],
      expires_in: 7198,
      application: { uid: client.client_id },
      created_at: Math.floor((clock - 1500) / 1000),
      scopes: ["api", "read_user"],
      expires_in_seconds: 7198,
    };
    const { id: resource_owner_id } = (await app.user(access_token)).json;
    for (const answer of [
      await app.call("GET /oauth/token/info", bearer(access_token)),
      await app.call(`GET /oauth/token/info?access_token=${access_token}`),
    ]) {
      expect([answer.status, answer.json]).toEqual([200, { resource_owner_id, ...expected }]);
      expect(answer.headers.get("cache-control")).toBe("no-store");
      expect(answer.headers.has("etag")).toBe(false);
    }
  });

  it("returns the application of an implicit token, and none for a password grant without one", async () => {
    const to = await approve(visitor, client, { response_type: "token" });
    const token = new URLSearchParams(to.hash.slice(1)).get("access_token") as string;
    const implicit = await app.call("GET /oauth/token/info", bearer(token));
    expect(implicit.json.application.uid).toBe(client.client_id);
    const { access_token } = (await app.byPassword()).json;
    const own = await app.call("GET /oauth/token/info", bearer(access_token));
    expect([own.status, own.json.application]).toEqual([200, { uid: null }]);
  });

  it("refuses anything but a valid access token", async () => {
    const expired = await pairOf(client);
    const replaced = await pairOf(client);
    const { refresh_token } = replaced;
    await app.token({ ...credentials(client), grant_type: "refresh_token", refresh_token });
    clock += 7200_000 - 1500;
    const { access_token: fresh, refresh_token: refresh } = await pairOf(client);
    clock += 1500;
    const refused = [
      expired.access_token,
      replaced.access_token,
      refresh,
      "token-of-developer",
      "0".repeat(64),
      "",
    ];
    for (const token of refused) {
      const { status, json, headers } = await app.call(
        `GET /oauth/token/info?access_token=${token}`,
      );
      expect([status, json]).toEqual([
        401,
        { error: "invalid_token", error_description: "The access token is invalid" },
      ]);
      expect(headers.get("www-authenticate")).toMatch(/^Bearer .*error="invalid_token"/);
    }
    await app.admin.users.block("developer");
    expect((await app.call("GET /oauth/token/info", bearer(fresh))).status).toBe(401);
    await app.admin.users.unblock("developer");
    visitor = await app.signedIn();
    expect((await app.call("GET /oauth/token/info", bearer(fresh))).status).toBe(200);
  });

  it("refuses a token in two places", async () => {
    const { access_token } = await pairOf(client);
    const path = `GET /oauth/token/info?access_token=${access_token}`;
    const { status, json } = await app.call(path, bearer(access_token));
    expect([status, json.error]).toEqual([400, "invalid_request"]);
  });
});

describe("revocation", () => {
  const revoke = (form: Record<string, string>, headers = {}) =>
    app.call("POST /oauth/revoke", { form, headers });

  it.each(["access_token", "refresh_token"])(
    "of the %s revokes its whole token family",
    async (kind) => {
      const first = await pairOf(client);
      const { json: second } = await app.token({
        ...credentials(client),
        grant_type: "refresh_token",
        refresh_token: first.refresh_token,
      });
      const untouched = await pairOf(client);
      for (const hint of ["", "access_token", "refresh_token", "magic"]) {
        const { status, json } = await revoke({
          ...credentials(client),
          token: second[kind],
          token_type_hint: hint,
        });
        expect([status, json]).toEqual([200, {}]);
      }
      expect((await app.user(second.access_token)).status).toBe(401);
      const { json: refused } = await app.token({
        ...credentials(client),
        grant_type: "refresh_token",
        refresh_token: second.refresh_token,
      });
      expect(refused.error).toBe("invalid_grant");
      expect((await app.user(untouched.access_token)).status).toBe(200);
    },
  );

  it("of an unknown token is no error", async () => {
    const { status, json, headers } = await revoke({ ...credentials(client), token: "unknown" });
    expect([status, json, headers.get("cache-control")]).toEqual([200, {}, "no-store"]);
    const { status: pat } = await revoke({ ...credentials(client), token: "token-of-developer" });
    expect(pat).toBe(200);
    expect((await app.user("token-of-developer")).status).toBe(200);
  });

  it("requires a token, and the right secret", async () => {
    const none = await revoke(credentials(client));
    expect([none.status, none.json.error]).toEqual([400, "invalid_request"]);
    const { access_token } = await pairOf(client);
    const wrong = await revoke({
      client_id: client.client_id,
      client_secret: "x",
      token: access_token,
    });
    expect([wrong.status, wrong.json.error]).toEqual([401, "invalid_client"]);
    const nobody = await revoke({ token: access_token });
    expect([nobody.status, nobody.json.error]).toEqual([401, "invalid_client"]);
    expect((await app.user(access_token)).status).toBe(200);
  });

  it("is limited to the application's own tokens", async () => {
    const { access_token, refresh_token } = await pairOf(client);
    for (const token of [access_token, refresh_token]) {
      for (const foreign of [other, open]) {
        const { status, json } = await revoke({ ...credentials(foreign), token });
        expect([status, json]).toEqual([
          403,
          {
            error: "unauthorized_client",
            error_description: "You are not authorized to revoke this token",
          },
        ]);
      }
    }
    expect((await app.user(access_token)).status).toBe(200);
  });

  it("of a public application's token requires its id, of a token without application nothing", async () => {
    const { access_token } = await pairOf(open);
    const { client_id } = open;
    expect((await revoke({ client_id, token: access_token })).status).toBe(200);
    expect((await app.user(access_token)).status).toBe(401);
    const own = (await app.byPassword()).json;
    expect((await revoke({ token: own.access_token })).status).toBe(200);
    expect((await app.user(own.access_token)).status).toBe(401);
  });
});

describe("introspection", () => {
  const introspect = (token: string, own: Client) =>
    app.call("POST /oauth/introspect", { form: { ...credentials(own), token } });

  it("describes an application's own tokens", async () => {
    const { access_token, refresh_token } = await pairOf(client, { scope: "read_user" });
    const { json: user } = await app.user(access_token);
    const known = {
      active: true,
      scope: "read_user",
      client_id: client.client_id,
      username: "developer",
      iat: Math.floor(clock / 1000),
      sub: String(user.id),
      iss: "http://pm.test",
    };
    const access = await introspect(access_token, client);
    const exp = Math.floor(clock / 1000) + 7200;
    expect([access.status, access.json]).toEqual([200, { ...known, token_type: "bearer", exp }]);
    const refresh = await introspect(refresh_token, client);
    expect(refresh.json).toEqual({ ...known, exp: Math.floor(clock / 1000) + 90 * 86_400 });
    expect(refresh.headers.get("cache-control")).toBe("no-store");
  });

  it("reports any other token only as inactive", async () => {
    const { access_token } = await pairOf(client);
    const revoked = await pairOf(client);
    await app.call("POST /oauth/revoke", {
      form: { ...credentials(client), token: revoked.access_token },
    });
    for (const [token, own] of [
      [access_token, other],
      [revoked.access_token, client],
      [revoked.refresh_token, client],
      ["unknown", client],
      ["token-of-developer", client],
    ] as const) {
      const { status, json } = await introspect(token, own);
      expect([status, json]).toEqual([200, { active: false }]);
    }
    clock += 7200_000;
    expect((await introspect(access_token, client)).json).toEqual({ active: false });
  });

  it("requires confidential applications' credentials", async () => {
    const { access_token } = await pairOf(open);
    const answer = await introspect(access_token, open);
    expect([answer.status, answer.json.error]).toEqual([401, "invalid_client"]);
    const nobody = await app.call("POST /oauth/introspect", { form: { token: access_token } });
    expect(nobody.status).toBe(401);
    const none = await introspect("", client);
    expect([none.status, none.json.error]).toEqual([400, "invalid_request"]);
  });
});

it("the metadata lists the endpoints and options", async () => {
  const { status, json } = await app.call("GET /.well-known/oauth-authorization-server");
  const base = "http://pm.test";
  expect([status, json]).toEqual([
    200,
    {
      issuer: base,
      authorization_endpoint: `${base}/oauth/authorize`,
      token_endpoint: `${base}/oauth/token`,
      device_authorization_endpoint: `${base}/oauth/authorize_device`,
      revocation_endpoint: `${base}/oauth/revoke`,
      introspection_endpoint: `${base}/oauth/introspect`,
      userinfo_endpoint: `${base}/oauth/userinfo`,
      jwks_uri: `${base}/oauth/discovery/keys`,
      scopes_supported: [
        ...[
          "api",
          "read_api",
          "read_user",
          "read_repository",
          "write_repository",
          "create_runner",
          "manage_runner",
          "sudo",
        ],
        ...["openid", "profile", "email"],
      ],
      response_types_supported: ["code", "token"],
      response_modes_supported: ["query", "fragment"],
      grant_types_supported: [
        "authorization_code",
        "refresh_token",
        "urn:ietf:params:oauth:grant-type:device_code",
        "implicit",
        "password",
      ],
      token_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post", "none"],
      revocation_endpoint_auth_methods_supported: [
        "client_secret_basic",
        "client_secret_post",
        "none",
      ],
      introspection_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["RS256"],
      claim_types_supported: ["normal"],
      claims_supported: expect.arrayContaining(["sub", "email", "groups", "groups_direct"]),
      code_challenge_methods_supported: ["S256", "plain"],
      prompt_values_supported: ["none", "login", "consent", "select_account"],
      request_uri_parameter_supported: false,
      authorization_response_iss_parameter_supported: true,
    },
  ]);
  const mounted = await oauthApp({ url: "https://pm.example.com/prefix/" });
  const { json: there } = await mounted.call("GET /.well-known/oauth-authorization-server");
  expect(there.issuer).toBe("https://pm.example.com/prefix");
  expect(there.token_endpoint).toBe("https://pm.example.com/prefix/oauth/token");
  await mounted.dispose();
});
