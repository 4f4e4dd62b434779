import { existsSync } from "node:fs";
import { chmod, copyFile, mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, parse } from "node:path";
import type { Progress } from "../core/progress.ts";
import { migrate, pendingMigrations } from "../store/migrate.ts";
import { openStore } from "../store/open.ts";
import { type Store, StoreError, UnavailableError } from "../store/port.ts";
import { BACKUP_ID, type SqliteOptions } from "../store/sqlite.ts";
import { type Check, check, pageProblems } from "./check.ts";
import { type CopiedTable, copy } from "./copy.ts";
import {
  giveAs,
  hasKeys,
  isReplaceable,
  isSameDatabase,
  isSqliteFile,
  ownerOf,
  removeAbandoned,
  removeFiles,
  replaceFile,
  setAside,
} from "./files.ts";
import { loadNewest, migrations } from "./schema.ts";

export type { Check } from "./check.ts";
export type { CopiedTable } from "./copy.ts";

/**
 * Copies everything from one database to another, of either engine, in one consistent snapshot. Others can write to the
 * source meanwhile; writes after the start are not copied.
 *
 * @param options `from`, `to`: as `createApp`'s `database`; `onProgress`: called with the number of rows copied or read
 *   back
 * @returns each table with its rows and a checksum, which were the same when the target was read back
 * @throws StoreError if the target is not empty, or one of them can't be used; then nothing was copied
 */
export async function copyDatabase(options: {
  from: string;
  to: string;
  onProgress?: Progress;
}): Promise<CopiedTable[]> {
  await requireOther(options.from, options.to);
  if (isSqliteFile(options.to)) await requireUnowned(options.to);
  return withStore(options.from, (source) =>
    withStore(options.to, async (target) => {
      await migrate(target, migrations, Date.now(), loadNewest);
      return copy(source, target, options.onProgress);
    }),
  );
}

/**
 * Checks a database: its file and indexes, foreign keys, ids, and invariants the schema can't enforce, such as totals.
 * It changes nothing. A SQLite database that nobody has open, and that may only be read, is checked as a temporary copy:
 * SQLite would have to write a file beside it.
 *
 * @throws StoreError if it is not a pm-api database of this version
 */
export async function checkDatabase(database: string): Promise<Check[]> {
  const checked = (name: string) => withStore(name, check, { unchanged: true });
  try {
    return await checked(database);
  } catch (error) {
    const isReadOnly =
      error instanceof StoreError &&
      error.code === "unusable" &&
      error.cause instanceof UnavailableError &&
      isSqliteFile(database) &&
      !existsSync(`${database}-wal`);
    if (!isReadOnly) throw error;
    const folder = await mkdtemp(join(tmpdir(), "pm-api-check-"));
    try {
      const copy = join(folder, "copy.db");
      await copyFile(database, copy);
      await chmod(copy, 0o600);
      return await checked(copy);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
}

/** A backup that was written. */
export interface Backup {
  bytes: number;
}

/**
 * Writes a copy of a SQLite database, in its current state, to a file. Others can write to the database meanwhile. The
 * copy is created beside the file, readable only by its owner, and checked before it takes the file's place. An older
 * backup is replaced.
 *
 * @param options `force`: also replaces a file that is not a backup, or that has been used as a database since
 * @returns its size
 * @throws StoreError for a PostgreSQL database (use `pg_dump`); if the file is the database itself, is one of the files
 *   beside it, or must not be replaced
 */
export async function backupDatabase(
  database: string,
  file: string,
  { force = false }: { force?: boolean } = {},
): Promise<Backup> {
  await requireOther(database, file);
  await requireUnowned(file);
  return withStore(
    database,
    async (store) => {
      if (!force && !(await isReplaceable(file))) {
        throw new StoreError(
          "exists",
          `${file} already exists, and is not a backup or has been used as a database since`,
        );
      }
      return replaceFile(file, (partial) => copyWhole(store, partial, true));
    },
    { unchanged: true },
  );
}

/** A backup that was written to a folder of backups. */
export interface FolderBackup extends Backup {
  /** The new file, named after the database and the instant: `pm-20261122T013105Z.db`. */
  file: string;
  /** The files of older backups that were removed. */
  removed: string[];
}

/**
 * Writes a backup, like {@link backupDatabase}, to a new file in a folder, which is created if missing, and removes the
 * oldest backups of this database.
 *
 * @param options `keep`: how many backups to keep; default all
 * @throws StoreError as `backupDatabase`; then nothing was removed
 */
export async function backupInto(
  database: string,
  folder: string,
  { keep = Number.POSITIVE_INFINITY }: { keep?: number } = {},
): Promise<FolderBackup> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const { name, ext } = parse(database);
  const file = join(folder, `${name}-${timestamp(Date.now())}${ext}`);
  const { bytes } = await backupDatabase(database, file);
  const isOne = (one: string) =>
    one.startsWith(`${name}-`) &&
    one.endsWith(ext) &&
    /^\d{8}T\d{6}Z$/.test(one.slice(name.length + 1, ext ? -ext.length : undefined));
  await removeAbandoned(folder, isOne);
  const all = (await readdir(folder)).filter(isOne).sort();
  const removed: string[] = [];
  for (const one of all.slice(0, Math.max(0, all.length - keep))) {
    const path = join(folder, one);
    // Someone has used this one as a database since.
    if (!(await isReplaceable(path))) continue;
    await rm(path);
    removed.push(path);
  }
  return { file, bytes, removed };
}

/** The result of restoring a backup. */
export interface Restored {
  /** The size of the database. */
  bytes: number;
  /** The new path of the previous database; `null` if there was none. */
  kept: string | null;
}

/**
 * Replaces a SQLite database that nobody has open with a backup. The backup is checked first and stays unchanged; the
 * previous database is kept beside the new one, under another name.
 *
 * @param from the backup, or another SQLite database of this version or an older one
 * @throws StoreError if the backup is damaged, newer than the code or not a pm-api database, if another process has the
 *   database open, and for a PostgreSQL database (use `pg_restore`); then nothing was changed
 */
export async function restoreDatabase(from: string, database: string): Promise<Restored> {
  for (const name of [from, database]) {
    if (isSqliteFile(name)) continue;
    throw new StoreError("unsupported", "only SQLite files can be restored");
  }
  await requireOther(database, from);
  await requireUnowned(database);
  const isThere = existsSync(database);
  if (isThere) await requireUnused(database);
  return withStore(
    from,
    async (store) => {
      const pending = await pendingMigrations(store, migrations);
      if (pending.length === migrations.length) {
        throw new StoreError("not_ours", `${from} is not a pm-api database`);
      }
      const kept = isThere ? `${database}.before-${timestamp(Date.now())}` : null;
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

/** An instant for file names: `20261122T013105Z`. */
function timestamp(at: number): string {
  return new Date(at).toISOString().replace(/[-:]|\.\d+/g, "");
}

/** @throws StoreError if both names mean the same database */
async function requireOther(database: string, file: string): Promise<void> {
  if (await isSameDatabase(database, file)) {
    throw new StoreError("same_file", `${file} is the database itself, or a part of it`);
  }
}

/** @throws StoreError if a file belongs to a database, or has the keys of one, and may not be replaced with another */
async function requireUnowned(file: string): Promise<void> {
  const owner = await ownerOf(file);
  if (owner !== undefined) {
    throw new StoreError("same_file", `${file} belongs to the database ${owner}`);
  }
  if (await hasKeys(file)) throw new StoreError("same_file", `${file} has the key of secrets`);
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
 * @throws StoreError if one has
 */
async function requireUnused(database: string): Promise<void> {
  try {
    await (await openStore(database, { alone: true })).close();
  } catch (error) {
    // A file that can't be opened, such as a damaged one, is not open elsewhere either.
    if ((error as StoreError).code === "in_use") throw error;
  }
}

/**
 * Removes a SQLite database that nobody has open, such as one created for work that then failed.
 *
 * @throws StoreError if another process has it open
 */
export async function removeDatabase(database: string): Promise<void> {
  await requireUnused(database);
  await removeFiles(database);
}

/**
 * Brings a database up to date, as `createApp` does.
 *
 * @param options `dryRun`: only returns what would be done
 * @returns the ids of the steps that were, or would be, run
 * @throws StoreError if the database is newer than the code
 */
export function migrateDatabase(
  database: string,
  { dryRun = false }: { dryRun?: boolean } = {},
): Promise<string[]> {
  return withStore(database, (store) =>
    dryRun
      ? pendingMigrations(store, migrations)
      : migrate(store, migrations, Date.now(), loadNewest),
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
