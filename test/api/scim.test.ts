import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";
import {
  baseOf,
  ENTERPRISE,
  filtered,
  operations,
  type Provider,
  providerOf,
  scimApp,
  USER,
} from "./_scim.ts";

const ERROR = "urn:ietf:params:scim:api:messages:2.0:Error";
const TYPE = "application/scim+json";

let app: TestApp & Provider;
beforeAll(async () => {
  app = await scimApp();
});
afterAll(() => app.dispose());

let count = 0;
/** A user with names that nobody else has. */
function person(more: object = {}) {
  count += 1;
  const userName = `Person${count}@corp.example`;
  return {
    schemas: [USER],
    userName,
    externalId: `Ext-${count}`,
    name: { givenName: `Given${count}`, familyName: "Family" },
    emails: [{ type: "work", primary: true, value: userName.toLowerCase() }],
    ...more,
  };
}

/** The accounts that are direct members of acme, by the e-mail address of their SCIM user. */
async function levelOf(id: string, group = "acme"): Promise<number | undefined> {
  const user = await app.call(`GET /groups/acme/scim/${id}`, { as: "owner" });
  const path = `/groups/${encodeURIComponent(group)}/members/${user.json.user_id}`;
  return (await app.call(`GET ${path}`, { as: "admin" })).json.access_level;
}

const errorOf = (status: number, scimType?: string) => ({
  schemas: [ERROR],
  status: String(status),
  ...(scimType && { scimType }),
  detail: expect.any(String),
});

describe("tokens", () => {
  it("are needed: without one, the answer is a SCIM error with a challenge", async () => {
    const { status, headers, json } = await app.call(`GET ${baseOf("acme")}/Users`);
    expect(status).toBe(401);
    expect(headers.get("www-authenticate")).toBe("Bearer");
    expect(headers.get("content-type")).toBe(TYPE);
    expect(json).toEqual(errorOf(401));
  });

  it("of another group, and personal ones, are refused; no answer tells which groups there are", async () => {
    const other = await providerOf(app, "secret");
    const answers = [];
    for (const token of [other.token, "token-of-admin", "unknown", ""]) {
      for (const group of ["acme", "acme/team", "none", "none/none"]) {
        for (const method of ["GET", "POST", "PUT"]) {
          const { status, json, headers } = await app.call(`${method} ${baseOf(group)}/Users/1`, {
            headers: { authorization: `Bearer ${token}` },
            ...(method !== "GET" && { json: {} }),
          });
          const isRoute = method !== "POST";
          expect([token, group, status]).toEqual([token, group, isRoute ? 401 : 405]);
          expect(headers.get("content-type")).toBe(TYPE);
          answers.push(JSON.stringify([isRoute, json]));
        }
      }
    }
    expect(new Set(answers).size).toBe(2);
    // Neither in another header nor in a parameter.
    for (const request of ["Users", `Users?access_token=${app.token}`]) {
      const headers = { "private-token": app.token };
      const { status } = await app.call(`GET ${baseOf("acme")}/${request}`, { headers });
      expect(status).toBe(401);
    }
    expect((await app.ask("GET /Users")).status).toBe(200);
  });

  it("open nothing but SCIM", async () => {
    for (const headers of [
      { authorization: `Bearer ${app.token}` },
      { "private-token": app.token },
    ]) {
      expect((await app.call("GET /user", { headers })).status).toBe(401);
      expect((await app.call("GET /groups/acme", { headers })).status).toBe(401);
    }
  });

  it("are made, listed and revoked by owners", async () => {
    const path = "/groups/acme%2Fteam/scim_tokens";
    const json = { name: "Okta", access_level: 30, expires_at: "2099-01-31" };
    const created = await app.call(`POST ${path}`, { as: "owner", json });
    expect([created.status, created.json]).toEqual([
      201,
      {
        id: expect.any(Number),
        name: "Okta",
        access_level: 30,
        revoked: false,
        active: true,
        created_at: expect.any(String),
        last_used_at: null,
        expires_at: "2099-01-31",
        scim_url: "http://pm.test/api/scim/v2/groups/acme/team",
        token: expect.stringMatching(/^pmst-[0-9a-f]{40}$/),
      },
    ]);
    const second = await app.call(`POST ${path}`, { as: "owner", json: { name: "Entra" } });
    expect(second.json.access_level).toBe(10);
    const listed = await app.call(`GET ${path}`, { as: "owner" });
    expect(listed.json.map(({ name }: { name: string }) => name)).toEqual(["Okta", "Entra"]);
    expect(listed.text).not.toContain(created.json.token);
    const [stored] = await app.store.rows("select digest from scim_tokens where id = ?", [
      created.json.id,
    ]);
    expect(stored?.[0]).toMatch(/^[0-9a-f]{64}$/);
    const use = async ({ token }: { token: string }) => {
      const headers = { authorization: `Bearer ${token}` };
      return (await app.call(`GET ${created.json.scim_url}/Users`, { headers })).status;
    };
    expect([await use(created.json), await use(second.json)]).toEqual([200, 200]);
    const revoked = await app.call(`DELETE ${path}/${created.json.id}`, { as: "owner" });
    expect(revoked.status).toBe(204);
    expect([await use(created.json), await use(second.json)]).toEqual([401, 200]);
    const unknown = await app.call(`DELETE /groups/acme/scim_tokens/${second.json.id}`, {
      as: "owner",
    });
    expect(unknown.status).toBe(404);
    const events = await app.admin.auditEvents.list({ action: "SCIM token revoked" });
    expect(events[0]).toMatchObject({ author: "owner", target: "acme/team (Okta)" });
    for (const bad of [{}, { name: "" }, { name: "a", access_level: 5 }]) {
      expect((await app.call(`POST ${path}`, { as: "owner", json: bad })).status).toBe(400);
    }
  });

  it("expire at the start of their day", async () => {
    const expired = await providerOf(app, "acme", { expires_at: "2020-01-01" });
    expect((await expired.ask("GET /Users")).status).toBe(401);
  });

  it("are in the premium tier", async () => {
    const premium = await testApp({ tier: "premium" });
    const provider = await providerOf(premium);
    expect((await provider.ask("GET /Users")).status).toBe(200);
    const free = await premium.another({ tier: "free" });
    const headers = { authorization: `Bearer ${provider.token}` };
    const answer = await free.call(`GET ${baseOf("acme")}/Users`, { headers });
    expect([answer.status, answer.json]).toEqual([403, errorOf(403)]);
    await free.close();
    await premium.dispose();
  });

  it("count towards the group's request limit, and unknown ones as guesses", async () => {
    const limited = await app.another({
      limits: { requestsPerMinute: { user: 10 }, unknownTokens: 3 },
    });
    const ask = (token: string, ip = "192.0.2.1") =>
      limited.call(`GET ${baseOf("acme")}/Users`, {
        headers: { authorization: `Bearer ${token}` },
        ip,
      });
    const second = await providerOf(app);
    const statuses = [];
    for (let at = 0; at < 6; at += 1) {
      statuses.push((await ask(app.token)).status, (await ask(second.token)).status);
    }
    expect(statuses).toEqual([...Array(10).fill(200), 429, 429]);
    const guesses = [];
    for (let at = 0; at < 4; at += 1) guesses.push((await ask(`no-${at}`, "192.0.2.2")).status);
    expect(guesses).toEqual([401, 401, 401, 429]);
    expect((await ask("no", "192.0.2.2")).json).toEqual(errorOf(429));
    await limited.close();
  });
});

describe("users", () => {
  it("are added, with an account that is a member", async () => {
    const sent = person();
    const { status, json, headers } = await app.ask("POST /Users", sent);
    expect(status).toBe(201);
    expect(headers.get("content-type")).toBe(TYPE);
    expect(json).toEqual({
      schemas: [USER],
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f-]{27}$/),
      externalId: sent.externalId,
      userName: sent.userName,
      name: sent.name,
      active: true,
      emails: sent.emails,
      meta: {
        resourceType: "User",
        created: expect.stringMatching(/^\d{4}-.*Z$/),
        lastModified: json.meta.created,
        location: `http://pm.test${baseOf("acme")}/Users/${json.id}`,
        version: 'W/"1"',
      },
    });
    expect(headers.get("location")).toBe(json.meta.location);
    expect(headers.get("etag")).toBe('W/"1"');
    const again = await app.ask(`GET /Users/${json.id}`);
    expect([again.status, again.json]).toEqual([200, json]);
    expect(again.headers.get("etag")).toBe(json.meta.version);
    expect(await levelOf(json.id)).toBe(10);
    const username = sent.userName.split("@")[0] as string;
    const account = await app.admin.users.get(username);
    expect(account).toMatchObject({
      username,
      name: `${sent.name.givenName} Family`,
      email: sent.userName.toLowerCase(),
      state: "active",
      admin: false,
    });
    const [event] = await app.admin.auditEvents.list({ user: username, action: "SCIM user added" });
    expect(event).toMatchObject({ target: `acme (${sent.userName})`, user: username });
    expect(event?.author).toMatch(/^SCIM token \d+ \(IdP\)$/);
  });

  it("get the role of the token", async () => {
    const provider = await providerOf(app, "acme", { access_level: 40 });
    const { id } = await provider.add(person());
    expect(await levelOf(id)).toBe(40);
  });

  it("may come as application/json, and with attributes that nobody knows", async () => {
    const sent = person({
      id: "mine",
      meta: { created: "2000-01-01T00:00:00Z" },
      groups: [],
      password: "correct horse",
      unknown: { a: [1] },
      __proto__: null,
      schemas: [USER, "urn:x:unknown"],
      "urn:x:unknown": { a: 1 },
    });
    const { status, json } = await app.ask("POST /Users", sent, {
      "content-type": "application/json",
    });
    expect(status).toBe(201);
    expect(json.id).not.toBe("mine");
    expect(json).not.toHaveProperty("password");
    expect(json).not.toHaveProperty("groups");
    expect(json).not.toHaveProperty("unknown");
    const stored = await app.store.rows("select password_hash from users order by id desc limit 1");
    expect(stored).toEqual([[null]]);
  });

  it("are refused if the group has them already", async () => {
    const sent = await app.add(person());
    const upper = { ...person(), userName: sent["userName"].toUpperCase() };
    for (const json of [
      upper,
      person({ externalId: sent["externalId"] }),
      person({ emails: [{ value: sent["emails"][0].value }] }),
    ]) {
      const answer = await app.ask("POST /Users", json);
      expect([answer.status, answer.json]).toEqual([409, errorOf(409, "uniqueness")]);
    }
    // It is exact.
    const { externalId } = sent as { externalId?: string };
    const other = person({ externalId: externalId?.toUpperCase() });
    expect((await app.ask("POST /Users", other)).status).toBe(201);
  });

  it("need a userName and an e-mail address, in readable JSON", async () => {
    const { userName: _, ...without } = person();
    for (const json of [
      without,
      person({ userName: "" }),
      person({ userName: " " }),
      person({ userName: null }),
      person({ userName: ["a", "b"] }),
      person({ userName: "x".repeat(256) }),
      person({ userName: "a\0b" }),
      person({ userName: "no address", emails: [] }),
      person({ emails: [{ value: "no address" }] }),
      person({ emails: [{ value: { a: 1 } }] }),
      person({ active: "yes" }),
      person({ name: "Ada" }),
      person({
        emails: [
          { value: "a@b.test", primary: true },
          { value: "c@d.test", primary: true },
        ],
      }),
      person({ phoneNumbers: Array(51).fill({ value: "1" }) }),
    ]) {
      const answer = await app.ask("POST /Users", json);
      expect([JSON.stringify(json).slice(0, 200), answer.status, answer.json]).toEqual([
        JSON.stringify(json).slice(0, 200),
        400,
        errorOf(400, "invalidValue"),
      ]);
    }
    const call = (body: string, type = TYPE) =>
      app.call(`POST ${baseOf("acme")}/Users`, {
        body,
        headers: { authorization: `Bearer ${app.token}`, "content-type": type },
      });
    for (const body of ["{", "[]", '"a"', `{"a":${"[".repeat(100)}${"]".repeat(100)}}`]) {
      const answer = await call(body);
      expect([answer.status, answer.json]).toEqual([400, errorOf(400, "invalidSyntax")]);
    }
    const form = await call("userName=a@b.test", "application/x-www-form-urlencoded");
    expect([form.status, form.json]).toEqual([415, errorOf(415)]);
    const large = await call(JSON.stringify(person({ title: "x".repeat(2_000_000) })));
    expect([large.status, large.json]).toEqual([413, errorOf(413)]);
  });

  it("use the userName as e-mail address if there is no other", async () => {
    const { json } = await app.ask("POST /Users", { userName: "only@name.example" });
    expect(json).not.toHaveProperty("emails");
    expect((await app.admin.users.get("only")).email).toBe("only@name.example");
  });

  it("get a user name of their own, whatever theirs is", async () => {
    const names: Record<string, string> = {
      "Zoë.Ångström@a.test": "Zoe.Angstrom",
      "zoe.angstrom@b.test": "zoe.angstrom1",
      "corp\\bob": "corp-bob",
      "api@a.test": "api1",
      "repo.git@a.test": "repo-git",
      "日本@a.test": "user",
      "..@a.test": "user1",
      "acme@a.test": "acme1",
      [`${"x".repeat(200)}@a.test`]: "x".repeat(100),
    };
    for (const [userName, username] of Object.entries(names)) {
      const value = `mail${Object.keys(names).indexOf(userName)}@names.test`;
      const user = await app.add({ userName, emails: [{ value }] });
      expect(user["userName"]).toBe(userName);
      expect(await app.admin.users.get(username)).toMatchObject({ email: value });
    }
    for (let at = 0; at < 12; at += 1) {
      await app.add({ userName: `same@d${at}.test` });
    }
    const found = await app.ask("GET /Users?filter=userName+sw+%22same%22");
    expect(found.json.totalResults).toBe(12);
  });

  it("join the account that has their e-mail address, which keeps its own names", async () => {
    const before = await app.admin.users.get("stranger");
    const accounts = await app.admin.users.list();
    const sent = {
      ...person(),
      displayName: "Somebody Else",
      emails: [{ value: "STRANGER@example.com" }],
    };
    const user = await app.add(sent);
    expect(await app.admin.users.list()).toHaveLength(accounts.length);
    expect(await levelOf(user.id)).toBe(10);
    const changed = await app.ask(
      `PATCH /Users/${user.id}`,
      operations(
        { op: "replace", path: "displayName", value: "Renamed" },
        { op: "replace", path: "emails[value pr].value", value: "taken-over@example.com" },
        { op: "replace", path: "userName", value: "taken-over" },
      ),
    );
    expect(changed.status).toBe(200);
    expect(changed.json).toMatchObject({ displayName: "Renamed", userName: "taken-over" });
    expect(await app.admin.users.get("stranger")).toEqual(before);
  });

  it("may be inactive from the start", async () => {
    const { id, active } = await app.add(person({ active: false }));
    expect(active).toBe(false);
    expect(await levelOf(id)).toBeUndefined();
  });

  it("may have attribute names in any case, with their schema or dotted", async () => {
    const { userName, emails } = person();
    const { status, json } = await app.ask("POST /Users", {
      USERNAME: userName,
      EMails: emails.map(({ value }) => ({ VALUE: value, Type: "work" })),
      [`${USER}:displayname`]: "Shown",
      "name.GIVENNAME": "Given",
      [ENTERPRISE.toUpperCase()]: { DEPARTMENT: "R&D", manager: { VALUE: "26118915" } },
    });
    expect(status).toBe(201);
    expect(json).toMatchObject({
      schemas: [USER, ENTERPRISE],
      userName,
      displayName: "Shown",
      name: { givenName: "Given" },
      emails: [{ value: emails[0]?.value, type: "work" }],
      [ENTERPRISE]: { department: "R&D", manager: { value: "26118915" } },
    });
  });

  it("come back as they were sent, whatever their attributes", async () => {
    const sent = person({
      displayName: "Dr. Äda Lövelace 🚀",
      nickName: 'A "quoted" \\ name',
      profileUrl: "https://example.com/ada",
      title: "Engineer",
      userType: "Employee",
      preferredLanguage: "en-US",
      locale: "en_US",
      timezone: "Europe/Berlin",
      phoneNumbers: [
        { value: "555-1", type: "work" },
        { value: "555-2", type: "mobile", display: "mobile" },
      ],
      ims: [{ value: "ada", type: "xmpp" }],
      photos: [{ value: "https://example.com/a.png", type: "photo" }],
      addresses: [
        {
          formatted: "1 Main St\nBerlin",
          streetAddress: "1 Main St",
          locality: "Berlin",
          region: "BE",
          postalCode: "10115",
          country: "DE",
          type: "work",
          primary: true,
        },
      ],
      entitlements: [{ value: "all" }],
      roles: [{ value: "admin", primary: false }],
      [ENTERPRISE]: {
        employeeNumber: "701984",
        costCenter: "4130",
        organization: "Universal",
        division: "Theme Park",
        department: "Tour",
        manager: { value: "26118915", displayName: "John" },
      },
    });
    const { id, meta, ...shown } = await app.add(sent);
    expect(shown).toEqual({ ...sent, active: true, schemas: [USER, ENTERPRISE] });
    expect((await app.ask(`GET /Users/${id}`)).json).toEqual({ id, meta, ...shown });
    const replaced = await app.ask(`PUT /Users/${id}`, { id, meta, ...shown });
    expect(replaced.json).toEqual({ id, meta, ...shown });
  });

  it("that do not exist are 404", async () => {
    for (const [method, json] of [
      ["GET", undefined],
      ["PUT", person()],
      ["PATCH", operations({ op: "replace", path: "active", value: false })],
      ["DELETE", undefined],
    ] as const) {
      for (const id of ["none", "%00", "x".repeat(255), crypto.randomUUID()]) {
        const answer = await app.ask(`${method} /Users/${id}`, json);
        expect(answer.status).toBe(id === "%00" ? 400 : 404);
        expect(answer.headers.get("content-type")).toBe(TYPE);
        if (id !== "%00") expect(answer.json).toEqual(errorOf(404));
      }
    }
  });

  it("of another group are 404", async () => {
    const { id } = await (await providerOf(app, "secret")).add(person());
    expect((await app.ask(`GET /Users/${id}`)).status).toBe(404);
    expect((await app.ask(`DELETE /Users/${id}`)).status).toBe(404);
  });

  it("are replaced as a whole", async () => {
    const user = await app.add(person({ title: "Engineer", active: true }));
    const { title: _, ...body } = user;
    const json = { ...body, id: "other", meta: {}, name: { givenName: "New" } };
    const changed = await app.ask(`PUT /Users/${user.id}`, json);
    expect(changed.status).toBe(200);
    expect(changed.json).toEqual({
      ...body,
      name: { givenName: "New" },
      meta: { ...user["meta"], version: 'W/"2"', lastModified: expect.any(String) },
    });
    expect(changed.json.meta.lastModified > user["meta"].lastModified).toBe(true);
    const { userName: __, ...nameless } = body;
    const refused = await app.ask(`PUT /Users/${user.id}`, nameless);
    expect([refused.status, refused.json]).toEqual([400, errorOf(400, "invalidValue")]);
    // Leaving out `active` does not take it away.
    const { active: ___, ...silent } = body;
    expect((await app.ask(`PUT /Users/${user.id}`, silent)).json.active).toBe(true);
    const taken = await app.add(person());
    const twice = await app.ask(`PUT /Users/${user.id}`, { ...body, userName: taken["userName"] });
    expect([twice.status, twice.json]).toEqual([409, errorOf(409, "uniqueness")]);
  });

  it("lose their memberships of the group and below when they become inactive, and nothing else", async () => {
    const sent = person();
    const user = await app.add(sent);
    const { user_id } = (await app.call(`GET /groups/acme/scim/${user.id}`, { as: "owner" })).json;
    const json = { user_id, access_level: 30 };
    for (const path of [
      "/groups/acme%2Fteam",
      "/projects/acme%2Fsite",
      "/projects/acme%2Fteam%2Fcore",
      "/groups/secret",
    ]) {
      expect((await app.call(`POST ${path}/members`, { as: "admin", json })).status).toBe(201);
    }
    const left = async () =>
      (
        await app.store.rows(
          `select coalesce(n.full_path, p.full_path) from members m left join namespaces n on n.id = m.namespace_id
           left join projects p on p.id = m.project_id where m.user_id = ? order by 1`,
          [user_id],
        )
      ).flat();
    expect(await left()).toHaveLength(5);
    const off = await app.ask(
      `PATCH /Users/${user.id}`,
      operations({ op: "Replace", path: "active", value: "False" }),
    );
    expect([off.status, off.json.active]).toEqual([200, false]);
    expect(await left()).toEqual(["secret"]);
    const found = await app.ask(`GET /Users?${filtered(`userName eq "${sent.userName}"`)}`);
    expect(found.json.Resources[0]).toMatchObject({ id: user.id, active: false });
    const again = await app.ask(`PATCH /Users/${user.id}`, {
      Operations: [{ op: "replace", value: { active: true } }],
    });
    expect([again.status, again.json.active]).toEqual([200, true]);
    expect(await left()).toEqual(["acme", "secret"]);
    const actions = (await app.admin.auditEvents.list({ user: sent.userName.split("@")[0] ?? "" }))
      .map(({ action }) => action)
      .filter((action) => action.startsWith("SCIM"));
    expect(actions).toEqual(["SCIM user reactivated", "SCIM user deactivated", "SCIM user added"]);
    expect((await app.admin.users.get(sent.userName.split("@")[0] as string)).state).toBe("active");
  });

  it("are removed with their memberships; the account stays, and can be added again", async () => {
    const sent = person();
    const user = await app.add(sent);
    const { user_id } = (await app.call(`GET /groups/acme/scim/${user.id}`, { as: "owner" })).json;
    const removed = await app.ask(`DELETE /Users/${user.id}`);
    expect([removed.status, removed.text]).toEqual([204, ""]);
    for (const request of ["GET", "DELETE"]) {
      expect((await app.ask(`${request} /Users/${user.id}`)).status).toBe(404);
    }
    const found = await app.ask(`GET /Users?${filtered(`userName eq "${sent.userName}"`)}`);
    expect(found.json.totalResults).toBe(0);
    const member = await app.call(`GET /groups/acme/members/${user_id}`, { as: "owner" });
    expect(member.status).toBe(404);
    expect((await app.call(`GET /users/${user_id}`, { as: "admin" })).json.state).toBe("active");
    const again = await app.add(sent);
    expect(again.id).not.toBe(user.id);
    const identity = await app.call(`GET /groups/acme/scim/${again.id}`, { as: "owner" });
    expect(identity.json.user_id).toBe(user_id);
  });

  it("stay while they are the last owner of the group or of one below", async () => {
    const own = await testApp();
    const provider = await providerOf(own, "acme/team", { access_level: 50 });
    const user = await provider.add(person());
    const { id } = user;
    const identity = await own.call(`GET /groups/acme%2Fteam/scim/${id}`, { as: "owner" });
    const { user_id } = identity.json;
    const off = () =>
      provider.ask(
        `PATCH /Users/${id}`,
        operations(
          { op: "replace", path: "title", value: "Gone" },
          { op: "replace", path: "active", value: false },
        ),
      );
    // The owner of acme owns acme/team, too.
    expect((await off()).status).toBe(200);
    const acme = await own.call("GET /groups/acme/members?query=owner", { as: "admin" });
    await own.store.transaction((db) =>
      db.run("delete from members where user_id = ?", [acme.json[0].id]),
    );
    const on = { op: "replace", path: "active", value: true };
    expect((await provider.ask(`PATCH /Users/${id}`, operations(on))).status).toBe(200);
    for (const refused of [
      await off(),
      await provider.ask(`PUT /Users/${id}`, { ...user, active: false }),
      await provider.ask(`DELETE /Users/${id}`),
    ]) {
      expect([refused.status, refused.json]).toEqual([409, errorOf(409)]);
    }
    const { json } = await provider.ask(`GET /Users/${id}`);
    expect(json).toMatchObject({ active: true, title: "Gone" });
    const other = await provider.add(person());
    expect((await off()).status).toBe(200);
    expect((await provider.ask(`DELETE /Users/${other.id}`)).status).toBe(409);
    expect(user_id).toBeGreaterThan(0);
    await own.dispose();
  });

  it("give their account its names only while it has no part in anything else", async () => {
    const sent = person();
    const username = sent.userName.split("@")[0] as string;
    const user = await app.add(sent);
    const rename = (displayName: string, mail: string) =>
      app.ask(
        `PATCH /Users/${user.id}`,
        operations(
          { op: "replace", path: "displayName", value: displayName },
          { op: "replace", path: 'emails[type eq "work"].value', value: mail },
        ),
      );
    expect((await rename("Second Name", "second@corp.example")).status).toBe(200);
    const renamed = { username, name: "Second Name", email: "second@corp.example" };
    expect(await app.admin.users.get(username)).toMatchObject(renamed);
    const taken = await rename("Third Name", "OWNER@example.com");
    expect([taken.status, taken.json]).toEqual([409, errorOf(409, "uniqueness")]);
    const invalid = await rename("Third Name", "no address");
    expect([invalid.status, invalid.json]).toEqual([400, errorOf(400, "invalidValue")]);
    expect((await app.ask(`GET /Users/${user.id}`)).json.displayName).toBe("Second Name");

    const account = await app.admin.members.add({ group: "secret", user: username, role: "guest" });
    expect(account.username).toBe(username);
    const elsewhere = await rename("Taken Over", "attacker@example.com");
    expect([elsewhere.status, elsewhere.json.displayName]).toEqual([200, "Taken Over"]);
    expect(await app.admin.users.get(username)).toMatchObject(renamed);
    await app.admin.members.remove({ group: "secret", user: username });

    for (const own of [
      () => app.admin.users.update(username, { admin: true }),
      () =>
        app.admin
          .updateUser(username, { admin: false })
          .then(() => app.admin.users.setPassword(username, "correct horse")),
    ]) {
      await own();
      await rename(`Taken Over ${count}`, `attacker${count}@example.com`);
      count += 1;
      expect(await app.admin.users.get(username)).toMatchObject(renamed);
    }
  });

  it("vanish with their account", async () => {
    const sent = person();
    const user = await app.add(sent);
    await app.admin.users.delete(sent.userName.split("@")[0] as string);
    expect((await app.ask(`GET /Users/${user.id}`)).status).toBe(404);
    const [left] = await app.store.rows(
      "select count(*) from scim_values v where not exists (select 1 from scim_users s where s.id = v.scim_user_id)",
    );
    expect(Number(left?.[0])).toBe(0);
  });

  it("keep the role they have, or inherit", async () => {
    const group = await providerOf(app, "acme/team", { access_level: 20 });
    const owner = await app.admin.users.get("owner");
    const { id } = await group.add({ userName: "boss", emails: [{ value: owner.email }] });
    const direct = `/groups/acme%2Fteam/members/${owner.id}`;
    expect((await app.call(`GET ${direct}`, { as: "admin" })).status).toBe(404);
    expect((await group.ask(`DELETE /Users/${id}`)).status).toBe(204);
    const developer = await app.admin.users.get("developer");
    await app.add({ userName: "dev", emails: [{ value: developer.email }] });
    const member = await app.call(`GET /groups/acme/members/${developer.id}`, { as: "admin" });
    expect(member.json.access_level).toBe(30);
    const late = await app.admin.users.create({
      username: "late",
      name: "L",
      email: "late@a.test",
    });
    await app.admin.members.add({
      group: "acme",
      user: "late",
      role: "developer",
      expires_at: "2020-01-01",
    } as never);
    await app.add({ userName: "late", emails: [{ value: "late@a.test" }] });
    const again = await app.call(`GET /groups/acme/members/${late.id}`, { as: "admin" });
    expect(again.json).toMatchObject({ access_level: 10, expires_at: null });
  });
});

describe("versions", () => {
  it("answer 304 and 412", async () => {
    const user = await app.add(person());
    const path = `/Users/${user.id}`;
    const { version } = user["meta"];
    const same = await app.ask(`GET ${path}`, undefined, { "if-none-match": version });
    expect([same.status, same.text]).toEqual([304, ""]);
    const part = await app.ask(`GET ${path}?attributes=userName`);
    expect(part.headers.get("etag")).toBe(version);
    const change = operations({ op: "replace", path: "title", value: "New" });
    const first = await app.ask(`PATCH ${path}`, change, { "if-match": `"x", ${version}` });
    expect([first.status, first.json.meta.version]).toEqual([200, 'W/"2"']);
    for (const [method, json] of [
      ["PATCH", change],
      ["PUT", user],
      ["DELETE", undefined],
    ] as const) {
      const stale = await app.ask(`${method} ${path}`, json, { "if-match": version });
      expect([method, stale.status, stale.json]).toEqual([method, 412, errorOf(412)]);
    }
    const nothing = await app.ask(`PATCH ${path}`, change, { "if-match": '"2"' });
    expect(nothing.json.meta).toEqual(first.json.meta);
    const any = await app.ask(`PATCH ${path}`, change, { "if-match": "*" });
    expect([nothing.status, any.status]).toEqual([200, 200]);
    const newer = await app.ask(`GET ${path}`, undefined, { "if-none-match": version });
    expect(newer.status).toBe(200);
  });
});

describe("discovery", () => {
  it("says what the service can do", async () => {
    const { status, json, headers } = await app.ask("GET /ServiceProviderConfig");
    expect([status, headers.get("content-type")]).toEqual([200, TYPE]);
    expect(json).toMatchObject({
      schemas: ["urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"],
      patch: { supported: true },
      bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
      filter: { supported: true, maxResults: 100 },
      changePassword: { supported: false },
      sort: { supported: true },
      etag: { supported: true },
      authenticationSchemes: [{ type: "oauthbearertoken" }],
    });
  });

  it("lists resource types and schemas, and shows each", async () => {
    const types = await app.ask("GET /ResourceTypes");
    expect(types.json.Resources).toEqual([(await app.ask("GET /ResourceTypes/User")).json]);
    expect(types.json.Resources[0]).toMatchObject({ endpoint: "/Users", schema: USER });
    const schemas = await app.ask("GET /Schemas");
    expect(schemas.json).toMatchObject({ totalResults: 2, itemsPerPage: 2, startIndex: 1 });
    for (const schema of schemas.json.Resources) {
      const path = schema.meta.location.slice(`http://pm.test${baseOf("acme")}`.length);
      expect((await app.ask(`GET ${path}`)).json).toEqual(schema);
    }
    expect(schemas.text).not.toContain("null");
    const [user] = schemas.json.Resources;
    const byName = Object.fromEntries(
      user.attributes.map((one: { name: string }) => [one.name, one]),
    );
    expect(byName["userName"]).toMatchObject({
      type: "string",
      required: true,
      caseExact: false,
      uniqueness: "server",
      mutability: "readWrite",
      returned: "default",
      multiValued: false,
    });
    expect(byName["emails"]).toMatchObject({ type: "complex", multiValued: true });
    for (const path of ["/ResourceTypes/Group", "/Schemas/urn:x", "/Groups", "/Users/a/b"]) {
      const answer = await app.ask(`GET ${path}`);
      expect([path, answer.status, answer.json]).toEqual([path, 404, errorOf(404)]);
    }
  });

  it("has no filter and no changes; bulk and /Me are not implemented", async () => {
    for (const path of ["/ServiceProviderConfig", "/ResourceTypes", "/Schemas"]) {
      expect((await app.ask(`GET ${path}?filter=id+pr`)).json).toEqual(errorOf(403));
      const put = await app.ask(`PUT ${path}`, {});
      expect([put.status, put.json]).toEqual([405, errorOf(405)]);
      expect(put.headers.get("allow")).toBe("GET, HEAD, OPTIONS");
    }
    for (const request of ["POST /Bulk", "GET /Me", "POST /Me", "PUT /Me", "PATCH /Me"]) {
      const { status, json } = await app.ask(request, request.startsWith("GET") ? undefined : {});
      expect([request, status, json]).toEqual([request, 501, errorOf(501)]);
    }
  });
});

describe("paths", () => {
  it("name nested groups by slashes or %2F, in any case", async () => {
    const provider = await providerOf(app, "acme/team");
    const { id } = await provider.add(person());
    const headers = { authorization: `Bearer ${provider.token}` };
    for (const group of ["acme/team", "acme%2Fteam", "ACME%2fTeam"]) {
      for (const path of ["/Users", "/Users/", `/Users/${id}`, "/Schemas"]) {
        const { status, json } = await app.call(`GET ${baseOf(group)}${path}`, { headers });
        expect([group, path, status]).toEqual([group, path, 200]);
        if (path.endsWith(id)) {
          const location = `http://pm.test${baseOf("acme/team")}/Users/${id}`;
          expect(json.meta.location).toBe(location);
        }
      }
    }
  });

  it("follow a group that is renamed, and work for groups with odd names", async () => {
    for (const path of ["Users", "Schemas"]) {
      await app.admin.groups.create({ path, name: path, parent: "secret" });
      const provider = await providerOf(app, "secret%2FUsers".replace("Users", path));
      const headers = { authorization: `Bearer ${provider.token}` };
      const slashes = await app.call(`GET ${baseOf(`secret/${path}`)}/Users`, { headers });
      // The schema `Users` of the group `secret` has the same path.
      expect(slashes.status).toBe(path === "Users" ? 200 : 401);
      expect((await provider.ask("GET /Users")).status).toBe(200);
      expect((await provider.ask("GET /Schemas")).status).toBe(200);
      const { id } = await provider.add(person());
      expect((await provider.ask(`GET /Users/${id}`)).status).toBe(200);
    }
    const secret = await providerOf(app, "secret");
    for (const path of ["/.search", "/Users/.search", "/Schemas", "/Users"]) {
      const isRead = path.endsWith("s");
      const { status } = await secret.ask(
        `${isRead ? "GET" : "POST"} ${path}`,
        isRead ? undefined : {},
      );
      expect([path, status]).toEqual([path, 200]);
    }
    await app.admin.groups.create({ path: "old", name: "Old" });
    const provider = await providerOf(app, "old");
    await app.call("PUT /groups/old", { as: "admin", json: { path: "new" } });
    const headers = { authorization: `Bearer ${provider.token}` };
    expect((await app.call(`GET ${baseOf("new")}/Users`, { headers })).status).toBe(200);
    expect((await provider.ask("GET /Users")).status).toBe(401);
  });

  it("below /api/scim are ours, in SCIM's form", async () => {
    const { status, json, headers } = await app.call("GET /api/scim/v2/Users");
    expect([status, json, headers.get("content-type")]).toEqual([404, errorOf(404), TYPE]);
  });
});

describe("REST", () => {
  it("shows, changes and unlinks the accounts of a provider, for owners", async () => {
    const user = await app.add(person({ externalId: "rest-1" }));
    const other = await app.add(person({ externalId: "rest-2" }));
    const path = "/groups/acme/scim";
    const listed = await app.call(`GET ${path}/identities?per_page=100`, { as: "owner" });
    const identity = listed.json.find(({ id }: { id: string }) => id === user.id);
    expect(identity).toEqual({
      id: user.id,
      extern_uid: "rest-1",
      user_id: expect.any(Number),
      active: true,
    });
    expect((await app.call(`GET ${path}/rest-1`, { as: "owner" })).json).toEqual(identity);
    const change = (json: object) => app.call(`PATCH ${path}/rest-1`, { as: "owner", json });
    expect((await change({ extern_uid: "rest-2" })).status).toBe(409);
    expect((await change({ extern_uid: "" })).status).toBe(400);
    const changed = await change({ extern_uid: "rest-3" });
    expect([changed.status, changed.json.extern_uid]).toEqual([200, "rest-3"]);
    expect((await app.ask(`GET /Users/${user.id}`)).json.externalId).toBe("rest-3");
    expect((await app.call(`DELETE ${path}/rest-3`, { as: "owner" })).status).toBe(204);
    expect((await app.call(`GET ${path}/rest-3`, { as: "owner" })).status).toBe(404);
    const member = await app.call(`GET /groups/acme/members/${identity.user_id}`, { as: "owner" });
    expect(member.status).toBe(200);
    expect((await app.call(`GET ${path}/${other.id}`, { as: "maintainer" })).status).toBe(403);
  });
});

it("SCIM tokens and users can be seeded", async () => {
  const seeded = await testApp({
    seed: {
      users: [{ username: "ada", name: "Ada" }, { username: "bob" }, { username: "eve" }],
      groups: [
        {
          path: "corp",
          members: { ada: "owner" },
          scim_tokens: [{ token: "corp-scim", role: "developer" }],
          scim_users: [
            { user: "ada", user_name: "ada@corp.example", external_id: "1" },
            { user: "bob", active: false },
          ],
        },
      ],
    },
  });
  const ask = (request: string, json?: object) => {
    const [method, path] = request.split(" ", 2);
    return seeded.call(`${method} ${baseOf("corp")}${path}`, {
      headers: { authorization: "Bearer corp-scim", "content-type": "application/scim+json" },
      ...(json && { body: JSON.stringify(json) }),
    });
  };
  const { json } = await ask("GET /Users?sortBy=userName");
  expect(json.Resources).toMatchObject([
    {
      userName: "ada@corp.example",
      externalId: "1",
      active: true,
      displayName: "Ada",
      emails: [{ value: "ada@example.com", type: "work", primary: true }],
    },
    { userName: "bob@example.com", active: false },
  ]);
  const added = await ask("POST /Users", {
    schemas: [USER],
    userName: "eve@example.com",
    emails: [{ value: "eve@example.com" }],
  });
  expect(added.status).toBe(201);
  const members = await seeded.store
    .reader()
    .rows(
      "select u.username, m.access_level from members m join users u on u.id = m.user_id order by u.id",
    );
  expect(members).toEqual([
    ["ada", 50],
    ["eve", 30],
  ]);
  await seeded.dispose();
});
