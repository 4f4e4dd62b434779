import { createHash } from "node:crypto";
import { constants } from "node:fs";
import {
  chmod,
  chown,
  link,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
} from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { hasEnded, thisProcess } from "../core/os-process.ts";
import { areKeys, MAX_KEYS_BYTES } from "../core/secrets.ts";
import { StoreError } from "../store/port.ts";
import { BACKUP_ID } from "../store/sqlite.ts";

/** The files SQLite has beside a database, by the suffix of their names. */
const SUFFIXES = ["-wal", "-shm", "-journal"] as const;
/** The file with the key of its secrets, which no copy may ever replace. */
const KEY = ".key";
/** The longest that the system's other machines may write a copy, in milliseconds. */
const DAY = 86_400_000;

/** Whether a database name means a SQLite file. */
export function isSqliteFile(database: string): boolean {
  return database !== ":memory:" && !/^postgres(ql)?:\/\//.test(database);
}

/**
 * Whether two names mean the same file, or `other` is one of the files beside the SQLite database `one`, by any path,
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

/** The database that a file such as `pm.db-wal` or `pm.db.key` belongs to, if it exists, by any path or symbolic link. */
export async function ownerOf(file: string): Promise<string | undefined> {
  const path = await resolved(file);
  const suffix = [...SUFFIXES, KEY].find((one) => path.endsWith(one));
  const owner = suffix && path.slice(0, -suffix.length);
  return owner && (await statOf(owner)) ? owner : undefined;
}

/** Whether a file has keys of secrets, and nothing else. */
export async function hasKeys(file: string): Promise<boolean> {
  const found = await statOf(file);
  if (!found?.isFile() || found.size === 0 || found.size > MAX_KEYS_BYTES) return false;
  return areKeys(await readFile(file, "latin1"));
}

/**
 * Whether a file may be replaced: a backup that `backupDatabase` wrote and that was not used as a database since, an
 * empty file, or none at all.
 */
export async function isReplaceable(file: string): Promise<boolean> {
  // Opening a pipe or device could block.
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
 * Lets `write` fill a temporary file beside `file`, readable only by its owner, and renames it to `file` once it is
 * complete and on disk. If that fails, nothing is left behind and `file` is unchanged. What a process that was killed has
 * left of the same file is removed.
 */
export async function replaceFile(
  file: string,
  write: (partial: string) => Promise<void>,
): Promise<{ bytes: number }> {
  const folder = dirname(file);
  const partial = join(folder, `.${basename(file)}.${partialName()}`);
  await removeAbandoned(folder, (name) => name === basename(file));
  try {
    await (await open(partial, "wx", 0o600)).close();
    await chmod(partial, 0o600);
    await write(partial);
    // SQLite does not sync the copy to disk.
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

const PARTIAL = /^\.(.+)\.([0-9a-f]{8})\.(\d+)-(\d+)\.partial(?:-wal|-shm|-journal)?$/;
/** As version 0.1 named it. */
const OLD_PARTIAL = /^\.(.+?)()\.(\d+)-(\d+)\.partial(?:-wal|-shm|-journal)?$/;

/** The machine's part of the name of a temporary file, as numbers of processes belong to it. */
const machineOf = () =>
  createHash("sha256").update(thisProcess().machine).digest("hex").slice(0, 8);

const partialName = () => `${machineOf()}.${process.pid}-${Date.now()}.partial`;

/**
 * Removes the temporary files that killed processes have left in a folder: those of this machine at once, those of others
 * after a day.
 *
 * @param isOurs whether a name is that of a file that they were to become
 */
export async function removeAbandoned(
  folder: string,
  isOurs: (name: string) => boolean,
): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    const [, of = "", machine, pid, at] = PARTIAL.exec(name) ?? OLD_PARTIAL.exec(name) ?? [];
    if (of === "" || !isOurs(of)) continue;
    const path = join(folder, name);
    const isHere = machine === "" || machine === machineOf();
    const modifiedAt = Number((await statOf(path))?.mtimeMs ?? 0);
    const isOver = isHere ? isGone(Number(pid), Number(at)) : Date.now() - modifiedAt > DAY;
    if (isOver) await rm(path, { force: true });
  }
}

/** Whether the process with a number that began a file at an instant has ended. */
function isGone(pid: number, at: number): boolean {
  if (pid === process.pid) return at < performance.timeOrigin;
  return hasEnded({ ...thisProcess(), pid, started: "" });
}

/** Keeps a database's files under another name; `file` itself also stays in place until it is replaced. */
export async function setAside(file: string, aside: string): Promise<void> {
  for (const suffix of SUFFIXES) {
    if (await statOf(file + suffix)) await rename(file + suffix, aside + suffix);
  }
  // Some file systems have no hard links.
  await link(file, aside).catch(() => rename(file, aside));
}

/** Changes a file's owner to that of another: root may restore a database that a service has to open. */
export async function giveAs(file: string, other: string): Promise<void> {
  const { uid, gid } = await stat(other);
  if (process.getuid?.() === 0) await chown(file, uid, gid);
}

/** Removes all files of a SQLite database. */
export async function removeFiles(database: string): Promise<void> {
  for (const suffix of ["", ...SUFFIXES]) await rm(database + suffix, { force: true });
}

async function filesOf(database: string): Promise<string[]> {
  const path = await resolved(database);
  return ["", ...SUFFIXES, KEY].map((suffix) => path + suffix);
}

/** A path without symbolic links, whether or not the file exists. */
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
