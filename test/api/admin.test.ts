import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type App, createApp, OptionError } from "../../src/index.ts";
import { type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
beforeEach(async () => {
  app = await testApp();
});
afterEach(() => app.dispose());

const ada = { username: "ada", name: "Ada Lovelace", email: "ada@example.com" };

/** Audited operator actions, newest first. */
const audited = async () =>
  (await app.admin.auditEvents.list()).map(({ action, author, user, target }) => ({
    action,
    author,
    user,
    target,
  }));

describe("users", () => {
  it("are created, found, changed and deleted, and all of it is audited", async () => {
    const made = await app.admin.users.create({ ...ada, admin: true });
    expect(made).toMatchObject({ ...ada, state: "active", admin: true });
    expect(await app.admin.users.get("ADA")).toEqual(made);
    const change = { username: "countess", name: "Ada King", admin: false } as const;
    expect(await app.admin.users.update("ada", change)).toMatchObject({ ...change, id: made.id });
    expect(await app.admin.users.update("countess", { state: "blocked" })).toMatchObject({
      state: "blocked",
    });
    await app.admin.users.unblock("countess");
    await app.admin.users.delete("countess");
    await expect(app.admin.users.get("countess")).rejects.toThrow("404 User Not Found");
    expect(await audited()).toMatchObject([
      { action: "user deleted", author: "operator", target: "countess" },
      { action: "user unblocked" },
      { action: "user blocked" },
      { action: "user renamed", target: "from ada" },
      { action: "administrator removed" },
      { action: "administrator added" },
      { action: "user created", author: "operator" },
    ]);
  });

  it("are audited through the API too, with the real caller", async () => {
    const as = { as: "admin" } as const;
    const { json } = await app.call("POST /users", {
      ...as,
      json: { ...ada, password: "correct horse" },
    });
    await app.call(`PUT /users/${json.id}`, { ...as, json: { admin: true } });
    await app.call(`PUT /users/${json.id}`, { ...as, json: { admin: true, bio: "x" } });
    await app.call(`DELETE /users/${json.id}`, as);
    expect(await audited()).toMatchObject([
      { action: "user deleted", author: "admin", target: "ada" },
      { action: "administrator added", author: "admin" },
      { action: "user created", author: "admin" },
    ]);
  });

  it("always have an active administrator", async () => {
    const reason = "The last administrator cannot be removed.";
    await expect(app.admin.users.update("admin", { admin: false })).rejects.toThrow(reason);
    await expect(app.admin.users.block("admin")).rejects.toThrow(reason);
    await expect(app.admin.users.delete("admin")).rejects.toThrow(reason);
    await app.admin.users.create({ ...ada, admin: true });
    await app.admin.users.block("admin");
    expect(await app.admin.users.delete("admin")).toMatchObject({ username: "admin" });
  });

  it("obey the rules of the API", async () => {
    const create = (change: object) => app.admin.users.create({ ...ada, ...change });
    await expect(create({ username: "api" })).rejects.toThrow("reserved name");
    await expect(create({ username: "a b" })).rejects.toThrow("can contain only letters");
    await expect(create({ email: "nowhere" })).rejects.toThrow("is invalid");
    await expect(create({ username: "Owner" })).rejects.toThrow("already been taken");
    await expect(create({ password: "short" })).rejects.toThrow("too short");
    await expect(create({ name: "x".repeat(256) })).rejects.toThrow("name is too long");
    await expect(app.admin.users.update("owner", { username: "groups" })).rejects.toThrow(
      "reserved",
    );
  });

  it("tell administrators, and themselves, whether they have a second factor", async () => {
    const { id } = await app.admin.users.get("owner");
    const shown = async (path: string, as: "admin" | "owner" | "guest") =>
      (await app.call(`GET ${path}`, { as })).json.two_factor_enabled;
    expect(await shown(`/users/${id}`, "admin")).toBe(false);
    await app.store.transaction((db) =>
      db.run(
        "insert into two_factor (user_id, secret, enabled_at, last_step) values (?, 'A', null, 0)",
        [id],
      ),
    );
    expect(await shown("/user", "owner")).toBe(false);
    await app.store.transaction((db) => db.run("update two_factor set enabled_at = 1"));
    expect(await shown("/user", "owner")).toBe(true);
    expect(await shown(`/users/${id}`, "admin")).toBe(true);
    expect(await shown(`/users/${id}`, "guest")).toBeUndefined();
  });
});

describe("groups and members", () => {
  it("are created, changed and removed", async () => {
    await app.admin.users.create(ada);
    const group = await app.admin.groups.create({ name: "Web", path: "web", owner: "ada" });
    expect(group).toMatchObject({ full_path: "web", visibility: "private", parent_id: null });
    const below = await app.admin.groups.create({ name: "Team", path: "team", parent: "web" });
    expect(below).toMatchObject({ full_path: "web/team", parent_id: group.id });
    const full = (await app.admin.groups.list()).map(({ full_path }) => full_path);
    expect(full).toEqual(expect.arrayContaining(["acme", "web", "web/team"]));
    expect(await app.admin.groups.update("web", { path: "sites" })).toMatchObject({
      path: "sites",
    });
    expect(await app.admin.groups.get("sites/team")).toMatchObject({ id: below.id });
    const of = { group: "sites" };
    const guest = { ...of, user: "guest" };
    expect(await app.admin.members.add({ ...guest, role: "developer" })).toEqual({
      username: "guest",
      name: "The guest",
      role: "developer",
      access_level: 30,
      expires_at: null,
    });
    const until = await app.admin.members.update({ ...guest, expires_at: "2099-01-31" });
    expect(until).toMatchObject({ role: "developer", expires_at: "2099-01-31" });
    const promoted = { ...guest, role: "maintainer", expires_at: null } as const;
    expect(await app.admin.members.update(promoted)).toMatchObject({
      role: "maintainer",
      expires_at: null,
    });
    expect(await app.admin.members.list(of)).toMatchObject([
      { username: "ada", role: "owner" },
      { username: "guest", role: "maintainer" },
    ]);
    await app.admin.members.remove(guest);
    expect(await app.admin.members.list(of)).toHaveLength(1);
    expect(await audited()).toMatchObject([
      { action: "member removed", user: "guest", target: "sites (maintainer)" },
      { action: "member changed" },
      { action: "member changed" },
      { action: "member added", author: "operator", user: "guest", target: "sites (developer)" },
      { action: "member added", user: "ada", target: "web (owner)" },
      { action: "user created" },
    ]);
    await app.admin.groups.delete("sites");
    await expect(app.admin.groups.get("sites/team")).rejects.toThrow("404 Group Not Found");
  });

  it("obey the rules of the API", async () => {
    const member = { group: "acme", user: "owner" };
    await expect(app.admin.members.remove(member)).rejects.toThrow("The last owner of a group");
    await expect(app.admin.members.update({ ...member, role: "guest" })).rejects.toThrow(
      "last owner",
    );
    const again = { ...member, role: "guest" } as const;
    await expect(app.admin.members.add(again)).rejects.toThrow("Member already exists");
    const project = { project: "acme/site", user: "stranger", role: "owner" } as const;
    await expect(app.admin.members.add(project)).rejects.toThrow("is not included in the list");
    const below = { group: "acme/team", user: "owner", role: "guest" } as const;
    await expect(app.admin.members.add(below)).rejects.toThrow(
      "should be greater than or equal to Owner",
    );
    await expect(app.admin.groups.create({ name: "X", path: "users" })).rejects.toThrow("reserved");
    await expect(app.admin.groups.create({ name: "X", path: "ACME" })).rejects.toThrow("taken");
    const open = { name: "X", path: "x", parent: "secret", visibility: "public" } as const;
    await expect(app.admin.groups.create(open)).rejects.toThrow(
      "public is not allowed since the parent group has a",
    );
  });

  it("are audited through the API too", async () => {
    const as = { as: "owner" } as const;
    const { id } = await app.admin.users.get("stranger");
    const path = "/groups/acme/members";
    await app.call(`POST ${path}`, { ...as, json: { user_id: id, access_level: 20 } });
    await app.call(`PUT ${path}/${id}`, { ...as, json: { access_level: 30 } });
    await app.call(`DELETE ${path}/${id}`, as);
    await app.call("POST /groups", { ...as, json: { name: "New", path: "new" } });
    expect(await audited()).toEqual([
      { action: "member added", author: "owner", user: "owner", target: "new (owner)" },
      { action: "member removed", author: "owner", user: "stranger", target: "acme (developer)" },
      { action: "member changed", author: "owner", user: "stranger", target: "acme (developer)" },
      { action: "member added", author: "owner", user: "stranger", target: "acme (reporter)" },
    ]);
  });
});

describe("projects", () => {
  it("are created, found, listed and deleted", async () => {
    const site = {
      namespace: "acme",
      name: "Shop",
      path: "shop",
    };
    const shop = await app.admin.projects.create(site);
    expect(shop).toEqual({
      id: expect.any(Number),
      name: "Shop",
      path: "shop",
      full_path: "acme/shop",
      visibility: "private",
      archived: false,
      storage_size: 0,
    });
    const full = (await app.admin.projects.list()).map(({ full_path }) => full_path);
    expect(full).toEqual(expect.arrayContaining(["acme/site", "acme/shop"]));
    expect(full).toEqual([...full].sort());
    expect(await app.admin.projects.get(String(shop.id))).toEqual(shop);
    const answer = await app.call(`GET /projects/${shop.id}`, { as: "owner" });
    expect(answer.json).toMatchObject({ path_with_namespace: "acme/shop", creator_id: null });
    expect(await app.admin.projects.delete("acme/shop")).toEqual(shop);
    await expect(app.admin.projects.get("acme/shop")).rejects.toThrow("404 Project Not Found");
    expect((await app.call(`GET /projects/${shop.id}`, { as: "owner" })).status).toBe(404);
  });

  it("of a user begin with their event and membership", async () => {
    const notes = { namespace: "guest", name: "Notes", path: "notes", description: "Mine" };
    const { id } = await app.admin.projects.create(notes);
    const guest = await app.admin.users.get("guest");
    const answer = await app.call(`GET /projects/${id}`, { as: "guest" });
    expect(answer.json).toMatchObject({ creator_id: guest.id, description: "Mine" });
    const events = await app.call(`GET /projects/${id}/events`, { as: "guest" });
    expect(events.json).toMatchObject([{ action_name: "created", author_username: "guest" }]);
    const members = await app.admin.members.list({ project: "guest/notes" });
    expect(members).toMatchObject([{ username: "guest", role: "owner" }]);
  });

  it("obey the rules of the API", async () => {
    const create = (change: object) =>
      app.admin.projects.create({ namespace: "acme", name: "X", path: "x", ...change });
    await expect(create({ namespace: "nowhere" })).rejects.toThrow("404 Namespace Not Found");
    await expect(create({ path: "SITE" })).rejects.toThrow("taken");
    await expect(create({ path: "a b" })).rejects.toThrow("path");
    await expect(create({ namespace: "secret", visibility: "public" })).rejects.toThrow(
      "public is not allowed in a private group",
    );
    await expect(create({ visibility: "open" })).rejects.toThrow(
      "visibility does not have a valid value: give one of private, internal, public",
    );
  });
});

describe("an invalid call", () => {
  const wrong: [string, (admin: App["admin"]) => unknown, option: string, says: string][] = [
    [
      "no name",
      ({ createUser }) => createUser({ username: "x", email: "x@x" } as never),
      "name",
      "is missing",
    ],
    [
      "a misspelling",
      ({ createUser }) => createUser({ ...ada, passwort: "x" } as never),
      "passwort",
      "Did you mean password?",
    ],
    [
      "no object",
      ({ createUser }) => createUser("ada" as never),
      "",
      "must be an object with email, name, username",
    ],
    ["nothing", ({ createUser }) => (createUser as () => unknown)(), "", "must be an object"],
    [
      "no day",
      ({ createToken }) =>
        createToken({ user: "owner", name: "t", scopes: ["api"], expires_at: "tomorrow" }),
      "expires_at",
      "give a day as YYYY-MM-DD",
    ],
    [
      "no scope",
      ({ createToken }) =>
        createToken({ user: "owner", name: "t", scopes: ["everything" as "api"] }),
      "scopes.0",
      "give one of api, read_api",
    ],
    [
      "a blank name",
      ({ createToken }) => createToken({ user: "owner", name: " ", scopes: ["api"] }),
      "name",
      "can't be blank",
    ],
    ["no user", ({ blockUser }) => (blockUser as () => unknown)(), "username", "is missing"],
    [
      "an object for a name",
      ({ setPassword }) => setPassword({} as never, "12345678"),
      "username",
      "give a text",
    ],
    ["no id", ({ revokeToken }) => revokeToken("seven" as never), "id", "give a whole number"],
    [
      "no role",
      ({ addMember }) => addMember({ group: "acme", user: "stranger", role: "boss" as "owner" }),
      "role",
      "give one of guest, reporter",
    ],
    [
      "both",
      ({ listMembers }) => listMembers({ group: "acme", project: "acme/site" } as never),
      "",
      "either group or project",
    ],
    [
      "a filter",
      ({ listTokens }) => listTokens({ username: "owner" } as never),
      "username",
      "is unknown. There are user",
    ],
    [
      "an age",
      ({ purgeEvents }) => purgeEvents({ olderThan: "2 years" }),
      "olderThan",
      "such as 2y",
    ],
    [
      "a push",
      ({ recordPush }) => recordPush({ project: "acme/site" } as never),
      "user",
      "is missing",
    ],
    [
      "a lifetime",
      ({ inviteUser }) => inviteUser({ ...ada, lifetime: 0 }),
      "lifetime",
      "must be between 1 and",
    ],
  ];
  it.each(wrong)("%s is refused at once, by name", async (_, call, option, says) => {
    const error = await (async () => call(app.admin))().catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(OptionError);
    expect(error).toBeInstanceOf(TypeError);
    expect((error as OptionError).option).toBe(option);
    expect((error as OptionError).message).toContain(says);
  });

  it("is not repeated, since it may be a password", async () => {
    const password = { secret: "hunter2" } as unknown as string;
    const error = await app.admin.users
      .setPassword("owner", password)
      .catch((caught: unknown) => caught);
    expect(String(error)).toContain("setPassword: password");
    expect(String(error)).not.toContain("hunter2");
  });
});

describe("an invitation", () => {
  it("contains the full URL of its link, if the address is known", async () => {
    const { invitation, ...user } = await app.admin.users.invite(ada);
    expect(user).toMatchObject(ada);
    expect(invitation).toMatchObject({ username: "ada", url: null });
    expect(invitation.path).toMatch(/^\/users\/password\/edit\?reset_password_token=[0-9a-f]{64}$/);
    const known = await createApp({ url: "https://pm.example.com/x/" });
    const other = await known.admin.users.invite(ada);
    expect(other.invitation.url).toBe(`https://pm.example.com/x${other.invitation.path}`);
    await known.close();
    const stored = JSON.stringify(await app.store.rows("select * from invitations"));
    expect(stored).not.toContain(invitation.path.slice(-64));
  });
});

it("keeps the names that methods had before", () => {
  const { admin } = app;
  expect(admin.createUser).toBe(admin.users.create);
  expect(admin.renewApplicationSecret).toBe(admin.applications.renewSecret);
  const methods = Object.values(admin).map((member) => typeof member);
  // As many names as methods had one before, but for `seed` and `metrics`, which have none of their own.
  const newer = [
    "updateMirrors",
    "rotateSigningKey",
    "sshHostKeys",
    "fromGitlab",
    "fromGithub",
    "fromGitea",
    "exportGitlab",
    "placeholders",
    "reassign",
  ];
  const own = Object.values(admin)
    .flatMap((member) => (typeof member === "object" ? Object.keys(member) : []))
    .filter((name) => !newer.includes(name));
  expect(methods.filter((type) => type === "function")).toHaveLength(own.length + 2);
  expect(methods).not.toContain("undefined");
});
