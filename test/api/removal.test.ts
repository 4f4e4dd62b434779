import { afterEach, describe, expect, it } from "vitest";
import { createAppOn } from "../../src/app.ts";
import { check } from "../../src/database/check.ts";
import { tablesOf } from "../../src/database/schema.ts";
import type { Hidden } from "../../src/jobs/removal.ts";
import { finish, finishAll } from "../../src/resources/remover.ts";
import { openStore } from "../../src/store/open.ts";
import { createFixtures, fixtureSeed, type Places, placesIn } from "../fixtures.ts";
import { type TestApp, testApp, waitFor } from "../helpers.ts";
import { toys } from "../toy/index.ts";
import { everythingSeen } from "./everything-seen.ts";

/** For asking everything as everybody, twice: PostgreSQL takes long on a busy machine. */
const PATIENCE_MS = 180_000;
/** More rows than a request deletes. */
const MANY = 1200;
const SITE = "acme/site";

let app: TestApp;
afterEach(() => app.dispose());

interface World {
  places: Places;
  /** Places in another group, which stays. */
  others: Places;
  project: number;
  group: number;
}

/** A world whose project `acme/site` has many notes. */
async function start(): Promise<World> {
  app = await testApp({ seed: fixtureSeed(1), extra: toys });
  await createFixtures(app, 1);
  const id = async (path: string) => (await app.call(`GET ${path}`, { as: "admin" })).json.id;
  const project = await id("/projects/acme%2Fsite");
  const issue = await id("/projects/acme%2Fsite/issues/1");
  const author = (await app.call("GET /users?username=owner", { as: "admin" })).json[0].id;
  await app.store.transaction((db) =>
    db.run(
      `insert into notes (project_id, issue_id, author_id, body, created_at, updated_at)
       with recursive n(x) as (select 1 union all select x + 1 from n where x < ${MANY})
       select ${project}, ${issue}, ${author}, 'Note ' || x, 1, 1 from n`,
    ),
  );
  return {
    places: await placesIn(app, "acme", SITE),
    others: await placesIn(app, "secret", "secret/vault"),
    project,
    group: await id("/groups/acme"),
  };
}

const tables = tablesOf();

async function rowsOf(column: "project_id" | "namespace_id", id: number): Promise<string[]> {
  const found: string[] = [];
  for (const { name, columns } of await tables) {
    if (!columns.some((one) => one.name === column)) continue;
    const rows = await app.store.rows(`select 1 from ${name} where ${column} = ? limit 1`, [id]);
    if (rows.length > 0) found.push(name);
  }
  return found;
}

async function problems(): Promise<string[]> {
  // `check` knows no toys.
  await app.store.transaction((db) =>
    db.run("delete from schema_migrations where id like '%-toy%'"),
  );
  return (await check(app.store)).flatMap((one) => one.problems);
}

const remove = async (path: string) => {
  const { status, json } = await app.call(`DELETE ${path}`, { as: "owner" });
  expect([status, json]).toEqual([202, { message: "202 Accepted" }]);
};

/** Checks that everybody sees what they saw before. */
async function expectSeen(
  { places, others }: Pick<Awaited<ReturnType<typeof start>>, "places" | "others">,
  before: Awaited<ReturnType<typeof everythingSeen>>,
): Promise<void> {
  const after = await everythingSeen(app, [places, others]);
  const changed = [...before].flatMap(([request, answer]) => {
    const now = after.get(request);
    return JSON.stringify(now) === JSON.stringify(answer) ? [] : [[request, answer, now]];
  });
  expect(changed).toEqual([]);
}

describe("a project with many rows", { timeout: PATIENCE_MS }, () => {
  it("is invisible to everybody at once, and deleted later", async () => {
    const world = await start();
    const { project } = world;
    await remove("/projects/acme%2Fsite");
    expect(await rowsOf("project_id", project)).toContain("issues");
    const seen = await everythingSeen(app, [world.places, world.others]);
    expect(seen.get("/projects/acme%2Fsite?scope=all&all_available=true admin")?.status).toBe(404);
    expect(await problems()).toEqual([]);
    expect((await app.call("DELETE /projects/acme%2Fsite", { as: "admin" })).status).toBe(404);

    await finish(app.store, { project }, Date.now());
    expect(await rowsOf("project_id", project)).toEqual([]);
    await expectSeen(world, seen);
    expect(await problems()).toEqual([]);
  });

  it("is deleted by a worker of any process", async () => {
    const { project } = await start();
    await remove("/projects/acme%2Fsite");
    const tasks = await app.admin.tasks.list({ worker: "remover" });
    expect(tasks).toMatchObject([{ state: "waiting", payload: { project } }]);
    const server = await createAppOn(await openStore(app.database), {}, toys);
    const left = async () => (await rowsOf("project_id", project)).length;
    await waitFor(async () => (await left()) === 0);
    const waiting = () => app.admin.tasks.list({ worker: "remover" });
    await waitFor(async () => (await waiting()).length === 0);
    await server.close();
    expect(await problems()).toEqual([]);
  });
});

describe("a group with many rows", { timeout: PATIENCE_MS }, () => {
  it("is invisible to everybody at once, and deleted later", async () => {
    const world = await start();
    const { group, project } = world;
    await remove("/groups/acme");
    expect(await rowsOf("namespace_id", group)).toContain("labels");
    const seen = await everythingSeen(app, [world.places, world.others]);
    expect(seen.get("/groups/acme?scope=all&all_available=true admin")?.status).toBe(404);
    expect(seen.get("/projects/acme%2Fsite?scope=all&all_available=true admin")?.status).toBe(404);
    expect(await problems()).toEqual([]);
    const within = async (namespace_id: number) => {
      const json = { name: "New", path: "newer", namespace_id };
      return (await app.call("POST /projects", { as: "owner", json })).text;
    };
    expect(await within(group)).toBe(await within(1_000_000));

    await finish(app.store, { group }, Date.now());
    expect(await rowsOf("namespace_id", group)).toEqual([]);
    expect(await rowsOf("project_id", project)).toEqual([]);
    await expectSeen(world, seen);
    expect(await problems()).toEqual([]);
    const again = { name: "Acme", path: "acme" };
    expect((await app.call("POST /groups", { as: "owner", json: again })).status).toBe(201);
  });
});

it("what was interrupted is continued, by the daily sweep at the latest", async () => {
  const { group } = await start();
  await remove("/groups/acme");
  const what: Hidden = { group };
  for (const most of [5, 15, 25]) {
    const stopping = new AbortController();
    let statements = 0;
    const store = {
      ...app.store,
      transaction: (...given: Parameters<typeof app.store.transaction>) => {
        statements += 1;
        if (statements === most) stopping.abort(new Error("stopped"));
        return app.store.transaction(...given);
      },
    } as typeof app.store;
    await expect(finish(store, what, Date.now(), stopping.signal)).rejects.toThrow("stopped");
    expect(await problems()).toEqual([]);
  }
  await finishAll(app.store, Date.now());
  expect(await rowsOf("namespace_id", group)).toEqual([]);
  expect(await problems()).toEqual([]);
});

it("small projects and groups are deleted at once", async () => {
  app = await testApp();
  const { json } = await app.call("GET /projects/acme%2Fsite", { as: "owner" });
  await remove("/projects/acme%2Fsite");
  const left = () => app.store.rows("select 1 from projects where id = ?", [json.id]);
  expect(await left()).toEqual([]);
  await remove("/groups/acme");
  expect(await app.store.rows("select 1 from namespaces where full_path like 'acme%'")).toEqual([]);
  expect(await app.admin.tasks.list()).toEqual([]);
});

it("operators wait until everything is deleted", async () => {
  const { group, project } = await start();
  expect(await app.admin.projects.delete(SITE)).toMatchObject({ id: project });
  expect(await rowsOf("project_id", project)).toEqual([]);
  expect(await app.admin.groups.delete("acme")).toMatchObject({ id: group });
  expect(await rowsOf("namespace_id", group)).toEqual([]);
});
