import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { open, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { seedData } from "../../cli/seed/index.ts";
import { createAppOn } from "../../src/app.ts";
import { tablesOf } from "../../src/database/schema.ts";
import {
  backupDatabase,
  checkDatabase,
  copyDatabase,
  createApp,
  migrateDatabase,
  StoreError,
} from "../../src/index.ts";
import { openStore } from "../../src/store/open.ts";
import type { Database, Store, Value } from "../../src/store/port.ts";
import type { Connect } from "../../src/store/sqlite.ts";
import { everythingSeen, type Seen } from "../api/everything-seen.ts";
import { createFixtures, fixtureSeed, placesIn } from "../fixtures.ts";
import { newFolder } from "../folder.ts";
import { isLong, isRepeated, runs, tryRandomly } from "../forms.ts";
import {
  baseSeed,
  type CallOptions,
  call,
  clock,
  emptyDatabase,
  engine,
  SECRET_KEY,
} from "../helpers.ts";
import { topicResource } from "../toy/topics.ts";

const tables = await tablesOf();
const temporary = async () => {
  const folder = newFolder();
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
};
/** An empty database on the engine under test. */
const fresh = async () => {
  const { database, drop } = await emptyDatabase();
  onTestFinished(drop);
  return database;
};
const opened = async (database: string) => {
  const store = await openStore(database);
  onTestFinished(() => store.close());
  return store;
};
const change = async (database: string, work: (db: Database) => unknown) => {
  const store = await openStore(database);
  await store.transaction(async (db) => work(db));
  await store.close();
};
/** The raw driver that stores use on this runtime, without their settings. */
const runtimesOwn = async (): Promise<Connect> => {
  const { bun, deno } = process.versions;
  if (bun) return (await import("../../src/store/drivers/bun-sqlite.ts")).connect;
  if (deno || process.env["PM_SQLITE"] === "node:sqlite") {
    return (await import("../../src/store/drivers/node-sqlite.ts")).connect;
  }
  return (await import("../../src/store/drivers/better-sqlite3.ts")).connect;
};

/** All rows of a database by table, integers as text. */
async function everything(store: Store): Promise<Record<string, Value[][]>> {
  const all: Record<string, Value[][]> = {};
  for (const { name, columns, key } of tables) {
    const read = columns.map((column) =>
      column.type === "int" ? `cast(${column.name} as text)` : column.name,
    );
    const rows = await store.rows(
      `select ${read.join(", ")} from ${name} t order by ${key.map((column) => `t.${column}`).join(", ")}`,
    );
    all[name] = rows.map((row) =>
      row.map((value) =>
        value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value,
      ),
    );
  }
  return all;
}

const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.constantFrom(
    "",
    " ",
    "'\"\\?$1",
    "İıſßẞ",
    "e\u0301\u00e9",
    "👩‍👩‍👧‍👦",
    "\ufeff\uffff",
    "\u202e",
    "\r\n\t",
  ),
);
/** Text that both engines can store: PostgreSQL refuses NUL and lone surrogates. */
const kept = text.map((value) => value.replaceAll("\0", "").toWellFormed());
const integer = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });

/** Fills a database with ordinary and unusual data. */
async function fill(
  database: string,
  { texts, integers, pieces }: { texts: string[]; integers: bigint[]; pieces: Uint8Array[] },
): Promise<void> {
  const app = await createApp({ database });
  await app.admin.seed(baseSeed);
  for (const title of ["first", "second"]) {
    const answer = await call(app, "POST /projects/acme%2Fsite/issues", {
      as: "owner",
      json: { title },
    });
    expect(answer.status).toBe(201);
  }
  await app.close();
  await change(database, async (db) => {
    const [project] = await db.rows("select id from projects order by id limit 1");
    const [user] = await db.rows("select id from users order by id limit 1");
    const [first, second] = await db.rows("select id from issues order by id");
    // A row that refers to a row with a higher id in the same table.
    await db.run("update issues set moved_to_id = ? where id = ?", [
      second?.[0] as number,
      first?.[0] as number,
    ]);
    const [parent] = await db.rows("select max(id) from namespaces where kind = 'group'");
    await db.run(
      "update namespaces set parent_id = ? where id = (select min(id) from namespaces where kind = 'group')",
      parent as Value[],
    );
    for (const body of texts) {
      await db.run(
        `insert into notes (project_id, issue_id, author_id, body, created_at, updated_at)
         values (?, ?, ?, ?, 0, 0)`,
        [project?.[0] as number, first?.[0] as number, user?.[0] as number, body],
      );
    }
    for (const number of integers) {
      await db.run(
        `insert into events (project_id, author_id, action, created_at) values (?, ?, 'created', cast(? as bigint))`,
        [project?.[0] as number, user?.[0] as number, String(number)],
      );
    }
    const [blob] = await db.rows(
      "insert into wiki_blobs (project_id, sha256, size, created_at) values (?, 'x', 0, 0) returning id",
      [project?.[0] as number],
    );
    for (const [index, bytes] of pieces.entries()) {
      await db.run("insert into wiki_blob_pieces (blob_id, number, bytes) values (?, ?, ?)", [
        blob?.[0] as number,
        index,
        bytes,
      ]);
    }
    // The highest id is deleted, and must never be reused.
    await db.run("delete from labels where id = (select max(id) from labels)");
  });
}

const labelMadeIn = async (database: string) => {
  const app = await createApp({ database });
  const { json } = await call(app, "POST /groups/acme/labels", {
    as: "owner",
    json: { name: "made after", color: "#123456" },
  });
  await app.close();
  return json.id as number;
};

describe("a copy", () => {
  it("contains everything, on the other engine and back again", async () => {
    const pieces = fc.array(fc.uint8Array({ maxLength: 300 }), { minLength: 1, maxLength: 10 });
    await tryRandomly(
      fc.asyncProperty(
        fc.array(kept, { minLength: 1, maxLength: 60 }),
        fc.array(integer, { minLength: 1, maxLength: 60 }),
        pieces,
        async (texts, integers, bytes) => {
          const folder = newFolder();
          const [from, back] = [join(folder, "from.db"), join(folder, "back.db")];
          const { database: between, drop } = await emptyDatabase();
          await fill(from, { texts, integers, pieces: bytes });
          const there = await copyDatabase({ from, to: between });
          const again = await copyDatabase({ from: between, to: back });
          expect(again).toEqual(there);

          const contents: Record<string, Value[][]>[] = [];
          for (const database of [from, between, back]) {
            const store = await openStore(database);
            contents.push(await everything(store));
            await store.close();
          }
          expect(contents[1]).toEqual(contents[0]);
          expect(contents[2]).toEqual(contents[0]);
          const next = await labelMadeIn(from);
          expect([await labelMadeIn(between), await labelMadeIn(back)]).toEqual([next, next]);
          await rm(folder, { recursive: true });
          await drop();
        },
      ),
      { numRuns: runs(2, 10) },
    );
  });

  it.runIf(isLong && !isRepeated)(
    "of everything that there can be is answered alike by every route, on the other engine and back again",
    async () => {
      const folder = await temporary();
      const [from, between, back] = [join(folder, "from.db"), await fresh(), join(folder, "b.db")];
      const open = async (database: string, now: () => number) => {
        const options = {
          database,
          secretKey: SECRET_KEY,
          background: false,
          sites: "path" as const,
        };
        const app = await createAppOn(await openStore(database), { ...options, now });
        const asking = (request: string, more?: CallOptions) => call(app, request, more);
        return { ...app, call: asking };
      };
      const first = await open(from, clock);
      await first.admin.seed(fixtureSeed(2));
      await createFixtures(first, 2, [topicResource.name]);
      const places = [await placesIn(first, "acme", "acme/site")];
      await first.close();
      await copyDatabase({ from, to: between });
      await copyDatabase({ from: between, to: back });
      const now = clock();
      const seen: [string, Seen][][] = [];
      for (const database of [from, between, back]) {
        const app = await open(database, () => now);
        seen.push([...(await everythingSeen(app, places, ["admin"]))]);
        await app.close();
      }
      const [own = [], ...copies] = seen;
      expect(own.filter(([, { status }]) => status === 200).length).toBeGreaterThan(300);
      for (const copy of copies) {
        expect(copy.filter(([, answer], at) => !isDeepStrictEqual(answer, own[at]?.[1]))).toEqual(
          [],
        );
      }
    },
    600_000,
  );

  it("reports progress, and the rows of each table", async () => {
    const folder = await temporary();
    const [from, to] = [join(folder, "from.db"), await fresh()];
    await fill(from, { texts: ["x"], integers: [1n], pieces: [] });
    const told: [number, number][] = [];
    const copied = await copyDatabase({ from, to, onProgress: (...step) => told.push(step) });
    const rows = copied.reduce((sum, table) => sum + table.rows, 0);
    expect(told[0]).toEqual([0, 2 * rows]);
    expect(told.at(-1)).toEqual([2 * rows, 2 * rows]);
    expect(copied.map(({ table }) => table).sort()).toEqual(tables.map(({ name }) => name).sort());
    expect(copied.find(({ table }) => table === "notes")).toEqual({
      table: "notes",
      rows: 1,
      checksum: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    const empty = createHash("sha256").digest("hex");
    expect(copied.find(({ table }) => table === "badges")?.checksum).toBe(empty);
  });

  it("reads one snapshot while others write", async () => {
    const from = await fresh();
    const to = join(await temporary(), "to.db");
    const app = await createApp({ database: from });
    onTestFinished(() => app.close());
    await app.admin.seed(baseSeed);
    let written = 0;
    let ended = false;
    const writing = (async () => {
      while (!ended) {
        const push = { ref: "refs/heads/main", from: null, to: "b".repeat(40) };
        const by = { project: "acme/site", user: "developer" };
        await app.admin.activity.recordPush({ ...push, ...by, commitCount: 1, commitTitle: null });
        written += 1;
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    while (written < 20) await new Promise((resolve) => setTimeout(resolve, 1));
    const before = written;
    let after = 0;
    try {
      await copyDatabase({ from, to });
      after = written;
    } finally {
      ended = true;
      await writing;
    }
    expect(after).toBeGreaterThan(before);
    expect((await checkDatabase(to)).flatMap(({ problems }) => problems)).toEqual([]);
    const store = await opened(to);
    const [counted] = await store.rows("select count(*), sum(commit_count) from events");
    expect(counted?.[0]).toBeGreaterThanOrEqual(before);
    expect(counted?.[0]).toBeLessThan(after);
  });

  it("is refused if the target has data, which stays", async () => {
    const [from, to] = [join(await temporary(), "from.db"), await fresh()];
    await fill(from, { texts: [], integers: [], pieces: [] });
    const app = await createApp({ database: to });
    await app.admin.users.create({ username: "here", name: "Here", email: "here@example.com" });
    await app.close();
    const failure = await copyDatabase({ from, to }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StoreError);
    expect((failure as Error).message).toBe(
      "the database to copy to is not empty: there is something in users",
    );
    const store = await opened(to);
    expect(await store.rows("select username from users")).toEqual([["here"]]);
    expect(await store.rows("select count(*) from projects")).toEqual([[0]]);
  });

  it("is refused from an older version, and leaves nothing if it fails", async () => {
    const [from, to] = [await fresh(), join(await temporary(), "to.db")];
    await migrateDatabase(from);
    await change(from, async (db) => {
      await db.run(
        "insert into users (username, name, email, created_at, updated_at) values ('a', 'A', 'a', 0, 0)",
      );
      await db.run("alter table labels rename to labels_gone");
    });
    await expect(copyDatabase({ from, to })).rejects.toThrow("labels");
    const store = await opened(to);
    expect(await store.rows("select count(*) from users")).toEqual([[0]]);
    await change(from, (db) => db.run("delete from schema_migrations where id like '%emoji'"));
    await expect(copyDatabase({ from, to })).rejects.toThrow("of an older version");
  });
});

/** What a check finds: its name, what damages a database, and what it says then. */
const DAMAGES: readonly (readonly [name: string, damage: string, problem: RegExp])[] = [
  ["event totals", "update event_counts set events = events + 1", /counted 2, there are 1$/],
  ["event totals", "delete from event_counts", /counted 0, there are 1$/],
  ["event totals", "delete from events", /counted 1, there are 0$/],
  [
    "counts of open issues",
    "insert into open_issue_counts (project_id, count) select min(id), 3 from projects",
    /^project \d+: counted 5, there are 2$/,
  ],
  [
    "counts of pipelines and jobs",
    "insert into ci_counts (project_id, kind, count) select min(id), 'job', 3 from projects",
    /^jobs of project \d+: counted 3, there are 0$/,
  ],
  ["stars", "update projects set star_count = 9", /counted 9, there are \d$/],
  [
    "time spent",
    `insert into issues (iid, project_id, title, total_time_spent, created_at, updated_at)
     select 1, min(id), 'Long', 9, 0, 0 from projects`,
    /^issue \d+: counted 9 seconds, there are 0$/,
  ],
  [
    "ancestors of namespaces",
    "delete from namespace_ancestors where depth = 1",
    /^namespace \d+ does not have/,
  ],
  [
    "visibility",
    "update projects set visibility = 20 where path = 'core'",
    /^project \d+ \(acme\/team\/core\) is more visible than its group$/,
  ],
  [
    "visibility",
    "update namespaces set visibility = 30 where path = 'team'",
    /^group \d+ \(elsewhere\) is more visible than its parent$/,
  ],
  [
    "paths",
    "update projects set full_path = 'elsewhere' where path = 'site'",
    /is at elsewhere, its namespace at acme$/,
  ],
  [
    "paths",
    "update namespaces set full_path = 'elsewhere' where path = 'team'",
    /is at elsewhere, its parent at acme$/,
  ],
  [
    "attachments",
    "insert into wiki_blobs (project_id, sha256, size, created_at) select min(id), 'x', 7, 0 from projects",
    /has 0 of 7 bytes$/,
  ],
  [
    "files",
    "insert into stored_files (size, sha256) values (7, 'x')",
    /^file \d+ has 0 of 7 bytes$/,
  ],
  [
    "wikis",
    "update wiki_pages set content = 'another'",
    /^the wiki of project \d+: the page home is not what its file is$/,
  ],
  ["wikis", "delete from wiki_pages", /^the wiki of project \d+: the page home is missing$/],
  [
    "positions",
    `insert into issues (iid, project_id, title, created_at, updated_at)
     select 3, min(id), 'Third', 0, 0 from projects`,
    /^issue \d+ has no position$/,
  ],
  [
    "numbers",
    `insert into issues (iid, project_id, title, created_at, updated_at)
     select 3, min(id), 'Third', 0, 0 from projects`,
    /^project \d+ has issue 3, and gave 0 last$/,
  ],
  [
    "numbers",
    `insert into merge_requests (iid, project_id, source_project_id, title, source_branch, target_branch,
       created_at, updated_at)
     select -1, min(id), min(id), 'None', 'a', 'b', 0, 0 from projects`,
    /^project \d+ has merge request -1, and gave 0 last$/,
  ],
];
/** Those that one check finds together, and that count each other: of each name one, since a database and its check take long. */
const ROUNDS = [0, 1, 2].map((round) =>
  DAMAGES.filter(
    ([name], at) => DAMAGES.slice(0, at).filter(([before]) => before === name).length === round,
  ),
);

describe("a check", () => {
  const problemsOf = async (database: string) =>
    Object.fromEntries(
      (await checkDatabase(database))
        .filter(({ problems }) => problems.length > 0)
        .map(({ name, problems }) => [name, problems]),
    );

  it("finds no problems in data created by the API, and changes nothing", async () => {
    const database = await fresh();
    const app = await createApp({ database });
    await app.admin.seed(seedData("small", Date.now(), false));
    await app.close();
    const store = await opened(database);
    const before = await everything(store);
    const checks = await checkDatabase(database);
    expect(checks.length).toBeGreaterThan(5);
    expect(checks.flatMap(({ problems }) => problems)).toEqual([]);
    expect(await everything(store)).toEqual(before);
  });

  it.each(ROUNDS.map((round) => [round.map(([name]) => name).join(", "), round] as const))(
    "finds wrong %s",
    async (_, round) => {
      const database = await fresh();
      const app = await createApp({ database });
      await app.admin.seed(baseSeed);
      const book = { path: "book", wiki: [{ title: "home", content: "One" }] };
      await app.admin.seed({ groups: [{ path: "books", projects: [book] }] });
      await app.admin.activity.recordPush({
        project: "acme/site",
        user: "developer",
        ref: "refs/heads/main",
        from: null,
        to: "b".repeat(40),
        commitCount: 1,
        commitTitle: null,
      });
      await app.close();
      await change(database, async (db) => {
        for (const damage of new Set(round.map((one) => one[1]))) await db.run(damage);
      });
      const problems = await problemsOf(database);
      for (const [name, , problem] of round) {
        expect(problems[name]).toContainEqual(expect.stringMatching(problem));
      }
    },
  );

  it.runIf(engine === "sqlite").each([
    ["delete from issue_search_waiting", "row 1 is not indexed as it is"],
    [
      "insert into issue_search (rowid, owner, text) values (9, '', 'x')",
      "row 9 is indexed, but there is none",
    ],
  ])("finds a wrong index of texts: %s", async (damage, problem) => {
    const database = await fresh();
    const app = await createApp({ database });
    await app.admin.seed({
      users: [{ username: "ada" }],
      groups: [{ path: "g", projects: [{ path: "p", issues: [{ title: "t", author: "ada" }] }] }],
    });
    await app.close();
    expect(await problemsOf(database)).toEqual({});
    await change(database, (db) => db.run(damage));
    expect(await problemsOf(database)).toEqual({ "search in issues": [problem] });
  });

  it("finds ids that would be reused", async () => {
    const database = await fresh();
    const app = await createApp({ database });
    await app.admin.seed(baseSeed);
    await app.close();
    await change(database, (db) =>
      engine === "sqlite"
        ? db.run("update sqlite_sequence set seq = 1 where name = 'users'")
        : db.run("alter table users alter column id restart with 1"),
    );
    expect(await problemsOf(database)).toEqual({
      ids: [expect.stringMatching(/^users has an id \d+, but the last one assigned was [01]$/)],
    });
  });

  // PostgreSQL enforces keys, and checks its own pages.
  it.runIf(engine === "sqlite")("finds broken keys and pages", async () => {
    const database = await fresh();
    const app = await createApp({ database });
    await app.admin.seed(seedData("small", Date.now(), false));
    await app.close();
    // A store would enforce foreign keys.
    const db = (await runtimesOwn())(database, false);
    const run = (sql: string) => db.prepare(sql).run([]);
    const ask = (sql: string) => db.prepare(sql).rows([])[0]?.[0];
    run("pragma foreign_keys = off");
    run("update boards set assignee_id = 4711");
    run("insert into event_counts (project_id, author_id, events) values (4711, 1, 1)");
    const pageSize = Number(ask("pragma page_size"));
    const page = Number(ask("select rootpage from sqlite_schema where name = 'projects_by_name'"));
    const name = String(
      ask("select name from projects where visibility >= 0 order by name limit 1"),
    );
    db.close();
    const file = await open(database, "r+");
    const { buffer } = await file.read(Buffer.alloc(pageSize), 0, pageSize, (page - 1) * pageSize);
    const within = buffer.indexOf(name);
    expect(within).toBeGreaterThan(0);
    await file.write("?", (page - 1) * pageSize + within);
    await file.close();
    const problems = await problemsOf(database);
    expect(problems["foreign keys"]).toContainEqual(
      expect.stringMatching(/^row \d+ of boards refers to nothing in users$/),
    );
    expect(problems["foreign keys"]).toContain(
      "a row of event_counts refers to nothing in projects",
    );
    expect(problems["pages and indexes"]?.[0]).toContain("projects_by_name");
  });

  // SQLite has neither.
  it.runIf(engine === "postgres")("finds invalid constraints and indexes", async () => {
    const database = await fresh();
    await migrateDatabase(database);
    await change(database, async (db) => {
      await db.run(
        "alter table labels add constraint doubtful foreign key (priority) references users (id) not valid",
      );
      await db.run(
        "update pg_index set indisvalid = false where indexrelid = 'projects_by_name'::regclass",
      );
    });
    expect(await problemsOf(database)).toEqual({
      indexes: ["projects_by_name is not valid: reindex it"],
      "foreign keys": ["doubtful of labels was never validated"],
    });
  });

  it("refuses other programs' databases and other versions", async () => {
    const database = await fresh();
    await expect(checkDatabase(database)).rejects.toThrow("is not a pm-api database");
    await migrateDatabase(database);
    await change(database, (db) => db.run("delete from schema_migrations where id like '%emoji'"));
    await expect(checkDatabase(database)).rejects.toThrow("of an older version");
    await change(database, (db) =>
      db.run("insert into schema_migrations values ('29990101-01-x', 0)"),
    );
    await expect(checkDatabase(database)).rejects.toThrow("newer than this pm-api");
  });
});

describe("a migration", () => {
  it("is listed before it runs", async () => {
    const database = await fresh();
    const all = await migrateDatabase(database, { dryRun: true });
    expect(all.length).toBeGreaterThan(10);
    expect(await migrateDatabase(database, { dryRun: true })).toEqual(all);
    expect(await migrateDatabase(database)).toEqual(all);
    expect(await migrateDatabase(database, { dryRun: true })).toEqual([]);
    expect(await migrateDatabase(database)).toEqual([]);
  });
});

// PostgreSQL has its own tools for that.
describe.runIf(engine === "sqlite")("a backup", () => {
  it("is consistent while others write, and opens as a database", async () => {
    const database = await fresh();
    const folder = await temporary();
    const app = await createApp({ database });
    onTestFinished(() => app.close());
    await app.admin.seed(baseSeed);
    let written = 0;
    let ended = false;
    // Each adds an event and a label in one transaction: a backup contains both or neither.
    const writing = (async () => {
      while (!ended) {
        const { status } = await call(app, "POST /projects/acme%2Fsite/issues", {
          as: "owner",
          json: { title: `Issue ${written}`, labels: `label ${written}` },
        });
        expect(status).toBe(201);
        written += 1;
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    const backups: [file: string, least: number][] = [];
    for (let round = 0; round < 5; round += 1) {
      const least = written;
      const file = join(folder, `${round}.db`);
      const { bytes } = await backupDatabase(database, file);
      expect(bytes).toBeGreaterThan(100_000);
      backups.push([file, least]);
      while (written < least + 5) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    ended = true;
    await writing;
    for (const [file, least] of backups) {
      expect((await checkDatabase(file)).flatMap(({ problems }) => problems)).toEqual([]);
      const store = await opened(file);
      const [counts] = await store.rows(
        `select (select count(*) from issues), (select count(*) from labels where name like 'label %'),
           (select count(*) from events)`,
      );
      expect(counts?.[0]).toBeGreaterThanOrEqual(least);
      expect(counts).toEqual([counts?.[0], counts?.[0], counts?.[0]]);
    }
    expect((await readdir(folder)).filter((name) => name.endsWith(".partial"))).toEqual([]);
  });

  it("replaces an older one, or keeps it on failure", async () => {
    const database = await fresh();
    const folder = await temporary();
    await migrateDatabase(database);
    const file = join(folder, "backup.db");
    await backupDatabase(database, file);
    await backupDatabase(database, file);
    await writeFile(file, "another's");
    await expect(backupDatabase(database, file)).rejects.toThrow("is not a backup");
    await backupDatabase(database, file, { force: true });
    expect((await checkDatabase(file)).flatMap(({ problems }) => problems)).toEqual([]);
    await expect(backupDatabase(database, join(folder, "missing", "x.db"))).rejects.toThrow();
    expect(existsSync(join(folder, "missing"))).toBe(false);
  });
});

// SQLite has no such tools.
it.runIf(engine === "postgres")("a backup of PostgreSQL is for PostgreSQL's tools", async () => {
  const file = join(await temporary(), "x.db");
  await expect(backupDatabase(await fresh(), file)).rejects.toThrow("pg_dump");
  expect(existsSync(file)).toBe(false);
});
