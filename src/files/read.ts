import { createHash } from "node:crypto";
import type { Reader } from "../store/port.ts";
import { PIECE, type StoredFile } from "./write.ts";

/**
 * The bytes of a file from `from` to before `to`, a piece at a time.
 *
 * @throws Error if the file is deleted meanwhile
 */
export async function* readFile(
  db: Reader,
  { id, size }: Pick<StoredFile, "id" | "size">,
  from = 0,
  to = size,
): AsyncGenerator<Uint8Array> {
  for (let at = from; at < to; ) {
    const number = Math.floor(at / PIECE);
    const start = number * PIECE;
    const [row] = await db.rows(
      "select bytes from stored_file_pieces where file_id = ? and number = ?",
      [id, number],
    );
    if (!row) throw new Error(`file ${id} was deleted while it was read`);
    const end = Math.min(start + PIECE, to);
    yield (row[0] as Uint8Array).subarray(at - start, end - start);
    at = end;
  }
}

/** Reads parts of a file one after the other: of parts that are close together, each piece is read once. */
export class NearbyReader {
  readonly #db: Reader;
  readonly #file: Pick<StoredFile, "id" | "size">;
  #begin = 0;
  #piece: Uint8Array = new Uint8Array();

  constructor(db: Reader, file: Pick<StoredFile, "id" | "size">) {
    this.#db = db;
    this.#file = file;
  }

  /** The bytes from the first to before the last, a piece at a time. @throws Error if the file is deleted meanwhile */
  async *read(from: number, to: number): AsyncGenerator<Uint8Array> {
    for (let at = from; at < to; ) {
      if (at < this.#begin || at >= this.#begin + this.#piece.length) await this.#load(at);
      const end = Math.min(this.#begin + this.#piece.length, to);
      yield this.#piece.subarray(at - this.#begin, end - this.#begin);
      at = end;
    }
  }

  async #load(at: number): Promise<void> {
    this.#begin = Math.floor(at / PIECE) * PIECE;
    const [piece] = await piecesOf(
      readFile(this.#db, this.#file, this.#begin, Math.min(this.#begin + PIECE, this.#file.size)),
    );
    this.#piece = piece as Uint8Array;
  }
}

async function piecesOf(read: AsyncGenerator<Uint8Array>): Promise<Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  for await (const piece of read) pieces.push(piece);
  return pieces;
}

/** All bytes that are read, together. */
export async function bytesOf(read: AsyncGenerator<Uint8Array>): Promise<Buffer> {
  return Buffer.concat(await piecesOf(read));
}

/**
 * Checks that each complete file has the content that its digest stands for.
 *
 * @param most how many problems to report
 * @returns the problems, each a sentence
 */
export async function verifyFiles(db: Reader, most: number): Promise<string[]> {
  const problems: string[] = [];
  let last = 0;
  while (problems.length < most) {
    const files = await db.all<StoredFile>(
      "select id, size, sha256 from stored_files where id > ? and sha256 is not null order by id limit 100",
      [last],
    );
    if (files.length === 0) break;
    for (const file of files) {
      const hash = createHash("sha256");
      let sum = 0;
      try {
        for await (const bytes of readFile(db, file)) {
          hash.update(bytes);
          sum += bytes.length;
        }
        if (sum !== file.size) problems.push(`file ${file.id} has ${sum} of ${file.size} bytes`);
        else if (hash.digest("hex") !== file.sha256) {
          problems.push(`file ${file.id} has another content than its sha256 stands for`);
        }
      } catch {
        problems.push(`file ${file.id} has ${sum} of ${file.size} bytes`);
      }
      last = file.id;
    }
  }
  return problems.slice(0, most);
}
