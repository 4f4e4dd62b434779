import { createHash, type Hash } from "node:crypto";
import type { Progress } from "../core/progress.ts";
import { pendingMigrations } from "../store/migrate.ts";
import { type Database, type Reader, type Store, StoreError, type Value } from "../store/port.ts";
import { migrations, type Table, tablesOf } from "./schema.ts";

/** The content of one table, same in the source and the target. */
export interface CopiedTable {
  table: string;
  rows: number;
  /** SHA-256 of all rows by primary key, in hex; the same on both engines. */
  checksum: string;
}

/** A row, exactly as in both engines: integers are texts, so that no number type rounds them. */
type Row = (string | Uint8Array | null)[];

/** Target size of a batch in bytes; the size of each batch determines the number of rows in the next. */
const BATCH_TARGET_BYTES = 4 * 1024 * 1024;
const MOST_ROWS = 500;
/** PostgreSQL and SQLite accept more. */
const MOST_VALUES = 30_000;

/**
 * Copies everything from one database to another, with any engines, and reads it back. The target stays unchanged
 * unless everything has arrived. The source is read in one snapshot; others can write to it meanwhile.
 *
 * @param target migrated, but empty
 * @throws StoreError if the source is of another version, or the target is not empty
 */
export async function copy(
  source: Store,
  target: Store,
  onProgress: Progress | undefined,
): Promise<CopiedTable[]> {
  const pending = await pendingMigrations(source, migrations);
  if (pending.length > 0) {
    throw new StoreError(
      "older",
      "the database to copy from is of an older version: bring it up to date first",
    );
  }
  const tables = await tablesOf();
  return source.snapshot((from) =>
    target.transaction(
      async (to) => {
        await takeOver(to, target.dialect, tables);
        const progress = await progressOf(from, tables, onProgress);
        const loose = await loosen(to, target.dialect, tables);
        const copied: CopiedTable[] = [];
        for (const table of tables) {
          copied.push(await copyTable(from, to, target.dialect, table, progress));
          const last = await lastId(from, source.dialect, table);
          if (last !== undefined) await continueAfter(to, target.dialect, table, last);
        }
        await tighten(to, target.dialect, loose);
        await verify(to, tables, copied, progress);
        if (target.dialect === "postgres") await to.run("analyze");
        return copied;
      },
      { unlimited: true },
    ),
  );
}

/** Prevents other writes to the target, and refuses one that is not empty. */
async function takeOver(to: Database, dialect: Store["dialect"], tables: readonly Table[]) {
  if (dialect === "postgres") {
    const names = tables.map(({ name }) => name).join(", ");
    await to.run(`lock table ${names} in share row exclusive mode`);
  }
  for (const { name } of tables) {
    if ((await to.rows(`select 1 from ${name} limit 1`)).length > 0) {
      throw new StoreError(
        "not_empty",
        `the database to copy to is not empty: there is something in ${name}`,
      );
    }
  }
}

/** Counts each row twice, for copying and for comparing. */
async function progressOf(from: Reader, tables: readonly Table[], onProgress?: Progress) {
  if (!onProgress) return () => undefined;
  let total = 0;
  for (const { name } of tables) {
    total += 2 * Number((await from.rows(`select count(*) from ${name}`))[0]?.[0]);
  }
  let done = 0;
  onProgress(0, total);
  return (rows: number) => {
    done += rows;
    onProgress(done, total);
  };
}

async function copyTable(
  from: Reader,
  to: Database,
  dialect: Store["dialect"],
  table: Table,
  progress: (rows: number) => void,
): Promise<CopiedTable> {
  const names = table.columns.map(({ name }) => name).join(", ");
  const placed = table.numbered && dialect === "postgres" ? "overriding system value " : "";
  const tuple = `(${table.columns.map(() => "?").join(", ")})`;
  return scan(from, table, async (rows) => {
    const tuples = rows.map(() => tuple).join(", ");
    await to.run(`insert into ${table.name} (${names}) ${placed}values ${tuples}`, rows.flat());
    progress(rows.length);
  });
}

async function verify(
  to: Reader,
  tables: readonly Table[],
  copied: readonly CopiedTable[],
  progress: (rows: number) => void,
): Promise<void> {
  for (const [index, table] of tables.entries()) {
    const arrived = await scan(to, table, (rows) => progress(rows.length));
    const { rows, checksum } = copied[index] as CopiedTable;
    if (arrived.rows !== rows || arrived.checksum !== checksum) {
      throw new StoreError(
        "differs",
        `${table.name} did not arrive as it was: ${rows} rows with ${checksum} became ${arrived.rows} with ${arrived.checksum}`,
      );
    }
  }
}

/** Reads a whole table in batches, in the order of its primary key. */
async function scan(
  db: Reader,
  table: Table,
  onBatch: (rows: Row[]) => Promise<void> | void,
): Promise<CopiedTable> {
  const columns = table.columns.map(({ name, kind }) =>
    kind === "int" ? `cast(${name} as text)` : name,
  );
  const key = table.key.map((name) => table.columns.findIndex((column) => column.name === name));
  const after = key.map((at) => (table.columns[at]?.kind === "int" ? "cast(? as bigint)" : "?"));
  // Without the table's name PostgreSQL would sort by the selected text.
  const place = table.key.map((name) => `t.${name}`).join(", ");
  const hash = createHash("sha256");
  let rows = 0;
  let last: Row | undefined;
  let most = 50;
  for (;;) {
    const where = last ? `where (${place}) > (${after.join(", ")})` : "";
    const values: Value[] = last ? key.map((at) => (last as Row)[at] as Value) : [];
    const batch = (await db.rows(
      `select ${columns.join(", ")} from ${table.name} t ${where} order by ${place} limit ?`,
      [...values, most],
    )) as Row[];
    if (batch.length > 0) await onBatch(batch);
    const bytes = batch.reduce((sum, row) => sum + digestRow(hash, row), 0);
    rows += batch.length;
    // Copying between two SQLite databases would otherwise block the event loop.
    await new Promise((resolve) => setImmediate(resolve));
    if (batch.length < most) return { table: table.name, rows, checksum: hash.digest("hex") };
    last = batch.at(-1);
    const fitting = Math.floor((most * BATCH_TARGET_BYTES) / Math.max(bytes, 1));
    const room = Math.floor(MOST_VALUES / table.columns.length);
    most = Math.max(1, Math.min(2 * most, fitting, MOST_ROWS, room));
  }
}

/** Adds a row to a checksum, each value with its kind and length, and returns its size in bytes. */
function digestRow(hash: Hash, row: Row): number {
  let size = 0;
  for (const value of row) {
    if (value === null) {
      hash.update("-;");
      continue;
    }
    const bytes = typeof value === "string" ? Buffer.from(value) : value;
    hash.update(`${typeof value === "string" ? "t" : "b"}${bytes.length}:`).update(bytes);
    size += bytes.length;
  }
  hash.update("\n");
  return size;
}

/** A foreign key that is checked at the end instead of after each statement. */
interface Loose {
  table: string;
  constraint: string;
}

/** Defers foreign keys to rows that are copied later: in the same table, or between tables that refer to each other. */
async function loosen(
  to: Database,
  dialect: Store["dialect"],
  tables: readonly Table[],
): Promise<Loose[]> {
  if (dialect === "sqlite") {
    await to.run("pragma defer_foreign_keys = on");
    return [];
  }
  const place = new Map(tables.map(({ name }, index) => [name, index]));
  const constraints = await to.all<Loose & { referred: string }>(
    `select c.conrelid::regclass::text as "table", c.conname as "constraint", c.confrelid::regclass::text as referred
     from pg_constraint c where c.contype = 'f' and c.connamespace = current_schema()::regnamespace`,
  );
  const loose = constraints.filter(
    ({ table, referred }) => Number(place.get(referred)) >= Number(place.get(table)),
  );
  for (const { table, constraint } of loose) {
    await to.run(
      `alter table ${table} alter constraint ${constraint} deferrable initially deferred`,
    );
  }
  return loose;
}

/** Makes the checks that {@link loosen} deferred, and restores the target's constraints. */
async function tighten(to: Database, dialect: Store["dialect"], loose: readonly Loose[]) {
  if (dialect === "sqlite") return;
  await to.run("set constraints all immediate");
  for (const { table, constraint } of loose) {
    await to.run(`alter table ${table} alter constraint ${constraint} not deferrable`);
  }
}

/** The highest id ever assigned in a table, even to deleted rows: ids are never reused. */
async function lastId(
  from: Reader,
  dialect: Store["dialect"],
  { name, numbered }: Table,
): Promise<number | undefined> {
  if (!numbered) return undefined;
  const [found] = await from.rows(
    dialect === "sqlite"
      ? "select seq from sqlite_sequence where name = ?"
      : "select pg_sequence_last_value(pg_get_serial_sequence(?, 'id')::regclass)",
    [name],
  );
  return (found?.[0] as number | null | undefined) ?? undefined;
}

async function continueAfter(
  to: Database,
  dialect: Store["dialect"],
  { name }: Table,
  last: number,
): Promise<void> {
  if (dialect === "postgres") {
    // A sequence that has given no number yet is set to its first, unused.
    await to.rows("select setval(pg_get_serial_sequence(?, 'id'), ?, ?)", [
      name,
      Math.max(last, 1),
      last > 0 ? "true" : "false",
    ]);
    return;
  }
  await to.run("delete from sqlite_sequence where name = ?", [name]);
  await to.run("insert into sqlite_sequence (name, seq) values (?, ?)", [name, last]);
}
