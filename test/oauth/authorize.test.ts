import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PASSWORD } from "../helpers.ts";
import { ORIGIN, Visitor } from "../visitor.ts";
import {
  approve,
  authorizePath,
  CALLBACK,
  type Client,
  codeFor,
  credentials,
  formOf,
  locationOf,
  type OAuthApp,
  oauthApp,
  pkce,
  redemption,
} from "./helpers.ts";

let app: OAuthApp;
let client: Client;
let visitor: Visitor;
beforeAll(async () => {
  app = await oauthApp();
  client = await app.register({ redirect_uris: [CALLBACK, "https://client.test/cb?a=1"] });
  visitor = await app.signedIn();
});
afterAll(() => app.dispose());

describe("a visitor who is not signed in", () => {
  it("signs in first and returns to the same request", async () => {
    const stranger = new Visitor(app);
    const path = authorizePath(client, { state: "a b&c=d" });
    const answer = await stranger.get(path);
    expect(answer.status).toBe(302);
    const there = locationOf(answer);
    expect(there.pathname).toBe("/users/sign_in");
    expect(there.searchParams.get("return_to")).toBe(path);
    await stranger.follow(answer);
    const back = await stranger.post("/users/sign_in", {
      login: "reporter",
      password: PASSWORD,
      return_to: there.searchParams.get("return_to") as string,
    });
    const page = await stranger.follow(back);
    expect([page.status, page.page]).toEqual([200, expect.stringContaining("@reporter")]);
  });

  it("returns with a backslash in the state too, which browsers don't encode", async () => {
    const stranger = new Visitor(app);
    const there = locationOf(await stranger.get(`${authorizePath(client)}&state=a\\b`));
    expect(there.searchParams.get("return_to")).toMatch(/&state=a%5Cb$/);
  });

  it("learns nothing about the application", async () => {
    const answer = await new Visitor(app).get("/oauth/authorize?client_id=x&redirect_uri=y");
    expect(locationOf(answer).pathname).toBe("/users/sign_in");
  });
});

describe("the consent page", () => {
  it("shows the application, the scopes, the user and the target", async () => {
    const { status, page, headers } = await visitor.get(
      authorizePath(client, { scope: "read_user profile" }),
    );
    expect(status).toBe(200);
    for (const text of ["Client", "@owner", "@developer", "Read who you are", "client.test"]) {
      expect(page).toContain(text);
    }
    expect(page).not.toContain("Everything you may do");
    expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect(headers.get("x-frame-options")).toBe("DENY");
    expect(headers.get("cache-control")).toBe("no-store");
  });

  it("escapes the application's name", async () => {
    const odd = await app.register({ name: '<script>alert("1")</script>' });
    const { page } = await visitor.get(authorizePath(odd, { state: '"><script>' }));
    expect(page).not.toContain("<script>");
    expect(page).toContain("&lt;script&gt;");
  });

  it("can't load or run anything", async () => {
    const { headers } = await visitor.get(authorizePath(client));
    expect(headers.get("content-security-policy")).toMatch(
      /^default-src 'none'; style-src 'sha256-/,
    );
  });
});

describe("the answer", () => {
  it("has a code, the state and the issuer, in addition to the redirect URI's own query", async () => {
    const to = await approve(visitor, client, {
      redirect_uri: "https://client.test/cb?a=1",
      state: "xyz",
    });
    expect(to.href).toMatch(
      /^https:\/\/client\.test\/cb\?a=1&code=[0-9a-f]{64}&state=xyz&iss=http%3A%2F%2Flocalhost$/,
    );
  });

  it("omits a blank state", async () => {
    expect((await approve(visitor, client, { state: "" })).search).not.toContain("state");
    expect((await approve(visitor, client)).search).not.toContain("state");
  });

  it.each([
    "a b+c&d=e#f?g/h%20%0d%0a",
    "\r\nSet-Cookie: a=b\r\n\r\n<b>",
    "line\nbreak",
    "cr\ronly",
    "äöü € 😀 \u2028",
    `"'<>\`\\|^{}`,
    "x".repeat(3000),
  ])("returns the state %j unchanged", async (state) => {
    const to = await approve(visitor, client, { state });
    expect(to.origin + to.pathname).toBe(CALLBACK);
    expect(to.searchParams.get("state")).toBe(state);
    const denied = await visitor.get(authorizePath(client, { state, scope: "nothing" }));
    expect(locationOf(denied).searchParams.get("state")).toBe(state);
  });

  it.each([
    [
      "POST with _method",
      (form: Record<string, string>) =>
        visitor.post("/oauth/authorize", { ...form, _method: "delete" }),
    ],
    [
      "DELETE",
      (form: Record<string, string>) =>
        app.fetch(
          new Request(`${ORIGIN}/oauth/authorize`, {
            method: "DELETE",
            headers: { cookie: visitor.cookie },
            body: new URLSearchParams({ ...form, authenticity_token: visitor.csrf }),
          }),
        ),
    ],
  ])("reports a denial: %s", async (_, deny) => {
    const fresh = await app.register();
    const page = await visitor.get(authorizePath(fresh, { state: "xyz" }));
    const answer = await deny(formOf(page).fields);
    expect(answer.status).toBe(302);
    const to = locationOf(answer);
    expect(Object.fromEntries(to.searchParams)).toEqual({
      error: "access_denied",
      error_description: "The resource owner or authorization server denied the request.",
      state: "xyz",
      iss: ORIGIN,
    });
    expect((await visitor.get(authorizePath(fresh))).status).toBe(200);
  });

  it("requires the CSRF token of the page", async () => {
    const page = await visitor.get(authorizePath(client));
    const forged = await visitor.post("/oauth/authorize", formOf(page).fields, "0".repeat(64));
    expect([forged.status, forged.headers.get("location")]).toEqual([422, null]);
    const other = await app.signedIn("reporter");
    const stolen = await other.post("/oauth/authorize", formOf(page).fields, visitor.csrf);
    expect(stolen.status).toBe(422);
  });

  it("is refused if the user has signed out since", async () => {
    const leaving = await app.signedIn("reporter");
    const page = await leaving.get(authorizePath(client));
    await leaving.post("/users/sign_out");
    const late = await leaving.post("/oauth/authorize", formOf(page).fields);
    expect(late.headers.get("location") ?? "").not.toContain("client.test");
  });

  it("is decided by the form's values, not by those of the page's URL", async () => {
    const page = await visitor.get(authorizePath(client));
    const forged = { ...formOf(page).fields, redirect_uri: "https://evil.test/" };
    const answer = await visitor.post("/oauth/authorize", forged);
    expect([answer.status, answer.headers.get("location")]).toEqual([400, null]);
  });
});

describe("errors before the application is identified are shown to the user", () => {
  const cases: [string, Record<string, string>, string][] = [
    ["no client", { client_id: "" }, "Missing required parameter: client_id."],
    ["an unknown client", { client_id: "0".repeat(64) }, "unknown client"],
    ["no redirect URI", { redirect_uri: "" }, "Missing required parameter: redirect_uri."],
    ...[
      "https://evil.test/callback",
      "https://client.test/callback/",
      "https://client.test/callback?x=1",
      "https://client.test/callback#x",
      "https://client.test/Callback",
      "https://client.test:443/callback",
      "https://client.test:8443/callback",
      "http://client.test/callback",
      "https://client.test/callback/../evil",
      "https://client.test/x/../callback",
      "https://client.test/%63allback",
      "https://client.test@evil.test/callback",
      "https://client.test.evil.test/callback",
      "https://evil.test/https://client.test/callback",
      "//client.test/callback",
      "/callback",
      "https:client.test/callback",
      "https://client.test\\callback",
      " https://client.test/callback",
      "https://client.test/callback\r\nLocation: https://evil.test/",
      "https://client.test/callback https://evil.test/",
      `${CALLBACK}\nhttps://client.test/cb?a=1`,
      "HTTPS://client.test/callback",
      "https://CLIENT.test/callback",
      "javascript:alert(1)",
      "data:text/html,x",
      "urn:ietf:wg:oauth:2.0:oob",
    ].map((redirect_uri): [string, Record<string, string>, string] => [
      `redirect URI ${JSON.stringify(redirect_uri)}`,
      { redirect_uri },
      "The redirect URI included is not valid.",
    ]),
  ];
  it.each(cases)("%s", async (_, more, text) => {
    for (const response_type of ["code", "token", "magic"]) {
      const path = authorizePath(client, { state: "s", ...more, response_type });
      const answer = await visitor.get(path);
      expect([answer.status, answer.headers.get("location")]).toEqual([400, null]);
      expect(answer.headers.get("content-type")).toContain("text/html");
      expect(answer.page).toContain(text);
      expect(answer.page).not.toContain("evil.test");
    }
    const posted = await visitor.post(`${authorizePath(client, { state: "s", ...more })}`);
    expect([posted.status, posted.headers.get("location")]).toEqual([400, null]);
  });

  it.each(["client_id", "redirect_uri", "state", "response_type", "scope"])(
    "%s twice",
    async (name) => {
      const path = `${authorizePath(client, { state: "s", scope: "api" })}&${name}=x`;
      const answer = await visitor.get(path);
      expect([answer.status, answer.headers.get("location")]).toEqual([400, null]);
      expect(answer.page).toContain(`Repeated parameter: ${name}.`);
    },
  );

  it.each(["client_id[]=x", "state[a]=b", "redirect_uri=%ff", "state=%00"])("%s", async (query) => {
    const answer = await visitor.get(`/oauth/authorize?${query}`);
    expect([answer.status, answer.headers.get("location")]).toEqual([400, null]);
  });

  it("a redirect URI of another application", async () => {
    const other = await app.register({ redirect_uris: ["https://other.test/"] });
    const answer = await visitor.get(
      authorizePath(client, { redirect_uri: "https://other.test/" }),
    );
    expect(answer.status).toBe(400);
    expect((await visitor.get(authorizePath(other))).status).toBe(200);
  });
});

describe("later errors are sent to the application", () => {
  const { code_challenge, code_challenge_method } = pkce();
  const cases: [Record<string, string>, string][] = [
    [{ response_type: "" }, "invalid_request"],
    [{ response_type: "magic" }, "unsupported_response_type"],
    [{ response_type: "code token" }, "unsupported_response_type"],
    [{ scope: "magic" }, "invalid_scope"],
    [{ scope: "api sudo" }, "invalid_scope"],
    [{ scope: "openid" }, "invalid_scope"],
    [{ code_challenge }, "invalid_request"],
    [{ code_challenge, code_challenge_method: "s256" }, "invalid_request"],
    [{ code_challenge: "short", code_challenge_method: "S256" }, "invalid_request"],
    [{ code_challenge: "short", code_challenge_method: "plain" }, "invalid_request"],
    [{ code_challenge: "x".repeat(129), code_challenge_method: "plain" }, "invalid_request"],
    [{ code_challenge_method }, "invalid_request"],
  ];
  it.each(cases)("%j is %s", async (more, error) => {
    const answer = await visitor.get(authorizePath(client, { state: "xyz", ...more }));
    expect(answer.status).toBe(302);
    const to = locationOf(answer);
    expect(to.origin + to.pathname).toBe(CALLBACK);
    expect(Object.fromEntries(to.searchParams)).toEqual({
      error,
      error_description: expect.any(String),
      state: "xyz",
      iss: ORIGIN,
    });
  });

  it("in the fragment if a token was requested", async () => {
    const path = authorizePath(client, { response_type: "token", scope: "magic", state: "xyz" });
    const to = locationOf(await visitor.get(path));
    expect(to.search).toBe("");
    expect(new URLSearchParams(to.hash.slice(1)).get("error")).toBe("invalid_scope");
    expect(new URLSearchParams(to.hash.slice(1)).get("state")).toBe("xyz");
  });
});

describe("scopes", () => {
  const scopeOf = async (own: Client, more: Record<string, string>) => {
    const code = await codeFor(visitor, own, more);
    return (await app.token(redemption(own, code))).json.scope;
  };

  it("are the requested ones, separated by spaces or pluses", async () => {
    expect(await scopeOf(client, { scope: "read_user api" })).toBe("read_user api");
    const to = await visitor.get(`${authorizePath(client)}&scope=read_user+profile`);
    expect(to.page).toContain("Read your public profile");
  });

  it("default to api, or to all of the application's if api isn't among them", async () => {
    expect(await scopeOf(client, {})).toBe("api");
    const small = await app.register({ scopes: ["read_user", "profile"] });
    expect(await scopeOf(small, {})).toBe("read_user profile");
  });
});

describe("consent", () => {
  it("is asked for once for the same scopes of a confidential application", async () => {
    const own = await app.register();
    const code = await codeFor(visitor, own, { scope: "read_user profile" });
    // Consent only counts once the application has redeemed the code.
    const early = await visitor.get(authorizePath(own, { scope: "profile read_user" }));
    expect(early.status).toBe(200);
    await app.token(redemption(own, code));
    const again = await visitor.get(authorizePath(own, { scope: "profile read_user", state: "s" }));
    expect(again.status).toBe(302);
    const to = locationOf(again);
    expect(to.searchParams.get("state")).toBe("s");
    const token = await app.token(redemption(own, to.searchParams.get("code") as string));
    expect(token.status).toBe(200);
    expect((await visitor.get(authorizePath(own, { scope: "api" }))).status).toBe(200);
    expect((await visitor.get(authorizePath(own, { scope: "read_user" }))).status).toBe(200);
    const other = await app.signedIn("reporter");
    const others = await other.get(authorizePath(own, { scope: "profile read_user" }));
    expect(others.status).toBe(200);
  });

  it("is asked for each time in the implicit flow", async () => {
    const own = await app.register();
    await app.token(redemption(own, await codeFor(visitor, own)));
    for (let time = 0; time < 2; time += 1) {
      const asked = await visitor.get(authorizePath(own, { response_type: "token" }));
      expect(asked.status).toBe(200);
      await approve(visitor, own, { response_type: "token" });
    }
  });

  it("is asked for by code, despite grants from the implicit flow or a password", async () => {
    const own = await app.register();
    await approve(visitor, own, { response_type: "token" });
    await app.byPassword({ ...credentials(own), scope: "api" });
    expect((await visitor.get(authorizePath(own))).status).toBe(200);
  });

  it("is asked for again once the access is revoked", async () => {
    const own = await app.register();
    const { json } = await app.token(redemption(own, await codeFor(visitor, own)));
    expect((await visitor.get(authorizePath(own))).status).toBe(302);
    const { client_id, client_secret } = own;
    await app.call("POST /oauth/revoke", {
      form: { client_id, client_secret: client_secret as string, token: json.access_token },
    });
    const { json: unseen } = await app.token(redemption(own, await codeFor(visitor, own)));
    expect(unseen).toMatchObject({ scope: "api" });
  });

  it("is never asked for by a trusted application", async () => {
    const trusted = await app.register({ trusted: true });
    const answer = await visitor.get(authorizePath(trusted, { state: "s" }));
    expect(answer.status).toBe(302);
    const code = locationOf(answer).searchParams.get("code") as string;
    expect((await app.token(redemption(trusted, code))).status).toBe(200);
    const wrong = authorizePath(trusted, { redirect_uri: "https://evil.test/" });
    expect((await visitor.get(wrong)).status).toBe(400);
    expect((await new Visitor(app).get(authorizePath(trusted))).headers.get("location")).toContain(
      "/users/sign_in",
    );
  });

  it("is always asked for by a public application, trusted or not", async () => {
    const open = await app.register({ confidential: false, trusted: true });
    const { verifier, ...challenge } = pkce();
    const code = await codeFor(visitor, open, challenge);
    const { json } = await app.token({ ...redemption(open, code), code_verifier: verifier });
    expect((await app.user(json.access_token)).status).toBe(200);
    expect((await visitor.get(authorizePath(open, challenge))).status).toBe(200);
  });
});

describe("public applications", () => {
  it("require a challenge", async () => {
    const open = await app.register({ confidential: false });
    const to = locationOf(await visitor.get(authorizePath(open)));
    expect(to.searchParams.get("error")).toBe("invalid_request");
    expect(to.searchParams.get("error_description")).toContain("code_challenge");
  });
});

describe("loopback addresses", () => {
  it.each([
    ["http://127.0.0.1/cb", "http://127.0.0.1:51004/cb", 200],
    ["http://127.0.0.1:3000/cb", "http://127.0.0.1/cb", 200],
    ["http://[::1]/cb", "http://[::1]:51004/cb", 200],
    ["http://localhost:1/cb?x=1", "http://localhost:51004/cb?x=1", 200],
    ["http://127.0.0.1/cb", "http://127.0.0.1:51004/other", 400],
    ["http://127.0.0.1/cb", "http://127.0.0.1:99999/cb", 400],
    ["http://127.0.0.1/cb", "https://127.0.0.1:51004/cb", 400],
    ["http://127.0.0.1/cb", "http://127.0.0.2:51004/cb", 400],
    ["http://127.0.0.1/cb", "http://localhost:51004/cb", 400],
    ["http://127.0.0.1/cb", "http://127.0.0.1:80@evil.test/cb", 400],
    ["http://127.0.0.1/cb", "http://127.0.0.1.evil.test/cb", 400],
    ["https://127.0.0.1/cb", "https://127.0.0.1:51004/cb", 400],
    ["https://client.test/cb", "https://client.test:51004/cb", 400],
  ])("registered %s, asked for %s: %i", async (registered, redirect_uri, status) => {
    const native = await app.register({ redirect_uris: [registered] });
    expect((await visitor.get(authorizePath(native, { redirect_uri }))).status).toBe(status);
    if (status !== 200) return;
    const code = await codeFor(visitor, native, { redirect_uri });
    const sent = redemption(native, code);
    expect((await app.token({ ...sent, redirect_uri })).status).toBe(200);
    const second = await codeFor(visitor, native, { redirect_uri });
    const elsewhere = { ...redemption(native, second), redirect_uri: registered };
    expect((await app.token(elsewhere)).status).toBe(400);
  });

  it("and custom schemes are for native applications", async () => {
    const native = await app.register({
      redirect_uris: ["com.example.app:/cb"],
      confidential: false,
    });
    const { verifier, ...challenge } = pkce();
    const page = await visitor.get(authorizePath(native, challenge));
    expect(page.page).toContain("an application on this device (com.example.app:)");
    const to = await approve(visitor, native, challenge);
    expect(to.href).toMatch(/^com\.example\.app:\/cb\?code=/);
    const { json } = await app.token({
      ...redemption(native, to.searchParams.get("code") as string),
      code_verifier: verifier,
    });
    expect(json).toMatchObject({ token_type: "bearer" });
  });
});

describe("the implicit flow", () => {
  it("returns a token in the fragment, without a refresh token", async () => {
    const to = await approve(visitor, client, { response_type: "token", state: "xyz" });
    expect(to.search).toBe("");
    const answer = Object.fromEntries(new URLSearchParams(to.hash.slice(1)));
    expect(answer).toEqual({
      access_token: expect.stringMatching(/^[0-9a-f]{64}$/),
      token_type: "bearer",
      expires_in: "7200",
      scope: "api",
      state: "xyz",
      iss: ORIGIN,
    });
    expect((await app.user(answer["access_token"] as string)).json.username).toBe("developer");
  });

  it("can be switched off", async () => {
    const strict = await oauthApp({ oauth: { implicit: false } });
    try {
      const own = await strict.register();
      const someone = await strict.signedIn();
      const path = authorizePath(own, { response_type: "token", state: "s" });
      const to = locationOf(await someone.get(path));
      const answer = new URLSearchParams(to.hash.slice(1));
      expect(answer.get("error")).toBe("unsupported_response_type");
      const { json } = await strict.call("GET /.well-known/oauth-authorization-server");
      expect(json.response_types_supported).toEqual(["code"]);
      expect(json.grant_types_supported).not.toContain("implicit");
    } finally {
      await strict.dispose();
    }
  });
});

describe("the audit log", () => {
  it("records who authorized what", async () => {
    const own = await app.register({ name: "Audited" });
    await approve(visitor, own);
    const rows = await app.store.rows(
      "select action, author_name from audit_events where target = ? order by id",
      ["Audited"],
    );
    expect(rows).toEqual([
      ["application made", "operator"],
      ["application authorized", "developer"],
    ]);
  });
});
