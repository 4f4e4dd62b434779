import { mkdtempSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Bytes that all databases of a run need at most. */
const ROOM = 4 * 1024 ** 3;

/** Linux's file system in memory, if it has room. A database is hundreds of small files, which are slow on a disk. */
const place = hasRoom("/dev/shm") ? "/dev/shm" : tmpdir();

/** Creates a folder for databases or repositories, which the caller removes. */
export function newFolder(): string {
  return mkdtempSync(join(place, "pm-api-"));
}

function hasRoom(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize > ROOM;
  } catch {
    return false;
  }
}
