import { type Database, type Reader, type Store, StoreError } from "./port.ts";

/**
 * One step of the schema. Once released it never changes: further changes are new steps.
 *
 * `id` sorts by age: a date, a number, a name (`"20261121-01-users"`). `sql` contains statements, each ending with `;`
 * at the end of a line, in the subset both engines share, with placeholders for four types that differ: `$id` (a key
 * that is never reused), `$int`, `$text` (sorted by code point) and `$bytes`. A statement that begins with `$sqlite` or
 * `$postgres` runs only there: SQLite can't drop a constraint without copying its table. What each engine does in its own
 * way, such as an index of words, has a text for each.
 */
export interface Migration {
  id: string;
  sql: string | Readonly<Record<Store["dialect"], string>>;
}

const WORDS = {
  sqlite: {
    id: "integer primary key autoincrement",
    int: "integer",
    text: "text",
    bytes: "blob",
  },
  postgres: {
    id: "bigint generated always as identity primary key",
    int: "bigint",
    text: 'text collate "C"',
    bytes: "bytea",
  },
} as const;

const JOURNAL =
  "create table if not exists schema_migrations (id $text primary key, applied_at $int not null)";

/** What some steps make of an empty SQLite database: the ids of the steps, and statements with the same result. */
export interface NewestSchema {
  readonly steps: readonly string[];
  readonly statements: readonly string[];
}

/**
 * Brings the schema up to date in one transaction, recording each step in `schema_migrations`.
 *
 * @param now the recorded instant, in epoch milliseconds
 * @param loadNewest the result of some of the steps, which a new SQLite database gets instead of them: SQLite reads the
 *   whole schema again for each column that a step changes
 * @returns the ids of the steps that were run
 * @throws StoreError if `schema_migrations` has an unknown step: the database is newer than the code
 */
export async function migrate(
  store: Store,
  migrations: readonly Migration[],
  now: number,
  loadNewest?: () => Promise<NewestSchema>,
): Promise<string[]> {
  const isNew = store.dialect === "sqlite" && !(await hasJournal(store));
  const newest = isNew ? await loadNewest?.() : undefined;
  return store.transaction(
    async (db) => {
      await db.run(inDialect(store.dialect, JOURNAL));
      const pending = await missing(db, migrations);
      // Another process may have created the tables meanwhile.
      const isEmpty = pending.length === migrations.length;
      const done = new Set(isEmpty ? newest?.steps : []);
      if (isEmpty) for (const statement of newest?.statements ?? []) await db.run(statement);
      for (const migration of pending) {
        if (!done.has(migration.id)) await apply(db, store.dialect, migration);
        await db.run("insert into schema_migrations (id, applied_at) values (?, ?)", [
          migration.id,
          now,
        ]);
      }
      return pending.map((migration) => migration.id);
    },
    { unlimited: true },
  );
}

/**
 * Returns what {@link migrate} would run, without changing anything.
 *
 * @returns the ids of the steps, in order: all of them if the database has no tables of pm-api yet
 * @throws StoreError if the database is newer than the code
 */
export async function pendingMigrations(
  store: Store,
  migrations: readonly Migration[],
): Promise<string[]> {
  const pending = (await hasJournal(store)) ? await missing(store, migrations) : sorted(migrations);
  return pending.map((migration) => migration.id);
}

async function hasJournal(store: Store): Promise<boolean> {
  const journals = await store.rows(
    store.dialect === "sqlite"
      ? "select 1 from sqlite_schema where name = 'schema_migrations'"
      : "select 1 where to_regclass('schema_migrations') is not null",
  );
  return journals.length > 0;
}

function sorted(migrations: readonly Migration[]): Migration[] {
  return [...migrations].sort((a, b) => (a.id < b.id ? -1 : 1));
}

async function missing(db: Reader, migrations: readonly Migration[]): Promise<Migration[]> {
  const journal = await db.all<{ id: string }>("select id from schema_migrations order by id");
  const applied = new Set(journal.map((row) => row.id));
  refuseNewer(applied, migrations);
  return sorted(migrations).filter((migration) => !applied.has(migration.id));
}

function refuseNewer(applied: ReadonlySet<string>, known: readonly Migration[]): void {
  const ids = new Set(known.map((migration) => migration.id));
  const unknown = [...applied].filter((id) => !ids.has(id));
  if (unknown.length > 0) {
    throw new StoreError(
      "newer",
      `the database is newer than this pm-api: it has ${unknown.join(", ")}. Upgrade pm-api, or use the version that wrote it.`,
    );
  }
}

async function apply(db: Database, dialect: Store["dialect"], migration: Migration): Promise<void> {
  for (const statement of inDialect(dialect, migration.sql).split(/;\s*(?:\n|$)/)) {
    const [only, engine] = /^\s*\$(sqlite|postgres)\b/.exec(statement) ?? ["", dialect];
    const sql = statement.slice(only.length).trim();
    if (sql !== "" && engine === dialect) await db.run(sql);
  }
}

function inDialect(dialect: Store["dialect"], sql: Migration["sql"]): string {
  const text = typeof sql === "string" ? sql : sql[dialect];
  return text.replace(/\$(id|int|text|bytes)\b/g, (_, word: keyof (typeof WORDS)["sqlite"]) =>
    String(WORDS[dialect][word]),
  );
}
