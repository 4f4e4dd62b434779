import { createHash } from "node:crypto";
import type { Database, Store, Value } from "../store/port.ts";

/** Bytes of each piece of a file, except the last one. */
export const PIECE = 256 * 1024;
/** Pieces written by one transaction. */
const BATCH = 4;
/** Pieces deleted by one transaction. */
const DELETED = 64;

/** A complete file. */
export interface StoredFile {
  readonly id: number;
  readonly size: number;
  /** In hex. */
  readonly sha256: string;
}

/**
 * Stores what arrives, a mebibyte at a time: at most that much of it is in memory, and no transaction waits for a slow
 * sender. A file of less is stored by one transaction.
 *
 * The file belongs to no record yet: a transaction inserts one that refers to it ({@link owning} in table.ts). If that
 * does not happen within a day, or the record is deleted, the sweep deletes the file.
 *
 * @param now epoch milliseconds
 * @throws whatever `chunks` throws; nothing is left of the file then
 */
export async function storeFile(
  store: Store,
  chunks: AsyncIterable<Uint8Array>,
  now: number,
): Promise<StoredFile> {
  const hash = createHash("sha256");
  let id: number | undefined;
  let size = 0;
  let stored = 0;
  let full: Buffer[] = [];
  let open: Buffer | undefined;
  const flush = async (sha256: string | null) => {
    const pieces = full;
    id = await store.transaction(
      async (db) => {
        const file = id ?? (await begin(db, now));
        await append(db, file, stored, pieces);
        if (sha256 !== null) await finish(db, file, size, sha256);
        return file;
      },
      { shared: true },
    );
    stored += pieces.length;
    full = [];
  };
  try {
    for await (const chunk of chunks) {
      hash.update(chunk);
      for (let at = 0; at < chunk.length; ) {
        open ??= Buffer.allocUnsafeSlow(PIECE);
        const filled = size % PIECE;
        const part = chunk.subarray(at, at + PIECE - filled);
        open.set(part, filled);
        at += part.length;
        size += part.length;
        if (size % PIECE !== 0) continue;
        full.push(open);
        open = undefined;
        if (full.length === BATCH) await flush(null);
      }
    }
    if (open) full.push(open.subarray(0, size % PIECE));
    const sha256 = hash.digest("hex");
    await flush(sha256);
    return { id: id as unknown as number, size, sha256 };
  } catch (error) {
    if (id !== undefined) await deleteFile(store, id);
    throw error;
  }
}

/** Deletes a file unless a record has it. */
export async function discardFile(store: Store, id: number): Promise<void> {
  const [unused] = await store.rows(
    "select 1 from stored_files where id = ? and unused_since is not null",
    [id],
  );
  if (unused) await deleteFile(store, id);
}

/** Deletes a file that belongs to no record, some pieces at a time: it may be large. */
export async function deleteFile(store: Store, id: number): Promise<void> {
  const [last] = await store.rows("select max(number) from stored_file_pieces where file_id = ?", [
    id,
  ]);
  for (let number = DELETED; number < ((last?.[0] ?? 0) as number); number += DELETED) {
    await store.transaction(
      (db) =>
        db.run("delete from stored_file_pieces where file_id = ? and number < ?", [id, number]),
      { shared: true },
    );
  }
  await store.transaction((db) => db.run("delete from stored_files where id = ?", [id]), {
    shared: true,
  });
}

async function begin(db: Database, now: number): Promise<number> {
  const rows = await db.rows("insert into stored_files (unused_since) values (?) returning id", [
    now,
  ]);
  return rows[0]?.[0] as number;
}

async function append(
  db: Database,
  id: number,
  first: number,
  pieces: readonly Uint8Array[],
): Promise<void> {
  if (pieces.length === 0) return;
  const marks = Array(pieces.length).fill("(?, ?, ?)").join(", ");
  await db.run(
    `insert into stored_file_pieces (file_id, number, bytes) values ${marks}`,
    pieces.flatMap((bytes, index): Value[] => [id, first + index, bytes]),
  );
}

async function finish(db: Database, id: number, size: number, sha256: string): Promise<void> {
  await db.run("update stored_files set size = ?, sha256 = ? where id = ?", [size, sha256, id]);
}
