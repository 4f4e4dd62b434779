import { readdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { migrate } from "../../src/store/migrate.ts";
import { openStore } from "../../src/store/open.ts";
import { contains } from "../../src/store/patterns.ts";
import { placeholders } from "../../src/store/placeholders.ts";
import { ConstraintError, type Store, StoreError, type Value } from "../../src/store/port.ts";
import { updateRow } from "../../src/store/update.ts";
import { emptyDatabase, engine, type TestDatabase } from "../helpers.ts";

/** Tables with every kind of column and constraint. */
const schema = {
  id: "20260101-01-conformance",
  sql: `
create table parents (
  id $id,
  name $text
);
create table things (
  id $id,
  name $text not null,
  number $int,
  bytes $bytes,
  parent_id $int references parents (id) on delete cascade,
  updated_at $int not null default 0,
  check (number is null or number <> -13)
);
create unique index things_name on things (name);
`,
};

let database: TestDatabase;
let store: Store;

beforeAll(async () => {
  database = await emptyDatabase();
  store = await openStore(database.database);
  await migrate(store, [schema], 0);
});
afterAll(async () => {
  await store.close();
  await database.drop();
});
beforeEach(() =>
  store.transaction(async (db) => {
    await db.run("delete from things");
    await db.run("delete from parents");
  }),
);

const add = (name: string, number: Value = null) =>
  store.transaction((db) =>
    db.run("insert into things (name, number) values (?, ?)", [name, number]),
  );
const counting = "select count(*) as total from things";
const count = async (from: Store = store) =>
  (await from.rows("select count(*) from things"))[0]?.[0];
const names = async (order = "name") =>
  (await store.rows(`select name from things order by ${order}`)).map(([name]) => name);

describe("statements", () => {
  it("return rows as objects by column name, and as arrays in select order", async () => {
    await add("one", 1);
    await add("two", 2);
    const sql = "select number, name as label from things where number >= ? order by number";
    expect(await store.all(sql, [1])).toEqual([
      { number: 1, label: "one" },
      { number: 2, label: "two" },
    ]);
    expect(await store.rows(sql, [1])).toEqual([
      [1, "one"],
      [2, "two"],
    ]);
    expect(await store.rows(sql, [3])).toEqual([]);
    expect(await store.all(sql, [3])).toEqual([]);
  });

  it("return only the first row", async () => {
    await add("one", 1);
    await add("two", 2);
    const sql = "select name from things where number > ? order by number";
    const reader = store.reader();
    for (const from of [store, store, reader, reader]) {
      expect(await from.one(sql, [0])).toEqual({ name: "one" });
      expect(await from.one(sql, [1])).toEqual({ name: "two" });
      expect(await from.one(sql, [2])).toBeUndefined();
    }
    await store.transaction(async (db) => {
      await db.run("update things set number = 3 where name = 'one'");
      expect(await db.one(sql, [2])).toEqual({ name: "one" });
      expect(await store.one(sql, [2])).toBeUndefined();
    });
    expect(await store.one(sql, [2])).toEqual({ name: "one" });
  });

  it("return the row for exactly these values, however similar others are", async () => {
    const sql = "select lower(?) as a, lower(?) as b";
    const reader = store.reader();
    const alike = [
      ["1:a", ""],
      ["1", "a"],
      ["", "1:a"],
      ["1:1", "a0:"],
      ["0", "1:a0:"],
      ["null ;", "x"],
    ];
    for (const [a, b] of [...alike, ...alike]) {
      expect(await reader.one(sql, [a as string, b as string])).toEqual({ a, b });
    }
  });

  it("return the number of rows they changed", async () => {
    await add("one", 1);
    await add("two", 2);
    await store.transaction(async (db) => {
      expect(await db.run("update things set number = 5")).toBe(2);
      expect(await db.run("update things set number = 6 where name = ?", ["none"])).toBe(0);
      expect(await db.run("insert into things (name) values (?), (?)", ["three", "four"])).toBe(2);
      expect(await db.run("delete from things where name <> ?", ["one"])).toBe(3);
    });
  });

  it("in a transaction read its own writes", async () => {
    await store.transaction(async (db) => {
      const inserted = await db.rows(
        "insert into things (name, number) values (?, ?) returning id, name",
        ["one", 1],
      );
      expect(inserted).toEqual([[expect.any(Number), "one"]]);
      const id = inserted[0]?.[0] as number;
      expect(await db.all("select number from things where id = ?", [id])).toEqual([{ number: 1 }]);
      expect(
        await db.all<{ number: number }>(
          "update things set number = number + 1 where id = ? returning number",
          [id],
        ),
      ).toEqual([{ number: 2 }]);
    });
  });

  it("skip or change on conflict, and say which", async () => {
    await add("one", 1);
    const insert = "insert into things (name, number) values (?, ?)";
    const skip = `${insert} on conflict do nothing`;
    const change = `${insert} on conflict (name) do update set number = excluded.number`;
    await store.transaction(async (db) => {
      expect(await db.run(skip, ["one", 2])).toBe(0);
      expect(await db.run(skip, ["two", 2])).toBe(1);
      expect(await db.run(change, ["one", 3])).toBe(1);
    });
    expect(await store.rows("select name, number from things order by name")).toEqual([
      ["one", 3],
      ["two", 2],
    ]);
  });

  it("take many values, and the same SQL with other values", async () => {
    const sql = "select count(*) from things where number = ? or name = ?";
    await add("one", 1);
    expect(await store.rows(sql, [1, "none"])).toEqual([[1]]);
    expect(await store.rows(sql, [2, "none"])).toEqual([[0]]);
    const many = placeholders(Array.from({ length: 500 }, (_, index) => index));
    expect(
      await store.rows(`select name from things where number in (${many.sql})`, many.values),
    ).toEqual([["one"]]);
  });

  it("run the same SQL on two stores at once", async () => {
    const other = await openStore(database.database);
    try {
      await add("one", 1);
      const sql = "select name from things where number = ?";
      const found = await Promise.all([store.rows(sql, [1]), other.rows(sql, [1])]);
      expect(found).toEqual([[["one"]], [["one"]]]);
    } finally {
      await other.close();
    }
  });

  it("fail on malformed SQL with an error other than ConstraintError", async () => {
    const failure = await (async () => store.rows("select nothing from nowhere"))().catch(
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(Error);
    expect(failure).not.toBeInstanceOf(ConstraintError);
    expect(await count()).toBe(0);
  });
});

describe("values", () => {
  const roundTrip = async (column: string, value: Value) => {
    await store.transaction(async (db) => {
      await db.run("delete from things");
      await db.run(`insert into things (name, ${column}) values ('x', ?)`, [value]);
    });
    return (await store.rows(`select ${column} from things`))[0]?.[0];
  };

  it.each([
    0,
    1,
    -1,
    2 ** 31,
    -(2 ** 31) - 1,
    1_777_777_777_777,
    Number.MAX_SAFE_INTEGER,
    Number.MIN_SAFE_INTEGER,
    null,
  ])("store the integer %s", async (value) => {
    expect(await roundTrip("number", value)).toBe(value);
  });

  it("accept a bigint and return a number", async () => {
    expect(await roundTrip("number", 9_007_199_254_740_991n)).toBe(Number.MAX_SAFE_INTEGER);
  });

  it("round integers beyond a number's precision, in reads and in returning clauses", async () => {
    const large = 2n ** 62n + 1n;
    expect(await roundTrip("number", large)).toBe(2 ** 62);
    expect(await roundTrip("number", 2 ** 53)).toBe(2 ** 53);
    const sql = "insert into things (name, number) values ('large', ?) returning number";
    expect(await store.transaction((db) => db.rows(sql, [large]))).toEqual([[2 ** 62]]);
    expect(await store.all("select number from things where name = 'large'")).toEqual([
      { number: 2 ** 62 },
    ]);
    expect(await count()).toBe(2);
  });

  it("refuse a bigint that no column can hold", async () => {
    await expect(roundTrip("number", 2n ** 63n)).rejects.toThrow();
    expect(await roundTrip("number", -(2n ** 63n))).toBe(-(2 ** 63));
  });

  it("return counts and sums as numbers", async () => {
    await add("one", 2);
    await add("two", 3);
    expect(await store.rows("select count(*), sum(number), max(number) from things")).toEqual([
      [2, 5, 3],
    ]);
  });

  it.each(["", "a'b\"c\\d?e", "Straße 😀 ￿", "line\nbreak\t", "x".repeat(100_000)])(
    "store the text %j",
    async (value) => {
      await add(value);
      expect(await names()).toEqual([value]);
    },
  );

  it("never truncate a text with NUL: it is refused or stored", async () => {
    const written = await add("a\0b").catch((error) => error);
    if (written instanceof Error) expect(await names()).toEqual([]);
    else expect(await names()).toEqual(["a\0b"]);
  });

  it("accept ill-formed text", async () => {
    await add("a\ud800b");
    expect(await names()).toEqual([expect.stringMatching(/^a�+b$/)]);
  });

  it("store bytes, and null", async () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
    const kept = await roundTrip("bytes", bytes);
    expect(kept).toBeInstanceOf(Uint8Array);
    expect([...(kept as Uint8Array)]).toEqual([...bytes]);
    expect([...((await roundTrip("bytes", new Uint8Array())) as Uint8Array)]).toEqual([]);
    expect(await roundTrip("bytes", null)).toBe(null);
  });

  it("never reuse an id", async () => {
    await add("one");
    const [first] = await store.rows("select id from things");
    await store.transaction((db) => db.run("delete from things"));
    await add("two");
    const [second] = await store.rows("select id from things");
    expect(second?.[0]).toBeGreaterThan(first?.[0] as number);
  });
});

describe("constraints", () => {
  it.each([
    ["unique", "insert into things (name) values ('one')"],
    ["foreign key", "insert into things (name, parent_id) values ('two', 4711)"],
    ["not null", "insert into things (name) values (null)"],
    ["check", "insert into things (name, number) values ('two', -13)"],
  ])("refuse a write with the rule %s", async (rule, sql) => {
    await add("one");
    const failure: unknown = await store.transaction((db) => db.run(sql)).catch((error) => error);
    expect(failure).toBeInstanceOf(ConstraintError);
    expect(failure).toMatchObject({ name: "ConstraintError", rule, cause: expect.any(Error) });
    expect(await names()).toEqual(["one"]);
  });

  it("are reported by rows and all, too", async () => {
    await add("one");
    const sql = "insert into things (name) values ('one') returning id";
    for (const how of ["rows", "all"] as const) {
      const refused = store.transaction(async (db) => db[how](sql));
      await expect(refused).rejects.toMatchObject({ rule: "unique" });
    }
  });

  it("respect on delete cascade", async () => {
    await store.transaction(async (db) => {
      const [parent] = await db.rows("insert into parents (name) values ('p') returning id");
      await db.run("insert into things (name, parent_id) values ('child', ?)", [
        parent?.[0] as number,
      ]);
      await db.run("insert into things (name) values ('orphan')");
    });
    await store.transaction((db) => db.run("delete from parents"));
    expect(await names()).toEqual(["orphan"]);
  });
});

describe("transactions", () => {
  it("return the result of their work", async () => {
    expect(await store.transaction(() => "result")).toBe("result");
    expect(await store.transaction(async () => 42)).toBe(42);
  });

  it("roll back everything when their work throws, and rethrow the error", async () => {
    const mine = new Error("mine");
    const failing = store.transaction(async (db) => {
      await db.run("insert into things (name) values ('one')");
      await db.run("insert into parents (name) values ('p')");
      throw mine;
    });
    await expect(failing).rejects.toBe(mine);
    const failingAtOnce = store.transaction(() => {
      throw mine;
    });
    await expect(failingAtOnce).rejects.toBe(mine);
    expect(await count()).toBe(0);
    expect(await store.rows("select count(*) from parents")).toEqual([[0]]);
    await add("two");
    expect(await names()).toEqual(["two"]);
  });

  it("roll back everything when a statement is refused", async () => {
    await add("one");
    const failing = store.transaction(async (db) => {
      await db.run("insert into things (name) values ('two')");
      await db.run("insert into things (name) values ('one')");
    });
    await expect(failing).rejects.toBeInstanceOf(ConstraintError);
    expect(await names()).toEqual(["one"]);
  });

  it("isolate 200 interleaved ones, half of them failing", async () => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 200 }, (_, index) =>
        store.transaction(async (db) => {
          const [made] = await db.rows("insert into things (name) values (?) returning id", [
            `first ${index}`,
          ]);
          if (index % 4 === 1) throw new Error("refused by the work");
          await new Promise((resolve) => setImmediate(resolve));
          await db.run("update things set number = ? where id = ?", [index, made?.[0] as number]);
          // Duplicates this transaction's own row, which the schema refuses.
          if (index % 4 === 3) {
            await db.run("insert into things (name) values (?)", [`first ${index}`]);
          }
          await db.run("insert into things (name, number) values (?, ?)", [
            `second ${index}`,
            index,
          ]);
        }),
      ),
    );
    const expected = Array.from({ length: 100 }, (_, half) => half * 2);
    expect(outcomes.map(({ status }) => status)).toEqual(
      Array.from({ length: 200 }, (_, index) => (index % 2 === 0 ? "fulfilled" : "rejected")),
    );
    const rows = await store.rows("select name, number from things order by number, name");
    expect(rows).toEqual(
      expected.flatMap((index) => [
        [`first ${index}`, index],
        [`second ${index}`, index],
      ]),
    );
  });

  it("are serializable: no read and write back is lost", async () => {
    await add("counter", 0);
    await Promise.all(
      Array.from({ length: 40 }, () =>
        store.transaction(async (db) => {
          const [read] = await db.rows("select number from things where name = 'counter'");
          await new Promise((resolve) => setImmediate(resolve));
          await db.run("update things set number = ? where name = 'counter'", [
            (read?.[0] as number) + 1,
          ]);
        }),
      ),
    );
    expect(await store.rows("select number from things")).toEqual([[40]]);
  });

  it("run deferred statements in order, on PostgreSQL at the end, and roll back everything if one fails", async () => {
    const isAtOnce = store.dialect === "sqlite";
    await store.transaction(async (db) => {
      db.last("insert into things (name) select 'last of ' || count(*) from things");
      db.last("update things set number = (select count(*) from things) where name like ?", [
        "last%",
      ]);
      await db.run("insert into things (name) values ('first')");
      const found = await db.rows("select name from things order by id");
      expect(found).toEqual(isAtOnce ? [["last of 0"], ["first"]] : [["first"]]);
    });
    expect(await store.rows("select name, number from things order by name")).toEqual(
      isAtOnce
        ? [
            ["first", null],
            ["last of 0", 1],
          ]
        : [
            ["first", null],
            ["last of 1", 2],
          ],
    );
    const before = await names();
    const failing = store.transaction(async (db) => {
      db.last("insert into things (name) values ('first')");
      await db.run("insert into things (name) values ('second')");
    });
    await expect(failing).rejects.toBeInstanceOf(ConstraintError);
    expect(await names()).toEqual(before);
  });

  it("let the event loop have turns, in which others read, however many statements they have", async () => {
    let turns = 0;
    await store.transaction(async (db) => {
      setImmediate(() => {
        turns += 1;
      });
      for (let left = 100_000; left > 0 && turns === 0; left -= 1) await db.rows(counting);
    });
    expect(turns).toBe(1);
  });

  it("in shared mode exclude each other with a lock", async () => {
    await add("counter", 0);
    await Promise.all(
      Array.from({ length: 20 }, () =>
        store.transaction(
          async (db) => {
            db.lock(1);
            const [read] = await db.rows("select number from things where name = 'counter'");
            await new Promise((resolve) => setImmediate(resolve));
            await db.run("update things set number = ? where name = 'counter'", [
              (read?.[0] as number) + 1,
            ]);
          },
          { shared: true },
        ),
      ),
    );
    expect(await store.rows("select number from things")).toEqual([[20]]);
  });

  it("continue after one that failed", async () => {
    const all = await Promise.allSettled([
      store.transaction((db) => db.run("insert into nowhere values (1)")),
      add("one"),
      store.transaction((db) => db.run("insert into things (name) values (null)")),
      add("two"),
    ]);
    expect(all.map(({ status }) => status)).toEqual([
      "rejected",
      "fulfilled",
      "rejected",
      "fulfilled",
    ]);
    expect(await names()).toEqual(["one", "two"]);
  });
});

describe("reads outside a transaction", () => {
  it("see committed data without waiting", async () => {
    await add("before");
    await store.transaction(async (db) => {
      await db.run("insert into things (name) values ('within')");
      expect(await names()).toEqual(["before"]);
      await db.run("delete from things where name = 'before'");
      expect(await names()).toEqual(["before"]);
      expect(await store.all("select name from things")).toEqual([{ name: "before" }]);
    });
    expect(await names()).toEqual(["within"]);
  });

  it("see their own store's commits at once", async () => {
    for (let index = 0; index < 50; index += 1) {
      await count();
      await add(`thing ${index}`);
      expect(await count()).toBe(index + 1);
    }
  });

  it("see another store's commits at once", async () => {
    const other = await openStore(database.database);
    try {
      for (let index = 0; index < 20; index += 1) {
        expect(await count(other)).toBe(index);
        await add(`thing ${index}`);
        expect(await count(other)).toBe(index + 1);
      }
    } finally {
      await other.close();
    }
  });

  it("see another store's commits at once in cached rows", async () => {
    const other = await openStore(database.database);
    try {
      for (let index = 0; index < 20; index += 1) {
        expect(await other.one(counting)).toEqual({ total: index });
        expect(await store.one(counting)).toEqual({ total: index });
        await add(`thing ${index}`);
        expect(await store.one(counting)).toEqual({ total: index + 1 });
        expect(await other.one(counting)).toEqual({ total: index + 1 });
      }
    } finally {
      await other.close();
    }
  });

  it("of a request return what was committed before it", async () => {
    const other = await openStore(database.database);
    try {
      for (let index = 0; index < 20; index += 1) {
        const requests = [store.reader(), other.reader(), store.reader(), other.reader()];
        for (const request of requests)
          expect(await request.one(counting)).toEqual({ total: index });
        await (index % 2 ? other : store).transaction((db) =>
          db.run("insert into things (name) values (?)", [`thing ${index}`]),
        );
      }
    } finally {
      await other.close();
    }
  });

  it("of a request, with many at once, return no less than what was committed before it", async () => {
    const other = await openStore(database.database);
    let committed = 0;
    const request = async (from: Store) => {
      const before = committed;
      const reader = from.reader();
      for (let again = 0; again < 2; again += 1) {
        const found = await reader.one<{ total: number }>(counting);
        expect(found?.total).toBeGreaterThanOrEqual(before);
      }
    };
    try {
      const writing = (async () => {
        for (; committed < 60; committed += 1) await add(`thing ${committed}`);
      })();
      const asking = Array.from({ length: 8 }, async (_, index) => {
        while (committed < 60) {
          await request(index % 2 ? other : store);
          await new Promise((resolve) => setImmediate(resolve));
        }
      });
      await Promise.all([writing, ...asking]);
      expect(await store.reader().one(counting)).toEqual({ total: 60 });
    } finally {
      await other.close();
    }
  });

  it("return single rows of any number and size", async () => {
    const long = "x".repeat(5000);
    await add(long, 1);
    const sql = "select name, number from things where number < ?";
    const reader = store.reader();
    for (let index = 2; index < 2500; index += 1) {
      expect(await reader.one(sql, [index])).toEqual({ name: long, number: 1 });
    }
    await store.transaction((db) => db.run("update things set name = 'short'"));
    const later = store.reader();
    for (let index = 2; index < 2500; index += 1) {
      expect(await later.one(sql, [index])).toEqual({ name: "short", number: 1 });
    }
    expect(await later.one(sql, [1])).toBeUndefined();
  });
});

/** SQLite only: its library, and its files on disk. */
const onSqlite = () => {
  it("is the library of the runtime", async () => {
    const { bun, deno } = process.versions;
    const others = bun !== undefined || deno !== undefined || process.env["PM_SQLITE"];
    const options = await store.rows("pragma compile_options");
    expect(options.flat().includes("LIKE_DOESNT_MATCH_BLOBS")).toBe(!others);
  });

  it("leaves one file when closed, however many statements were prepared and discarded", async () => {
    const { database, drop } = await emptyDatabase();
    const own = await openStore(database);
    await migrate(own, [schema], 0);
    for (let index = 0; index < 2100; index += 1) await own.rows(`select ${index}`);
    await own.transaction((db) => db.run("insert into parents (name) values ('p')"));
    await own.close();
    expect(await readdir(dirname(database))).toEqual(["pm.db"]);
    await drop();
  });

  it("can be closed twice", async () => {
    const { database, drop } = await emptyDatabase();
    const own = await openStore(database);
    await own.close();
    await own.close();
    await drop();
  });

  it("refuses to open a file that is no database", async () => {
    const { database, drop } = await emptyDatabase();
    await expect(openStore(dirname(database))).rejects.toBeInstanceOf(StoreError);
    await writeFile(database, "This is no database. ".repeat(100));
    await expect(openStore(database)).rejects.toMatchObject({
      name: "StoreError",
      cause: { code: "SQLITE_NOTADB" },
    });
    await drop();
  });
};
if (engine === "sqlite") describe("a SQLite file", onSqlite);

const inMemory = () => {
  it("has one connection: a read started during a transaction waits for its end", async () => {
    const memory = await openStore(":memory:");
    try {
      await migrate(memory, [schema], 0);
      let during: Promise<unknown> | undefined;
      await memory.transaction(async (db) => {
        await db.run("insert into things (name) values ('one')");
        during = count(memory);
        await new Promise((resolve) => setImmediate(resolve));
        await db.run("insert into things (name) values ('two')");
      });
      expect(await during).toBe(2);
      const failing = memory.transaction(async (db) => {
        await db.run("insert into things (name) values ('three')");
        during = count(memory);
        throw new Error("mine");
      });
      await expect(failing).rejects.toThrow("mine");
      expect(await during).toBe(2);
    } finally {
      await memory.close();
    }
  });

  it("is separate for each store", async () => {
    const [one, other] = await Promise.all([openStore(":memory:"), openStore(":memory:")]);
    await migrate(one, [schema], 0);
    await expect((async () => count(other))()).rejects.toThrow("things");
    await Promise.all([one.close(), other.close()]);
  });
};
// PostgreSQL has none.
if (engine === "sqlite") describe("a database in memory", inMemory);

describe("text", () => {
  it("sorts by code point", async () => {
    const inOrder = ["", " ", "-", "10", "9", "A", "B", "Z", "_", "a", "b", "É", "é", "ｚ", "😀"];
    for (const name of inOrder.toReversed()) await add(name);
    expect(await names()).toEqual(inOrder);
    expect(await names("name desc")).toEqual(inOrder.toReversed());
  });

  it("is compared exactly", async () => {
    await add("name");
    const found = "select 1 from things where name = ?";
    expect(await store.rows(found, ["name"])).toHaveLength(1);
    for (const other of ["Name", "name ", " name", "nam"]) {
      expect(await store.rows(found, [other])).toEqual([]);
    }
  });

  it("is lowercased for ASCII letters only", async () => {
    await add("ACME É");
    const found = "select 1 from things where lower(name) = lower(?)";
    expect(await store.rows("select lower(name) from things")).toEqual([["acme É"]]);
    for (const same of ["ACME É", "acme É", "AcMe É"]) {
      expect(await store.rows(found, [same])).toHaveLength(1);
    }
    expect(await store.rows(found, ["acme é"])).toEqual([]);
  });
});

describe("placeholders", () => {
  it.each([
    [1, 1],
    [2, 2],
    [3, 4],
    [5, 8],
    [100, 128],
  ])("stand for %s values in %s places", (given, places) => {
    const values = Array.from({ length: given }, (_, index) => index);
    const made = placeholders(values);
    expect(made.sql.split(", ")).toEqual(Array.from({ length: places }, () => "?"));
    expect(made.values.slice(0, given)).toEqual(values);
    expect(new Set(made.values.slice(given))).toEqual(new Set(places === given ? [] : [given - 1]));
  });

  it("match exactly the values", async () => {
    for (const number of [1, 2, 3, 4, 5]) await add(`n${number}`, number);
    const made = placeholders([5, 1, 4]);
    expect(
      await store.rows(
        `select number from things where number in (${made.sql}) order by number`,
        made.values,
      ),
    ).toEqual([[1], [4], [5]]);
  });
});

describe("a list of values", () => {
  const texts = ["", "NULL", "a,b", "{c}", '"d"', "e\\f", "'g'", "\u{1f600} é", " h "];
  const listed = (values: readonly Value[]) => values.map(() => "?").join(", ");

  it("matches texts and bytes exactly", async () => {
    for (const text of texts) await add(text);
    await add("other");
    for (const some of [texts, texts.slice(2, 5), ["NULL", "NULL", "none"]]) {
      const found = `select name from things where name in (${listed(some)}) order by name`;
      const expected = [...new Set(some)].filter((text) => texts.includes(text)).sort();
      expect((await store.rows(found, some)).flat().sort()).toEqual(expected);
    }
    const without = `select name from things where name not in (${listed(texts)})`;
    expect(await store.rows(without, texts)).toEqual([["other"]]);
    const folded = "select name from things where lower(name) in (lower(?), lower(?)) order by 1";
    expect(await store.rows(folded, ["OTHER", "null"])).toEqual([["NULL"], ["other"]]);
    const bytes = [new Uint8Array([0, 92, 255]), new Uint8Array([34, 123])];
    await store.transaction((db) =>
      db.run("update things set bytes = ? where name = 'other'", [bytes[0] as Uint8Array]),
    );
    const same = "select name from things where bytes in (?, ?)";
    expect(await store.rows(same, bytes)).toEqual([["other"]]);
  });

  it("matches numbers and no null, beside other values", async () => {
    for (const number of [1, 2, 3, null]) await add(`n${number}`, number);
    const sql =
      "select name from things where name <> ? and number in (?, ?, ?) and name not in (?, ?) and updated_at = ? order by name";
    const values = ["n9", 1, 2, 9_007_199_254_740_991, "n2", "n3", 0];
    expect(await store.rows(sql, values)).toEqual([["n1"]]);
    const withNull = "select name from things where number in (?, ?)";
    expect(await store.rows(withNull, [3, null])).toEqual([["n3"]]);
    const notWithNull = "select name from things where number not in (?, ?)";
    expect(await store.rows(notWithNull, [3, null])).toEqual([]);
    const changed = await store.transaction((db) =>
      db.run("update things set updated_at = ? where number in (?, ?)", [7, 1, 2]),
    );
    expect(changed).toBe(2);
  });
});

it("leave literals and names of statements as they are", async () => {
  for (const number of [1, 2, 3]) await add(`n${number}`, number);
  const literal = "lower(?) not in (?, ?) -- limit ? ''instr(''";
  const sql = `select '${literal}' as "in (?, ?)", name -- Why?
    from things where number in (?, ?) and instr(name, ?) > 0 and lower(name) = lower(?) order by id limit ? offset ?`;
  const rows = await store.all(sql, [1, 2, "n", "N2", 5, 0]);
  expect(rows).toEqual([{ "in (?, ?)": literal.replaceAll("''", "'"), name: "n2" }]);
});

describe("contains", () => {
  const stored = ["100%", "1000", "a_b", "axb", "back\\slash", "Acme", "acme corp", "É", "é"];

  it.each([
    ["100%", ["100%"]],
    ["%", ["100%"]],
    ["_", ["a_b"]],
    ["a_b", ["a_b"]],
    ["\\", ["back\\slash"]],
    ["k\\s", ["back\\slash"]],
    ["ACME", ["Acme", "acme corp"]],
    ["é", ["É", "é"]],
    ["É", ["É", "é"]],
    ["'; drop table things; --", []],
    ["?", []],
    ["%".repeat(10_000), []],
    ["x".repeat(1_000_000), []],
  ])("finds exactly the rows containing %.20j", async (text, expected) => {
    for (const name of stored) await add(name);
    const { sql, values } = contains(["name"], text);
    const found = await store.rows(`select name from things where ${sql} order by name`, values);
    expect(found.map(([name]) => name)).toEqual(expected);
  });

  it("searches all given columns", async () => {
    await store.transaction(async (db) => {
      const [parent] = await db.rows("insert into parents (name) values ('needle') returning id");
      await db.run("insert into things (name, parent_id) values ('hay', ?)", [
        parent?.[0] as number,
      ]);
      await db.run("insert into things (name) values ('needles')");
      await db.run("insert into things (name) values ('straw')");
    });
    const { sql, values } = contains(["t.name", "p.name"], "NEEDLE");
    const found = await store.rows(
      `select t.name from things t left join parents p on p.id = t.parent_id where ${sql} order by t.name`,
      values,
    );
    expect(found).toEqual([["hay"], ["needles"]]);
  });
});

describe("updateRow", () => {
  it("sets given columns, clears null ones, and leaves the rest", async () => {
    await add("one", 1);
    await add("two", 2);
    const [row] = await store.rows("select id from things where name = 'one'");
    const id = row?.[0] as number;
    await store.transaction((db) =>
      updateRow(db, "things", id, { name: "new", number: undefined }, 1234),
    );
    const all = "select name, number, updated_at from things order by name";
    expect(await store.rows(all)).toEqual([
      ["new", 1, 1234],
      ["two", 2, 0],
    ]);
    await store.transaction((db) => updateRow(db, "things", id, { number: null }, 1235));
    await store.transaction((db) => updateRow(db, "things", id, {}, 1236));
    expect(await store.rows(all)).toEqual([
      ["new", null, 1236],
      ["two", 2, 0],
    ]);
  });
});

describe("close", () => {
  it("waits for running and waiting transactions", async () => {
    const closing = await openStore(database.database);
    const running = Array.from({ length: 30 }, (_, index) =>
      closing.transaction(async (db) => {
        await new Promise((resolve) => setTimeout(resolve, 2));
        await db.run("insert into things (name) values (?)", [`thing ${index}`]);
      }),
    );
    await closing.close();
    expect(await count()).toBe(30);
    await Promise.all(running);
  });

  it("makes the store unusable", async () => {
    const closed = await openStore(database.database);
    await closed.close();
    await expect((async () => closed.rows("select 1"))()).rejects.toThrow();
    await expect(closed.transaction(() => undefined)).rejects.toThrow();
  });
});

describe("opening", () => {
  it("reports in one line why a database can't be opened", async () => {
    const nowhere =
      engine === "sqlite"
        ? `${database.database}/not/a/folder.db`
        : "postgres://nobody:secret@127.0.0.1:1/nothing";
    const failure: unknown = await openStore(nowhere).catch((error) => error);
    expect(failure).toBeInstanceOf(StoreError);
    const { message } = failure as StoreError;
    expect(message).toMatch(/^cannot (open|reach) /);
    expect(message).not.toContain("\n");
    expect(message).not.toContain("secret");
  });

  it("reports the engine's dialect", () => {
    expect(store.dialect).toBe(engine);
  });
});
