import { gunzipSync } from "node:zlib";
import { DotenvError, readDotenv, type Variable } from "../../ci/index.ts";
import { ApiError } from "../../core/errors.ts";
import { readFile } from "../../files/read.ts";
import type { StoredFile } from "../../files/write.ts";
import { among } from "../../store/conditions.ts";
import { insertMany } from "../../store/insert.ts";
import type { Database, Reader } from "../../store/port.ts";
import { limitOf } from "../plan-limits/limits.ts";

/**
 * Notes the variables that a job hands on in a file, for the jobs that depend on it. They are stored as they are, like the
 * file.
 *
 * @param format `gzip` if the file is compressed
 * @throws ApiError 400
 */
export async function noteDotenv(
  db: Database,
  jobId: number,
  file: StoredFile,
  format: string,
): Promise<void> {
  const variables = await read(db, file, format);
  await db.run("delete from dotenv_variables where job_id = ?", [jobId]);
  await insertMany(
    db,
    "dotenv_variables",
    ["job_id", "key", "value"],
    variables.map(({ key, value }) => [jobId, key, value]),
  );
}

async function read(db: Reader, file: StoredFile, format: string): Promise<Variable[]> {
  const most = await limitOf(db, "dotenv_size");
  const tooBig = `Dotenv Artifact Too Big. Maximum Allowable Size: ${most}`;
  if (file.size > most) throw new ApiError(400, { message: tooBig });
  const pieces: Uint8Array[] = [];
  for await (const piece of readFile(db, file)) pieces.push(piece);
  let bytes = Buffer.concat(pieces);
  if (format === "gzip") {
    try {
      bytes = gunzipSync(bytes, { maxOutputLength: most });
    } catch (error) {
      const isBig = error instanceof RangeError;
      throw new ApiError(400, { message: isBig ? tooBig : "Invalid Format" });
    }
  }
  const text = bytes.toString();
  const mostVariables = await limitOf(db, "dotenv_variables");
  if (text.includes("\0")) throw new ApiError(400, { message: "Invalid Format" });
  try {
    return readDotenv(text, mostVariables);
  } catch (error) {
    if (error instanceof DotenvError) throw new ApiError(400, { message: error.message });
    throw error;
  }
}

/** The variables that jobs hand on, in the order of the jobs. */
export async function dotenvOf(db: Reader, jobIds: readonly number[]): Promise<Variable[]> {
  if (jobIds.length === 0) return [];
  const these = among("job_id", jobIds);
  const rows = await db.rows(
    `select key, value from dotenv_variables where ${these.sql} order by job_id, key`,
    these.values,
  );
  return rows.map(([key, value]) => ({ key: key as string, value: value as string }));
}
