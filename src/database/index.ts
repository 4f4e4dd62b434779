import { open, rename, rm, stat } from "node:fs/promises";
import type { Progress } from "../seed.ts";
import { migrate, pendingMigrations } from "../store/migrate.ts";
import { openStore } from "../store/open.ts";
import type { Store } from "../store/port.ts";
import { type Check, check } from "./check.ts";
import { type CopiedTable, copy } from "./copy.ts";
import { migrations } from "./schema.ts";

export type { Check } from "./check.ts";
export type { CopiedTable } from "./copy.ts";

/**
 * Moves everything from one database to another, between SQLite and PostgreSQL or not, in one consistent snapshot.
 * Others may write to the source meanwhile; what they write after the beginning is not copied.
 *
 * @param options `from`, `to`: as `createApp`'s `database`; `onProgress`: is told of rows copied or read back
 * @returns each table with its rows and a checksum, which were the same when the target was read back
 * @throws StoreError where the target is not empty, or one of them can't be used; the target stays empty then
 */
export function copyDatabase(options: {
  from: string;
  to: string;
  onProgress?: Progress;
}): Promise<CopiedTable[]> {
  return withStore(options.from, (source) =>
    withStore(options.to, async (target) => {
      await migrate(target, migrations, Date.now());
      return copy(source, target, options.onProgress);
    }),
  );
}

/**
 * Looks a database over: its file and indexes, foreign keys, ids, and what the schema can't see to, such as totals.
 * Nothing is changed.
 *
 * @throws StoreError where it is none of this version's
 */
export function checkDatabase(database: string): Promise<Check[]> {
  return withStore(database, check);
}

/**
 * Writes a copy of a SQLite database, as it is now, to a file, while others write to it. The file is there only when it
 * is whole; one that was there is replaced.
 *
 * @returns its size
 * @throws StoreError for a PostgreSQL database, which `pg_dump` is for
 */
export function backupDatabase(database: string, file: string): Promise<{ bytes: number }> {
  return withStore(database, async (store) => {
    const partial = `${file}.partial`;
    await rm(partial, { force: true });
    try {
      await store.backup(partial);
      await sync(partial);
      await rename(partial, file);
    } catch (error) {
      await rm(partial, { force: true });
      throw error;
    }
    return { bytes: (await stat(file)).size };
  });
}

/** SQLite leaves it to the system when the copy reaches the disk. */
async function sync(file: string): Promise<void> {
  const handle = await open(file, "r+");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Brings a database up to date, as `createApp` does.
 *
 * @param options `dryRun`: only says what would be done
 * @returns the ids of the steps that were, or would be, run
 * @throws StoreError where the database is newer than the code
 */
export function migrateDatabase(
  database: string,
  { dryRun = false }: { dryRun?: boolean } = {},
): Promise<string[]> {
  return withStore(database, (store) =>
    dryRun ? pendingMigrations(store, migrations) : migrate(store, migrations, Date.now()),
  );
}

async function withStore<T>(database: string, work: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore(database);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
