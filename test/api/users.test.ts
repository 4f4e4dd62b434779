import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { baseSeed, everyone, type TestApp, testApp } from "../helpers.ts";

// Numbers in test names are case ids.

let clock = Date.parse("2026-06-15T12:34:56.789Z");

let app: TestApp;
const ids: Record<string, number> = {};
beforeAll(async () => {
  app = await testApp({
    now: () => clock,
    seed: {
      ...baseSeed,
      users: [
        ...(baseSeed.users ?? []),
        { username: "external", name: "Zoe External", external: true },
        { username: "with.dot", email: "Special+Address@example.com" },
      ],
    },
  });
  for (const one of (await app.call("GET /users?per_page=100", { as: "admin" })).json) {
    ids[one.username] = one.id;
  }
});
afterAll(() => app.dispose());

const call: TestApp["call"] = (request, options) => app.call(request, { as: "admin", ...options });
const usernames = (users: { username: string }[]) => users.map(({ username }) => username);

let made = 0;
/** Attributes of a new user, with another name each time. */
const newUser = (more: object = {}) => {
  made += 1;
  return {
    name: `Made ${made}`,
    username: `made${made}`,
    email: `made${made}@example.com`,
    password: "long enough",
    ...more,
  };
};
async function makeUser(more: object = {}) {
  const { status, json } = await call("POST /users", { json: newUser(more) });
  expect(status).toBe(201);
  return json;
}

const summary = () => ({
  id: ids["guest"],
  name: "The guest",
  username: "guest",
  state: "active",
  avatar_url: expect.stringMatching(/^http:\/\/pm\.test\/-\/avatars\/g-\d+\.svg$/),
  web_url: "http://pm.test/guest",
});
const profile = {
  locked: false,
  bio: null,
  location: null,
  public_email: "",
  skype: "",
  linkedin: "",
  twitter: "",
  website_url: "",
  organization: null,
  job_title: "",
  pronouns: null,
  discord: "",
  github: "",
  work_information: null,
  bot: false,
  local_time: null,
};
/** What only users alone show. */
const follows = { followers: 0, following: 0, is_followed: false };
/** What administrators see besides. */
const administered = {
  note: null,
  created_by: null,
  email_reset_offered_at: null,
  is_auditor: false,
  using_license_seat: false,
};
const alone = { highest_role: 0, current_sign_in_ip: null, last_sign_in_ip: null };
const created_at = "2026-06-15T12:34:56.789Z";
const own = () => ({
  ...summary(),
  created_at,
  ...profile,
  last_sign_in_at: null,
  confirmed_at: created_at,
  // Written after the answer.
  last_activity_on: expect.toBeOneOf([null, created_at.slice(0, 10)]),
  email: "guest@example.com",
  commit_email: "guest@example.com",
  theme_id: 1,
  color_scheme_id: 1,
  projects_limit: 100000,
  current_sign_in_at: null,
  identities: [],
  can_create_group: true,
  can_create_project: true,
  two_factor_enabled: false,
  external: false,
  private_profile: false,
  preferred_language: "en",
  shared_runners_minutes_limit: null,
  extra_shared_runners_minutes_limit: null,
  namespace_id: expect.any(Number),
});
const listed = () => ({ ...summary(), locked: false, public_email: "" });

describe("who may do what", () => {
  //                                    anonymous stranger guest reporter developer maintainer owner admin
  it.each<[string, object | undefined, number[]]>([
    ["GET /user", undefined, [401, 200, 200, 200, 200, 200, 200, 200]],
    ["GET /users", undefined, [403, 200, 200, 200, 200, 200, 200, 200]], // 302
    ["GET /users?username=guest", undefined, [200, 200, 200, 200, 200, 200, 200, 200]],
    ["GET /users/:id", undefined, [200, 200, 200, 200, 200, 200, 200, 200]],
    ["POST /users", {}, [401, 403, 403, 403, 403, 403, 403, 201]], // 310
    ["PUT /users/:id", { bio: "x" }, [401, 403, 403, 403, 403, 403, 403, 200]],
    ["DELETE /users/:id", undefined, [401, 403, 403, 403, 403, 403, 403, 204]],
    ["POST /users/:id/block", {}, [401, 403, 403, 403, 403, 403, 403, 201]],
    ["POST /users/:id/unblock", {}, [401, 403, 403, 403, 403, 403, 403, 201]],
  ])("%s %j", async (template, json, expected) => {
    const { id } = await makeUser();
    const request = template.replace(":id", String(id));
    const statuses: number[] = [];
    for (const as of everyone) {
      const sent = json && (template === "POST /users" ? newUser() : json);
      const answer = await app.call(request, { as, ...(sent && { json: sent }) });
      statuses.push(answer.status);
      if (answer.status === 403 && template !== "GET /users") {
        expect(answer.json).toEqual({ message: "403 Forbidden" });
      }
    }
    expect(statuses).toEqual(expected);
  });

  it("only administrators can find out which users exist by changing them", async () => {
    for (const request of [
      "PUT /users/4711?bio=x",
      "DELETE /users/4711",
      "POST /users/4711/block",
    ]) {
      expect((await call(request, { as: "owner" })).status).toBe(403);
    }
  });
});

describe("GET /user", () => {
  it("shows callers all their own fields", async () => {
    const { json } = await call("GET /user", { as: "guest" });
    expect(json).toEqual({ ...own(), ...follows });
    expect(Object.keys(json)).toEqual(Object.keys({ ...own(), ...follows }));
  });

  it("shows administrators that they are", async () => {
    const { json } = await call("GET /user");
    expect(json).toMatchObject({ username: "admin", is_admin: true });
  });
});

describe("GET /users", () => {
  it("302: is 403 without a token", async () => {
    const { status, json } = await app.call("GET /users?search=guest");
    expect([status, json]).toEqual([
      403,
      { message: "403 Forbidden - Not authorized to access /api/v4/users" },
    ]);
  });

  it("304: finds one user name without a token, in any case", async () => {
    expect((await app.call("GET /users?username=GUEST")).json).toEqual([listed()]);
    for (const username of ["invalid", "gues", "%25", ""]) {
      const { status, json } = await app.call(`GET /users?username=${username}`);
      expect([status, json]).toEqual([200, []]);
    }
  });

  it("305: shows users summaries, newest first", async () => {
    const { json } = await call("GET /users?per_page=100", { as: "guest" });
    const found = json.map(({ id }: { id: number }) => id);
    expect(found).toEqual(found.toSorted((a: number, b: number) => b - a));
    expect(usernames(json).slice(-3)).toEqual(["maintainer", "owner", "admin"]);
    expect(json.find(({ username }: { username: string }) => username === "guest")).toEqual(
      listed(),
    );
  });

  it("shows administrators everything", async () => {
    const { json } = await call("GET /users?username=guest");
    const seat = { using_license_seat: expect.any(Boolean) };
    expect(json).toEqual([{ ...own(), is_admin: false, ...administered, ...seat }]);
  });

  it.each([
    ["search=GUES", ["guest"]],
    ["search=the+own", ["owner"]],
    ["search=guest@example.com", ["guest"]],
    ["search=GUEST@example.com", ["guest"]],
    ["search=example.com", []],
    ["search=_", []],
    ["username=with.dot", ["with.dot"]],
    ["blocked=true&search=the", ["blocked"]],
    ["active=true&search=blocked", []],
    ["username=blocked", ["blocked"]],
  ])("?%s finds the same users for everyone", async (query, expected) => {
    for (const as of ["guest", "admin"] as const) {
      const { status, json, headers } = await call(`GET /users?${query}`, { as });
      expect([status, usernames(json)]).toEqual([200, expected]);
      expect(headers.get("x-total")).toBe(String(expected.length));
    }
  });

  it("filters and sorts for administrators only", async () => {
    expect(usernames((await call("GET /users?external=true")).json)).toEqual(["external"]);
    const identity = "GET /users?extern_uid=1&provider=ldap";
    expect((await call(identity)).json).toEqual([]);
    expect((await call(identity, { as: "guest" })).status).toBe(403);
    expect((await app.call(`${identity}&username=guest`)).status).toBe(403);
    for (const half of ["extern_uid=1", "provider=ldap"]) {
      expect((await call(`GET /users?${half}`)).status).toBe(400);
    }
    expect((await call("GET /users?active=true&blocked=true")).json).toEqual([]);
    const refused = await call("GET /users?external=true", { as: "guest" });
    expect([refused.status, refused.json]).toEqual([403, { message: "403 Forbidden" }]);

    const ordered = await call("GET /users?order_by=username&sort=asc&per_page=2");
    expect(usernames(ordered.json)).toEqual(["admin", "blocked"]);
    const ignored = await call("GET /users?order_by=username&sort=asc&per_page=2", { as: "guest" });
    expect(usernames(ignored.json)).not.toEqual(["admin", "blocked"]);

    clock += 86_400_000;
    const { username } = await makeUser();
    clock -= 86_400_000;
    expect(usernames((await call("GET /users?created_after=2026-06-16")).json)).toEqual([username]);
    const before = await call("GET /users?created_before=2026-06-16&per_page=100");
    expect(usernames(before.json)).toContain("guest");
    expect(usernames(before.json)).not.toContain(username);
  });

  it.each([
    ["order_by=email", { order_by: ["does not have a valid value"] }],
    ["sort=up", { sort: ["does not have a valid value"] }],
    ["active=maybe", { active: ["is invalid"] }],
    ["created_after=soon", { created_after: ["is invalid"] }],
  ])("refuses ?%s", async (query, message) => {
    const { status, json } = await call(`GET /users?${query}`);
    expect([status, json]).toEqual([400, { message }]);
  });
});

describe("GET /users/:id", () => {
  it("307: shows a profile to anyone, and all to administrators", async () => {
    const at = `GET /users/${ids["guest"]}`;
    for (const as of ["anonymous", "stranger", "guest"] as const) {
      expect((await call(at, { as })).json).toEqual({
        ...summary(),
        created_at,
        ...profile,
        ...follows,
      });
    }
    expect((await call(at)).json).toEqual({
      ...own(),
      is_admin: false,
      ...administered,
      ...follows,
      ...alone,
      highest_role: 10,
    });
  });

  it("hides the creation date and the follows of a private profile", async () => {
    const { id } = await makeUser({ private_profile: true });
    expect((await call(`GET /users/${id}`, { as: "guest" })).json).toMatchObject({
      created_at: null,
      followers: null,
      following: null,
    });
    expect((await call(`GET /users/${id}`)).json.created_at).toBe(created_at);
  });

  it.each(["0", "4711", "99999999999999999999"])("308: is 404 for the user %s", async (id) => {
    for (const as of ["anonymous", "guest", "admin"] as const) {
      const { status, json } = await call(`GET /users/${id}`, { as });
      expect([status, json]).toEqual([404, { message: "404 User Not Found" }]);
    }
  });

  it.each(["1ASDF", "guest", "-1", "1.5", "+1"])("%s is no route: ids are digits", async (id) => {
    const { status, json } = await call(`GET /users/${id}`);
    expect([status, json]).toEqual([404, { error: "404 Not Found" }]);
  });
});

describe("POST /users", () => {
  it("creates a user with a namespace of their own", async () => {
    const sent = newUser({ bio: "é", organization: "Acme", admin: true, projects_limit: 5 });
    const { status, json } = await call("POST /users", { json: sent });
    expect(status).toBe(201);
    expect(json).toEqual({
      ...own(),
      id: expect.any(Number),
      name: sent.name,
      username: sent.username,
      email: sent.email,
      commit_email: sent.email,
      avatar_url: expect.any(String),
      web_url: `http://pm.test/${sent.username}`,
      bio: "é",
      organization: "Acme",
      work_information: "Acme",
      projects_limit: 5,
      is_admin: true,
      ...administered,
      ...follows,
      ...alone,
    });
    expect(JSON.stringify(json)).not.toContain("password");
    const { token } = await app.admin.tokens.create({
      user: sent.username,
      name: "t",
      scopes: ["api"],
    });
    const project = await app.call("POST /projects?path=mine", {
      headers: { "private-token": token },
    });
    expect(project.json.path_with_namespace).toBe(`${sent.username}/mine`);
  });

  it("accepts reset_password or force_random_password instead of a password", async () => {
    for (const how of ["reset_password", "force_random_password"]) {
      const { password: _, ...rest } = newUser();
      expect((await call("POST /users", { json: { ...rest, [how]: true } })).status).toBe(201);
    }
    // As Terraform sends it.
    const blank = newUser({ password: "", reset_password: true });
    expect((await call("POST /users", { json: blank })).status).toBe(201);
    for (const without of [{ password: "" }, { password: null, reset_password: false }]) {
      expect((await call("POST /users", { json: newUser(without) })).status).toBe(400);
    }
  });

  it("keeps a note, which administrators see", async () => {
    const { id, note } = await makeUser({ note: "Left in May" });
    expect(note).toBe("Left in May");
    const changed = await call(`PUT /users/${id}`, { json: { note: "Back in June" } });
    expect(changed.json.note).toBe("Back in June");
    expect((await call(`GET /users/${id}`)).json.note).toBe("Back in June");
    expect((await call(`GET /users/${id}`, { as: "guest" })).json).not.toHaveProperty("note");
    expect((await call(`PUT /users/${id}`, { json: { note: null } })).json.note).toBe(null);
  });

  it("sets who somebody is at a provider, which is nobody else", async () => {
    const identity = { provider: "saml", extern_uid: "ada" };
    const made = await makeUser(identity);
    const shown = { ...identity, saml_provider_id: null };
    expect((await call(`GET /users/${made.id}`)).json.identities).toEqual([shown]);
    expect((await call("GET /users?provider=saml&extern_uid=ada")).json).toMatchObject([
      { id: made.id, identities: [shown] },
    ]);
    expect((await call("GET /users?provider=saml&extern_uid=Ada")).json).toEqual([]);
    const other = await makeUser({ provider: "", extern_uid: null });
    const taken = await call(`PUT /users/${other.id}`, { json: identity });
    expect([taken.status, taken.json]).toEqual([
      409,
      { message: { extern_uid: ["has already been taken"] } },
    ]);
    const half = await call(`PUT /users/${other.id}`, { json: { provider: "saml" } });
    expect(half.status).toBe(400);
    const json = { ...identity, extern_uid: "eve" };
    expect((await call(`PUT /users/${made.id}`, { json })).json.identities).toMatchObject([json]);
    expect((await call(`GET /users/${made.id}`, { as: "guest" })).json).not.toHaveProperty(
      "identities",
    );
    const path = `DELETE /users/${made.id}/identities/saml`;
    expect((await call(path, { as: "guest" })).status).toBe(403);
    expect((await call(path)).status).toBe(204);
    expect((await call(path)).json).toEqual({ message: "404 Identity Not Found" });
  });

  it("shows who follows whom, and whether the caller does", async () => {
    const followed = await makeUser();
    await call(`POST /users/${followed.id}/follow`, { as: "guest" });
    const seen = { followers: 1, following: 0, is_followed: true };
    expect((await call(`GET /users/${followed.id}`, { as: "guest" })).json).toMatchObject(seen);
    expect((await call(`GET /users/${followed.id}`)).json.is_followed).toBe(false);
    expect((await call("GET /user", { as: "guest" })).json.following).toBe(1);
    await call(`POST /users/${followed.id}/unfollow`, { as: "guest" });
  });

  it.each<[Record<string, unknown>, unknown]>([
    [{ name: undefined }, '400 (Bad request) "name" not given'], // 313
    [{ email: undefined }, '400 (Bad request) "email" not given'],
    [{ username: undefined }, '400 (Bad request) "username" not given'],
    [
      { password: undefined },
      "400 (Bad request) password, reset_password, force_random_password are missing, at least one parameter must be provided",
    ],
    [{ password: "short" }, { password: ["is too short (minimum is 8 characters)"] }],
    [{ password: "x".repeat(73) }, { password: ["is too long (maximum is 72 bytes)"] }],
    [{ password: "é".repeat(37) }, { password: ["is too long (maximum is 72 bytes)"] }],
    [{ name: "" }, { name: ["can't be blank"] }],
    [{ email: "nobody" }, { email: ["is invalid"] }],
    [{ email: "a b@example.com" }, { email: ["is invalid"] }],
    [{ email: "a@b@c" }, { email: ["is invalid"] }],
    [{ username: "api" }, { username: ["api is a reserved name"] }],
    [{ admin: "maybe" }, { admin: ["is invalid"] }],
    [{ projects_limit: -1 }, { projects_limit: ["must be between 0 and 2147483647"] }],
  ])("refuses %j", async (change, message) => {
    const answer = await call("POST /users", { json: newUser(change) });
    expect([answer.status, answer.json]).toEqual([400, { message }]);
  });

  it.each(["a b", "a/b", "-a", ".a", "a.git", "é", "a@b"])(
    "refuses the user name %j",
    async (username) => {
      const { status, json } = await call("POST /users", { json: newUser({ username }) });
      expect([status, Object.keys(json.message)]).toEqual([400, ["username"]]);
    },
  );

  it("311: is 409 for a taken address or user name, in any case", async () => {
    for (const [change, message] of [
      [{ email: "guest@example.com" }, "Email has already been taken"],
      [{ email: "SPECIAL+address@EXAMPLE.com" }, "Email has already been taken"],
      [{ username: "guest" }, "Username has already been taken"],
      [{ username: "GUEST" }, "Username has already been taken"],
      [{ username: "acme" }, "Username has already been taken"], // a group
    ]) {
      const { status, json } = await call("POST /users", { json: newUser(change as object) });
      expect([status, json]).toEqual([409, { message }]);
    }
  });

  it("has one winner among concurrent requests", async () => {
    const email = "contended@example.com";
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => call("POST /users", { json: newUser({ email }) })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409]);
    const { json } = await call(`GET /users?search=${email}`);
    expect(json).toHaveLength(1);
  });
});

describe("PUT /users/:id", () => {
  it("changes only what is sent", async () => {
    const before = await makeUser({ bio: "before", location: "here" });
    const { status, json } = await call(`PUT /users/${before.id}`, {
      json: {
        name: "New",
        email: "new@example.com",
        bio: "after",
        external: true,
        can_create_group: false,
      },
    });
    expect(status).toBe(200);
    expect(json).toEqual({
      ...before,
      name: "New",
      email: "new@example.com",
      commit_email: "new@example.com",
      bio: "after",
      external: true,
      can_create_group: false,
    });
    expect((await call(`PUT /users/${before.id}`, { json: {} })).json).toEqual(json);
    for (const bio of [null, ""]) {
      await call(`PUT /users/${before.id}`, { json: { bio: "x" } });
      expect((await call(`PUT /users/${before.id}`, { json: { bio } })).json.bio).toBe(null);
    }
  });

  it("takes websites that are on the web only", async () => {
    const put = (website_url: string | null) =>
      app.call(`PUT /users/${ids["guest"]}`, { as: "admin", json: { website_url } });
    const blocked = "is blocked: Only allowed schemes are http, https";
    for (const [url, problem] of [
      ["javascript:alert(1)", blocked],
      [" javascript:alert(1)//http://a", blocked],
      ["data:text/html,x", blocked],
      ["example.com", blocked],
      ["http://", "must be a valid URL"],
    ] as const) {
      const { status, json } = await put(url);
      expect([url, status, json.message]).toEqual([url, 400, { website_url: [problem] }]);
      const made = await app.call("POST /users", {
        as: "admin",
        json: {
          username: "linked",
          name: "Linked",
          email: "linked@example.com",
          password: "correct horse 1",
          website_url: url,
        },
      });
      expect([url, made.status]).toEqual([url, 400]);
    }
    for (const url of ["https://example.com/~guest", "HTTP://example.com", ""]) {
      expect((await put(url)).json.website_url).toBe(url);
    }
    expect((await put(null)).status).toBe(200);
  });

  it("renames the namespace with the user", async () => {
    const user = await makeUser();
    const { token } = await app.admin.tokens.create({
      user: user.username,
      name: "t",
      scopes: ["api"],
    });
    const headers = { "private-token": token };
    const project = (await app.call("POST /projects?path=mine", { headers })).json;
    await call(`PUT /users/${user.id}`, { json: { username: "renamed.user", name: "Renamed" } });
    const moved = await app.call(`GET /projects/${project.id}`, { headers });
    expect(moved.json).toMatchObject({
      path_with_namespace: "renamed.user/mine",
      name_with_namespace: "Renamed / mine",
      namespace: { name: "Renamed", path: "renamed.user", full_path: "renamed.user" },
      owner: { username: "renamed.user" },
    });
    expect((await app.call("GET /projects/renamed.user%2Fmine", { headers })).status).toBe(200);
    const long = "u".repeat(255);
    const tooLong = await call(`PUT /users/${user.id}`, { json: { username: long } });
    expect([tooLong.status, Object.keys(tooLong.json.message)]).toEqual([400, ["username"]]);
    expect((await call(`GET /users/${user.id}`)).json.username).toBe("renamed.user");
  });

  it("accepts the user's own values, and refuses another's", async () => {
    const user = await makeUser();
    const same = { username: user.username.toUpperCase(), email: user.email.toUpperCase() };
    expect((await call(`PUT /users/${user.id}`, { json: same })).json).toMatchObject(same);
    for (const [sent, status, message] of [
      [{ email: "guest@example.com" }, 409, "Email has already been taken"],
      [{ username: "Guest" }, 409, "Username has already been taken"],
      [{ username: "acme" }, 409, "Username has already been taken"],
      [{ email: "none" }, 400, { email: ["is invalid"] }],
      [{ password: "short" }, 400, { password: ["is too short (minimum is 8 characters)"] }],
      [{ name: "" }, 400, { name: ["can't be blank"] }],
    ] as const) {
      const answer = await call(`PUT /users/${user.id}`, { json: { bio: "changed", ...sent } });
      expect([answer.status, answer.json]).toEqual([status, { message }]);
    }
    expect((await call(`GET /users/${user.id}`)).json).toEqual({
      ...user,
      ...same,
      commit_email: same.email,
      web_url: expect.any(String),
      avatar_url: expect.any(String),
    });
  });

  it("is 404 for an unknown user", async () => {
    for (const id of [4711, "abc"]) {
      const { status, json } = await call(`PUT /users/${id}`, { json: { bio: "x" } });
      expect([status, json]).toEqual([404, { message: "404 User Not Found" }]);
    }
  });
});

describe("DELETE /users/:id", () => {
  it("314: deletes the user with their belongings, and keeps what they contributed elsewhere", async () => {
    const user = await makeUser();
    const { token } = await app.admin.tokens.create({
      user: user.username,
      name: "t",
      scopes: ["api"],
    });
    const headers = { "private-token": token };
    const mine = (await app.call("POST /projects?path=mine", { headers })).json.id;
    const group = (await app.call("POST /groups?name=theirs&path=theirs", { headers })).json.id;
    const shared = (await app.call(`POST /projects?path=shared&namespace_id=${group}`, { headers }))
      .json.id;

    const { status, text } = await call(`DELETE /users/${user.id}`);
    expect([status, text]).toEqual([204, ""]);
    expect((await call(`GET /users/${user.id}`)).status).toBe(404);
    expect((await app.call("GET /user", { headers })).status).toBe(401);
    expect((await call(`GET /projects/${mine}`)).status).toBe(404);
    const left = await call(`GET /projects/${shared}`);
    expect([left.status, left.json.creator_id]).toEqual([200, null]);
    expect((await call(`GET /groups/${group}/members`)).json).toEqual([]);
    expect((await call(`DELETE /users/${user.id}`)).status).toBe(404);
    const { username, email } = user;
    expect((await call("POST /users", { json: newUser({ username, email }) })).status).toBe(201);
  });

  it("is 412 if the user was changed since", async () => {
    const { id } = await makeUser();
    const headers = { "if-unmodified-since": "Mon, 15 Jun 2026 12:34:55 GMT" };
    expect((await call(`DELETE /users/${id}`, { headers })).status).toBe(412);
    expect((await call(`GET /users/${id}`)).status).toBe(200);
  });

  it("never deletes the last administrator", async () => {
    const lone = await testApp();
    const admin = (await lone.call("GET /user", { as: "admin" })).json.id;
    for (const [request, json] of [
      [`DELETE /users/${admin}`, undefined],
      [`PUT /users/${admin}`, { admin: false }],
    ] as const) {
      const answer = await lone.call(request, { as: "admin", ...(json && { json }) });
      expect([answer.status, answer.json]).toEqual([
        403,
        { message: "403 Forbidden - The last administrator cannot be removed." },
      ]);
    }
    await lone.dispose();
  });
});

describe("blocking", () => {
  it("removes a user's access and restores it", async () => {
    const user = await makeUser();
    const { token } = await app.admin.tokens.create({
      user: user.username,
      name: "t",
      scopes: ["api"],
    });
    const access = async () =>
      (await app.call("GET /user", { headers: { "private-token": token } })).status;
    for (const [action, state, expected, answered] of [
      ["block", "blocked", 403, true],
      ["block", "blocked", 403, null],
      ["unblock", "active", 200, true],
      ["unblock", "active", 200, false],
    ] as const) {
      const { status, json } = await call(`POST /users/${user.id}/${action}`);
      expect([status, json]).toEqual([201, answered]);
      expect((await call(`GET /users/${user.id}`)).json.state).toBe(state);
      expect(await access()).toBe(expected);
    }
  });

  it("is refused for oneself and for unknown users", async () => {
    const self = await call(`POST /users/${ids["admin"]}/block`);
    expect([self.status, self.json]).toEqual([
      403,
      { message: "403 Forbidden - The API initiating user cannot be blocked by the API" },
    ]);
    for (const action of ["block", "unblock"]) {
      const { status, json } = await call(`POST /users/4711/${action}`);
      expect([status, json]).toEqual([404, { message: "404 User Not Found" }]);
    }
  });
});
