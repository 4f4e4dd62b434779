import { expect, it } from "vitest";
import { loadNewest, migrations } from "../../src/database/schema.ts";
import { migrate } from "../../src/store/migrate.ts";
import { openStore } from "../../src/store/open.ts";

/** Everything there is in a database: its schema in order, and the rows of each table. */
async function contents(newest?: typeof loadNewest) {
  const store = await openStore(":memory:");
  const steps = await migrate(store, migrations, 1000, newest);
  const schema = await store.rows(
    "select type, name, tbl_name, sql from sqlite_schema order by type, name",
  );
  const rows = new Map<string, unknown>();
  for (const [type, name, , sql] of schema) {
    if (type !== "table" || String(sql).includes("fts5vocab")) continue;
    // A table that never had a row may have the sequence 0.
    const which = name === "sqlite_sequence" ? "where seq <> 0" : "";
    rows.set(String(name), await store.rows(`select * from "${name}" ${which} order by 1`));
  }
  await store.close();
  return { steps, schema, rows };
}

it("a new SQLite database has what all steps make of an empty one", async () => {
  const expected = await contents();
  expect(expected.rows.size).toBeGreaterThan(50);
  expect(await contents(loadNewest)).toEqual(expected);
});

it("steps that are newer than the generated schema run after it", async () => {
  const store = await openStore(":memory:");
  const newer = { id: "99990101-01-newer", sql: "alter table users add column newer $int;\n" };
  const steps = await migrate(store, [...migrations, newer], 1000, loadNewest);
  expect(steps.at(-1)).toBe(newer.id);
  expect(await store.rows("select newer from users")).toEqual([]);
  expect(await store.rows("select count(*) from schema_migrations")).toEqual([[steps.length]]);
  await store.close();
});
