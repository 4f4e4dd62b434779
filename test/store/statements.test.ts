import { expect, it, onTestFinished } from "vitest";
import { openStore } from "../../src/store/open.ts";
import { emptyDatabase, engine } from "../helpers.ts";

/** A statement with this many conditions; `number` makes its text unique. */
const statement = (number: number, conditions: number) =>
  `select ${Array.from({ length: conditions }, (_, at) => `(select ${number} + ${at}) as c${at}`).join()}`;

async function open() {
  const { database, drop } = await emptyDatabase();
  const store = await openStore(database, { maxConnections: 2 });
  onTestFinished(async () => {
    await store.close();
    await drop();
  });
  return store;
}

it("many different and long statements return their rows, repeatedly", async () => {
  const store = await open();
  for (const conditions of [1, 300, 700]) {
    for (const number of [1, 2, 1, 3, 1]) {
      const rows = await store.rows(statement(number, conditions));
      expect(rows[0]).toHaveLength(conditions);
      expect(rows[0]?.[0]).toBe(number);
    }
  }
  for (let number = 0; number < 1500; number += 1) {
    for (const _ of ["once", "twice"]) {
      expect(await store.rows(statement(number, 1))).toEqual([[number]]);
    }
  }
  expect(await store.rows(statement(0, 1))).toEqual([[0]]);
});

// PostgreSQL prepares statements in processes of its own.
it.runIf(engine === "sqlite")("long statements leave no memory behind", async () => {
  const store = await open();
  const before = process.memoryUsage().rss;
  // Each takes about 2 MB while it is prepared.
  for (let number = 0; number < 75; number += 1) await store.rows(statement(number, 900));
  expect((process.memoryUsage().rss - before) / 2 ** 20).toBeLessThan(75);
});

// SQLite has no list of prepared statements.
it.runIf(engine === "postgres")(
  "a connection keeps a bounded number of prepared statements, and replaces old ones by new ones",
  async () => {
    const store = await open();
    const prepared = async () => {
      const rows = await store.rows("select name, statement from pg_prepared_statements");
      return rows.map(([, text]) => String(text));
    };
    await prepared();
    for (let number = 0; number < 2500; number += 1) {
      await store.rows(statement(number, 1));
      await store.rows(statement(number, 1));
    }
    const texts = await prepared();
    expect(texts.length).toBeLessThanOrEqual(1000);
    expect(texts).toContain(statement(2499, 1));
    // Statements used once are not prepared.
    await store.rows(statement(5000, 1));
    expect(await prepared()).not.toContain(statement(5000, 1));
  },
);
