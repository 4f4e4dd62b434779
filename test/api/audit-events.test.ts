import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { allResources } from "../../src/mounts.ts";
import { migrate } from "../../src/store/migrate.ts";
import { openStore } from "../../src/store/open.ts";
import { emptyDatabase, everyone, type Person, type TestApp, testApp } from "../helpers.ts";

const START = Date.parse("2026-06-15T12:00:00.000Z");
const DAY = 86_400_000;
let clock = START;
let app: TestApp;
const ids: Record<string, number> = {};
beforeAll(async () => {
  app = await testApp({ now: () => clock });
  for (const { id, username } of await app.admin.users.list()) ids[username] = id;
  await app.call(`POST /users/${ids["guest"]}/impersonation_tokens`, {
    as: "admin",
    ip: "192.0.2.1",
    json: { name: "helpdesk", scopes: ["api"] },
  });
  clock += DAY;
  await app.admin.tokens.create({ user: "owner", name: "laptop", scopes: ["api"] });
  clock += DAY;
  await app.call(`POST /users/${ids["guest"]}/block`, { as: "admin" });
  await app.call(`POST /users/${ids["guest"]}/unblock`, { as: "admin" });
});
afterAll(() => app.dispose());

const list = async (query = "") => {
  const { status, json } = await app.call(`GET /audit_events${query}`, { as: "admin" });
  expect(status).toBe(200);
  return json.map((event: { details: { custom_message: string } }) => event.details.custom_message);
};

const ALL = ["user unblocked", "user blocked", "token made", "token made"];

describe("GET /audit_events", () => {
  it("is for administrators, of the premium tier", async () => {
    const statuses: number[] = [];
    for (const as of everyone) statuses.push((await app.call("GET /audit_events", { as })).status);
    expect(statuses).toEqual([401, 403, 403, 403, 403, 403, 403, 200]);
  });

  it("lists who did what to whom, newest first, paginated", async () => {
    const { json, headers } = await app.call("GET /audit_events?per_page=1&page=4", {
      as: "admin",
    });
    expect(headers.get("x-total")).toBe("4");
    expect(json).toEqual([
      {
        id: expect.any(Number),
        author_id: ids["admin"],
        entity_id: ids["guest"],
        entity_type: "User",
        details: {
          custom_message: "token made",
          author_name: "admin",
          target_id: ids["guest"],
          target_type: "User",
          target_details: "helpdesk (impersonation)",
          ip_address: "192.0.2.1",
          entity_path: "guest",
        },
        created_at: "2026-06-15T12:00:00.000Z",
      },
    ]);
    const one = await app.call(`GET /audit_events/${json[0].id}`, { as: "admin" });
    expect(one.json).toEqual(json[0]);
    expect((await app.call("GET /audit_events/4711", { as: "admin" })).status).toBe(404);
  });

  it("filters by time and entity", async () => {
    expect(await list()).toEqual(ALL);
    expect(await list("?created_after=2026-06-16")).toEqual(ALL.slice(0, 3));
    expect(await list("?created_before=2026-06-16")).toEqual(ALL.slice(3));
    expect(
      await list("?created_after=2026-06-16T12:00:00Z&created_before=2026-06-17T12:00:00Z"),
    ).toEqual(["token made"]);
    expect(await list(`?entity_type=User&entity_id=${ids["guest"]}`)).toEqual([
      "user unblocked",
      "user blocked",
      "token made",
    ]);
    expect(await list("?entity_type=Group&entity_id=1")).toEqual([]);
    for (const query of ["created_after=soon", "entity_type=Label", "entity_id=x"]) {
      expect((await app.call(`GET /audit_events?${query}`, { as: "admin" })).status).toBe(400);
    }
  });

  it("contains no secret", async () => {
    const { text } = await app.call("GET /audit_events", { as: "admin" });
    expect(text).not.toContain("pmat-");
    expect(text).not.toContain("token-of");
  });
});

describe("admin.auditEvents.list", () => {
  it("finds what a user did, and what was done to them", async () => {
    const of = async (filter: Parameters<TestApp["admin"]["auditEvents"]["list"]>[0]) =>
      (await app.admin.auditEvents.list(filter)).map(({ action }) => action);
    expect(await of({})).toEqual(ALL);
    expect(await of({ user: "ADMIN" })).toEqual([ALL[0], ALL[1], ALL[3]]);
    expect(await of({ user: "owner" })).toEqual(["token made"]);
    expect(await of({ action: "user blocked" })).toEqual(["user blocked"]);
    expect(await of({ since: "2026-06-17" })).toEqual(ALL.slice(0, 2));
    expect(await of({ limit: 1 })).toEqual(["user unblocked"]);
    await expect(of({ user: "nobody" })).rejects.toThrow("404 User Not Found");
    await expect(of({ since: "soon" })).rejects.toThrow(
      "auditEvents.list: since is invalid: give an instant",
    );
  });

  it("keeps the names of deleted users", async () => {
    const { id } = await app.admin.users.create({ username: "x", name: "X", email: "x@x.test" });
    await app.admin.tokens.create({ user: "x", name: "t", scopes: ["api"] });
    await app.call(`DELETE /users/${id}`, { as: "admin" });
    const [deleted, event] = await app.admin.auditEvents.list({});
    expect(deleted).toMatchObject({
      action: "user deleted",
      author: "admin",
      user: "x",
      target: "x",
    });
    expect(event).toMatchObject({ author: "operator", user: "x", target: "t" });
  });
});

it("is retained as long as events, and not purged with events of a given age", async () => {
  clock = START + 1.5 * DAY + 2 * 365 * DAY;
  const before = (await list("?per_page=100")).length;
  expect((await app.admin.maintenance.purgeEvents({ olderThan: "1d" })).audit_events).toBe(0);
  expect((await app.admin.maintenance.purgeEvents({ dryRun: true })).audit_events).toBe(1);
  expect((await app.admin.maintenance.purgeEvents()).audit_events).toBe(1);
  expect(await list("?per_page=100")).toHaveLength(before - 1);
});

describe("after an account was deleted", () => {
  it("its name stays in the log, as who did it and as whom it was done to", async () => {
    const other = await testApp();
    const { id } =
      (await other.admin.users.list()).find(({ username }) => username === "reporter") ?? {};
    await other.call(`POST /users/${id}/block`, { as: "admin" });
    await other.call(`POST /users/${id}/unblock`, { as: "admin" });
    await other.admin.users.update("reporter", { username: "evelyn" });
    await other.call(`POST /users/${id}/block`, { as: "admin" });
    await other.admin.users.delete("evelyn");
    const logged = await other.admin.auditEvents.list();
    expect(logged.map(({ action, user }) => [action, user])).toEqual([
      ["user deleted", "evelyn"],
      ["user blocked", "evelyn"],
      ["user renamed", "evelyn"],
      ["user unblocked", "reporter"],
      ["user blocked", "reporter"],
    ]);
    const { json } = await other.call("GET /audit_events", { as: "admin" });
    const paths = json.map(
      (event: { details: { entity_path: string } }) => event.details.entity_path,
    );
    expect(paths).toEqual(["evelyn", "evelyn", "evelyn", "reporter", "reporter"]);
    await other.dispose();
  });

  it("what older versions logged gets the names of accounts that are still there", async () => {
    const { database, drop } = await emptyDatabase();
    const store = await openStore(database);
    const migrations = allResources.flatMap((resource) => resource.migrations);
    const isLast = (id: string) => id.includes("audit-names-of-users");
    await migrate(
      store,
      migrations.filter(({ id }) => !isLast(id)),
      0,
    );
    await store.transaction(async (db) => {
      const [row] = await db.rows(
        `insert into users (username, name, email, state, admin, created_at, updated_at)
         values ('ada', 'Ada', 'ada@example.com', 'active', 0, 0, 0) returning id`,
      );
      for (const id of [row?.[0] as number, 4711]) {
        await db.run(
          `insert into audit_events (created_at, action, author_name, user_id, target, ip)
           values (0, 'user blocked', 'operator', ?, '', '')`,
          [id],
        );
      }
    });
    await migrate(store, migrations, 0);
    expect(await store.rows("select user_name from audit_events order by id")).toEqual([
      ["ada"],
      [null],
    ]);
    await store.close();
    await drop();
  });
});

describe("of groups and projects", () => {
  const SITE = "/projects/acme%2Fsite";
  const START_2 = Date.parse("2026-06-15T12:00:00.000Z");
  let other: TestApp;
  let at = START_2;
  const now = () => {
    at += 1000;
    return at;
  };
  const actions = async (path: string, as: Person) => {
    const { status, json } = await other.call(`GET ${path}`, { as });
    expect([path, as, status]).toEqual([path, as, 200]);
    return json.map(
      (event: { details: { custom_message: string } }) => event.details.custom_message,
    );
  };
  const made: Record<string, { id: number; full: object }> = {};
  beforeAll(async () => {
    other = await testApp({ now });
    const [{ id }] = (await other.call("GET /users?username=stranger", { as: "admin" })).json;
    const member = { user_id: id, access_level: 30 };
    await other.call("POST /groups/acme/members", { as: "owner", json: member });
    await other.call(`PUT ${SITE}/members/${id}`, { as: "owner", json: member });
    const key = { key: "A", value: "secret" };
    await other.call(`POST ${SITE}/variables`, { as: "maintainer", json: key });
    await other.call(`POST ${SITE}/protected_branches`, { as: "owner", json: { name: "v*" } });
    await other.call(`DELETE ${SITE}/protected_branches/v*`, { as: "maintainer" });
    await other.call("POST /user/emails", { as: "owner", json: { email: "o@further.example" } });
    const token = { name: "bot", scopes: ["api"], access_level: 30, expires_at: "2026-09-01" };
    await other.call(`POST ${SITE}/access_tokens`, { as: "owner", json: token });
    made["stranger"] = { id, full: {} };
  });
  afterAll(() => other.dispose());

  it("are what was done there, newest first", async () => {
    expect(await actions("/groups/acme/audit_events", "owner")).toEqual(["member added"]);
    const done = await actions(`${SITE}/audit_events`, "maintainer");
    expect(done.filter((action: string) => !/^(user|member|token)/.test(action))).toEqual([
      ...["branch unprotected", "branch protected", "CI variable added"],
    ]);
    expect(done).toContain("token made");
    const { json } = await other.call("GET /groups/acme/audit_events", { as: "owner" });
    const [{ id }] = (await other.call("GET /groups?search=acme", { as: "owner" })).json;
    expect(json).toEqual([
      {
        id: expect.any(Number),
        author_id: expect.any(Number),
        ...{ entity_id: id, entity_type: "Group" },
        details: {
          custom_message: "member added",
          author_name: "owner",
          ...{ target_id: made["stranger"]?.id, target_type: "User" },
          target_details: "acme (developer)",
          ip_address: null,
          entity_path: "acme",
        },
        created_at: expect.any(String),
      },
    ]);
    const one = await other.call(`GET /groups/acme/audit_events/${json[0].id}`, { as: "owner" });
    expect([one.status, one.json]).toEqual([200, json[0]]);
  });

  it("are between two instants", async () => {
    const { json } = await other.call(`GET ${SITE}/audit_events`, { as: "owner" });
    const second = json.at(-2).created_at;
    const ask = async (query: string) =>
      (await other.call(`GET ${SITE}/audit_events?${query}`, { as: "owner" })).json;
    expect(await ask(`created_after=${second}`)).toEqual(json.slice(0, -1));
    expect(await ask(`created_before=${second}`)).toEqual(json.slice(-1));
    const bad = await other.call(`GET ${SITE}/audit_events?created_after=soon`, { as: "owner" });
    expect(bad.status).toBe(400);
  });

  it("show those below maintainers, or owners, only what they did themselves", async () => {
    expect(await actions(`${SITE}/audit_events`, "developer")).toEqual([]);
    expect(await actions("/groups/acme/audit_events", "maintainer")).toEqual([]);
    const { json } = await other.call(`GET ${SITE}/audit_events`, { as: "owner" });
    const path = `GET ${SITE}/audit_events/${json[0].id}`;
    expect((await other.call(path, { as: "maintainer" })).status).toBe(200);
    expect((await other.call(path, { as: "developer" })).status).toBe(404);
    const asked = async (as: Person) =>
      (await other.call(`GET ${SITE}/audit_events`, { as })).status;
    expect([await asked("reporter"), await asked("guest"), await asked("anonymous")]).toEqual([
      ...[403, 403, 401],
    ]);
  });

  it("are not found elsewhere", async () => {
    const [{ id }] = (await other.call(`GET ${SITE}/audit_events`, { as: "owner" })).json;
    for (const place of ["/groups/acme", "/projects/acme%2Fcore"]) {
      expect((await other.call(`GET ${place}/audit_events/${id}`, { as: "owner" })).status).toBe(
        404,
      );
    }
    expect((await other.call(`GET /audit_events/${id}`, { as: "admin" })).status).toBe(200);
  });

  it("are found by their kind among all", async () => {
    const [{ entity_id }] = (await other.call(`GET ${SITE}/audit_events`, { as: "owner" })).json;
    const of = (query: string) => actions(`/audit_events?per_page=100&${query}`, "admin");
    expect(await of(`entity_type=Project&entity_id=${entity_id}`)).toEqual(
      await actions(`${SITE}/audit_events`, "owner"),
    );
    expect(await of("entity_type=Group")).toEqual(["member added"]);
    expect(await of("entity_type=User")).toContain("e-mail address added");
    expect(await of("entity_type=User")).not.toContain("member added");
    expect(await of("entity_type=Gitlab::Audit::InstanceScope")).toEqual([]);
    expect(await of("entity_type=Gitlab::Audit::InstanceScope&entity_id=1")).toEqual([]);
  });

  it("stay with the path of a project at that time", async () => {
    await other.call("POST /projects", { as: "owner", json: { name: "gone" } });
    await other.call("POST /projects/owner%2Fgone/variables", {
      ...{ as: "owner", json: { key: "A", value: "b" } },
    });
    await other.call("DELETE /projects/owner%2Fgone", { as: "owner" });
    const { json } = await other.call("GET /audit_events?entity_type=Project", { as: "admin" });
    expect(json[0].details).toMatchObject({
      ...{ custom_message: "CI variable added", entity_path: "owner/gone" },
    });
  });
});
