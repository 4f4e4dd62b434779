import type { Database, Reader, Store } from "../store/port.ts";
import type { Lease, Leases } from "./leases.ts";

/** A job that one of the processes on a database runs again and again. */
export interface PeriodicJob {
  name: string;
  /** Its interval in milliseconds. */
  every: number;
}

/** The longest pause before a failed job is retried, in milliseconds. */
const RETRY = 600_000;
/** A job that is due later than this and its interval was put off by a wrong clock: it is due now. In milliseconds. */
const FARTHEST = 3_600_000;
/** The maximum length of a stored error, in characters. */
const MAX_ERROR_CHARACTERS = 500;

/**
 * Runs a job, unless it is not due or another process is running it. Every process calls this often.
 *
 * @returns the result of `work`; `undefined` if it was not run
 * @throws what `work` throws; the job is then due again after its interval, in ten minutes at most
 */
export async function runPeriodic<T>(
  { store, now, leases }: { store: Store; now: () => number; leases: Leases },
  job: PeriodicJob,
  work: () => Promise<T>,
): Promise<T | undefined> {
  const { name, every } = job;
  if (!(await isDue(store, job, now()))) return undefined;
  return leases.hold(async (lease) => {
    if (!(await store.transaction((db) => claim(db, job, lease, now())))) return undefined;
    const end = (pause: number, error: string | null) =>
      store.transaction((db) => reschedule(db, name, lease, now() + pause, error));
    try {
      const result = await work();
      await end(every, null);
      return result;
    } catch (error) {
      const { message } = error instanceof Error ? error : new Error(String(error));
      // Otherwise it is due at once, as its lease ends here.
      await end(Math.min(every, RETRY), message.slice(0, MAX_ERROR_CHARACTERS)).catch(
        () => undefined,
      );
      throw error;
    }
  });
}

const farthestOf = ({ every }: PeriodicJob, now: number) => now + Math.max(every, FARTHEST);

/** Whether a job is due. Every process asks and only one claims the job, so this only reads. */
async function isDue(db: Reader, job: PeriodicJob, now: number): Promise<boolean> {
  const found = await db.rows(
    "select 1 from jobs where name = ? and (owner is not null or (due_at > ? and due_at <= ?))",
    [job.name, now, farthestOf(job, now)],
  );
  return found.length === 0;
}

/**
 * Claims a due job, so that no other process runs it.
 *
 * @returns `false` if it is not due, or another process was first
 */
export async function claim(
  db: Database,
  job: PeriodicJob,
  { owner, process }: Lease,
  now: number,
): Promise<boolean> {
  const claimed = await db.run(
    `insert into jobs (name, due_at, owner, process) values (?, ?, ?, ?)
     on conflict (name) do update set owner = excluded.owner, process = excluded.process
     where jobs.owner is null and (jobs.due_at <= ? or jobs.due_at > ?)`,
    [job.name, now, owner, process, now, farthestOf(job, now)],
  );
  return claimed === 1;
}

/** Ends a run and schedules the next one, in epoch milliseconds, with the reason why this one failed. */
async function reschedule(
  db: Database,
  name: string,
  { owner }: Lease,
  next: number,
  error: string | null,
): Promise<void> {
  await db.run(
    "update jobs set owner = null, process = null, due_at = ?, error = ? where name = ? and owner = ?",
    [next, error, name, owner],
  );
}

/** All jobs that have been run, by name: whether the last run failed. */
export async function periodicJobs(db: Reader): Promise<{ name: string; failed: boolean }[]> {
  const found = await db.rows("select name, error from jobs order by name");
  return found.map(([name, error]) => ({ name: name as string, failed: error !== null }));
}
