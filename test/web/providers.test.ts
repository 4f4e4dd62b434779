import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { createApp } from "../../src/index.ts";
import { givePassword, PASSWORD, sendFrom, type TestApp, testApp } from "../helpers.ts";
import { type Shown, Visitor } from "../visitor.ts";
import { type Making, startProvider, type TestProvider } from "./_provider.ts";

let provider: TestProvider;
let other: TestProvider;
let app: TestApp;
let clock = Date.now();
beforeAll(async () => {
  [provider, other] = await Promise.all([startProvider(), startProvider()]);
  const client = { clientId: "pm", clientSecret: "s3cret" };
  const trusted = { autoLinkUser: true, ...client };
  app = await testApp({
    now: () => clock,
    signIn: {
      providers: [
        { name: "corp", label: "Corp ID", issuer: provider.issuer, ...trusted },
        { name: "other", issuer: other.issuer, allowSingleSignOn: true, ...trusted },
        {
          ...{ name: "nested", issuer: provider.issuer, ...client },
          ...{ allowSingleSignOn: true, blockAutoCreatedUsers: false },
          ...{ groupsClaim: "realm_access.roles", requiredGroups: ["staff"] },
        },
        {
          ...{ name: "open", issuer: provider.issuer, ...client },
          ...{ allowSingleSignOn: true, blockAutoCreatedUsers: false, allowBypassTwoFactor: true },
          ...{ requiredGroups: ["staff"], adminGroups: ["root"], externalGroups: ["guests"] },
        },
      ],
    },
  });
  await givePassword(app, "admin", "owner", "developer", "reporter");
});
afterAll(async () => {
  await app.dispose();
  await Promise.all([provider.close(), other.close()]);
});
afterEach(() => {
  provider.metadata = {};
  provider.userinfo = {};
});

/** Signs in at a provider. @param making what its id_token says */
async function signIn(
  making: Making = {},
  { name = "corp", visitor = new Visitor(app), form = {} as Record<string, string> } = {},
): Promise<Shown & { visitor: Visitor; alert: string }> {
  await visitor.get(form["link"] ? "/-/profile" : "/users/sign_in");
  const sent = await visitor.post(`/users/auth/${name}`, form);
  const at = name === "other" ? other : provider;
  const back = at.signIn(sent.headers.get("location"), making);
  const answer = await visitor.get(back);
  return Object.assign(answer, { visitor, alert: alertIn(answer) });
}

/** What a page says went wrong. */
const alertIn = ({ page }: Shown) => /role="alert"><p>(.*?)<\/p>/s.exec(page)?.[1] ?? "";

const nameOf = async (visitor: Visitor) =>
  JSON.parse((await visitor.get("/api/v4/user")).page).username as string | undefined;

const addressOf = (username: string) =>
  app
    .call(`GET /users?username=${username}`, { as: "admin" })
    .then(({ json }) => json[0].email as string);

const audited = (action: string) => app.admin.auditEvents.list({ action });

it("signs in by a verified address, and then by the identity", async () => {
  const email = await addressOf("developer");
  const first = await signIn(
    { claims: { email, email_verified: true } },
    { form: { return_to: "/explore/projects?x=1" } },
  );
  expect([first.status, first.headers.get("location")]).toEqual([303, "/explore/projects?x=1"]);
  expect(await nameOf(first.visitor)).toBe("developer");
  const again = await signIn({ claims: { email: "elsewhere@example.com" } });
  expect(await nameOf(again.visitor)).toBe("developer");
  const { id } = (await app.call("GET /user", { as: "developer" })).json;
  const { json } = await app.call(`GET /users/${id}`, { as: "admin" });
  expect(json.identities).toEqual([
    { provider: "corp", extern_uid: "ada-1", saml_provider_id: null },
  ]);
  const found = await app.call("GET /users?provider=corp&extern_uid=ada-1", { as: "admin" });
  expect(found.json.map((one: { id: number }) => one.id)).toEqual([id]);
  const form = provider.redeemed.at(-1);
  expect(form?.get("redirect_uri")).toBe("http://localhost/users/auth/corp/callback");
  expect(form?.get("code_verifier")).toMatch(/^[\w-]{43}$/);
  // Its metadata and keys are kept.
  expect(provider.asked.get("/.well-known/openid-configuration")).toBe(1);
  expect(provider.asked.get("/keys")).toBe(1);
});

const refusals = async () => (await audited("sign-in failed")).map(({ target }) => target);

describe("what is refused", () => {
  it.each<[string, Making]>([
    ["an id_token without a signature", { by: "nothing" }],
    ["one signed with another key", { by: "other key" }],
    ["one signed with the public key as a secret", { by: "public key" }],
    ["one for another client", { claims: { aud: "another" } }],
    ["one of another issuer", { claims: { iss: "https://evil.test" } }],
    ["one that has expired", { claims: { exp: 1_700_000_000 } }],
    ["one of another sign-in", { claims: { nonce: "another" } }],
    ["one without a nonce", { claims: { nonce: undefined } }],
    ["one without a subject", { claims: { sub: undefined } }],
    [
      "an error of the provider",
      { error: { status: 400, body: '{"error":"invalid_grant","error_description":"<b>boo"}' } },
    ],
    ["an answer that is none", { error: { status: 500, body: "<b>boo" } }],
  ])("%s", async (_, making) => {
    const email = await addressOf("owner");
    const claims = { sub: "eve", email, email_verified: true, ...making.claims };
    const answer = await signIn({ ...making, claims });
    expect(answer.status).toBe(403);
    expect(answer.alert).toContain("Could not authenticate you from Corp ID.");
    expect(answer.page).not.toContain("boo");
    expect((await answer.visitor.get("/api/v4/user")).status).toBe(401);
    expect((await refusals())[0]).toMatch(/^corp: OAUTH_/);
  });

  it("a state that was used, that of another browser, an old one, and one of another provider", async () => {
    const email = await addressOf("owner");
    const claims = { sub: "owner-1", email, email_verified: true };
    const begin = async (name = "corp") => {
      const visitor = new Visitor(app);
      await visitor.get("/users/sign_in");
      const sent = await visitor.post(`/users/auth/${name}`);
      const at = name === "other" ? other : provider;
      return { visitor, back: at.signIn(sent.headers.get("location"), { claims }) };
    };
    const asked = provider.redeemed.length;
    const elsewhere = await begin();
    const stranger = new Visitor(app);
    await stranger.get("/users/sign_in");
    expect(alertIn(await stranger.get(elsewhere.back))).toContain("Start again.");
    expect((await new Visitor(app).get(elsewhere.back)).status).toBe(403);
    const mixed = await begin("other");
    const toCorp = mixed.back.replace("/auth/other/", "/auth/corp/");
    expect(alertIn(await mixed.visitor.get(toCorp))).toContain("Start again.");
    const old = await begin();
    clock += 10 * 60_000;
    expect(alertIn(await old.visitor.get(old.back))).toContain("Start again.");
    expect(alertIn(await old.visitor.get("/users/auth/corp/callback"))).toContain("Start again.");
    // No code was sent anywhere for any of them.
    expect(provider.redeemed.length).toBe(asked);
    const own = await begin();
    const entered = await own.visitor.get(own.back);
    expect([entered.status, alertIn(entered)]).toEqual([303, ""]);
    expect(await nameOf(own.visitor)).toBe("owner");
    expect(alertIn(await own.visitor.get(own.back))).toContain("Start again.");
  });

  it("a code of another provider, though its state is right", async () => {
    const visitor = new Visitor(app);
    await visitor.get("/users/sign_in");
    const corp = await visitor.post("/users/auth/corp");
    const { searchParams } = new URL(corp.headers.get("location") ?? "");
    const others = new URL(`${other.issuer}/authorize?${searchParams}`);
    const back = other.signIn(others.href, {});
    expect((await visitor.get(`${back}&iss=${other.issuer}`)).status).toBe(403);
  });

  it.each([
    ["not verified", "developer", { email_verified: false }],
    ["of which nothing is said", "developer", {}],
    ["of an administrator", "admin", { email_verified: true }],
  ])("an address that is %s", async (_, username, more) => {
    const claims = { sub: `of-${username}`, email: await addressOf(username), ...more };
    for (const name of ["corp", "other"]) {
      const answer = await signIn({ claims }, { name });
      if (name === "other" && username === "developer") {
        // They get an account, but not with an address that may be somebody else's.
        expect(answer.alert).toContain("pending approval");
        continue;
      }
      expect(answer.alert).toContain(
        "without a pre-existing account in localhost is not allowed. Create an account in localhost first",
      );
      expect((await answer.visitor.get("/api/v4/user")).status).toBe(401);
    }
    const { id } = (await app.call("GET /user", { as: username as "admin" })).json;
    const { json } = await app.call(`GET /users/${id}`, { as: "admin" });
    const others = json.identities.filter(
      (one: { extern_uid: string }) => one.extern_uid !== "ada-1",
    );
    expect(others).toEqual([]);
  });

  it("userinfo of somebody else", async () => {
    provider.userinfo = { sub: "another" };
    expect((await signIn()).alert).toContain("Could not authenticate you");
  });

  it("an address that only userinfo tells, for finding an account", async () => {
    provider.userinfo = { email: await addressOf("reporter"), email_verified: true };
    const answer = await signIn({ claims: { sub: "u-1" } });
    expect(answer.alert).toContain("without a pre-existing account");
  });

  it.each(["//evil.test", "/\\evil.test", "https://evil.test"])(
    "a return to %j",
    async (return_to) => {
      const answer = await signIn({}, { form: { return_to } });
      expect(answer.headers.get("location")).toBe("/dashboard/projects");
    },
  );

  it("a GET, a form without its page's token, and providers that do not exist", async () => {
    const visitor = new Visitor(app);
    await visitor.get("/users/sign_in");
    expect((await visitor.get("/users/auth/corp")).status).toBe(405);
    expect((await visitor.post("/users/auth/corp", {}, "0".repeat(64))).status).toBe(422);
    expect((await new Visitor(app).post("/users/auth/corp")).status).toBe(422);
    expect((await visitor.post("/users/auth/nobody")).status).toBe(404);
    expect((await visitor.get("/users/auth/nobody/callback?state=1")).status).toBe(404);
  });

  it("more than twenty in a minute from one address", async () => {
    const visitor = new Visitor({ fetch: (request) => sendFrom(app, "192.0.2.7", request) });
    await visitor.get("/users/sign_in");
    const statuses: number[] = [];
    for (let at = 0; at < 21; at += 1) {
      statuses.push((await visitor.post("/users/auth/corp")).status);
    }
    expect(statuses).toEqual([...Array(20).fill(303), 429]);
  });
});

it("asks no other address of this machine, whatever a provider says of itself", async () => {
  provider.metadata = { token_endpoint: `${other.issuer}/token` };
  const signIn = { providers: [{ name: "corp", issuer: provider.issuer, clientId: "pm" }] };
  const own = await testApp({ now: () => clock, signIn });
  onTestFinished(() => own.dispose());
  const visitor = new Visitor(own);
  await visitor.get("/users/sign_in");
  const sent = await visitor.post("/users/auth/corp");
  const asked = other.redeemed.length;
  const answer = await visitor.get(provider.signIn(sent.headers.get("location")));
  expect([answer.status, alertIn(answer)]).toEqual([
    503,
    "corp does not answer. Try again in a while.",
  ]);
  expect(other.redeemed.length).toBe(asked);
});

it("needs the page of sign-ins for providers, but not for LDAP", async () => {
  const signIn = { providers: [{ name: "corp", issuer: provider.issuer, clientId: "pm" }] };
  await expect(testApp({ pages: ["profile"], signIn })).rejects.toThrow("sign_in");
  await expect(testApp({ authenticate: () => undefined, signIn })).rejects.toThrow("sign_in");
  const ldap = [{ name: "ldapmain", host: "127.0.0.1", base: "" }];
  const own = await testApp({ pages: false, signIn: { ldap } });
  await own.dispose();
});

it.each([
  [{ issuer: "http://id.example.com" }, "signIn.providers.0.issuer must be a URL with https"],
  [{ name: "ldapmain" }, "signIn.providers.0.name must not begin with ldap"],
  [{ name: "Corp ID" }, "signIn.providers.0.name must be small letters"],
  [{ clientSecret: "a", clientSecretFile: "b" }, "clientSecret or clientSecretFile, not both"],
  [{ clientAuthMethod: "post" as const }, "must have clientSecret or clientSecretFile"],
  [{ autoLink: true }, "signIn.providers.0.autoLink is unknown. Did you mean autoLinkUser?"],
])("refuses the setting %j", async (more, message) => {
  const own = { name: "corp", issuer: "https://id.example.com", clientId: "pm", ...more };
  await expect(createApp({ signIn: { providers: [own] } })).rejects.toThrow(message);
});

describe("new people", () => {
  const newcomer = (sub: string, more = {}) => ({
    ...{ sub, email: `${sub}@new.test`, email_verified: true, name: "Néw One" },
    ...{ preferred_username: `${sub}@new.test`, groups: ["staff"], ...more },
  });

  it("wait for an administrator", async () => {
    const answer = await signIn({ claims: newcomer("fresh") }, { name: "other" });
    expect(answer.alert).toContain("Your account is pending approval");
    expect((await answer.visitor.get("/api/v4/user")).status).toBe(401);
    const [user] = (await app.call("GET /users?username=fresh", { as: "admin" })).json;
    expect(user).toMatchObject({
      ...{ name: "Néw One", email: "fresh@new.test", state: "blocked_pending_approval" },
      identities: [{ provider: "other", extern_uid: "fresh" }],
    });
    await app.call(`POST /users/${user.id}/approve`, { as: "admin" });
    const later = await signIn({ claims: newcomer("fresh") }, { name: "other" });
    expect(await nameOf(later.visitor)).toBe("fresh");
    await app.call(`POST /users/${user.id}/block`, { as: "admin" });
    const blocked = await signIn({ claims: newcomer("fresh") }, { name: "other" });
    expect(blocked.alert).toContain("Your account has been blocked.");
  });

  it("get a free name, and no address that was not verified", async () => {
    const path = "POST /groups/secret/invitations";
    const invited = { email: "adm@new.test", access_level: 30 };
    await app.call(path, { as: "owner", json: invited });
    const claims = newcomer("adm", { preferred_username: "admin", email_verified: false });
    const answer = await signIn({ claims }, { name: "open" });
    expect(await nameOf(answer.visitor)).toBe("admin1");
    const { page } = await answer.visitor.get("/api/v4/user");
    expect(JSON.parse(page).email).toMatch(/^temp-email-for-oauth-admin1-\w{8}@gitlab\.localhost$/);
    expect((await answer.visitor.get("/api/v4/groups/secret")).status).toBe(404);
  });

  it("are only let in from required groups, and are what their groups say each time", async () => {
    const stranger = newcomer("grouped", { groups: ["others"] });
    const refused = await signIn({ claims: stranger }, { name: "open" });
    expect(refused.alert).toContain("Access denied");
    expect((await app.call("GET /users?username=grouped", { as: "admin" })).json).toEqual([]);
    const as = async (groups: unknown, more = {}) => {
      const claims = newcomer("grouped", { groups, ...more });
      const { visitor, page } = await signIn({ claims }, { name: "open" });
      const [user] = (await app.call("GET /users?username=grouped", { as: "admin" })).json;
      const cookie = await visitor.get("/api/v4/user");
      return { page, status: cookie.status, admin: user.is_admin, external: user.external };
    };
    expect(await as(["staff"])).toMatchObject({ status: 200, admin: false, external: false });
    expect(await as(["staff", "root"])).toMatchObject({ admin: true, external: false });
    // Too many groups to tell: nobody is let in by them, and nothing is taken away.
    const overage = { _claim_names: { groups: "src1" } };
    expect(await as(undefined, overage)).toMatchObject({ status: 401, admin: true });
    expect(await as(["staff", "guests"])).toMatchObject({ admin: false, external: true });
    expect(await as("staff")).toMatchObject({ status: 200, admin: false, external: false });
    provider.userinfo = { groups: ["staff", "guests"] };
    expect(await as(undefined)).toMatchObject({ status: 200, external: true });
  });

  it("have groups within other claims, if the name of the claim is a path to them", async () => {
    const claims = { realm_access: { roles: ["staff"] }, groups: ["root"] };
    const entered = await signIn({ claims: newcomer("nested", claims) }, { name: "nested" });
    expect(await nameOf(entered.visitor)).toBe("nested");
    for (const realm_access of [
      { roles: ["others"] },
      { roles: { staff: 1 } },
      ["staff"],
      "staff",
    ]) {
      const refused = await signIn(
        { claims: newcomer("none", { realm_access }) },
        { name: "nested" },
      );
      expect(refused.alert).toContain("Access denied");
    }
  });

  it("are found by the id that SCIM has for them", async () => {
    const scim = await testApp({
      signIn: {
        providers: [
          { ...{ name: "corp", issuer: provider.issuer, clientId: "pm" }, scimGroup: "acme" },
        ],
      },
    });
    try {
      const json = { name: "t", access_level: 10 };
      const { token } = (await scim.call("POST /groups/acme/scim_tokens", { as: "owner", json }))
        .json;
      const add = (userName: string, externalId: string) =>
        scim.call("POST http://pm.test/api/scim/v2/groups/acme/Users", {
          headers: { authorization: `Bearer ${token}`, "content-type": "application/scim+json" },
          body: JSON.stringify({
            schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"],
            ...{ userName, externalId, emails: [{ value: userName, primary: true }] },
          }),
        });
      await add("sue@corp.test", "sue-1");
      const [owner] = (await scim.call("GET /users?username=developer", { as: "admin" })).json;
      await add(owner.email, "owner-1");
      const enter = async (sub: string) => {
        const visitor = new Visitor(scim);
        await visitor.get("/users/sign_in");
        const { headers } = await visitor.post("/users/auth/corp");
        await visitor.get(provider.signIn(headers.get("location"), { claims: { sub } }));
        return nameOf(visitor);
      };
      expect(await enter("sue-1")).toBe("sue");
      // Owners of groups do not decide who somebody is that they have not made.
      expect(await enter("owner-1")).toBeUndefined();
    } finally {
      await scim.dispose();
    }
  });
});

describe("the account page", () => {
  it("links and unlinks, for whoever is signed in there", async () => {
    const visitor = new Visitor(app);
    await visitor.signIn("reporter", PASSWORD);
    const account = await visitor.get("/-/profile");
    expect(account.page).toContain("Corp ID");
    // The form leads to the provider.
    expect(account.headers.get("content-security-policy")).not.toContain("form-action");
    const claims = { sub: "rep-1" };
    const form = { link: "true" };
    const linked = await signIn({ claims }, { visitor, form });
    expect(linked.headers.get("location")).toBe("/-/profile");
    expect((await visitor.get("/-/profile")).page).toContain("Linked: you can sign in with it");
    expect(await nameOf((await signIn({ claims })).visitor)).toBe("reporter");
    // It is the reporter's already, and they have one already.
    const second = new Visitor(app);
    await second.signIn("admin", PASSWORD);
    expect((await signIn({ claims }, { visitor: second, form })).status).toBe(403);
    const another = await signIn({ claims: { sub: "rep-2" } }, { visitor, form });
    expect(another.alert).toContain("linked with another one");
    await visitor.get("/-/profile");
    const gone = await visitor.post("/-/profile/account/unlink", { provider: "corp" });
    expect(gone.status).toBe(303);
    expect((await signIn({ claims })).alert).toContain("without a pre-existing account");
    expect((await audited("identity removed"))[0]?.target).toBe("corp");
  });

  it("is confirmed by having signed in a moment ago, where there is no password", async () => {
    const { visitor } = await signIn(
      { claims: { sub: "no-password", groups: ["staff"] } },
      { name: "open" },
    );
    const path = "/-/profile/two_factor_auth";
    expect((await visitor.get(path)).page).not.toContain('type="password"');
    clock += 10 * 60_000;
    const late = await visitor.post(`${path}/start`, { password: "" });
    expect([late.status, late.page.includes("Sign in again first")]).toEqual([422, true]);
    clock -= 60_000;
    expect((await visitor.post(`${path}/start`, { password: "" })).status).toBe(303);
    expect((await visitor.get(path)).page).toContain('class="secret"');
    clock += 60_000;
  });

  it("does not link who has signed out or changed meanwhile, and leaves a way in", async () => {
    const visitor = new Visitor(app);
    await visitor.signIn("reporter", PASSWORD);
    await visitor.get("/-/profile");
    const sent = await visitor.post("/users/auth/corp", { link: "true" });
    await visitor.signIn("owner", PASSWORD);
    const back = provider.signIn(sent.headers.get("location"), { claims: { sub: "rep-3" } });
    expect(alertIn(await visitor.get(back))).toContain("Start again.");
    const only = await signIn({ claims: { sub: "only", groups: ["staff"] } }, { name: "open" });
    await only.visitor.get("/-/profile");
    const refused = await only.visitor.post("/-/profile/account/unlink", { provider: "open" });
    expect(alertIn(refused)).toContain("your only way to sign in");
  });
});

it("asks for the code of a second factor, unless the provider's is enough", async () => {
  const { json } = await app.call("GET /user", { as: "reporter" });
  await app.store.transaction((db) =>
    db.run(
      "insert into two_factor (user_id, secret, enabled_at, last_step) values (?, 'x', 1, 0)",
      [json.id],
    ),
  );
  for (const name of ["corp", "open"]) {
    const identity = { provider: name, extern_uid: "two" };
    await app.call(`PUT /users/${json.id}`, { as: "admin", json: identity });
  }
  const claims = { sub: "two", groups: ["staff"] };
  const asked = await signIn({ claims });
  expect(asked.headers.get("location")).toBe("/users/sign_in/two_factor");
  expect((await asked.visitor.get("/api/v4/user")).status).toBe(401);
  const enough = await signIn({ claims }, { name: "open" });
  expect(await nameOf(enough.visitor)).toBe("reporter");
});
