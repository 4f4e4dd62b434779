import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { givePassword } from "../helpers.ts";
import { bearer, type Client, type OAuthApp, oauthApp } from "./helpers.ts";

// See docs/authentication.md: sudo requires the scope, of OAuth2 tokens as of any other.

let app: OAuthApp;
let client: Client;
beforeAll(async () => {
  app = await oauthApp();
  client = await app.register({ scopes: ["api", "read_user", "sudo"] });
  await givePassword(app, "admin");
});
afterAll(() => app.dispose());

/** Gets the tokens a user grants to an application. */
async function allowed(login: string, scope: string) {
  const tokens = await app.pair(await app.signedIn(login), client, { scope });
  expect(tokens.scope).toBe(scope);
  return tokens;
}

const as = (token: string, sudo: string) => ({ headers: { ...bearer(token).headers, sudo } });

describe("sudo by an administrator's OAuth2 token", () => {
  it("acts as another user, by header or parameter", async () => {
    const { access_token } = await allowed("admin", "api sudo");
    const answers = [
      await app.call("GET /user", as(access_token, "guest")),
      await app.call(`GET /user?sudo=guest&access_token=${access_token}`),
    ];
    for (const { status, json } of answers) {
      expect([status, json.username]).toEqual([200, "guest"]);
    }
    expect((await app.user(access_token)).json.username).toBe("admin");
  });

  it("has the target's rights and no more, and is audited", async () => {
    const { access_token } = await allowed("admin", "api sudo");
    const see = async (sudo: string) =>
      (await app.call("GET /groups/secret", as(access_token, sudo))).status;
    expect([await see("guest"), await see("stranger")]).toEqual([200, 404]);
    const issue = "POST /projects/acme%2Fsite/issues?title=t";
    expect((await app.call(issue, as(access_token, "developer"))).json.author.username).toBe(
      "developer",
    );
    const acts = await app.admin.auditEvents.list({ action: "acted by sudo" });
    expect(acts).toMatchObject([{ author: "admin", user: "developer" }]);
  });

  it("needs no other scope, and without others allows nothing else", async () => {
    const { access_token } = await allowed("admin", "sudo");
    const { json } = await app.call("GET /user", as(access_token, "guest"));
    expect(json.username).toBe("guest");
    const own = await app.user(access_token);
    expect([own.status, own.json.error]).toEqual([403, "insufficient_scope"]);
  });

  it("works with the refreshed token, and ends with the previous one", async () => {
    const { access_token, refresh_token } = await allowed("admin", "sudo");
    const { json } = await app.refresh(client, refresh_token);
    const { status } = await app.call("GET /user", as(json.access_token, "guest"));
    const before = await app.call("GET /user", as(access_token, "guest"));
    expect([status, before.status]).toEqual([200, 401]);
  });

  it("is refused without the scope", async () => {
    const { access_token } = await allowed("admin", "api read_user");
    const { status, json } = await app.call("GET /user", as(access_token, "guest"));
    expect([status, json]).toMatchObject([403, { error: "insufficient_scope", scope: "sudo" }]);
  });

  it("is refused for an unknown user", async () => {
    const { access_token } = await allowed("admin", "sudo");
    const { status, json } = await app.call("GET /user", as(access_token, "nobody"));
    const message = "404 User with ID or username 'nobody' Not Found";
    expect([status, json]).toEqual([404, { message }]);
  });
});

describe("sudo by another user's OAuth2 token", () => {
  it("is refused, whatever scopes they granted", async () => {
    const { access_token } = await allowed("developer", "api sudo");
    for (const target of ["guest", "developer", "nobody"]) {
      const { status, json } = await app.call("GET /user", as(access_token, target));
      const message = "403 Forbidden - Must be admin to use sudo";
      expect([status, json]).toEqual([403, { message }]);
    }
    expect((await app.user(access_token)).json.username).toBe("developer");
  });
});
