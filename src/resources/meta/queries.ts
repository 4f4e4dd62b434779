import type { Database, Reader } from "../../store/port.ts";

/** Whether a job is to be done. Many ask and one takes it, so asking writes nothing. */
export async function isDue(db: Reader, name: string, now: number): Promise<boolean> {
  const found = await db.rows("select 1 from jobs where name = ? and due_at > ?", [name, now]);
  return found.length === 0;
}

/**
 * Takes a job that is due, so that no other process does.
 *
 * @param until when others may take it, in epoch milliseconds, unless {@link endJob} says another time
 * @returns whether it was not taken by another
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
 * Says when a job is to be done again, in epoch milliseconds.
 *
 * @param error what went wrong; `null` where it is done
 */
export async function endJob(
  db: Database,
  name: string,
  next: number,
  error: string | null = null,
): Promise<void> {
  await db.run("update jobs set due_at = ?, error = ? where name = ?", [next, error, name]);
}

/** The names of the jobs that went wrong the last time. */
export async function failedJobs(db: Reader): Promise<string[]> {
  const found = await db.rows("select name from jobs where error is not null order by name");
  return found.map(([name]) => String(name));
}
