import type { Database, Reader, Store } from "../store/port.ts";

/** A job that one of the processes on a database runs again and again. */
export interface PeriodicJob {
  name: string;
  /** Its interval in milliseconds. */
  every: number;
}

/** How long a process may run a job, in milliseconds; after that it counts as dead and another process may start it. */
const LEASE = 3_600_000;
/** The longest pause before a failed job is retried, in milliseconds. */
const RETRY = 600_000;
/** The maximum length of a stored error, in characters. */
const MAX_ERROR_CHARACTERS = 500;

/**
 * Runs a job, unless it is not due or another process is running it. Every process calls this often.
 *
 * @returns the result of `work`; `undefined` if it was not run
 * @throws what `work` throws; the job is then due again after its interval, in ten minutes at most
 */
export async function runPeriodic<T>(
  store: Store,
  job: PeriodicJob,
  now: () => number,
  work: () => Promise<T>,
): Promise<T | undefined> {
  const { name, every } = job;
  if (!(await isDue(store, name, now(), Math.max(every, LEASE)))) return undefined;
  if (!(await store.transaction((db) => claim(db, job, now())))) return undefined;
  const end = (pause: number, error: string | null) =>
    store.transaction((db) => reschedule(db, name, now() + pause, error));
  try {
    const result = await work();
    await end(every, null);
    return result;
  } catch (error) {
    const { message } = error instanceof Error ? error : new Error(String(error));
    await end(Math.min(every, RETRY), message.slice(0, MAX_ERROR_CHARACTERS)).catch(
      () => undefined,
    );
    throw error;
  }
}

/**
 * Whether a job is due: at its time, or if a process with a wrong clock or a longer interval has put it off for longer
 * than `farthest`. Every process asks and only one claims the job, so this only reads.
 */
async function isDue(db: Reader, name: string, now: number, farthest: number): Promise<boolean> {
  const found = await db.rows("select 1 from jobs where name = ? and due_at > ? and due_at <= ?", [
    name,
    now,
    now + farthest,
  ]);
  return found.length === 0;
}

/**
 * Claims a due job for an hour, so that no other process runs it.
 *
 * @returns `false` if it is not due, or another process was first
 */
export async function claim(
  db: Database,
  { name, every }: PeriodicJob,
  now: number,
): Promise<boolean> {
  const claimed = await db.run(
    `insert into jobs (name, due_at) values (?, ?)
     on conflict (name) do update set due_at = excluded.due_at where jobs.due_at <= ? or jobs.due_at > ?`,
    [name, now + LEASE, now, now + Math.max(every, LEASE)],
  );
  return claimed === 1;
}

/** Ends a run and schedules the next one, in epoch milliseconds, with the reason why this one failed. */
async function reschedule(
  db: Database,
  name: string,
  next: number,
  error: string | null,
): Promise<void> {
  await db.run("update jobs set due_at = ?, error = ? where name = ?", [next, error, name]);
}

/** All jobs that have been run, by name: whether the last run failed. */
export async function periodicJobs(db: Reader): Promise<{ name: string; failed: boolean }[]> {
  const found = await db.rows("select name, error from jobs order by name");
  return found.map(([name, error]) => ({ name: name as string, failed: error !== null }));
}
