import { execFile } from "node:child_process";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { createAppOn } from "../../src/app.ts";
import { openStore } from "../../src/store/open.ts";
import { UnavailableError } from "../../src/store/port.ts";
import { baseSeed, call, emptyDatabase, engine } from "../helpers.ts";
import { canCountPages, readCounter } from "../pages.ts";
import { programOf } from "../program.ts";

// PostgreSQL has no file to lock.
it.runIf(engine === "sqlite")(
  "a SQLite file locked by another process is 503 for writes, while reads go on",
  async () => {
    const { database, drop } = await emptyDatabase();
    onTestFinished(drop);
    const errors: unknown[] = [];
    const onError = (error: unknown) => errors.push(error);
    const store = await openStore(database, { lockTimeoutMs: 300 });
    const app = await createAppOn(store, { background: false, onError });
    onTestFinished(() => app.close());
    await app.admin.seed(baseSeed);
    const other = await openStore(database);
    onTestFinished(() => other.close());

    let letGo = () => {};
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    let holder: Promise<void> | undefined;
    await new Promise<void>((resolve) => {
      holder = other.transaction(() => {
        resolve();
        return held;
      });
    });
    const write = (name: string) =>
      call(app, "POST /groups/acme/labels", { as: "owner", json: { name, color: "#123456" } });
    const refused = await Promise.all(["a", "b", "c"].map(write));
    const read = await call(app, "GET /groups/acme/labels", { as: "owner" });
    letGo();
    await holder;

    for (const answer of refused) {
      expect(answer.status).toBe(503);
      expect(answer.json).toEqual({ message: "503 Service Unavailable" });
      expect(answer.headers.get("retry-after")).toBe("1");
    }
    // An outage is reported only once.
    expect(errors).toHaveLength(1);
    for (const error of errors) expect(error).toBeInstanceOf(UnavailableError);
    expect(read.status).toBe(200);
    expect((await write("a")).status).toBe(201);
  },
);

/** An empty store with a table of numbers, and a second connection to it. */
async function numbers() {
  const { database, drop } = await emptyDatabase();
  onTestFinished(drop);
  const store = await openStore(database);
  onTestFinished(() => store.close());
  await store.transaction((db) => db.run("create table numbers (number integer primary key)"));
  const other = await openStore(database);
  onTestFinished(() => other.close());
  const add = (number: number, fail?: string) =>
    store.transaction(
      async (db) => {
        await db.run("insert into numbers (number) values (?)", [number]);
        if (fail) throw new Error(fail);
        return number;
      },
      { shared: true },
    );
  const all = async () => (await other.rows("select number from numbers")).flat();
  return { store, other, add, all };
}

it.runIf(engine === "sqlite")(
  "of SQLite transactions that wait together, one that fails takes back only its own changes",
  async () => {
    const { store, add, all } = await numbers();

    const ended = await Promise.allSettled([
      add(1, "the first"),
      add(2),
      add(3),
      add(4, "in the middle"),
      add(3),
      store.transaction((db) => db.rows("select number from numbers")),
      add(5),
      add(6, "the last"),
    ]);

    expect(
      ended.map((one) => (one.status === "fulfilled" ? one.value : (one.reason as Error).message)),
    ).toEqual([
      "the first",
      2,
      3,
      "in the middle",
      expect.stringMatching(/unique/i),
      [[2], [3]],
      5,
      "the last",
    ]);
    expect(await all()).toEqual([2, 3, 5]);
  },
);

it.runIf(engine === "sqlite")(
  "SQLite transactions that wait together are committed before any of them ends",
  async () => {
    const { store, other, add, all } = await numbers();
    const seen: unknown[] = [];
    const committed = (number: number) => add(number).then(async () => seen.push(await all()));
    const before = store.transaction(
      async (db) => {
        await db.run("insert into numbers (number) values (0)");
        seen.push((await other.rows("select count(*) from numbers")).flat());
      },
      { shared: true },
    );

    await Promise.all([committed(1), committed(2), before]);

    expect(seen).toEqual([[0], [0, 1, 2], [0, 1, 2]]);
  },
);

it.runIf(engine === "sqlite" && canCountPages)(
  "reads keep the pages in memory when this process commits, and read them again when another one does",
  async () => {
    const { store, other } = await numbers();
    await store.transaction((db) =>
      db.run(
        `insert into numbers (number) with recursive n (x) as
           (select 1 union all select x + 1 from n where x < 100000) select x from n`,
      ),
    );
    const calls = readCounter();
    onTestFinished(calls.close);
    const pagesOf = async () => {
      const before = calls.count();
      const [[sum]] = (await store.rows("select sum(number) from numbers")) as [[number]];
      return { pages: calls.count() - before, sum };
    };
    await pagesOf();

    await store.transaction((db) => db.run("insert into numbers (number) values (100001)"));
    const own = await pagesOf();
    await other.transaction((db) => db.run("insert into numbers (number) values (100002)"));
    const others = await pagesOf();

    expect(own.sum).toBe(5_000_150_001);
    expect(own.pages).toBeLessThan(10);
    expect(others.sum).toBe(5_000_250_003);
    expect(others.pages).toBeGreaterThan(100);
  },
);

it.runIf(engine === "sqlite")(
  "reads during a transaction see the state before it, and those after it what it has committed",
  async () => {
    const { store } = await numbers();
    const count = async () =>
      (await store.one<{ count: number }>("select count(*) as count from numbers"))?.count;
    const during: (number | undefined)[] = [];
    await store.transaction(async (db) => {
      await db.run("insert into numbers (number) values (1)");
      during.push(await count());
      await db.run("insert into numbers (number) values (2)");
      during.push(await count());
    });

    expect(during).toEqual([0, 0]);
    expect(await count()).toBe(2);
  },
);

// Deno can't import a file from there.
it.runIf(engine === "sqlite" && !process.versions["deno"])(
  "SQLite can be loaded by node -e, which has a global __filename",
  async () => {
    const { database, drop } = await emptyDatabase();
    onTestFinished(drop);
    const { file, remove } = await programOf(new URL("_create-user.ts", import.meta.url));
    onTestFinished(remove);
    const code = `import(${JSON.stringify(pathToFileURL(file).href)})`;
    await promisify(execFile)(process.execPath, ["-e", code, "nothing", database]);
    const store = await openStore(database);
    onTestFinished(() => store.close());
    expect(await store.rows("select count(*) from users")).toEqual([[1]]);
  },
);
