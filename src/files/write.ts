import { createHash, type Hash } from "node:crypto";
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

/** Pieces that were cut: the number of the first, and the bytes of the file without and with them. */
interface Cut {
  readonly pieces: readonly Uint8Array[];
  readonly first: number;
  readonly from: number;
  readonly size: number;
  readonly isLast: boolean;
}

/**
 * Cuts what arrives into pieces, and hands some of them on at a time; at last those that are left, even if there are none.
 *
 * @param begun the bytes that the file has already, and its last piece if that is not full
 */
async function cut(
  chunks: AsyncIterable<Uint8Array>,
  begun: { readonly size: number; readonly tail?: Uint8Array | undefined },
  flush: (cut: Cut) => Promise<void>,
): Promise<number> {
  let { size } = begun;
  let from = size;
  let first = Math.floor(size / PIECE);
  let full: Uint8Array[] = [];
  let open: Buffer | undefined;
  if (begun.tail) {
    open = Buffer.allocUnsafeSlow(PIECE);
    open.set(begun.tail);
  }
  for await (const chunk of chunks) {
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
      if (full.length < BATCH) continue;
      await flush({ pieces: full, first, from, size, isLast: false });
      first += full.length;
      from = size;
      full = [];
    }
  }
  if (open) full.push(open.subarray(0, size % PIECE));
  await flush({ pieces: full, first, from, size, isLast: true });
  return size;
}

/** Passes chunks on, and hashes them. */
async function* hashed(chunks: AsyncIterable<Uint8Array>, hash: Hash): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    hash.update(chunk);
    yield chunk;
  }
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
  let sha256 = "";
  try {
    const size = await cut(hashed(chunks, hash), { size: 0 }, async (one) => {
      if (one.isLast) sha256 = hash.digest("hex");
      id = await store.transaction(
        async (db) => {
          const file = id ?? (await beginFile(db, now));
          await append(db, file, one.first, one.pieces);
          if (one.isLast) await finishFile(db, file, one.size, sha256);
          return file;
        },
        { shared: true },
      );
    });
    return { id: id as unknown as number, size, sha256 };
  } catch (error) {
    if (id !== undefined) await deleteFile(store, id);
    throw error;
  }
}

/**
 * Adds what arrives to a file that is not complete, as {@link storeFile} stores it.
 *
 * @param file and how many bytes of it were added before; what it has besides is replaced
 * @param record notes in the same transaction how many bytes it has, after those it had; throws if another has added some
 * @returns the bytes it has
 * @throws whatever `chunks` and `record` throw; what was recorded stays
 */
export async function appendToFile(
  store: Store,
  { id, size }: Pick<StoredFile, "id" | "size">,
  chunks: AsyncIterable<Uint8Array>,
  record: (db: Database, before: number, size: number) => Promise<void>,
): Promise<number> {
  const filled = size % PIECE;
  const [last] =
    filled === 0
      ? []
      : await store.rows("select bytes from stored_file_pieces where file_id = ? and number = ?", [
          id,
          Math.floor(size / PIECE),
        ]);
  const tail = (last?.[0] as Uint8Array | undefined)?.subarray(0, filled);
  return cut(chunks, { size, tail }, ({ pieces, first, from, size: to }) =>
    store.transaction(
      async (db) => {
        await record(db, from, to);
        await db.run("delete from stored_file_pieces where file_id = ? and number >= ?", [
          id,
          first,
        ]);
        await append(db, id, first, pieces);
      },
      { shared: true },
    ),
  );
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

/** Begins a file, which belongs to no record yet, and returns its id. @param now epoch milliseconds */
export async function beginFile(db: Database, now: number): Promise<number> {
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

/** Notes that a file is complete. @param sha256 in hex */
export async function finishFile(
  db: Database,
  id: number,
  size: number,
  sha256: string,
): Promise<void> {
  await db.run("update stored_files set size = ?, sha256 = ? where id = ?", [size, sha256, id]);
}
