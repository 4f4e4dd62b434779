import { Gitlab } from "@gitbeaker/rest";
import * as oauth from "oauth4webapi";
import * as openid from "openid-client";
import { AuthorizationCode, ResourceOwnerPassword } from "simple-oauth2";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../src/testing.ts";
import { PASSWORD } from "../helpers.ts";
import { type Client, formOf, locationOf } from "../oauth/helpers.ts";
import { Visitor } from "../visitor.ts";

const REDIRECT = "http://127.0.0.1:51004/callback";

let server: TestServer;
let confidential: Client;
let open: Client;
let visitor: Visitor;
beforeAll(async () => {
  server = await startTestServer({
    seed: { users: [{ username: "ada", name: "Ada", password: PASSWORD }] },
  });
  const data = {
    user: "ada",
    name: "Client",
    redirect_uris: ["http://127.0.0.1/callback"],
    scopes: ["api", "read_user"],
  };
  confidential = await server.admin.applications.create(data);
  open = await server.admin.applications.create({ ...data, confidential: false });
  visitor = new Visitor({
    fetch: (request) => {
      const { pathname, search } = new URL(request.url);
      return fetch(new Request(server.url + pathname + search, request), { redirect: "manual" });
    },
  });
  await visitor.signIn("ada", PASSWORD);
});
afterAll(() => server.close());

/** Acts as the browser on an authorization request: returns the callback URL. */
async function consent(url: string | URL): Promise<URL> {
  const { pathname, search } = new URL(url);
  const page = await visitor.get(pathname + search);
  if (page.status !== 200) return locationOf(page);
  const { action, fields } = formOf(page);
  return locationOf(await visitor.post(action.replace(server.url, ""), fields));
}

const userOf = async (token: string) =>
  (
    await fetch(`${server.url}/api/v4/user`, { headers: { authorization: `Bearer ${token}` } })
  ).json() as Promise<{ username?: string }>;

describe("oauth4webapi", () => {
  const insecure = { [oauth.allowInsecureRequests]: true };
  let as: oauth.AuthorizationServer;
  beforeAll(async () => {
    const issuer = new URL(server.url);
    const found = await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure });
    as = await oauth.processDiscoveryResponse(issuer, found);
  });

  const ways: [string, () => [Client, oauth.ClientAuth]][] = [
    ["Basic", () => [confidential, oauth.ClientSecretBasic(confidential.client_secret as string)]],
    [
      "a secret in the body",
      () => [confidential, oauth.ClientSecretPost(confidential.client_secret as string)],
    ],
    ["no secret", () => [open, oauth.None()]],
  ];
  it.each(ways)("goes through the whole code flow with %s", async (_, way) => {
    const [{ client_id }, auth] = way();
    const client = { client_id };
    const verifier = oauth.generateRandomCodeVerifier();
    const state = oauth.generateRandomState();
    const url = new URL(as.authorization_endpoint as string);
    url.search = String(
      new URLSearchParams({
        client_id,
        redirect_uri: REDIRECT,
        response_type: "code",
        scope: "api read_user",
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
        state,
      }),
    );
    // Checks `state` and, if the metadata say so, `iss`.
    const parameters = oauth.validateAuthResponse(as, client, await consent(url), state);
    const granted = await oauth.authorizationCodeGrantRequest(
      as,
      client,
      auth,
      parameters,
      REDIRECT,
      verifier,
      insecure,
    );
    const first = await oauth.processAuthorizationCodeResponse(as, client, granted);
    expect(first).toMatchObject({ token_type: "bearer", expires_in: 7200, scope: "api read_user" });
    expect(await userOf(first.access_token)).toMatchObject({ username: "ada" });

    const again = await oauth.authorizationCodeGrantRequest(
      as,
      client,
      auth,
      parameters,
      REDIRECT,
      verifier,
      insecure,
    );
    await expect(oauth.processAuthorizationCodeResponse(as, client, again)).rejects.toMatchObject({
      error: "invalid_grant",
    });
    expect((await userOf(first.access_token)).username).toBeUndefined();
  });

  it.each(ways)("refreshes, inspects and revokes with %s", async (kind, way) => {
    const [{ client_id }, auth] = way();
    const client = { client_id };
    const verifier = oauth.generateRandomCodeVerifier();
    const code_challenge = await oauth.calculatePKCECodeChallenge(verifier);
    const asked = { client_id, redirect_uri: REDIRECT, response_type: "code", code_challenge };
    const query = new URLSearchParams({ ...asked, code_challenge_method: "S256" });
    const to = await consent(`${as.authorization_endpoint}?${query}`);
    const parameters = oauth.validateAuthResponse(as, client, to, oauth.expectNoState);
    const first = await oauth.processAuthorizationCodeResponse(
      as,
      client,
      await oauth.authorizationCodeGrantRequest(
        as,
        client,
        auth,
        parameters,
        REDIRECT,
        verifier,
        insecure,
      ),
    );
    const refreshed = await oauth.refreshTokenGrantRequest(
      as,
      client,
      auth,
      first.refresh_token as string,
      insecure,
    );
    const second = await oauth.processRefreshTokenResponse(as, client, refreshed);
    expect((await userOf(first.access_token)).username).toBeUndefined();
    expect((await userOf(second.access_token)).username).toBe("ada");
    if (kind !== "no secret") {
      const introspected = await oauth.introspectionRequest(
        as,
        client,
        auth,
        second.access_token,
        insecure,
      );
      const said = await oauth.processIntrospectionResponse(as, client, introspected);
      expect(said).toMatchObject({ active: true, client_id, username: "ada", scope: "api" });
    }
    const revoked = await oauth.revocationRequest(
      as,
      client,
      auth,
      second.refresh_token as string,
      insecure,
    );
    await oauth.processRevocationResponse(revoked);
    expect((await userOf(second.access_token)).username).toBeUndefined();
  });

  it("receives a denial", async () => {
    const { client_id } = confidential;
    const query = new URLSearchParams({
      client_id,
      redirect_uri: REDIRECT,
      response_type: "code",
      scope: "magic",
      state: "s",
    });
    const to = await consent(`${as.authorization_endpoint}?${query}`);
    expect(() => oauth.validateAuthResponse(as, { client_id }, to, "s")).toThrow(
      expect.objectContaining({ error: "invalid_scope" }),
    );
  });
});

describe("openid-client, for OAuth2 alone", () => {
  // With only the issuer and `/.well-known/oauth-authorization-server`.
  const discovered = ({ client_id }: Client, auth: openid.ClientAuth) =>
    openid.discovery(new URL(server.url), client_id, undefined, auth, {
      algorithm: "oauth2",
      execute: [openid.allowInsecureRequests],
    });
  const ways: [string, () => Promise<openid.Configuration>][] = [
    [
      "Basic",
      () =>
        discovered(confidential, openid.ClientSecretBasic(confidential.client_secret as string)),
    ],
    [
      "a secret in the body",
      () => discovered(confidential, openid.ClientSecretPost(confidential.client_secret as string)),
    ],
    ["no secret", () => discovered(open, openid.None())],
  ];

  it.each(ways)(
    "discovers the server, and gets, refreshes and revokes tokens with %s",
    async (_, way) => {
      const config = await way();
      expect(config.serverMetadata()).toMatchObject({ issuer: server.url });
      const pkceCodeVerifier = openid.randomPKCECodeVerifier();
      const expectedState = openid.randomState();
      const url = openid.buildAuthorizationUrl(config, {
        redirect_uri: REDIRECT,
        scope: "api read_user",
        code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
        code_challenge_method: "S256",
        state: expectedState,
      });
      const to = await consent(url);
      const checks = { pkceCodeVerifier, expectedState };
      const first = await openid.authorizationCodeGrant(config, to, checks);
      expect(first).toMatchObject({ token_type: "bearer", scope: "api read_user" });
      expect(first.expiresIn()).toBeGreaterThan(7100);
      expect(first.claims()).toBeUndefined();
      const asked = await openid.fetchProtectedResource(
        config,
        first.access_token,
        new URL(`${server.url}/api/v4/user`),
        "GET",
      );
      expect(await asked.json()).toMatchObject({ username: "ada" });

      const second = await openid.refreshTokenGrant(config, first.refresh_token as string);
      expect((await userOf(first.access_token)).username).toBeUndefined();
      expect((await userOf(second.access_token)).username).toBe("ada");
      await openid.tokenRevocation(config, second.access_token);
      expect((await userOf(second.access_token)).username).toBeUndefined();
      const refused = openid.refreshTokenGrant(config, first.refresh_token as string);
      await expect(refused).rejects.toMatchObject({ error: "invalid_grant", status: 400 });
    },
  );

  it("receives a denial", async () => {
    const config = await discovered(open, openid.None());
    const url = openid.buildAuthorizationUrl(config, { redirect_uri: REDIRECT, scope: "openid" });
    await expect(openid.authorizationCodeGrant(config, await consent(url))).rejects.toMatchObject({
      error: "invalid_scope",
    });
  });
});

describe("openid-client", () => {
  const scopes = ["openid", "profile", "email"];
  const discovered = async (auth: (secret: string) => openid.ClientAuth, confidential: boolean) => {
    const { client_id, client_secret } = await server.admin.applications.create({
      user: "ada",
      name: "Relying party",
      redirect_uris: ["http://127.0.0.1/callback"],
      scopes,
      confidential,
    });
    return openid.discovery(new URL(server.url), client_id, undefined, auth(client_secret ?? ""), {
      execute: [openid.allowInsecureRequests],
    });
  };
  const ways: [string, (secret: string) => openid.ClientAuth][] = [
    ["Basic", openid.ClientSecretBasic],
    ["a secret in the body", openid.ClientSecretPost],
    ["no secret", () => openid.None()],
  ];
  it.each(ways)("signs somebody in with %s", async (kind, auth) => {
    const config = await discovered(auth, kind !== "no secret");
    // Fetches the keys, and verifies signatures of tokens that came over TLS, too.
    openid.enableNonRepudiationChecks(config);
    const pkceCodeVerifier = openid.randomPKCECodeVerifier();
    const [expectedState, expectedNonce] = [openid.randomState(), openid.randomNonce()];
    const url = openid.buildAuthorizationUrl(config, {
      redirect_uri: REDIRECT,
      scope: scopes.join(" "),
      code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: "S256",
      state: expectedState,
      nonce: expectedNonce,
      max_age: "3600",
    });
    const to = await consent(url);
    const checks = { pkceCodeVerifier, expectedState, expectedNonce, maxAge: 3600 };
    const tokens = await openid.authorizationCodeGrant(config, to, checks);
    const claims = tokens.claims();
    expect(claims).toMatchObject({ preferred_username: "ada", name: "Ada", email_verified: true });
    const info = await openid.fetchUserInfo(config, tokens.access_token, claims?.sub as string);
    expect(info).toMatchObject({ nickname: "ada", groups: [] });
    const refreshed = await openid.refreshTokenGrant(config, tokens.refresh_token as string);
    expect(refreshed.claims()?.sub).toBe(claims?.sub);
  });
});

it("openid-client lets in a device", async () => {
  const { client_id } = await server.admin.applications.create({
    user: "ada",
    name: "Television",
    redirect_uris: ["http://127.0.0.1/callback"],
    scopes: ["openid", "api"],
    confidential: false,
  });
  const options = { execute: [openid.allowInsecureRequests] };
  const url = new URL(server.url);
  const config = await openid.discovery(url, client_id, undefined, openid.None(), options);
  const begun = await openid.initiateDeviceAuthorization(config, { scope: "openid api" });
  const { user_code, verification_uri } = begun;
  const { pathname } = new URL(verification_uri);
  await visitor.get(pathname);
  await visitor.post(pathname, { user_code, decision: "authorize" });
  const tokens = await openid.pollDeviceAuthorizationGrant(config, { ...begun, interval: 0.01 });
  expect(tokens.claims()).toMatchObject({ preferred_username: "ada" });
  expect(await userOf(tokens.access_token)).toMatchObject({ username: "ada" });
});

describe("simple-oauth2", () => {
  const settings = () => ({
    client: { id: confidential.client_id, secret: confidential.client_secret as string },
    auth: { tokenHost: server.url, revokePath: "/oauth/revoke" },
  });

  it.each(["header", "body"] as const)(
    "gets, refreshes and revokes tokens, with its secret in the %s",
    async (authorizationMethod) => {
      const flow = new AuthorizationCode({ ...settings(), options: { authorizationMethod } });
      const state = "a b&c";
      const url = flow.authorizeURL({ redirect_uri: REDIRECT, scope: ["api", "read_user"], state });
      const to = await consent(url);
      expect(to.searchParams.get("state")).toBe(state);
      const code = to.searchParams.get("code") as string;
      const token = await flow.getToken({ code, redirect_uri: REDIRECT });
      expect(token.expired()).toBe(false);
      expect(await userOf(token.token["access_token"] as string)).toMatchObject({
        username: "ada",
      });
      const renewed = await token.refresh();
      expect(renewed.token["access_token"]).not.toBe(token.token["access_token"]);
      await renewed.revokeAll();
      expect(await userOf(renewed.token["access_token"] as string)).not.toHaveProperty("username");
      await expect(flow.getToken({ code, redirect_uri: REDIRECT })).rejects.toMatchObject({
        output: { statusCode: 400 },
        data: { payload: { error: "invalid_grant" } },
      });
    },
  );

  it("uses the password grant", async () => {
    const flow = new ResourceOwnerPassword(settings());
    const { token } = await flow.getToken({ username: "ada", password: PASSWORD, scope: "api" });
    expect(await userOf(token["access_token"] as string)).toMatchObject({ username: "ada" });
    expect(token).not.toHaveProperty("refresh_token");
    await expect(flow.getToken({ username: "ada", password: "wrong" })).rejects.toMatchObject({
      data: { payload: { error: "invalid_grant" } },
    });
  });
});

it("gitbeaker accepts an access token as oauthToken", async () => {
  const flow = new ResourceOwnerPassword({
    client: { id: confidential.client_id, secret: confidential.client_secret as string },
    auth: { tokenHost: server.url },
  });
  const { token } = await flow.getToken({ username: "ada", password: PASSWORD });
  const gitlab = new Gitlab({ host: server.url, oauthToken: token["access_token"] as string });
  expect(await gitlab.Users.showCurrentUser()).toMatchObject({ username: "ada" });
  const made = await gitlab.Projects.create({ name: "by-oauth" });
  expect(made).toMatchObject({ path_with_namespace: "ada/by-oauth" });
});
