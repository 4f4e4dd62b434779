import { constants } from "node:fs";
import { chmod, chown, link, open, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { StoreError } from "../store/port.ts";
import { BACKUP_ID } from "../store/sqlite.ts";

/** What SQLite keeps beside a database, by what it adds to its name. */
const BESIDE = ["-wal", "-shm", "-journal"] as const;

/** Whether a name stands for a SQLite file. */
export function isSqliteFile(database: string): boolean {
  return database !== ":memory:" && !/^postgres(ql)?:\/\//.test(database);
}

/**
 * Whether two names stand for one file, or for a file that belongs to the same SQLite database: by whatever path,
 * symbolic or hard link.
 */
export async function isSameDatabase(one: string, other: string): Promise<boolean> {
  if (!isSqliteFile(one) || !isSqliteFile(other)) return one === other && one !== ":memory:";
  const path = await resolved(other);
  const found = await statOf(other);
  for (const file of await filesOf(one)) {
    if (file === path) return true;
    const mine = found && (await statOf(file));
    if (mine && mine.dev === found.dev && mine.ino === found.ino) return true;
  }
  return false;
}

/** The database that a file such as `pm.db-wal` belongs to, where that is there. */
export async function ownerOf(file: string): Promise<string | undefined> {
  const ending = BESIDE.find((one) => file.endsWith(one));
  const owner = ending && file.slice(0, -ending.length);
  return owner && (await statOf(owner)) ? owner : undefined;
}

/**
 * Whether a file is a backup that `backupDatabase` wrote and nobody has used as a database since: what may be replaced.
 * An empty file holds nothing that could be lost.
 */
export async function isReplaceable(file: string): Promise<boolean> {
  // A pipe or a device would keep who opens it waiting.
  const found = await statOf(file);
  if (!found) return true;
  if (!found.isFile()) return false;
  const handle = await open(file, constants.O_RDONLY);
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(100), 0, 100, 0);
    if (bytesRead === 0) return true;
    // https://www.sqlite.org/fileformat.html#application_id
    return (
      buffer.toString("latin1", 0, 16) === "SQLite format 3\0" &&
      buffer.readInt32BE(68) === BACKUP_ID
    );
  } finally {
    await handle.close();
  }
}

/**
 * Has `write` fill a file beside `file`, readable by its owner alone, and puts it in its place when it is whole and on
 * the disk. Where `write` fails, nothing is left behind and `file` is what it was.
 */
export async function replaceFile(
  file: string,
  write: (partial: string) => Promise<void>,
): Promise<{ bytes: number }> {
  const partial = join(dirname(file), `.${basename(file)}.${process.pid}-${Date.now()}.partial`);
  try {
    await (await open(partial, "wx", 0o600)).close();
    await chmod(partial, 0o600);
    await write(partial);
    // SQLite leaves it to the system when a copy reaches the disk.
    const handle = await open(partial, "r+");
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
    const { size } = await stat(partial);
    await rename(partial, file);
    return { bytes: size };
  } catch (error) {
    await removeFiles(partial);
    const { code, message } = error as NodeJS.ErrnoException;
    if (!/^E[A-Z]+$/.test(code ?? "")) throw error;
    throw new StoreError("not_written", `cannot write ${file}: ${message}`, { cause: error });
  }
}

/** Keeps a database's files under another name; `file` stays where it is until something replaces it. */
export async function setAside(file: string, aside: string): Promise<void> {
  for (const ending of BESIDE) {
    if (await statOf(file + ending)) await rename(file + ending, aside + ending);
  }
  // Some file systems have no links.
  await link(file, aside).catch(() => rename(file, aside));
}

/** Gives a file to whoever has another: an administrator restores what a service has to open. */
export async function giveAs(file: string, other: string): Promise<void> {
  const { uid, gid } = await stat(other);
  if (process.getuid?.() === 0) await chown(file, uid, gid);
}

/** Removes a SQLite database. */
export async function removeFiles(database: string): Promise<void> {
  for (const ending of ["", ...BESIDE]) await rm(database + ending, { force: true });
}

async function filesOf(database: string): Promise<string[]> {
  const path = await resolved(database);
  return ["", ...BESIDE].map((ending) => path + ending);
}

/** A path without symbolic links, whether or not the file is there. */
async function resolved(file: string): Promise<string> {
  try {
    return await realpath(file);
  } catch {
    const folder = await realpath(dirname(file)).catch(() => dirname(file));
    return join(folder, basename(file));
  }
}

function statOf(file: string) {
  return stat(file).catch(() => undefined);
}
