import { createHmac } from "node:crypto";
import {
  createLocalJWKSet,
  decodeJwt,
  decodeProtectedHeader,
  type JWTPayload,
  jwtVerify,
} from "jose";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type CallOptions, call, engine, PASSWORD } from "../helpers.ts";
import { ORIGIN, Visitor } from "../visitor.ts";
import {
  approve,
  authorizePath,
  bearer,
  type Client,
  codeFor,
  formOf,
  locationOf,
  type OAuthApp,
  oauthApp,
  pkce,
  redemption,
} from "./helpers.ts";

let clock = Date.UTC(2026, 10, 21);
let app: OAuthApp;
let client: Client;
let open: Client;
let visitor: Visitor;
let userId: number;
const SCOPES = ["openid", "profile", "email", "api", "read_user"];
beforeAll(async () => {
  app = await oauthApp({ now: () => clock, url: `${ORIGIN}/` });
  client = await app.register({ scopes: SCOPES });
  open = await app.register({ name: "Open", scopes: SCOPES, confidential: false });
  visitor = await app.signedIn();
  userId = (await app.call("GET /user", { as: "developer" })).json.id;
});
afterAll(() => app.dispose());

interface Tokens {
  access_token: string;
  refresh_token: string;
  id_token: string;
}

/** Gets tokens by a code. */
async function tokensFor(more: Record<string, string> = {}, own = client, who = visitor) {
  const code = await codeFor(who, own, { scope: "openid", ...more });
  return (await app.token(redemption(own, code))).json as Tokens;
}

const keysOf = async () => (await app.call(`GET ${ORIGIN}/oauth/discovery/keys`)).json;

/** What an id_token says, once it is verified as an application does. */
async function verified(token: string, audience = client.client_id): Promise<JWTPayload> {
  const options = { issuer: ORIGIN, audience, currentDate: new Date(clock), algorithms: ["RS256"] };
  return (await jwtVerify(token, createLocalJWKSet(await keysOf()), options)).payload;
}

const userinfo = (token: string, headers = {}) =>
  app.call("GET /oauth/userinfo", { headers: { authorization: `Bearer ${token}`, ...headers } });

describe("discovery", () => {
  it("lists the endpoints and options, all below the issuer", async () => {
    const { status, json } = await app.call("GET /.well-known/openid-configuration");
    expect(status).toBe(200);
    expect(json.issuer).toBe(ORIGIN);
    for (const [name, value] of Object.entries(json)) {
      if (/_endpoint$|_uri$/.test(name)) expect(value).toMatch(/^http:\/\/localhost\/oauth\//);
    }
    expect(json).toMatchObject({
      userinfo_endpoint: `${ORIGIN}/oauth/userinfo`,
      jwks_uri: `${ORIGIN}/oauth/discovery/keys`,
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["RS256"],
      request_uri_parameter_supported: false,
    });
    expect(json.scopes_supported).toEqual(expect.arrayContaining(["openid", "profile", "email"]));
    const other = await app.call("GET /.well-known/oauth-authorization-server");
    expect(other.json).toEqual(json);
  });

  it("has a path in the issuer if the server is mounted below one", async () => {
    const mounted = await oauthApp({ url: "https://pm.example.com/prefix/" });
    onTestFinished(() => mounted.dispose());
    const { json } = await mounted.call("GET /.well-known/openid-configuration");
    expect([json.issuer, json.jwks_uri]).toEqual([
      "https://pm.example.com/prefix",
      "https://pm.example.com/prefix/oauth/discovery/keys",
    ]);
  });

  it("finds the issuer by an account", async () => {
    const resource = "acct:ada@localhost";
    const asked = `GET /.well-known/webfinger?resource=${encodeURIComponent(resource)}`;
    const { status, text, headers } = await app.call(asked, {
      headers: { origin: "https://a.test" },
    });
    expect([status, JSON.parse(text)]).toEqual([
      200,
      {
        subject: resource,
        links: [{ rel: "http://openid.net/specs/connect/1.0/issuer", href: ORIGIN }],
      },
    ]);
    expect(headers.get("content-type")).toBe("application/jrd+json");
    expect(headers.get("access-control-allow-origin")).toBe("*");
    expect((await app.call("GET /.well-known/webfinger")).status).toBe(400);
  });
});

describe("keys", () => {
  it("are made when they are first asked for, once, and encrypted", async () => {
    const fresh = await oauthApp();
    onTestFinished(() => fresh.dispose());
    const stored = () => fresh.store.rows("select private_key from signing_keys");
    expect(await stored()).toEqual([]);
    const path = "GET /oauth/discovery/keys";
    const other = await fresh.another();
    onTestFinished(() => other.close());
    const answers = await Promise.all([
      ...Array.from({ length: 20 }, () => fresh.call(path)),
      ...Array.from({ length: 20 }, () => other.call(path)),
    ]);
    const [{ json, headers }] = answers as [(typeof answers)[number]];
    for (const answer of answers) expect(answer.json).toEqual(json);
    expect(json.keys).toEqual([
      {
        kty: "RSA",
        kid: expect.stringMatching(/^[\w-]{43}$/),
        e: "AQAB",
        n: expect.stringMatching(/^[\w-]{342}$/),
        use: "sig",
        alg: "RS256",
      },
    ]);
    expect(headers.get("cache-control")).toContain("max-age=86400");
    expect(
      (await fresh.call(path, { headers: { origin: "https://a.test" } })).headers.get(
        "access-control-allow-origin",
      ),
    ).toBe("*");
    const rows = await stored();
    expect(rows.length).toBe(1);
    expect(String(rows[0]?.[0])).toMatch(/^\$1\$/);
  });

  it("are not made without a key for secrets: the code can be redeemed once there is one", async () => {
    if (engine === "sqlite") return;
    const { createApp } = await import("../../src/app.ts");
    const own = { database: app.database, background: false, now: () => clock, onError: () => {} };
    const without = await createApp(own);
    onTestFinished(() => without.close());
    const ask = (request: string, options?: CallOptions) => call(without, request, options);
    await app.store.transaction((db) => db.run("delete from signing_keys"));
    const code = await codeFor(visitor, client, { scope: "openid" });
    const refused = await ask("POST /oauth/token", { form: redemption(client, code) });
    expect([refused.status, refused.json.error]).toEqual([503, "server_error"]);
    expect((await ask("GET /oauth/discovery/keys")).status).toBe(503);
    expect((await app.token(redemption(client, code))).status).toBe(200);
  });

  it("turn: the next one is published a day before it signs, and the former one for a month after", async () => {
    const { id_token } = await tokensFor();
    const [first] = (await keysOf()).keys;
    const kid = () => tokensFor().then(({ id_token: token }) => decodeProtectedHeader(token).kid);
    const next = await app.admin.secrets.rotateSigningKey();
    expect(next).toEqual({ kid: expect.any(String), signsFrom: clock + 86_400_000 });
    expect(await app.admin.secrets.rotateSigningKey()).toEqual(next);
    expect((await keysOf()).keys.map((key: { kid: string }) => key.kid)).toEqual([
      next.kid,
      first.kid,
    ]);
    expect(await kid()).toBe(first.kid);
    clock += 86_400_000;
    expect(await kid()).toBe(next.kid);
    const at = clock;
    clock = at - 86_400_000;
    expect((await verified(id_token))["sub"]).toBe(String(userId));
    clock = at + 31 * 86_400_000;
    visitor = await app.signedIn();
    await app.admin.maintenance.sweepDaily();
    expect((await keysOf()).keys.length).toBe(2);
    clock = at + 33 * 86_400_000;
    expect((await keysOf()).keys.length).toBe(1);
    await app.admin.maintenance.sweepDaily();
    expect(await app.store.rows("select kid from signing_keys")).toEqual([[next.kid]]);
    visitor = await app.signedIn();
  });

  it("of which one was stolen are replaced at once", async () => {
    const { id_token } = await tokensFor();
    const next = await app.admin.secrets.rotateSigningKey({ atOnce: true });
    expect(next.signsFrom).toBe(clock);
    expect((await keysOf()).keys.map((key: { kid: string }) => key.kid)).toEqual([next.kid]);
    await expect(verified(id_token)).rejects.toThrow("no applicable key");
    expect(decodeProtectedHeader((await tokensFor()).id_token).kid).toBe(next.kid);
    const made = await app.store.rows(
      "select author_name from audit_events where action = 'signing key made' and target = ?",
      [next.kid],
    );
    expect(made).toEqual([["operator"]]);
  });

  it("sign earlier than they should if there is no other", async () => {
    const next = await app.admin.secrets.rotateSigningKey();
    await app.store.transaction((db) =>
      db.run("delete from signing_keys where kid <> ?", [next.kid]),
    );
    expect(decodeProtectedHeader((await tokensFor()).id_token).kid).toBe(next.kid);
    await app.admin.secrets.rotateSigningKey({ atOnce: true });
  });

  it("are among the secrets that are checked", async () => {
    const { outdated, lostOthers } = await app.admin.secrets.check();
    expect([outdated, lostOthers]).toEqual([0, 0]);
  });
});

describe("id_tokens", () => {
  it("say who has signed in, for two minutes", async () => {
    const { id_token } = await tokensFor();
    const [{ kid }] = (await keysOf()).keys;
    expect(decodeProtectedHeader(id_token)).toEqual({ typ: "JWT", alg: "RS256", kid });
    const iat = Math.floor(clock / 1000);
    const picture = (await app.call("GET /user", { as: "developer" })).json.avatar_url;
    expect(await verified(id_token)).toEqual({
      iss: ORIGIN,
      sub: String(userId),
      aud: client.client_id,
      iat,
      exp: iat + 120,
      auth_time: expect.any(Number),
      name: "The developer",
      nickname: "developer",
      preferred_username: "developer",
      profile: `${ORIGIN}/developer`,
      picture: picture.replace(/^http:\/\/[^/]+/, ORIGIN),
      groups_direct: ["acme", "secret"],
    });
  });

  it("have the nonce of the request, and at a refresh none", async () => {
    const { id_token, refresh_token } = await tokensFor({ nonce: "n-1" });
    const first = await verified(id_token);
    expect(first["nonce"]).toBe("n-1");
    clock += 60_000;
    const { json } = await app.refresh(client, refresh_token);
    const second = await verified(json.id_token);
    expect(second).not.toHaveProperty("nonce");
    expect([second.sub, second["auth_time"], second.iat]).toEqual([
      first.sub,
      first["auth_time"],
      (first.iat as number) + 60,
    ]);
    const narrowed = await app.refresh(client, json.refresh_token, { scope: "openid email" });
    expect([narrowed.status, narrowed.json.error]).toEqual([400, "invalid_scope"]);
  });

  it("have the e-mail address with the scope `email`, and otherwise the public one", async () => {
    const { email } = (await app.call("GET /user", { as: "developer" })).json;
    expect(await verified((await tokensFor({ scope: "openid email" })).id_token)).toMatchObject({
      email,
      email_verified: true,
    });
    const form = { public_email: email };
    await app.call("PUT /user", { as: "developer", form }).then(async ({ status }) => {
      if (status === 200) return;
      const sql = "update users set public_email = email where id = ?";
      await app.store.transaction((db) => db.run(sql, [userId]));
    });
    expect(await verified((await tokensFor()).id_token)).toMatchObject({ email });
    await app.store.transaction((db) =>
      db.run("update users set public_email = null where id = ?", [userId]),
    );
  });

  it("come only with the scope `openid`, and by codes", async () => {
    for (const answer of [
      await tokensFor({ scope: "api" }),
      await tokensFor({ scope: "profile email" }),
      (await app.byPassword({ scope: "openid api" })).json,
    ]) {
      expect(answer).not.toHaveProperty("id_token");
    }
    const to = await approve(visitor, client, { response_type: "token", scope: "openid" });
    expect(to.hash).toContain("access_token=");
    expect(to.hash).not.toContain("id_token");
  });

  it("are no access tokens, and neither are they signed by others", async () => {
    const { id_token } = await tokensFor();
    expect((await app.user(id_token)).status).toBe(401);
    expect((await userinfo(id_token)).status).toBe(401);
    const graphql = { json: { query: "{ currentUser { id } }" }, ...bearer(id_token) };
    expect((await app.call("POST /api/graphql", graphql)).status).toBe(401);
  });
});

describe("userinfo", () => {
  it("tells who has signed in, with all groups", async () => {
    const { access_token, id_token } = await tokensFor({ scope: "openid email" });
    const { status, json, headers } = await userinfo(access_token);
    expect(status).toBe(200);
    expect(headers.get("cache-control")).toBe("no-store");
    const said = decodeJwt(id_token);
    const { sub, name, nickname, preferred_username, email, email_verified, profile, picture } =
      said as Record<string, unknown>;
    expect(json).toEqual({
      ...{ sub, name, nickname, preferred_username, email, email_verified, profile, picture },
      groups: ["acme", "acme/team", "secret"],
      "https://gitlab.org/claims/groups/developer": ["acme", "secret"],
    });
    for (const [asked, options] of [
      ["POST /oauth/userinfo", bearer(access_token)],
      ["POST /oauth/userinfo", { form: { access_token } }],
    ] as const) {
      expect((await app.call(asked, options)).json).toEqual(json);
    }
  });

  it("has the address of a user's website", async () => {
    await app.store.transaction((db) =>
      db.run("update users set website_url = 'https://dev.test' where id = ?", [userId]),
    );
    const { access_token } = await tokensFor();
    const { json } = await userinfo(access_token);
    expect(json.website).toBe("https://dev.test");
    expect(json).not.toHaveProperty("email");
  });

  it("leaves out groups whose membership has ended", async () => {
    const reporter = await app.signedIn("reporter");
    const { access_token } = await tokensFor({}, client, reporter);
    await app.call("PUT /groups/secret/members/:user", { as: "owner" }).catch(() => undefined);
    await app.store.transaction((db) =>
      db.run(
        `update members set expires_at = '2020-01-01' where user_id = (select id from users where username = 'reporter')
         and namespace_id = (select id from namespaces where full_path = 'secret')`,
      ),
    );
    expect((await userinfo(access_token)).json.groups).toEqual(["acme", "acme/team"]);
  });

  it("refuses other tokens", async () => {
    const { access_token } = await tokensFor({ scope: "api" });
    const refused = await userinfo(access_token);
    expect([refused.status, refused.json.error]).toEqual([403, "insufficient_scope"]);
    expect(refused.headers.get("www-authenticate")).toMatch(/^Bearer .*insufficient_scope/);
    for (const token of ["nothing", "token-of-developer", ""]) {
      const { status, json, headers } = await userinfo(token);
      expect([status, json.error]).toEqual([401, "invalid_token"]);
      expect(headers.get("www-authenticate")).toMatch(/^Bearer .*invalid_token/);
    }
    const { access_token: good } = await tokensFor();
    const twice = await app.call("POST /oauth/userinfo", {
      ...bearer(good),
      form: { access_token: good },
    });
    expect([twice.status, twice.json.error]).toEqual([400, "invalid_request"]);
    clock += 7_200_000;
    expect((await userinfo(good)).status).toBe(401);
  });

  it("can be called by pages of any origin", async () => {
    const { access_token } = await tokensFor();
    const { headers } = await userinfo(access_token, { origin: "https://spa.test" });
    expect(headers.get("access-control-allow-origin")).toBe("*");
  });
});

describe("attacks", () => {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");

  it("forged hints of users are not believed", async () => {
    const { id_token } = await tokensFor();
    const [head, , signature] = id_token.split(".") as [string, string, string];
    const [{ kid, n }] = (await keysOf()).keys;
    const said = encode({ ...decodeJwt(id_token) });
    const hs = `${encode({ typ: "JWT", kid, alg: "HS256" })}.${said}`;
    const forged = [
      `${encode({ typ: "JWT", kid, alg: "none" })}.${said}.`,
      `${encode({ typ: "JWT", kid, alg: "none" })}.${said}.x`,
      `${hs}.${createHmac("sha256", n).update(hs).digest("base64url")}`,
      `${head}.${encode({ ...decodeJwt(id_token), sub: "1" })}.${signature}`,
      `${head}.${said}.${signature}.`,
      "x",
      "..",
    ];
    for (const hint of forged) {
      const more = { scope: "openid", prompt: "none", id_token_hint: hint };
      const to = locationOf(await visitor.get(authorizePath(client, more)));
      expect([hint, to.searchParams.get("error")]).toEqual([hint, "login_required"]);
    }
  });

  it("a code of another application gives no id_token, and one is given once", async () => {
    const other = await app.register({ name: "Other", scopes: SCOPES });
    const code = await codeFor(visitor, client, { scope: "openid" });
    const stolen = await app.token(redemption(other, code));
    expect([stolen.status, stolen.json.error]).toEqual([400, "invalid_grant"]);
    expect((await app.token(redemption(client, code))).json.error).toBe("invalid_grant");
    const again = await codeFor(visitor, client, { scope: "openid" });
    const first = await app.token(redemption(client, again));
    expect((await verified(first.json.id_token)).aud).toBe(client.client_id);
    expect((await app.token(redemption(client, again))).json.error).toBe("invalid_grant");
    expect((await userinfo(first.json.access_token)).status).toBe(401);
  });

  it("another redirect URI gets neither a code nor an error", async () => {
    for (const prompt of ["", "none", "login"]) {
      const more = { scope: "openid", redirect_uri: "https://evil.test/cb", prompt };
      expect((await visitor.get(authorizePath(client, more))).status).toBe(400);
    }
    const path = authorizePath(client, {
      scope: "openid",
      redirect_uri: "https://evil.test/cb",
      prompt: "none",
    });
    expect((await new Visitor(app).get(path)).status).toBe(400);
  });
});

/** The tests of the OpenID Foundation's basic profile, by their names there. */
describe("the basic profile", () => {
  /** What the application is answered if the user agrees to everything that they are asked. */
  const answered = async (more: Record<string, string>, own = client) =>
    (await approve(visitor, own, { scope: "openid", state: "s", ...more })).searchParams;
  const errorOf = async (more: Record<string, string>, who = visitor) => {
    const answer = await who.get(authorizePath(client, { scope: "openid", state: "s", ...more }));
    const to = locationOf(answer).searchParams;
    if (to.has("error")) expect([to.get("state"), to.get("iss")]).toEqual(["s", ORIGIN]);
    return to.get("error");
  };
  const claimsFor = async (more: Record<string, string>) =>
    verified((await tokensFor(more)).id_token);
  const hasCode = async (more: Record<string, string>) =>
    expect([more, (await answered(more)).has("code")]).toEqual([more, true]);

  const profile: Record<string, () => Promise<void>> = {
    "oidcc-server": async () => {
      expect(await claimsFor({ nonce: "n" })).toMatchObject({ nonce: "n", sub: String(userId) });
    },
    "oidcc-response-type-missing": async () => {
      expect(await errorOf({ response_type: "" })).toBe("invalid_request");
    },
    "oidcc-userinfo-get": async () => {
      const { access_token, id_token } = await tokensFor();
      expect((await userinfo(access_token)).json.sub).toBe(decodeJwt(id_token).sub);
    },
    "oidcc-userinfo-post-header": async () => {
      const { access_token } = await tokensFor();
      expect((await app.call("POST /oauth/userinfo", bearer(access_token))).status).toBe(200);
    },
    "oidcc-userinfo-post-body": async () => {
      const { access_token } = await tokensFor();
      const form = { access_token };
      expect((await app.call("POST /oauth/userinfo", { form })).status).toBe(200);
    },
    "oidcc-ensure-request-without-nonce-succeeds-for-code-flow": async () => {
      expect(await claimsFor({})).not.toHaveProperty("nonce");
    },
    "oidcc-scope-profile": async () => {
      expect(await claimsFor({ scope: "openid profile" })).toHaveProperty("preferred_username");
    },
    "oidcc-scope-email": async () => {
      expect(await claimsFor({ scope: "openid email" })).toHaveProperty("email_verified", true);
    },
    "oidcc-scope-address": async () => {
      const { json } = await app.call("GET /.well-known/openid-configuration");
      expect(json.scopes_supported).not.toContain("address");
      expect(await errorOf({ scope: "openid address" })).toBe("invalid_scope");
    },
    "oidcc-scope-phone": async () => {
      expect(await errorOf({ scope: "openid phone" })).toBe("invalid_scope");
    },
    "oidcc-scope-all": async () => {
      expect(await claimsFor({ scope: "openid profile email" })).toHaveProperty("email");
    },
    "oidcc-ensure-other-scope-order-succeeds": async () => {
      expect(await claimsFor({ scope: "email openid" })).toHaveProperty("email");
    },
    "oidcc-display-page": () => hasCode({ display: "page" }),
    "oidcc-display-popup": () => hasCode({ display: "popup" }),
    "oidcc-prompt-login": async () => {
      const before = await claimsFor({});
      clock += 10_000;
      const path = authorizePath(client, { scope: "openid", prompt: "login", state: "s" });
      const asked = await visitor.get(path);
      expect(locationOf(asked).pathname).toBe("/users/sign_in");
      const form = await visitor.follow(asked);
      expect(form.page).toContain('name="password"');
      const [, back = ""] = /name="return_to" value="([^"]*)"/.exec(form.page) ?? [];
      const in_ = await visitor.post("/users/sign_in", {
        login: "developer",
        password: PASSWORD,
        return_to: back.replaceAll("&amp;", "&"),
      });
      expect(locationOf(in_).pathname).toBe("/oauth/authorize");
      const to = locationOf(await visitor.follow(in_));
      const code = to.searchParams.get("code") as string;
      const { json } = await app.token(redemption(client, code));
      const after = await verified(json.id_token);
      expect(after["auth_time"]).toBe(Math.floor(clock / 1000));
      expect(after["auth_time"]).toBeGreaterThan(before["auth_time"] as number);
    },
    "oidcc-prompt-none-not-logged-in": async () => {
      expect(await errorOf({ prompt: "none" }, new Visitor(app))).toBe("login_required");
    },
    "oidcc-prompt-none-logged-in": async () => {
      const before = await claimsFor({});
      expect(await claimsFor({ prompt: "none" })).toMatchObject({
        sub: before.sub,
        auth_time: before["auth_time"],
      });
    },
    "oidcc-max-age-1": async () => {
      clock += 2000;
      const asked = await visitor.get(authorizePath(client, { scope: "openid", max_age: "1" }));
      expect(locationOf(asked).pathname).toBe("/users/sign_in");
      expect(await errorOf({ max_age: "1", prompt: "none" })).toBe("login_required");
      for (const max_age of ["-1", "x", "1.5"]) {
        expect(await errorOf({ max_age })).toBe("invalid_request");
      }
    },
    "oidcc-max-age-10000": async () => {
      visitor = await app.signedIn();
      const first = await claimsFor({ max_age: "10000" });
      clock += 5000;
      expect((await claimsFor({ max_age: "10000" }))["auth_time"]).toBe(first["auth_time"]);
    },
    "oidcc-ensure-request-with-unknown-parameter-succeeds": () => hasCode({ extra: "foobar" }),
    "oidcc-id-token-hint": async () => {
      const { id_token } = await tokensFor();
      expect(await errorOf({ prompt: "none", id_token_hint: id_token })).toBeNull();
      clock += 3_600_000;
      expect(await errorOf({ prompt: "none", id_token_hint: id_token })).toBeNull();
      const owner = await app.signedIn("reporter");
      await approve(owner, client, { scope: "openid" });
      expect(await errorOf({ prompt: "none", id_token_hint: id_token }, owner)).toBe(
        "login_required",
      );
    },
    "oidcc-login-hint": () => hasCode({ login_hint: "developer" }),
    "oidcc-ui-locales": () => hasCode({ ui_locales: "se" }),
    "oidcc-claims-locales": () => hasCode({ claims_locales: "se" }),
    "oidcc-ensure-request-with-acr-values-succeeds": () => hasCode({ acr_values: "1 2" }),
    "oidcc-codereuse": async () => {
      const code = await codeFor(visitor, client, { scope: "openid" });
      await app.token(redemption(client, code));
      const { status, json } = await app.token(redemption(client, code));
      expect([status, json.error]).toEqual([400, "invalid_grant"]);
    },
    "oidcc-codereuse-30seconds": async () => {
      const code = await codeFor(visitor, client, { scope: "openid" });
      const { json } = await app.token(redemption(client, code));
      clock += 30_000;
      await app.token(redemption(client, code));
      expect((await userinfo(json.access_token)).status).toBe(401);
    },
    "oidcc-ensure-registered-redirect-uri": async () => {
      const path = authorizePath(client, { scope: "openid", redirect_uri: "https://x.test/" });
      const { status, page } = await visitor.get(path);
      expect([status, page.includes("The redirect URI included is not valid.")]).toEqual([
        400,
        true,
      ]);
    },
    "oidcc-server-client-secret-post": async () => {
      const code = await codeFor(visitor, client, { scope: "openid" });
      const { client_id, client_secret, ...form } = redemption(client, code);
      const basic = Buffer.from(`${client_id}:${client_secret}`).toString("base64");
      const { json } = await app.token(form, { authorization: `Basic ${basic}` });
      expect((await verified(json.id_token)).aud).toBe(client_id);
    },
    "oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported": async () => {
      expect(await errorOf({ request: "e30.e30." })).toBe("request_not_supported");
      expect(await errorOf({ request_uri: "https://x.test" })).toBe("request_uri_not_supported");
      expect(await errorOf({ registration: "{}" })).toBe("registration_not_supported");
    },
    "oidcc-claims-essential": () => hasCode({ claims: '{"userinfo":{"name":{"essential":true}}}' }),
    "oidcc-ensure-request-object-with-redirect-uri": async () => {
      expect(await errorOf({ request: "e30.e30." })).toBe("request_not_supported");
    },
    "oidcc-refresh-token": async () => {
      const { refresh_token, id_token } = await tokensFor();
      const { json } = await app.refresh(client, refresh_token);
      const [first, second] = [await verified(id_token), await verified(json.id_token)];
      expect([second.iss, second.sub, second.aud]).toEqual([first.iss, first.sub, first.aud]);
    },
    "oidcc-ensure-request-with-valid-pkce-succeeds": async () => {
      const { verifier, ...challenge } = pkce();
      const code = await codeFor(visitor, open, { scope: "openid", ...challenge });
      const { json } = await app.token({ ...redemption(open, code), code_verifier: verifier });
      expect((await verified(json.id_token, open.client_id)).sub).toBe(String(userId));
    },
  };
  it.each(Object.entries(profile))("%s", (_, holds) => holds());

  it("of `prompt`: consent is asked again, and may not be asked by none", async () => {
    await approve(visitor, client, { scope: "openid" });
    const path = authorizePath(client, { scope: "openid", prompt: "consent" });
    const { status, page } = await visitor.get(path);
    expect(status).toBe(200);
    expect(page).toContain("Know who you are");
    const fresh = await app.register({ name: "Fresh", scopes: SCOPES });
    const silent = authorizePath(fresh, { scope: "openid", prompt: "none" });
    const to = locationOf(await visitor.get(silent)).searchParams;
    expect(to.get("error")).toBe("consent_required");
    for (const prompt of ["none login", "magic"]) {
      expect(await errorOf({ prompt })).toBe("invalid_request");
    }
    expect(await errorOf({ prompt: "select_account" })).toBeNull();
    const chosen = await visitor.get(
      authorizePath(client, { scope: "openid", prompt: "select_account consent" }),
    );
    const back = new URLSearchParams(locationOf(chosen).search).get("return_to") as string;
    expect(new URLSearchParams(back.split("?")[1]).get("prompt")).toBe("consent");
  });

  it("of requests without `openid`: they are asked as ever", async () => {
    const more = { scope: "api", prompt: "login", max_age: "0" };
    const { status } = await visitor.get(authorizePath(client, more));
    expect([200, 302]).toContain(status);
    const to = await approve(visitor, client, more);
    expect(to.searchParams.has("code")).toBe(true);
  });

  it("of `response_mode`", async () => {
    const inFragment = await approve(visitor, client, {
      scope: "openid",
      response_mode: "fragment",
    });
    expect(inFragment.hash).toContain("code=");
    expect((await answered({ response_mode: "query" })).has("code")).toBe(true);
    expect(await errorOf({ response_mode: "web_message" })).toBe("invalid_request");
    const token = { response_type: "token", response_mode: "query" };
    const refused = await visitor.get(authorizePath(client, token));
    expect(locationOf(refused).hash).toContain("error=invalid_request");
  });

  it("of the consent page: what was asked comes back with it", async () => {
    const fresh = await app.register({ name: "Whole", scopes: SCOPES });
    const path = authorizePath(fresh, { scope: "openid email", nonce: "n 1", max_age: "9999999" });
    const page = await visitor.get(path);
    expect(page.page).toContain("Read your e-mail address");
    expect(formOf(page).fields).toMatchObject({ nonce: "n 1", max_age: "9999999" });
  });
});

describe("the embedding app's sign-in", () => {
  it("does not tell when somebody has signed in", async () => {
    const hosted = await oauthApp({
      authenticate: () => "developer",
      url: ORIGIN,
      signInUrl: "https://host.test/login",
    });
    onTestFinished(() => hosted.dispose());
    const own = await hosted.register({ scopes: SCOPES, trusted: true });
    const browser = new Visitor(hosted);
    const asked = async (more: Record<string, string>) =>
      locationOf(await browser.get(authorizePath(own, { scope: "openid", ...more }))).searchParams;
    const code = (await asked({})).get("code") as string;
    const { json } = await hosted.token(redemption(own, code));
    expect(decodeJwt(json.id_token)).not.toHaveProperty("auth_time");
    for (const more of [{ prompt: "login" }, { max_age: "100" }]) {
      expect((await asked(more)).get("error")).toBe("login_required");
    }
  });
});
