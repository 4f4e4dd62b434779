import { existsSync } from "node:fs";
import { mkdir, readdir, rm } from "node:fs/promises";
import { join, parse } from "node:path";
import type { Progress } from "../seed.ts";
import { migrate, pendingMigrations } from "../store/migrate.ts";
import { openStore } from "../store/open.ts";
import { type Store, StoreError } from "../store/port.ts";
import { BACKUP_ID, type SqliteOptions } from "../store/sqlite.ts";
import { type Check, check, pageProblems } from "./check.ts";
import { type CopiedTable, copy } from "./copy.ts";
import {
  giveAs,
  isReplaceable,
  isSameDatabase,
  isSqliteFile,
  ownerOf,
  removeFiles,
  replaceFile,
  setAside,
} from "./files.ts";
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
export async function copyDatabase(options: {
  from: string;
  to: string;
  onProgress?: Progress;
}): Promise<CopiedTable[]> {
  await requireOther(options.from, options.to);
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
  return withStore(database, check, { unchanged: true });
}

/** What a backup is, beside its file. */
export interface Backup {
  bytes: number;
}

/**
 * Writes a copy of a SQLite database, as it is now, to a file, while others write to it. The copy is made beside the
 * file, readable by its owner alone, and checked; only then it is put in its place. An older backup is replaced.
 *
 * @param options `force`: whether a file that is no backup, or that was used as a database since, is replaced too
 * @returns its size
 * @throws StoreError for a PostgreSQL database, which `pg_dump` is for; where the file is the database itself, is one of
 *   the files beside it, or must not be replaced
 */
export async function backupDatabase(
  database: string,
  file: string,
  { force = false }: { force?: boolean } = {},
): Promise<Backup> {
  await requireOther(database, file);
  const owner = await ownerOf(file);
  if (owner !== undefined) {
    throw new StoreError("same_file", `${file} belongs to the database ${owner}`);
  }
  return withStore(
    database,
    async (store) => {
      if (!force && !(await isReplaceable(file))) {
        throw new StoreError(
          "exists",
          `${file} is there already, and is no backup or was used as a database since`,
        );
      }
      return replaceFile(file, (partial) => copyWhole(store, partial, true));
    },
    { unchanged: true },
  );
}

/** What a backup in a folder of backups is. */
export interface FolderBackup extends Backup {
  /** The new file, named after the database and the instant: `pm-20261122T013105Z.db`. */
  file: string;
  /** The files of older backups that were removed. */
  removed: string[];
}

/**
 * Writes a backup, as {@link backupDatabase}, to a new file in a folder, which is made where there is none, and removes
 * the oldest ones of this database.
 *
 * @param options `keep`: how many there are to be; default all
 * @throws StoreError as `backupDatabase`; nothing is removed then
 */
export async function backupInto(
  database: string,
  folder: string,
  { keep = Number.POSITIVE_INFINITY }: { keep?: number } = {},
): Promise<FolderBackup> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const { name, ext } = parse(database);
  const file = join(folder, `${name}-${stamp(Date.now())}${ext}`);
  const { bytes } = await backupDatabase(database, file);
  const isOne = (one: string) =>
    one.startsWith(`${name}-`) &&
    one.endsWith(ext) &&
    /^\d{8}T\d{6}Z$/.test(one.slice(name.length + 1, ext ? -ext.length : undefined));
  const all = (await readdir(folder)).filter(isOne).sort();
  const removed: string[] = [];
  for (const one of all.slice(0, Math.max(0, all.length - keep))) {
    const path = join(folder, one);
    // What was used as a database since is somebody's.
    if (!(await isReplaceable(path))) continue;
    await rm(path);
    removed.push(path);
  }
  return { file, bytes, removed };
}

/** What restoring a backup did. */
export interface Restored {
  /** The size of the database. */
  bytes: number;
  /** Where the database before it is kept; `null` where there was none. */
  kept: string | null;
}

/**
 * Puts a backup in the place of a SQLite database that nobody has open. The backup is checked first and stays as it is;
 * the database before is kept beside the new one, under another name.
 *
 * @param from the backup, or another SQLite database of this version or an older one
 * @throws StoreError where the backup is damaged, newer than the code or none of ours, where another process has the
 *   database open, and for a PostgreSQL database, which `pg_restore` is for; nothing is changed then
 */
export async function restoreDatabase(from: string, database: string): Promise<Restored> {
  for (const name of [from, database]) {
    if (isSqliteFile(name)) continue;
    throw new StoreError("unsupported", "only SQLite files can be restored");
  }
  await requireOther(database, from);
  const isThere = existsSync(database);
  if (isThere) await requireUnused(database);
  return withStore(
    from,
    async (store) => {
      const pending = await pendingMigrations(store, migrations);
      if (pending.length === migrations.length) {
        throw new StoreError("not_ours", `there is nothing of pm-api in ${from}`);
      }
      const kept = isThere ? `${database}.before-${stamp(Date.now())}` : null;
      const { bytes } = await replaceFile(database, async (partial) => {
        await copyWhole(store, partial, false);
        if (kept === null) return;
        await giveAs(partial, database);
        await requireUnused(database);
        await setAside(database, kept);
      });
      return { bytes, kept };
    },
    { unchanged: true },
  );
}

/** An instant as it stands in the names of files: `20261122T013105Z`. */
function stamp(at: number): string {
  return new Date(at).toISOString().replace(/[-:]|\.\d+/g, "");
}

/** @throws StoreError where two names stand for one database */
async function requireOther(database: string, file: string): Promise<void> {
  if (await isSameDatabase(database, file)) {
    throw new StoreError("same_file", `${file} is the database itself, or a part of it`);
  }
}

/** Copies a database to a new file, marked as a backup or not, and checks it. */
async function copyWhole(store: Store, file: string, isBackup: boolean): Promise<void> {
  await store.backup(file);
  const copied = await openStore(file, { unchanged: true });
  try {
    await copied.transaction((db) => db.run(`pragma application_id = ${isBackup ? BACKUP_ID : 0}`));
    const problems = await pageProblems(copied);
    if (problems.length > 0) {
      throw new StoreError("damaged", `the copy would be damaged (${problems[0]})`);
    }
  } finally {
    await copied.close();
  }
}

/**
 * Checks that no process has a SQLite database open, and writes its log back into it.
 *
 * @throws StoreError where one has
 */
async function requireUnused(database: string): Promise<void> {
  try {
    await (await openStore(database, { alone: true })).close();
  } catch (error) {
    // What can't be opened, such as a damaged file, nobody else has open either.
    if ((error as StoreError).code === "in_use") throw error;
  }
}

/**
 * Removes a SQLite database that nobody has open, such as one that was made for something that failed.
 *
 * @throws StoreError where another process has it open
 */
export async function removeDatabase(database: string): Promise<void> {
  await requireUnused(database);
  await removeFiles(database);
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

async function withStore<T>(
  database: string,
  work: (store: Store) => Promise<T>,
  options: SqliteOptions = {},
): Promise<T> {
  const store = await openStore(database, options);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
