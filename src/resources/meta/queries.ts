import type { Database, Reader } from "../../store/port.ts";

/** Whether a job is due. Every process asks and only one takes the job, so this only reads. */
export async function isDue(db: Reader, name: string, now: number): Promise<boolean> {
  const found = await db.rows("select 1 from jobs where name = ? and due_at > ?", [name, now]);
  return found.length === 0;
}

/**
 * Claims a due job, so that no other process runs it.
 *
 * @param until when the claim ends, in epoch milliseconds, unless {@link endJob} sets another time
 * @returns `false` if it is not due, or another process was first
 */
export async function takeJob(
  db: Database,
  name: string,
  now: number,
  until: number,
): Promise<boolean> {
  const taken = await db.run(
    `insert into jobs (name, due_at) values (?, ?)
     on conflict (name) do update set due_at = excluded.due_at where jobs.due_at <= ?`,
    [name, until, now],
  );
  return taken === 1;
}

/**
 * Ends a run and schedules the next one.
 *
 * @param next epoch milliseconds
 * @param error why it failed; `null` if it succeeded
 */
export async function endJob(
  db: Database,
  name: string,
  next: number,
  error: string | null = null,
): Promise<void> {
  await db.run("update jobs set due_at = ?, error = ? where name = ?", [next, error, name]);
}

/** The names of the jobs whose last run failed. */
export async function failedJobs(db: Reader): Promise<string[]> {
  const found = await db.rows("select name from jobs where error is not null order by name");
  return found.map(([name]) => String(name));
}
