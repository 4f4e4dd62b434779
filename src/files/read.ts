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
