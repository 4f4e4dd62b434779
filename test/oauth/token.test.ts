import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PASSWORD } from "../helpers.ts";
import type { Visitor } from "../visitor.ts";
import {
  approve,
  type Client,
  codeFor,
  type OAuthApp,
  oauthApp,
  pkce,
  redemption,
} from "./helpers.ts";

let clock = Date.UTC(2026, 10, 21);
let app: OAuthApp;
let client: Client;
let other: Client;
let visitor: Visitor;
beforeAll(async () => {
  app = await oauthApp({ now: () => clock });
  client = await app.register();
  other = await app.register({ name: "Other" });
  visitor = await app.signedIn();
});
afterAll(() => app.dispose());

/** Unblocks `developer` and signs in again. */
async function unblock(): Promise<void> {
  await app.admin.users.unblock("developer");
  visitor = await app.signedIn();
}

const basic = (id: string, secret: string, scheme = "Basic") => ({
  authorization: `${scheme} ${Buffer.from(`${id}:${secret}`).toString("base64")}`,
});

const INVALID_GRANT = {
  error: "invalid_grant",
  error_description:
    "The provided authorization grant is invalid, expired, revoked, does not match the redirection URI used in the authorization request, or was issued to another client.",
};

describe("a code", () => {
  it("returns a pair of tokens, which the API accepts", async () => {
    const { status, json, headers } = await app.token(
      redemption(client, await codeFor(visitor, client)),
    );
    expect(status).toBe(200);
    expect(json).toEqual({
      access_token: expect.stringMatching(/^[0-9a-f]{64}$/),
      token_type: "bearer",
      expires_in: 7200,
      refresh_token: expect.stringMatching(/^[0-9a-f]{64}$/),
      scope: "api",
      created_at: clock / 1000,
    });
    expect(headers.get("content-type")).toBe("application/json");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("pragma")).toBe("no-cache");
    expect((await app.user(json.access_token)).json.username).toBe("developer");
    const inQuery = await app.call(`GET /user?access_token=${json.access_token}`);
    expect(inQuery.json.username).toBe("developer");
    expect((await app.user(json.refresh_token)).status).toBe(401);
  });

  it("returns different tokens each time", async () => {
    const tokens = new Set<string>();
    for (let at = 0; at < 2; at += 1) {
      const code = await codeFor(visitor, client);
      tokens.add((await app.token(redemption(client, code))).json.access_token);
    }
    expect(tokens.size).toBe(2);
  });

  it("works as JSON, in the query and in multipart too", async () => {
    const sent = async () => redemption(client, await codeFor(visitor, client));
    expect((await app.call("POST /oauth/token", { json: await sent() })).status).toBe(200);
    const query = new URLSearchParams(await sent());
    expect((await app.call(`POST /oauth/token?${query}`)).status).toBe(200);
    const body = new FormData();
    for (const [name, value] of Object.entries(await sent())) body.append(name, value);
    expect((await app.call("POST /oauth/token", { body })).status).toBe(200);
  });

  it("is refused the second time, and revokes the tokens of the first", async () => {
    const sent = redemption(client, await codeFor(visitor, client));
    const first = await app.token(sent);
    const second = await app.token(sent);
    expect([second.status, second.json]).toEqual([400, INVALID_GRANT]);
    expect((await app.user(first.json.access_token)).status).toBe(401);
    const { refresh_token } = first.json;
    const refreshed = await app.token({ ...sent, grant_type: "refresh_token", refresh_token });
    expect([refreshed.status, refreshed.json]).toEqual([400, INVALID_GRANT]);
    const rows = await app.store.rows("select action from audit_events order by id desc limit 1");
    expect(rows).toEqual([["reuse of a code detected"]]);
  });

  it("works once when redeemed 50 times concurrently", async () => {
    const sent = redemption(client, await codeFor(visitor, client));
    const answers = await Promise.all(Array.from({ length: 50 }, () => app.token(sent)));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => status === 400)).toHaveLength(49);
    const winner = answers.find(({ status }) => status === 200);
    expect((await app.user(winner?.json.access_token)).status).toBe(401);
  });

  it("works for each of 50 concurrent codes", async () => {
    const codes = [];
    for (let at = 0; at < 50; at += 1) codes.push(await codeFor(visitor, client));
    const answers = await Promise.all(codes.map((code) => app.token(redemption(client, code))));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(answers.map(({ json }) => json.access_token)).size).toBe(50);
  });

  it.each([
    ["another redirect URI", () => ({ redirect_uri: "https://client.test/other" })],
    [
      "another application",
      () => ({ client_id: other.client_id, client_secret: other.client_secret as string }),
    ],
    ["a verifier nobody asked for", () => ({ code_verifier: "v".repeat(43) })],
  ])("is refused with %s, and invalidated by that", async (_, change) => {
    const sent = redemption(client, await codeFor(visitor, client));
    const wrong = await app.token({ ...sent, ...change() });
    expect([wrong.status, wrong.json]).toEqual([400, INVALID_GRANT]);
    expect((await app.token(sent)).json).toEqual(INVALID_GRANT);
  });

  it.each([
    ["wrong secret", () => ({ client_secret: "0".repeat(64) }), 401],
    ["no redirect URI", () => ({ redirect_uri: "" }), 400],
    ["unknown code", () => ({ code: "0".repeat(64) }), 400],
  ])("stays valid after a request that fails earlier: %s", async (_, change, status) => {
    const sent = redemption(client, await codeFor(visitor, client));
    expect((await app.token({ ...sent, ...change() })).status).toBe(status);
    expect((await app.token(sent)).status).toBe(200);
  });

  it("expires after ten minutes", async () => {
    const early = redemption(client, await codeFor(visitor, client));
    const late = redemption(client, await codeFor(visitor, client));
    const before = clock;
    clock += 10 * 60_000 - 1;
    expect((await app.token(early)).status).toBe(200);
    clock += 1;
    expect((await app.token(late)).json).toEqual(INVALID_GRANT);
    clock = before;
  });

  it("is useless to a user blocked meanwhile", async () => {
    const sent = redemption(client, await codeFor(visitor, client));
    await app.admin.users.block("developer");
    expect((await app.token(sent)).json).toEqual(INVALID_GRANT);
    await unblock();
    expect((await app.token(sent)).json).toEqual(INVALID_GRANT);
  });

  it("is never stored, and neither are tokens and secrets", async () => {
    const code = await codeFor(visitor, client);
    const { json } = await app.token(redemption(client, code));
    const unused = await codeFor(visitor, client);
    const tables = ["oauth_applications", "oauth_grants", "oauth_tokens", "audit_events"];
    const rows = await Promise.all(tables.map((table) => app.store.all(`select * from ${table}`)));
    const kept = JSON.stringify(rows);
    const secrets = [code, unused, json.access_token, json.refresh_token, client.client_secret];
    for (const secret of secrets) expect(kept).not.toContain(secret);
  });
});

describe("an application authenticates", () => {
  const attempt = async (form: Record<string, string>, headers = {}) => {
    const {
      client_id: _,
      client_secret: __,
      ...sent
    } = redemption(client, await codeFor(visitor, client));
    return app.token({ ...sent, ...form }, headers);
  };
  const id = () => client.client_id;
  const secret = () => client.client_secret as string;

  it.each(["Basic", "basic", "BASIC", "bAsIc"])("by %s", async (scheme) => {
    expect((await attempt({}, basic(id(), secret(), scheme))).status).toBe(200);
  });

  it("by Basic with percent-encoding, and with client_id in the body too", async () => {
    const encoded = [...secret()].map((one) => `%${one.charCodeAt(0).toString(16)}`).join("");
    expect((await attempt({}, basic(id(), encoded))).status).toBe(200);
    expect((await attempt({ client_id: id() }, basic(id(), secret()))).status).toBe(200);
  });

  it("in one way only", async () => {
    for (const form of [{ client_secret: secret() }, { client_id: other.client_id }]) {
      const { status, json } = await attempt(form, basic(id(), secret()));
      expect([status, json.error]).toEqual([400, "invalid_request"]);
    }
  });

  it.each([
    ["nobody", () => [{}, {}]],
    ["an unknown application", () => [{ client_id: "x", client_secret: secret() }, {}]],
    ["a wrong secret", () => [{ client_id: id(), client_secret: "x" }, {}]],
    ["no secret", () => [{ client_id: id() }, {}]],
    ["a secret without a name", () => [{ client_secret: secret() }, {}]],
    ["another's secret", () => [{ client_id: id(), client_secret: other.client_secret }, {}]],
    ["the digest as the secret", () => [{ client_id: id(), client_secret: "-".repeat(64) }, {}]],
    ["Basic with a wrong secret", () => [{}, basic(id(), "x")]],
    ["Basic without a colon", () => [{}, { authorization: "Basic eA==" }]],
    ["Basic with a malformed escape", () => [{}, basic(id(), "%zz")]],
    ["Basic of nothing", () => [{}, { authorization: "Basic" }]],
    ["Basic that is not base64", () => [{}, { authorization: "Basic ###" }]],
    ["Bearer", () => [{}, { authorization: `Bearer ${secret()}` }]],
  ] as [string, () => [Record<string, string>, Record<string, string>]][])(
    "and is refused as %s",
    async (_, credentials) => {
      const { status, json, headers } = await attempt(...credentials());
      expect(status).toBe(401);
      expect(json).toEqual({
        error: "invalid_client",
        error_description:
          "Client authentication failed due to unknown client, no client authentication included, or unsupported authentication method.",
      });
      expect(headers.get("www-authenticate")).toBe('Basic realm="pm-api"');
      expect(headers.get("cache-control")).toBe("no-store");
    },
  );

  it("and a public one without a secret", async () => {
    const open = await app.register({ confidential: false });
    expect(open.client_secret).toBeNull();
    for (const [client_secret, status] of [
      ["", 200],
      ["x", 401],
    ] as const) {
      const { verifier, ...challenge } = pkce();
      const code = await codeFor(visitor, open, challenge);
      const sent = { ...redemption(open, code), code_verifier: verifier, client_secret };
      expect((await app.token(sent)).status).toBe(status);
    }
  });

  it("with the renewed secret once it is renewed", async () => {
    const own = await app.register();
    const renewed = await app.admin.applications.renewSecret(own.client_id);
    expect(renewed.client_secret).not.toBe(own.client_secret);
    const code = await codeFor(visitor, own);
    expect((await app.token(redemption(own, code))).status).toBe(401);
    expect((await app.token(redemption(renewed, code))).status).toBe(200);
  });

  it("and is stopped after 20 wrong secrets, for this application and address only", async () => {
    const guessed = await app.register();
    const sent = redemption(guessed, await codeFor(visitor, guessed));
    const from = (ip: string, form: Record<string, string>) =>
      app.call("POST /oauth/token", { form, ip });
    const statuses = [];
    for (let at = 0; at < 21; at += 1) {
      statuses.push((await from("192.0.2.1", { ...sent, client_secret: `${at}` })).status);
    }
    expect(statuses).toEqual([...Array(20).fill(401), 429]);
    const right = await from("192.0.2.1", sent);
    expect([right.status, right.json.error]).toEqual([429, "temporarily_unavailable"]);
    expect(Number(right.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(right.headers.get("ratelimit-name")).toBe("client_secrets");
    const { status } = await from("192.0.2.1", redemption(client, await codeFor(visitor, client)));
    expect(status).toBe(200);
    const code = await codeFor(visitor, guessed);
    expect((await from("192.0.2.2", redemption(guessed, code))).status).toBe(200);
    clock += 10 * 60_000;
    expect((await from("192.0.2.1", sent)).json).toEqual(INVALID_GRANT);
    clock -= 10 * 60_000;
  });
});

describe("missing parameters are named", () => {
  const complete = async (): Promise<Record<string, string>> =>
    redemption(client, await codeFor(visitor, client));
  it.each(["grant_type", "code", "redirect_uri"])("%s", async (name) => {
    const sent = await complete();
    for (const value of [undefined, ""]) {
      const { [name]: _, ...rest } = sent;
      const { status, json } = await app.token(
        value === undefined ? rest : { ...sent, [name]: "" },
      );
      expect([status, json]).toEqual([
        400,
        { error: "invalid_request", error_description: `Missing required parameter: ${name}.` },
      ]);
    }
  });

  it.each(["username", "password"])("%s", async (name) => {
    const { json } = await app.byPassword({ [name]: "" });
    expect(json.error_description).toBe(`Missing required parameter: ${name}.`);
  });

  it("refresh_token", async () => {
    const { json } = await app.token({ ...(await complete()), grant_type: "refresh_token" });
    expect(json.error_description).toBe("Missing required parameter: refresh_token.");
  });
});

describe("malformed requests get OAuth errors too", () => {
  it.each([
    ["magic", "unsupported_grant_type"],
    ["client_credentials", "unsupported_grant_type"],
    ["implicit", "unsupported_grant_type"],
    ["constructor", "unsupported_grant_type"],
    ["__proto__", "unsupported_grant_type"],
  ])("grant type %s", async (grant_type, error) => {
    const { status, json } = await app.token({ ...redemption(client, "x"), grant_type });
    expect([status, json.error]).toEqual([400, error]);
  });

  it.each([
    ["no body", {}, 400],
    ["malformed JSON", { body: "{", headers: { "content-type": "application/json" } }, 400],
    ["another type", { body: "x", headers: { "content-type": "text/plain" } }, 415],
    ["a list", { form: "grant_type[]=password" }, 400],
    ["NUL", { form: "grant_type=a%00" }, 400],
    ["malformed escapes", { form: "grant_type=%zz" }, 400],
    ["too much", { form: `grant_type=${"x".repeat(1024 * 1024)}` }, 413],
  ])("%s", async (_, options, expected) => {
    const { status, json, headers } = await app.call("POST /oauth/token", options);
    expect(status).toBe(expected);
    expect(json).toEqual({ error: "invalid_request", error_description: expect.any(String) });
    expect(headers.get("cache-control")).toBe("no-store");
  });

  it("and GET is not supported", async () => {
    const { status, headers } = await app.call("GET /oauth/token");
    expect([status, headers.get("allow")]).toEqual([405, "OPTIONS, POST"]);
  });
});

describe("PKCE", () => {
  const { verifier, ...S256 } = pkce();
  const plain = { code_challenge: verifier, code_challenge_method: "plain" };
  // The example from GitLab's documentation.
  const documented = {
    code_challenge: "2i0WFA-0AerkjQm4X4oDEhqA17QIAKNjXpagHBXmO_U",
    code_challenge_method: "S256",
  };
  const documentedVerifier = "ks02i3jdikdo2k0dkfodf3m39rjfjsdk0wk349rj3jrhf";
  const cases: [string, Record<string, string>, string | undefined, number, string][] = [
    ["S256, right", S256, verifier, 200, ""],
    ["S256, documented", documented, documentedVerifier, 200, ""],
    ["S256, wrong", S256, "w".repeat(43), 400, "invalid_grant"],
    ["S256, the challenge itself", S256, S256.code_challenge, 400, "invalid_grant"],
    ["S256, other case", S256, verifier.toUpperCase(), 400, "invalid_grant"],
    ["S256, too short", S256, verifier.slice(1), 400, "invalid_grant"],
    ["S256, none", S256, undefined, 400, "invalid_request"],
    ["S256, empty", S256, "", 400, "invalid_request"],
    ["plain, right", plain, verifier, 200, ""],
    ["plain, wrong", plain, "w".repeat(43), 400, "invalid_grant"],
    ["plain, hashed", plain, S256.code_challenge, 400, "invalid_grant"],
    ["plain, none", plain, undefined, 400, "invalid_request"],
    ["no challenge, a verifier", {}, verifier, 400, "invalid_grant"],
  ];
  const kinds: [string, boolean][] = [
    ["confidential", true],
    ["public", false],
  ];
  it.each(
    kinds.flatMap(([kind, confidential]) =>
      cases
        .filter(([, challenge]) => confidential || challenge["code_challenge"])
        .map((one) => [kind, confidential, ...one] as const),
    ),
  )("%s: %s %s", async (_, confidential, __, challenge, code_verifier, status, error) => {
    const own = await app.register({ confidential });
    const sent = redemption(own, await codeFor(visitor, own, challenge));
    const answer = await app.token({
      ...sent,
      ...(code_verifier === undefined ? {} : { code_verifier }),
    });
    expect([answer.status, answer.json.error ?? ""]).toEqual([status, error]);
    if (error === "invalid_request") {
      expect(answer.json.error_description).toBe("Missing required parameter: code_verifier.");
    }
    if (status === 200) return;
    // A failed try invalidates the code.
    const right = challenge["code_challenge"] ? { code_verifier: verifier } : {};
    expect((await app.token({ ...sent, ...right })).json).toEqual(INVALID_GRANT);
  });
});

describe("a refresh token", () => {
  const pair = (own = client, more: Record<string, string> = {}) => app.pair(visitor, own, more);
  const refresh = (refresh_token: string, more: Record<string, string> = {}, own = client) =>
    app.refresh(own, refresh_token, more);

  it("returns a new pair, and invalidates the old one", async () => {
    const first = await pair();
    const { status, json } = await refresh(first.refresh_token);
    expect(status).toBe(200);
    expect(json).toEqual({
      access_token: expect.stringMatching(/^[0-9a-f]{64}$/),
      token_type: "bearer",
      expires_in: 7200,
      refresh_token: expect.stringMatching(/^[0-9a-f]{64}$/),
      scope: "api",
      created_at: clock / 1000,
    });
    expect(json.access_token).not.toBe(first.access_token);
    expect(json.refresh_token).not.toBe(first.refresh_token);
    expect((await app.user(first.access_token)).status).toBe(401);
    expect((await app.user(json.access_token)).status).toBe(200);
  });

  it("revokes the whole family when reused", async () => {
    const first = await pair();
    const second = (await refresh(first.refresh_token)).json;
    const third = (await refresh(second.refresh_token)).json;
    const unrelated = await pair();
    expect((await refresh(first.refresh_token)).json).toEqual(INVALID_GRANT);
    for (const { access_token, refresh_token } of [first, second, third]) {
      expect((await app.user(access_token)).status).toBe(401);
      expect((await refresh(refresh_token)).json).toEqual(INVALID_GRANT);
    }
    expect((await app.user(unrelated.access_token)).status).toBe(200);
    const rows = await app.store.rows(
      "select action, target from audit_events order by id desc limit 1",
    );
    expect(rows).toEqual([["reuse of a refresh token detected", "Client"]]);
  });

  it("works once when used 50 times concurrently, and the new tokens stay valid", async () => {
    const { refresh_token } = await pair();
    const answers = await Promise.all(Array.from({ length: 50 }, () => refresh(refresh_token)));
    const [given] = answers.filter(({ status }) => status === 200);
    const refused = answers.filter((answer) => answer !== given);
    expect(refused.map(({ json }) => json)).toEqual(Array(49).fill(INVALID_GRANT));
    expect((await app.user(given?.json.access_token)).status).toBe(200);
    expect((await refresh(given?.json.refresh_token)).status).toBe(200);
  });

  it("revokes the family when reused ten seconds later, or without a secret", async () => {
    const before = clock;
    const first = await pair();
    const second = (await refresh(first.refresh_token)).json;
    clock += 9_999;
    expect((await refresh(first.refresh_token)).json).toEqual(INVALID_GRANT);
    expect((await app.user(second.access_token)).status).toBe(200);
    clock += 1;
    expect((await refresh(first.refresh_token)).json).toEqual(INVALID_GRANT);
    expect((await app.user(second.access_token)).status).toBe(401);
    clock = before;

    const open = await app.register({ confidential: false });
    const third = await pair(open);
    const fourth = (await refresh(third.refresh_token, {}, open)).json;
    expect((await refresh(third.refresh_token, {}, open)).json).toEqual(INVALID_GRANT);
    expect((await app.user(fourth.access_token)).status).toBe(401);
  });

  it("outlives its access token, and expires after 90 days without use", async () => {
    const before = clock;
    const first = await pair();
    clock += 7200_000 - 1;
    expect((await app.user(first.access_token)).status).toBe(200);
    clock += 1;
    expect((await app.user(first.access_token)).status).toBe(401);
    const second = (await refresh(first.refresh_token)).json;
    expect((await app.user(second.access_token)).status).toBe(200);
    clock += 90 * 24 * 3_600_000 - 1;
    const third = (await refresh(second.refresh_token)).json;
    expect(third.access_token).toBeDefined();
    clock += 90 * 24 * 3_600_000;
    expect((await refresh(third.refresh_token)).json).toEqual(INVALID_GRANT);
    visitor = await app.signedIn();
    clock = before;
    visitor = await app.signedIn();
  });

  it("can request fewer scopes, and later all again", async () => {
    const first = await pair(client, { scope: "api read_user" });
    const less = (await refresh(first.refresh_token, { scope: "read_user" })).json;
    expect(less.scope).toBe("read_user");
    expect((await app.user(less.access_token)).status).toBe(200);
    const projects = await app.call(`GET /projects?access_token=${less.access_token}`);
    expect(projects.json.error).toBe("insufficient_scope");
    const more = await refresh(less.refresh_token, { scope: "api read_user profile" });
    expect([more.status, more.json.error]).toEqual([400, "invalid_scope"]);
    expect((await refresh(less.refresh_token)).json.scope).toBe("api read_user");
  });

  it("works for no other application, and stays valid for its own", async () => {
    const { refresh_token } = await pair();
    expect((await refresh(refresh_token, {}, other)).json).toEqual(INVALID_GRANT);
    const unknown = await refresh(refresh_token, { client_secret: "x" });
    expect(unknown.json.error).toBe("invalid_client");
    const nobody = await app.token({ grant_type: "refresh_token", refresh_token });
    expect([nobody.status, nobody.json.error]).toEqual([401, "invalid_client"]);
    expect((await refresh(refresh_token)).status).toBe(200);
  });

  it("is not an access token, and vice versa", async () => {
    const { access_token, refresh_token } = await pair();
    expect((await refresh(access_token)).json).toEqual(INVALID_GRANT);
    expect((await app.user(refresh_token)).status).toBe(401);
    expect((await refresh("unknown")).json).toEqual(INVALID_GRANT);
  });

  it("is suspended while its user is blocked", async () => {
    const { access_token, refresh_token } = await pair();
    await app.admin.users.block("developer");
    expect((await refresh(refresh_token)).json).toEqual(INVALID_GRANT);
    const blocked = await app.user(access_token);
    expect([blocked.status, blocked.json.message]).toEqual([
      403,
      "403 Forbidden - Your account has been blocked.",
    ]);
    await unblock();
    expect((await refresh(refresh_token)).status).toBe(200);
  });

  it("of a public application needs no secret", async () => {
    const open = await app.register({ confidential: false });
    const { refresh_token } = await pair(open);
    const second = await refresh(refresh_token, {}, open);
    expect(second.status).toBe(200);
    expect((await refresh(refresh_token, {}, open)).json).toEqual(INVALID_GRANT);
    expect((await app.user(second.json.access_token)).status).toBe(401);
  });

  it("is revoked with its application", async () => {
    const own = await app.register();
    const { access_token } = await pair(own);
    await app.admin.applications.delete(own.id);
    expect((await app.user(access_token)).status).toBe(401);
  });
});

describe("the password grant", () => {
  const grant: OAuthApp["byPassword"] = (more, headers) => app.byPassword(more, headers);

  it.each(["developer", "Developer", "developer@example.com"])("as %s", async (username) => {
    const { status, json } = await grant({ username });
    expect(status).toBe(200);
    expect(json).toEqual({
      access_token: expect.stringMatching(/^[0-9a-f]{64}$/),
      token_type: "bearer",
      expires_in: 7200,
      scope: "api",
      created_at: clock / 1000,
    });
    expect((await app.user(json.access_token)).json.username).toBe("developer");
  });

  it.each([
    ["a wrong password", { password: "wrong horse" }],
    ["an unknown user", { username: "nobody" }],
    ["a user without a password", { username: "guest" }],
    ["a blocked user without a password", { username: "blocked" }],
  ])("refuses %s in the same words", async (_, more) => {
    const { status, json } = await grant(more);
    expect([status, json]).toEqual([400, INVALID_GRANT]);
  });

  it("refuses a blocked user", async () => {
    await app.admin.users.block("developer");
    const { status, json } = await grant();
    expect([status, json]).toEqual([400, INVALID_GRANT]);
    await unblock();
  });

  it("requires the right secret of a named application", async () => {
    const { client_id, client_secret } = client;
    const right = await grant({ client_id, client_secret: client_secret as string });
    expect(right.json).toMatchObject({ token_type: "bearer" });
    expect(right.json).not.toHaveProperty("refresh_token");
    expect((await grant({}, basic(client_id, client_secret as string))).status).toBe(200);
    const wrong = await grant({ client_id, client_secret: "x" });
    expect([wrong.status, wrong.json.error]).toEqual([401, "invalid_client"]);
  });

  it("grants the requested scopes, limited to the application's", async () => {
    const { client_id, client_secret } = client;
    const credentials = { client_id, client_secret: client_secret as string };
    expect((await grant({ scope: "read_user read_api" })).json.scope).toBe("read_user read_api");
    expect((await grant({ scope: "magic" })).json.error).toBe("invalid_scope");
    const sudo = await grant({ ...credentials, scope: "sudo" });
    expect([sudo.status, sudo.json.error]).toEqual([400, "invalid_scope"]);
  });

  it("counts as a sign-in: after ten wrong passwords it is 429", async () => {
    const answers = [];
    for (let at = 0; at < 11; at += 1) {
      answers.push(await grant({ username: "maintainer", password: "wrong horse" }));
    }
    expect(answers.map(({ status }) => status)).toEqual([...Array(10).fill(400), 429]);
    const { json, headers } = answers[10] as (typeof answers)[0];
    expect(json.error).toBe("temporarily_unavailable");
    expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
  });

  it("refuses users with two-factor authentication in the same words, right password or not", async () => {
    await app.store.transaction(async (db) => {
      const [user] = await db.all<{ id: number }>("select id from users where username = ?", [
        "reporter",
      ]);
      await db.run(
        "insert into two_factor (user_id, secret, enabled_at, last_step) values (?, ?, ?, 0)",
        [user?.id ?? 0, "A".repeat(32), clock],
      );
    });
    for (const password of [PASSWORD, "wrong horse"]) {
      const { status, json } = await grant({ username: "reporter", password });
      expect([status, json]).toEqual([400, INVALID_GRANT]);
    }
  });

  it("can be switched off", async () => {
    const strict = await oauthApp({ oauth: { password: false } });
    try {
      const sent = { grant_type: "password", username: "developer", password: PASSWORD };
      const { status, json } = await strict.token(sent);
      expect([status, json.error]).toEqual([400, "unsupported_grant_type"]);
      const { json: said } = await strict.call("GET /.well-known/oauth-authorization-server");
      expect(said.grant_types_supported).toEqual([
        "authorization_code",
        "refresh_token",
        "urn:ietf:params:oauth:grant-type:device_code",
        "implicit",
      ]);
    } finally {
      await strict.dispose();
    }
  });
});

describe("another origin's page", () => {
  it("can request tokens, without cookies", async () => {
    const headers = { origin: "https://spa.test" };
    const asked = await app.call("OPTIONS /oauth/token", {
      headers: { ...headers, "access-control-request-headers": "authorization" },
    });
    expect(asked.status).toBe(204);
    expect(asked.headers.get("access-control-allow-origin")).toBe("*");
    expect(asked.headers.get("access-control-allow-headers")).toBe("authorization");
    expect(asked.headers.get("access-control-allow-methods")).toContain("POST");
    const answer = await app.token(redemption(client, "x"), headers);
    expect(answer.headers.get("access-control-allow-origin")).toBe("*");
    expect(answer.headers.has("access-control-allow-credentials")).toBe(false);
  });

  it("can't act on behalf of the signed-in user", async () => {
    visitor.headers = { origin: "https://spa.test" };
    const answer = await visitor.get("/oauth/authorize");
    visitor.headers = {};
    expect(answer.headers.has("access-control-allow-origin")).toBe(false);
  });
});

it("expired grants are deleted after a month, and until then don't count as guesses", async () => {
  const own = await app.register();
  await codeFor(visitor, own);
  const to = await approve(visitor, own, { response_type: "token" });
  const kept = () =>
    app.store.rows("select count(*) from oauth_grants where application_id = ?", [own.id]);
  const guesses = () => app.store.rows("select key from attempts where key like 'tokens from %'");
  const before = clock;
  const month = 30 * 24 * 3_600_000;
  clock += month;
  visitor = await app.signedIn();
  await approve(visitor, client);
  expect(await kept()).toEqual([[2]]);
  const ended = new URLSearchParams(to.hash.slice(1)).get("access_token") as string;
  const use = () => app.call(`GET /user?access_token=${ended}`, { ip: "192.0.2.9" });
  expect((await use()).status).toBe(401);
  expect(await guesses()).toEqual([]);
  clock += 7200_000;
  await approve(visitor, client);
  expect(await kept()).toEqual([[0]]);
  expect((await use()).status).toBe(401);
  expect(await guesses()).toEqual([["tokens from 192.0.2.9"]]);
  clock = before;
});
