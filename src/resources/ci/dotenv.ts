import { gunzipSync } from "node:zlib";
import { DotenvError, type PlannedJob, readDotenv, type Variable } from "../../ci/index.ts";
import { ApiError } from "../../core/errors.ts";
import { readFile } from "../../files/read.ts";
import type { StoredFile } from "../../files/write.ts";
import { all, among, type Condition } from "../../store/conditions.ts";
import { insertMany } from "../../store/insert.ts";
import type { Database, Reader, Value } from "../../store/port.ts";
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

/** Which of a pipeline's jobs another one gets artifacts and variables of. */
export interface Depending {
  readonly id: number;
  readonly pipeline_id: number;
  readonly stage_index: number;
}

/**
 * The condition, for the alias `d` of jobs, under which a job gets artifacts and variables of others of its pipeline.
 *
 * @param spec what the job says of it
 */
export function earlierThan(
  { id, pipeline_id, stage_index }: Depending,
  { needs, options }: Pick<PlannedJob, "needs" | "options">,
): Condition {
  const needed = needs?.filter(({ artifacts }) => artifacts).map((need) => need.job);
  const names = options.dependencies ?? needed;
  return all([
    { sql: "d.pipeline_id = ? and d.retried = 0 and d.id <> ?", values: [pipeline_id, id] },
    needs ? undefined : { sql: "d.stage_index < ?", values: [stage_index] },
    among("d.name", names && [...new Set(names)]),
  ]);
}

/** The variables that are handed on to a job, in the order of the jobs that they are of. */
export async function dotenvFor(
  db: Reader,
  job: Depending,
  spec: Pick<PlannedJob, "needs" | "options">,
): Promise<Variable[]> {
  const earlier = earlierThan(job, spec);
  const sql = `select v.key, v.value from ci_jobs d join dotenv_variables v on v.job_id = d.id
    where ${earlier.sql} order by d.id, v.key`;
  return variablesOf(await db.rows(sql, earlier.values));
}

/** The variables that a job has handed on. */
export async function dotenvOf(db: Reader, jobId: number): Promise<Variable[]> {
  const sql = "select key, value from dotenv_variables where job_id = ? order by key";
  return variablesOf(await db.rows(sql, [jobId]));
}

const variablesOf = (rows: readonly (readonly Value[])[]): Variable[] =>
  rows.map(([key, value]) => ({ key: key as string, value: value as string }));
