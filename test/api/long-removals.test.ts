import { afterEach, describe, expect, it } from "vitest";
import { createAppOn } from "../../src/app.ts";
import { check } from "../../src/database/check.ts";
import type { Hidden } from "../../src/jobs/removal.ts";
import { finish } from "../../src/resources/remover.ts";
import { openStore } from "../../src/store/open.ts";
import type { Database, Store } from "../../src/store/port.ts";
import { createFixtures, fixtureSeed, placesIn } from "../fixtures.ts";
import { type TestApp, testApp } from "../helpers.ts";
import { toys } from "../toy/index.ts";
import { everythingSeen, type Seen } from "./everything-seen.ts";

/** For asking everything as everybody, twice: PostgreSQL takes long on a busy machine. */
const PATIENCE_MS = 240_000;
/** Rows of each kind: several batches. */
const MANY = 6000;
/** How many rows a transaction may change, with those that triggers change: of all there are, that is less than half. */
const BOUND = 4500;
/** How many rows a request may change. */
const FEW = 50;

let app: TestApp;
afterEach(() => app.dispose());

interface World {
  label: number;
  milestone: number;
  user: number;
  ghost: number;
}

/** A world in which the developer wrote many issues of `acme/site`, all with one label and milestone, and much about them. */
async function start(): Promise<World> {
  app = await testApp({ seed: fixtureSeed(1), extra: toys });
  await createFixtures(app, 1);
  const get = async (path: string) => (await app.call(`GET ${path}`, { as: "admin" })).json;
  const project = (await get("/projects/acme%2Fsite")).id;
  const user = (await get("/users?username=developer"))[0].id;
  const label = (await get("/groups/acme/labels?search=UX"))[0].id;
  const milestone = (await get("/groups/acme/milestones?search=v1"))[0].id;
  await app.call(`DELETE /users/${(await get("/users?username=stranger"))[0].id}`, { as: "admin" });
  const ghost = (await get("/users?username=ghost"))[0].id;
  await app.store.transaction(
    async (db) => {
      const [last] = await db.rows("select max(id) from issues");
      const issue = `${(last as [number])[0]} + x`;
      const add = (table: string, columns: Record<string, string | number>) =>
        db.run(
          `insert into ${table} (${Object.keys(columns).join(", ")})
           with recursive n(x) as (select cast(1 as bigint) union all select x + 1 from n where x < ${MANY})
           select ${Object.values(columns).join(", ")} from n`,
        );
      const about = { project_id: project, issue_id: issue };
      const position = "(1000 + x) * 1048576";
      // Yesterday: the daily sweep deletes old events.
      const time = `${Date.now() - 86_400_000} + x`;
      const at = { created_at: time, updated_at: time };
      await add("issues", {
        ...{ iid: "1000 + x", project_id: project, author_id: user, title: "'Issue ' || x" },
        ...{ milestone_id: milestone, relative_position: position, ...at },
      });
      const place = { project_id: project, open_position: position };
      await add("issue_labels", { issue_id: issue, label_id: label, ...place });
      await add("issue_assignees", { issue_id: issue, user_id: user });
      await add("notes", { ...about, author_id: user, body: "'Note ' || x", ...at });
      await add("award_emoji", { issue_id: issue, user_id: user, name: "'rocket'", ...at });
      await add("todos", { ...about, user_id: 1, author_id: user, action: "'assigned'", ...at });
      const event = { issue_id: issue, user_id: user, created_at: time, action: "'add'" };
      await add("resource_label_events", { ...event, label_id: label });
      await add("resource_milestone_events", { ...event, milestone_id: milestone, state: "''" });
      await add("events", {
        ...{ project_id: project, author_id: user, action: "'created'", target_type: "'Issue'" },
        ...{ target_id: issue, target_iid: "1000 + x", created_at: time },
      });
      await db.run("delete from event_counts");
      await db.run(
        `insert into event_counts (project_id, author_id, events)
         select project_id, author_id, count(*) from events group by project_id, author_id`,
      );
      await db.run("update projects set issue_count = ? where id = ?", [MANY + 1000, project]);
    },
    { unlimited: true },
  );
  const own = { name: "Own", visibility: "public" };
  await app.call("POST /projects", { as: "developer", json: own });
  await app.call("POST /projects/developer%2FOwn/issues", {
    as: "developer",
    json: { title: "Own" },
  });
  const snippet = { title: "Own", file_name: "a", content: "b", visibility: "public" };
  await app.call("POST /snippets", { as: "developer", json: snippet });
  await app.call("POST /projects/acme%2Fteam%2Fcore/star", { as: "developer" });
  return { label, milestone, user, ghost };
}

/** How many rows the running transaction has changed, with those that triggers and cascades changed. */
async function changedBy(db: Database): Promise<number> {
  const [counted] = await db.rows(
    db.dialect === "sqlite"
      ? "select total_changes()"
      : "select sum(n_tup_ins + n_tup_upd + n_tup_del) from pg_stat_xact_user_tables",
  );
  return Number(counted?.[0] ?? 0);
}

/** A store that tells how many rows each transaction changes. @param onChanged is called before the commit */
function watching(store: Store, onChanged: (rows: number) => void): Store {
  return {
    ...store,
    transaction: (work, options) =>
      store.transaction(async (db) => {
        const before = await changedBy(db);
        const result = await work(db);
        onChanged((await changedBy(db)) - before);
        return result;
      }, options),
  } as Store;
}

async function problems(): Promise<string[]> {
  // `check` knows no toys.
  await app.store.transaction((db) =>
    db.run("delete from schema_migrations where id like '%-toy%'"),
  );
  return (await check(app.store)).flatMap((one) => one.problems);
}

/** The answers, in which a user who is being deleted has become the ghost user, whose picture is another one. */
function settled(seen: Map<string, Seen>, { user, ghost }: World): Map<string, Seen> {
  const hidden = new RegExp(`"id":${user},("[^{}]*")ghost:${user}("[^{}]*/)ghost:${user}"`, "g");
  const of = ({ text, ...rest }: Seen): Seen => ({
    ...rest,
    text: text
      .replaceAll(hidden, `"id":${ghost},$1ghost$2ghost"`)
      .replaceAll(/avatars\/g-\d+/g, "avatars/g"),
  });
  // Totals of events include those that nobody sees any more.
  return new Map(
    [...seen].map(([request, one]) => [
      request,
      /\/events[ ?]/.test(request) ? { ...of(one), total: null } : of(one),
    ]),
  );
}

const KINDS = [
  ["label", "issue_labels", "label_id", () => "/groups/acme/labels/UX"],
  ["milestone", "issues", "milestone_id", (id: number) => `/groups/acme/milestones/${id}`],
  ["user", "issues", "author_id", (id: number) => `/users/${id}`],
] as const;

describe.each(KINDS)("a %s of many issues", (kind, table, column, pathOf) => {
  const remove = async (id: number) => {
    const changed: number[] = [];
    const store = watching(app.store, (rows) => changed.push(rows));
    const asked = await createAppOn(store, { background: false }, toys);
    const url = `http://pm.test/api/v4${pathOf(id)}`;
    const headers = { "private-token": "token-of-admin" };
    const { status } = await asked.fetch(new Request(url, { method: "DELETE", headers }));
    expect([status, Math.max(...changed) <= FEW || changed]).toEqual([204, true]);
  };
  const left = async (id: number) =>
    (await app.store.rows(`select 1 from ${table} where ${column} = ?`, [id])).length;

  it(
    "is invisible to everybody at once, and deleted later by any process, in parts",
    async () => {
      const world = await start();
      const id = world[kind];
      const places = [
        await placesIn(app, "acme", "acme/site"),
        await placesIn(app, "secret", "secret/vault"),
      ];
      await remove(id);
      expect(await left(id)).toBeGreaterThanOrEqual(MANY);
      const seen = settled(await everythingSeen(app, places), world);
      expect((await app.call(`GET ${pathOf(id)}`, { as: "admin" })).status).toBe(404);
      expect((await app.call(`DELETE ${pathOf(id)}`, { as: "admin" })).status).toBe(404);
      expect(await problems()).toEqual([]);

      // Stopped in the middle.
      const stopping = new AbortController();
      let transactions = 0;
      const store = watching(app.store, (rows) => {
        transactions += 1;
        expect(rows).toBeLessThan(BOUND);
        if (transactions === 4) stopping.abort(new Error("stopped"));
      });
      const hidden = { [kind]: id } as unknown as Hidden;
      await expect(finish(store, hidden, Date.now(), stopping.signal)).rejects.toThrow("stopped");
      expect(await left(id)).toBeGreaterThan(0);
      expect(await problems()).toEqual([]);

      const changed: number[] = [];
      // As the worker of another process continues.
      expect(await app.admin.tasks.list({ worker: "remover" })).toMatchObject([
        { payload: hidden },
      ]);
      const another = await openStore(app.database);
      const rest = watching(another, (rows) => changed.push(rows));
      await finish(rest, hidden, Date.now());
      await another.close();
      expect(Math.max(...changed)).toBeLessThan(BOUND);
      expect(await left(id)).toBe(0);
      expect(await app.store.rows(`select id from ${kind}s where id = ?`, [id])).toEqual([]);
      expect(await problems()).toEqual([]);
      const after = settled(await everythingSeen(app, places), world);
      for (const [request, answer] of seen) {
        expect.soft([request, after.get(request)]).toEqual([request, answer]);
      }
    },
    PATIENCE_MS,
  );
});

it("names and titles are free at once", async () => {
  const { label, milestone } = await start();
  await app.call("DELETE /groups/acme/labels/UX", { as: "owner" });
  await app.call(`DELETE /groups/acme/milestones/${milestone}`, { as: "owner" });
  const color = "#ff0000";
  const again = await app.call("POST /groups/acme/labels", {
    as: "owner",
    json: { name: "UX", color },
  });
  expect([again.status, again.json.id > label]).toEqual([201, true]);
  expect(again.json).toMatchObject({ open_issues_count: 0 });
  const json = { title: "v1" };
  expect((await app.call("POST /groups/acme/milestones", { as: "owner", json })).status).toBe(201);
  for (const filter of ["labels=UX", "milestone=v1"]) {
    const { json } = await app.call(`GET /projects/acme%2Fsite/issues?${filter}`, { as: "owner" });
    expect([filter, json]).toEqual([filter, []]);
  }
});

it("a user who is being deleted can no longer sign in, and is nobody's choice", async () => {
  const { user } = await start();
  await app.call(`DELETE /users/${user}`, { as: "admin" });
  expect((await app.call("GET /user", { as: "developer" })).status).toBe(401);
  expect((await app.call("GET /users?search=developer", { as: "admin" })).json).toEqual([]);
  expect((await app.call("GET /users?search=ghost:", { as: "admin" })).json).toEqual([]);
  const json = { user_id: user, access_level: 30 };
  const added = await app.call("POST /projects/acme%2Fsite/members", { as: "owner", json });
  expect(added.status).toBe(404);
  const path = "/projects/acme%2Fteam%2Fcore/issues";
  const created = await app.call(`POST ${path}`, {
    as: "owner",
    json: { title: "One", assignee_ids: [user] },
  });
  expect(created.json.assignees).toEqual([]);
  expect(await app.admin.users.list()).not.toContainEqual(expect.objectContaining({ id: user }));
});
