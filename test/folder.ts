import { statfsSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Bytes that all databases of a run need at most. */
const ROOM = 4 * 1024 ** 3;

/** Linux's file system in memory, if it has room. A database is hundreds of small files, which are slow on a disk. */
const place = hasRoom("/dev/shm") ? "/dev/shm" : tmpdir();

/** Creates a folder for a database, which the caller removes. */
export function newFolder(): Promise<string> {
  return mkdtemp(join(place, "pm-api-"));
}

function hasRoom(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize > ROOM;
  } catch {
    return false;
  }
}
