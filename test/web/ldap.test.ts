import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { normalizeDn } from "../../src/providers/dn.ts";
import { type Answer, givePassword, PASSWORD, type TestApp, testApp } from "../helpers.ts";
import { Visitor } from "../visitor.ts";
import { startProvider } from "./_provider.ts";
import { BASE, hasSlapd, ROOT, type Slapd, startSlapd } from "./_slapd.ts";

it.each([
  ["uid=Ada,OU=People,dc=Example,DC=com", "uid=ada,ou=people,dc=example,dc=com"],
  ["uid = Ada , ou= People ;dc=x", "uid=ada,ou=people,dc=x"],
  ["cn=Doe\\, Jane,dc=x", "cn=doe\\, jane,dc=x"],
  ["cn=Doe\\2C Jane,dc=x", "cn=doe\\, jane,dc=x"],
  ['cn="Doe, Jane" ,dc=x', "cn=doe\\, jane,dc=x"],
  ["cn=Zo\\C3\\AB,dc=x", "cn=zoë,dc=x"],
  ["cn=a+uid=B,dc=x", "cn=a+uid=b,dc=x"],
  ["cn=a\\ ,dc=x", "cn=a\\ ,dc=x"],
  ["cn=a\\00b,dc=x", "cn=a\\00b,dc=x"],
  ["cn=a=b,dc=x", "cn=a\\=b,dc=x"],
  ["cn=,dc=x", undefined],
  ["ada", undefined],
  ["cn=a,", undefined],
  ['cn="a', undefined],
  ["cn=a\\", undefined],
])("compares the distinguished name %j as %j", (dn, normalized) => {
  expect(normalizeDn(dn)).toBe(normalized);
  if (normalized !== undefined) expect(normalizeDn(normalized)).toBe(normalized);
});

describe.skipIf(!hasSlapd)("an LDAP server", () => {
  let slapd: Slapd;
  let app: TestApp;
  let clock = Date.now();
  const HOUR = 3_600_000;
  const serverOf = () => ({
    ...{ name: "ldapmain", host: "127.0.0.1", port: slapd.port, encryption: "plain" as const },
    ...{ bindDn: ROOT.dn, password: ROOT.password, base: BASE },
    userFilter: "(!(employeeType=former))",
  });
  const add = (uid: string, more: Record<string, string | string[]> = {}, ou = "people") =>
    slapd.change((client) =>
      client.add(`uid=${uid},ou=${ou},${BASE}`, {
        ...{ objectClass: ["inetOrgPerson", "user"], uid, cn: `The ${uid}`, sn: uid },
        ...{ mail: `${uid}@ldap.test`, userPassword: `pass of ${uid}`, ...more },
      }),
    );
  beforeAll(async () => {
    slapd = await startSlapd();
    app = await testApp({ now: () => clock, signIn: { ldap: [serverOf()] } });
    await givePassword(app, "developer");
  });
  afterAll(async () => {
    await app.dispose();
    await slapd.stop();
  });

  const signIn = async (
    username: string,
    password = `pass of ${username}`,
    { to = app, server = "ldapmain", return_to = "" } = {},
  ) => {
    const visitor = new Visitor(to);
    await visitor.get("/users/sign_in");
    const form = { username, password, ...(return_to && { return_to }) };
    const { status, page, headers } = await visitor.post(`/users/auth/${server}/callback`, form);
    const alert = /role="alert"><p>(.*?)<\/p>/s.exec(page)?.[1] ?? "";
    const user = await visitor.get("/api/v4/user");
    const name = user.status === 200 ? JSON.parse(user.page).username : undefined;
    return { visitor, status, alert, name, location: headers.get("location") };
  };
  const userOf = async (name: string) =>
    (await app.call(`GET /users?username=${name}`, { as: "admin" })).json[0];
  const byPassword = (login: string, password: string): Promise<Answer> =>
    app.call("POST /oauth/token", { form: { grant_type: "password", username: login, password } });
  const byGit = (login: string, password: string): Promise<Answer> => {
    const pair = Buffer.from(`${login}:${password}`).toString("base64");
    const path = "http://pm.test/secret/vault.git/info/refs?service=git-upload-pack";
    return app.call(`GET ${path}`, { headers: { authorization: `Basic ${pair}` } });
  };

  it("signs people in, who get an account", async () => {
    await add("zoe");
    const first = await signIn("zoe", undefined, { return_to: "/explore/projects" });
    expect(first).toMatchObject({ status: 303, name: "zoe", location: "/explore/projects" });
    expect((await signIn("ZOE", "pass of zoe", { return_to: "//evil.test" })).location).toBe(
      "/dashboard/projects",
    );
    expect(await userOf("zoe")).toMatchObject({
      ...{ name: "The zoe", email: "zoe@ldap.test", state: "active" },
      identities: [{ provider: "ldapmain", extern_uid: `uid=zoe,ou=people,${BASE}` }],
    });
    const dn = encodeURIComponent(`UID=Zoe, ou=People,${BASE}`);
    const path = `GET /users?provider=ldapmain&extern_uid=${dn}`;
    expect((await app.call(path, { as: "admin" })).json).toHaveLength(1);
    const others = (await app.call("GET /users?skip_ldap=true&per_page=100", { as: "admin" })).json;
    expect(others.map((one: { username: string }) => one.username)).not.toContain("zoe");
  });

  it.each([
    ["a wrong password", "zoe", "wrong"],
    ["no password", "zoe", ""],
    ["an unknown name", "nobody", "x"],
    ["a filter for a name", "*)(uid=*", "pass of zoe"],
    ["part of a filter", "zoe)(objectClass=*", "pass of zoe"],
    ["a star", "*", "pass of zoe"],
    ["part of a name and a star", "zo*", "pass of zoe"],
    ["an escape", "zo\\65", "pass of zoe"],
    ["a distinguished name", `uid=zoe,ou=people,${BASE}`, "pass of zoe"],
    ["a NUL", "zoe\0", "pass of zoe"],
    ["a very long name", "z".repeat(10_000), "x"],
  ])("refuses %s", async (_, username, password) => {
    expect(await signIn(username, password)).toMatchObject({ name: undefined });
    const git = await byGit(username, password);
    expect([git.status, (await byPassword(username, password)).status]).toEqual([401, 400]);
  });

  it("refuses who is disabled, whom the filter leaves out, and a name that two have", async () => {
    await add("off", { userAccountControl: "514" });
    await add("former", { employeeType: "former" });
    await add("twin");
    await add("twin", {}, "others");
    for (const name of ["off", "former", "twin"]) {
      expect(await signIn(name)).toMatchObject({
        status: 401,
        alert: "Invalid login or password.",
      });
    }
  });

  it("takes the passwords for Git and for applications, once there is an account", async () => {
    await add("git");
    expect((await byPassword("git", "pass of git")).status).toBe(400);
    expect((await byGit("git", "pass of git")).status).toBe(401);
    await signIn("git");
    const { id } = await userOf("git");
    const member = { user_id: id, access_level: 30 };
    await app.call("POST /groups/secret/members", { as: "owner", json: member });
    expect((await byPassword("git", "pass of git")).status).toBe(200);
    expect((await byGit("git", "pass of git")).status).toBe(200);
    const dn = `uid=git,ou=people,${BASE}`;
    const { Attribute, Change } = await import("ldapts");
    const modification = new Attribute({ type: "userPassword", values: ["another"] });
    await slapd.change((client) =>
      client.modify(dn, new Change({ operation: "replace", modification })),
    );
    // The right one counts for a minute, a wrong one is always asked for.
    expect((await byGit("git", "pass of git")).status).toBe(200);
    expect((await byGit("git", "wrong")).status).toBe(401);
    clock += 60_000;
    expect((await byGit("git", "pass of git")).status).toBe(401);
    expect((await byGit("git", "another")).status).toBe(200);
    // Who has a second factor needs a token.
    await app.store.transaction((db) =>
      db.run(
        "insert into two_factor (user_id, secret, enabled_at, last_step) values (?, 'x', 1, 0)",
        [id],
      ),
    );
    expect((await byGit("git", "another")).status).toBe(401);
    expect((await signIn("git", "another")).location).toBe("/users/sign_in/two_factor");
  });

  it("does not take the account of somebody who has the name or the address", async () => {
    const { email } = await userOf("reporter");
    await add("developer", { mail: "dev@ldap.test" });
    expect((await signIn("developer")).name).toBe("developer1");
    await add("thief", { mail: email });
    expect(await signIn("thief")).toMatchObject({ status: 403, name: undefined });
    const trusting = await testApp({
      ...{ now: () => clock, signIn: { ldap: [{ ...serverOf(), autoLinkUser: true }] } },
    });
    onTestFinished(() => trusting.dispose());
    expect((await signIn("thief", undefined, { to: trusting })).name).toBe("reporter");
    const path = "GET /users?username=admin";
    const [admin] = (await trusting.call(path, { as: "admin" })).json;
    await add("root", { mail: admin.email });
    expect(await signIn("root", undefined, { to: trusting })).toMatchObject({ name: undefined });
  });

  it("follows who moves in the directory, but nobody who only has their address", async () => {
    await add("mia");
    await signIn("mia");
    await add("mia2", { mail: "mia@ldap.test" });
    expect(await signIn("mia2")).toMatchObject({ status: 403, name: undefined });
    await slapd.change((client) =>
      client.modifyDN(`uid=mia,ou=people,${BASE}`, `uid=mia,ou=others,${BASE}`),
    );
    expect((await signIn("mia")).name).toBe("mia");
    expect((await userOf("mia")).identities).toMatchObject([
      { extern_uid: `uid=mia,ou=others,${BASE}` },
    ]);
  });

  it("is asked hourly about who uses the server: blocks who is gone, and unblocks who is back", async () => {
    await add("gone");
    const { visitor } = await signIn("gone");
    // A password of this server opens Git no longer than the rest.
    await givePassword(app, "gone" as "guest");
    const git = async () => (await byGit("gone", PASSWORD)).status;
    expect(await git()).toBe(404);
    const status = async () => (await visitor.get("/api/v4/user")).status;
    const dn = `uid=gone,ou=people,${BASE}`;
    await slapd.change((client) => client.del(dn));
    clock += HOUR - 1;
    expect(await status()).toBe(200);
    clock += 1;
    expect(await git()).toBe(401);
    expect(await status()).toBe(403);
    const { id, state } = await userOf("gone");
    expect(state).toBe("ldap_blocked");
    for (const action of ["block", "unblock"]) {
      const answer = await app.call(`POST /users/${id}/${action}`, { as: "admin" });
      expect([answer.status, answer.text]).toEqual([403, expect.stringContaining("LDAP blocked")]);
    }
    const blocked = await app.call("GET /users?blocked=true&per_page=100", { as: "admin" });
    expect(blocked.json.map((one: { id: number }) => one.id)).toContain(id);
    await add("gone");
    expect((await signIn("gone")).name).toBe("gone");
    expect((await userOf("gone")).state).toBe("active");
  });

  it("is asked daily about everybody: who is gone is blocked, and who was not asked about is not", async () => {
    for (const login of ["idle", "stays"]) {
      await add(login);
      await signIn(login);
    }
    await slapd.change((client) => client.del(`uid=idle,ou=people,${BASE}`));
    const states = async () => [(await userOf("idle")).state, (await userOf("stays")).state];
    clock += 25 * HOUR;
    await app.admin.maintenance.sweepDaily();
    expect(await states()).toEqual(["ldap_blocked", "active"]);
  });

  it("counts wrong passwords like those of the server", async () => {
    const statuses: number[] = [];
    for (let at = 0; at < 11; at += 1) statuses.push((await signIn("many", "wrong")).status);
    expect(statuses).toEqual([...Array(10).fill(401), 429]);
  });

  it("is asked over TLS, if its certificate is valid", async () => {
    await add("tls");
    const enter = async (more: object) => {
      const server = { ...serverOf(), encryption: "start_tls" as const, ...more };
      const own = await testApp({ now: () => clock, signIn: { ldap: [server] } });
      onTestFinished(() => own.dispose());
      return signIn("tls", undefined, { to: own });
    };
    const refused = { status: 503, alert: "Could not connect to LDAP." };
    expect(await enter({})).toMatchObject(refused);
    // The certificate is that of another host.
    expect(await enter({ caFile: slapd.certificate })).toMatchObject(refused);
    expect(await enter({ verifyCertificates: false })).toMatchObject({ name: "tls" });
    expect(await enter({ password: "wrong" })).toMatchObject(refused);
  });

  it("leads to one account with a provider that knows people by the same id", async () => {
    const provider = await startProvider();
    const corp = { name: "corp", issuer: provider.issuer, clientId: "pm", clientSecret: "s3cret" };
    const own = await testApp({
      now: () => clock,
      signIn: {
        providers: [{ ...corp, autoLinkLdapUser: true }],
        ldap: [{ ...serverOf(), base: `ou=people,${BASE}`, external: true }],
      },
    });
    onTestFinished(async () => {
      await own.dispose();
      await provider.close();
    });
    const come = async (sub: string, claims: Record<string, unknown> = {}) => {
      const visitor = new Visitor(own);
      await visitor.get("/users/sign_in");
      const sent = await visitor.post("/users/auth/corp", {});
      const making = { claims: { sub, email: `${sub}@corp.test`, ...claims } };
      const { page } = await visitor.get(provider.signIn(sent.headers.get("location"), making));
      const user = await visitor.get("/api/v4/user");
      const alert = /role="alert"><p>(.*?)<\/p>/s.exec(page)?.[1] ?? "";
      return user.status === 200 ? JSON.parse(user.page).username : alert;
    };
    const userOf = async (name: string) =>
      (await own.call(`GET /users?username=${name}`, { as: "admin" })).json[0];
    const identitiesOf = async (name: string) =>
      (await userOf(name)).identities.map((one: Record<string, string>) => [
        one["provider"],
        one["extern_uid"],
      ]);
    for (const name of ["first", "later", "by-mail", "by-dn", "left", "chief"]) await add(name);
    // Who has come by the directory before.
    await signIn("first", undefined, { to: own });
    expect(await come("first")).toBe("first");
    const dn = (name: string) => `uid=${name},ou=people,${BASE}`;
    expect(await identitiesOf("first")).toEqual([
      ["corp", "first"],
      ["ldapmain", dn("first")],
    ]);
    // Who comes for the first time, with what the directory says of them, and its rules.
    expect(await come("later", { preferred_username: "root", email: "root@corp.test" })).toBe(
      "later",
    );
    expect(await userOf("later")).toMatchObject({
      ...{ name: "The later", email: "later@ldap.test", external: true, state: "active" },
    });
    expect(await signIn("later", undefined, { to: own })).toMatchObject({ name: "later" });
    expect(await come("by-mail@ldap.test")).toBe("by-mail");
    expect(await come(`UID=by-dn, ou=people,${BASE}`)).toBe("by-dn");
    // Who is not there, may not sign in there, or asks for more than one.
    const unknown = "without a pre-existing account";
    for (const sub of [
      "nobody",
      "former",
      "*",
      "fir*",
      "first)(uid=*",
      `uid=twin,ou=others,${BASE}`,
    ]) {
      expect([sub, await come(sub)]).toEqual([sub, expect.stringContaining(unknown)]);
    }
    // An administrator connects their account themselves.
    await signIn("chief", undefined, { to: own });
    const { id } = await userOf("chief");
    await own.call(`PUT /users/${id}`, { as: "admin", json: { admin: true } });
    expect(await come("chief")).toContain(unknown);
    expect(await identitiesOf("chief")).toEqual([["ldapmain", dn("chief")]]);
    // Who was blocked since they had gone, and has come back.
    await signIn("left", undefined, { to: own });
    await slapd.change((client) => client.del(dn("left")));
    clock += 25 * HOUR;
    await own.admin.maintenance.sweepDaily();
    expect((await userOf("left")).state).toBe("ldap_blocked");
    expect(await come("left")).toContain(unknown);
    await add("left");
    expect(await come("left")).toBe("left");
    expect((await userOf("left")).state).toBe("active");
  });

  it("keeps sessions for an hour while it does not answer, and refuses new ones", async () => {
    await add("away");
    const { visitor } = await signIn("away");
    await slapd.stop();
    const page = await signIn("away");
    expect(page).toMatchObject({ status: 503, alert: "Could not connect to LDAP." });
    expect((await byGit("away", "pass of away")).status).toBe(503);
    expect((await visitor.get("/api/v4/user")).status).toBe(200);
    clock += HOUR;
    expect((await visitor.get("/api/v4/user")).status).toBe(503);
    // Others do not depend on it.
    expect((await app.call("GET /user", { as: "owner" })).status).toBe(200);
    expect((await new Visitor(app).signIn("developer", PASSWORD)).status).toBe(303);
  });
});
