import type { Bytes } from "../../core/http/incoming.ts";
import type { Database, Reader, Store } from "../../store/port.ts";

/** Maximum bytes of a job's log; jobs that write more fail. */
export const MOST_TRACE_BYTES = 16 * 1024 * 1024;

/** Parts of a log that are read at once. */
const PARTS = 16;

/** A job's log. */
export function traceOf(store: Store, jobId: number, length: number): Bytes {
  return { length, chunks: () => parts(store, jobId, length) };
}

async function* parts(store: Store, jobId: number, length: number): AsyncGenerator<Buffer> {
  for (let from = 0; from < length; ) {
    const rows = await store
      .reader()
      .rows(
        `select start, bytes from ci_trace_parts where job_id = ? and start >= ? order by start limit ${PARTS}`,
        [jobId, from],
      );
    if (rows.length === 0) return;
    for (const [start, bytes] of rows) {
      const part = Buffer.from(bytes as Uint8Array);
      const left = length - (start as number);
      if (left <= 0) return;
      yield part.subarray(0, left);
      from = (start as number) + part.length;
    }
  }
}

/**
 * Adds text at the end of a job's log. Secrets are made unreadable, also those that only end here: each of their bytes
 * becomes an asterisk, so that runners can count on.
 *
 * @param at how many bytes the log has
 * @param secrets none of which may be readable
 */
export async function appendTrace(
  db: Database,
  job: { readonly id: number; readonly project_id: number },
  at: number,
  added: Uint8Array,
  secrets: readonly string[],
): Promise<void> {
  if (added.length === 0) return;
  const hidden = secrets.filter((secret) => secret !== "").map((secret) => Buffer.from(secret));
  const longest = hidden.reduce((most, secret) => Math.max(most, secret.length), 0);
  const before = longest > 1 ? await tailOf(db, job.id, at - longest + 1) : [];
  const kept = before.reduce((length, { bytes }) => length + bytes.length, 0);
  const text = Buffer.concat([...before.map(({ bytes }) => bytes), Buffer.from(added)]);
  const masked = maskIn(text, hidden);
  let start = 0;
  for (const { id, bytes } of before) {
    const now = masked.subarray(start, start + bytes.length);
    start += bytes.length;
    if (now.equals(bytes)) continue;
    await db.run("update ci_trace_parts set bytes = ? where id = ?", [Buffer.from(now), id]);
  }
  await db.run(
    "insert into ci_trace_parts (project_id, job_id, start, bytes) values (?, ?, ?, ?)",
    [job.project_id, job.id, at, Buffer.from(masked.subarray(kept))],
  );
}

/** Bytes of a log's end that are looked through for what a job says of its coverage. */
const CLOSING = 64 * 1024;

/** The last 64 KiB of a log. */
export async function endOf(db: Reader, jobId: number): Promise<string> {
  const [job] = await db.rows("select trace_bytes from ci_jobs where id = ?", [jobId]);
  const parts = await tailOf(db, jobId, ((job?.[0] ?? 0) as number) - CLOSING);
  return Buffer.concat(parts.map(({ bytes }) => bytes))
    .subarray(-CLOSING)
    .toString("utf8");
}

/** The last parts of a log: all that have bytes from a place on. */
async function tailOf(
  db: Reader,
  jobId: number,
  from: number,
): Promise<{ id: number; bytes: Buffer }[]> {
  const rows = await db.rows(
    `select id, bytes from ci_trace_parts where job_id = ?
     and start >= (select coalesce(max(start), 0) from ci_trace_parts where job_id = ? and start <= ?) order by start`,
    [jobId, jobId, from],
  );
  return rows.map(([id, bytes]) => ({ id: id as number, bytes: Buffer.from(bytes as Uint8Array) }));
}

function maskIn(text: Buffer, secrets: readonly Buffer[]): Buffer {
  const masked = Buffer.from(text);
  for (const secret of secrets) {
    for (let at = text.indexOf(secret), end = 0; at >= 0; at = text.indexOf(secret, end)) {
      end = at + secret.length;
      masked.fill("*", at, end);
    }
  }
  return masked;
}
