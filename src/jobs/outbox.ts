import { randomUUID } from "node:crypto";
import type { Awaitable, Database, Reader, Store } from "../store/port.ts";

/** Something that is to be done, as its worker gets it. */
export interface Task {
  readonly id: number;
  /** JSON, as it was queued. */
  readonly payload: string;
  /** How often it was begun, this time included. */
  readonly attempts: number;
}

/** How an attempt ended. */
export type Outcome =
  | {
      readonly done: true;
      /** Writes what follows from it, in the transaction that removes the task: both happen, or neither. */
      readonly follow?: (db: Database) => Awaitable<void>;
    }
  | {
      readonly done: false;
      readonly error: string;
      /** Whether trying again is useless. */
      readonly final?: boolean;
      /** Milliseconds for which the worker begins nothing else, where the cause is not this task. */
      readonly rest?: number;
    }
  /** Given up unfinished because the worker stops: it is due at once. */
  | "interrupted";

/** A task in the queue, as operators see it. */
export interface QueuedTask extends Task {
  readonly state: "waiting" | "running" | "failed";
  /** When it is to be tried next, in epoch milliseconds; `null` for never. */
  readonly dueAt: number | null;
  readonly error: string | null;
  readonly createdAt: number;
}

/** What a worker runs on. */
export interface WorkerSettings {
  store: Store;
  /** Under which name tasks are queued for it. */
  name: string;
  now: () => number;
  /** Milliseconds between two looks into an empty queue. */
  interval: number;
  /** How many tasks are worked on at once. */
  lanes: number;
  /** Does a task, outside any transaction. The signal says that there is no more time. */
  work: (task: Task, signal: AbortSignal) => Promise<Outcome>;
  onError: (error: unknown) => void;
}

/** A running worker. */
export interface Worker {
  /** Begins nothing more, waits some seconds for what is being done, and then interrupts it. */
  stop(): Promise<void>;
}

const HOUR = 3_600_000;
/** Nothing is queued for a worker that no process ran for so long. */
const FORGOTTEN = 7 * 24 * HOUR;
/**
 * Who is at a task for so long has died. It is far more than an attempt may take and than the clocks of two servers
 * differ by.
 */
const LEASE = 600_000;
const FIRST_RETRY = 30_000;
const LAST_RETRY = 4 * HOUR;
/** With the pauses between them two days. */
const ATTEMPTS = 20;
/** How many tasks are looked up at once. */
const BATCH = 50;
/** How many rows one statement adds. */
const ROWS = 250;
const GRACE = 3000;

/**
 * Queues that something happened for every worker there is, in the transaction of what happened.
 *
 * @param payload what the workers need to know, such as the event's id
 */
export async function announce(db: Database, payload: object, now: number): Promise<void> {
  await db.run(
    `insert into outbox (worker, payload, due_at, created_at)
     select name, cast(? as text), cast(? as bigint), cast(? as bigint) from outbox_workers where seen_at > ?`,
    [JSON.stringify(payload), now, now, now - FORGOTTEN],
  );
}

/**
 * The same for a row whose id is not known before the end: the one that the statement given to `db.last` before this
 * inserts. The payload is an object with that id under `key`.
 */
export function announceLast(db: Database, key: string, now: number): void {
  db.last(
    `with inserted (id) as materialized (select last_insert_rowid())
     insert into outbox (worker, payload, due_at, created_at)
     select name, cast(? as text) || id || '}', cast(? as bigint), cast(? as bigint)
     from outbox_workers, inserted where seen_at > ?`,
    [`{${JSON.stringify(key)}:`, now, now, now - FORGOTTEN],
  );
}

/** Queues tasks for one worker. */
export async function add(
  db: Database,
  worker: string,
  payloads: readonly object[],
  now: number,
): Promise<void> {
  for (let start = 0; start < payloads.length; start += ROWS) {
    const batch = payloads.slice(start, start + ROWS);
    await db.run(
      `insert into outbox (worker, payload, due_at, created_at) values ${batch.map(() => "(?, ?, ?, ?)").join(", ")}`,
      batch.flatMap((payload) => [worker, JSON.stringify(payload), now, now]),
    );
  }
}

/** Makes a worker known, or says that it is still there; from then on, tasks are queued for it. */
async function register(db: Database, name: string, now: number): Promise<void> {
  await db.run(
    `insert into outbox_workers (name, token, seen_at) values (?, ?, ?)
     on conflict (name) do update set seen_at = excluded.seen_at where outbox_workers.seen_at < excluded.seen_at`,
    [name, randomUUID(), now],
  );
}

/** What tells this installation from others, or `undefined` where the worker was never run. */
export async function tokenOf(db: Reader, name: string): Promise<string | undefined> {
  const [found] = await db.rows("select token from outbox_workers where name = ?", [name]);
  return found?.[0] as string | undefined;
}

/**
 * Keeps whether a worker can reach what it needs, for all processes.
 *
 * @param since since when it can't, in epoch milliseconds; `null` where it can
 * @returns whether that is news
 */
export async function setFailing(
  db: Database,
  name: string,
  since: number | null,
): Promise<boolean> {
  const changed = await db.run(
    `update outbox_workers set failing_since = ?
     where name = ? and failing_since is ${since === null ? "not null" : "null"}`,
    [since, name],
  );
  return changed > 0;
}

/** How the workers do that some process runs: by name, whether they can reach what they need. */
export async function health(db: Reader, now: number): Promise<Record<string, "ok" | "failing">> {
  const found = await db.rows(
    "select name, failing_since from outbox_workers where seen_at > ? order by name",
    [now - FORGOTTEN],
  );
  return Object.fromEntries(
    found.map(([name, since]) => [String(name), since === null ? "ok" : "failing"]),
  );
}

/** What is in a worker's queue, what is tried no more first, each kind in the order of its ids. */
export async function queued(
  db: Reader,
  worker: string,
  now: number,
  most: number,
): Promise<QueuedTask[]> {
  const found = await db.rows(
    `select id, payload, attempts, due_at, owner, error, failed_at, created_at from outbox
     where worker = ? order by case when failed_at is null then 1 else 0 end, id limit ?`,
    [worker, most],
  );
  return found.map(([id, payload, attempts, dueAt, owner, error, failedAt, createdAt]) => ({
    id: id as number,
    payload: payload as string,
    attempts: attempts as number,
    state:
      failedAt !== null
        ? "failed"
        : owner !== null && (dueAt as number) > now
          ? "running"
          : "waiting",
    dueAt: failedAt === null ? (dueAt as number) : null,
    error: error as string | null,
    createdAt: createdAt as number,
  }));
}

/**
 * Makes tasks due at once, with all attempts before them: those that are tried no more and those that wait.
 *
 * @param id only this one
 * @returns how many
 */
export function retry(db: Database, worker: string, now: number, id?: number): Awaitable<number> {
  const one = id === undefined ? { sql: "", values: [] } : { sql: " and id = ?", values: [id] };
  return db.run(
    `update outbox set failed_at = null, attempts = 0, due_at = ?
     where worker = ? and (owner is null or due_at <= ?)${one.sql}`,
    [now, worker, now, ...one.values],
  );
}

/**
 * Runs a worker in the background until it is stopped. Any number of processes may run the same one on a database: a
 * task is leased by one of them, and leased again where that one dies. A task is done at least once: what its worker
 * does outside the database may happen twice where the process dies between doing it and removing the task.
 */
export async function startWorker(settings: WorkerSettings): Promise<Worker> {
  const { store, name, now, interval, lanes, work, onError } = settings;
  const owner = randomUUID();
  const interrupting = new AbortController();
  let seen = now();
  await store.transaction((db) => register(db, name, seen), { shared: true });

  let stopped = false;
  let wake = () => {};
  let restUntil = 0;

  const attempt = async (id: number): Promise<void> => {
    const task = await store.transaction((db) => lease(db, id, owner, now()), { shared: true });
    if (!task) return;
    const outcome: Outcome =
      task.attempts > ATTEMPTS
        ? { done: false, error: "every process that tried it has died", final: true }
        : await work(task, interrupting.signal).catch((error: Error) => {
            onError(error);
            return { done: false, error: error.message } as const;
          });
    if (outcome !== "interrupted" && !outcome.done && outcome.rest !== undefined) {
      restUntil = now() + outcome.rest;
    }
    await store.transaction((db) => settle(db, task, owner, outcome, now()), { shared: true });
  };

  /** Works on what is due; gives whether there may be more. */
  const turn = async (): Promise<boolean> => {
    const ids = await due(store, name, now(), BATCH);
    const resting = () => now() < restUntil;
    const lane = async () => {
      for (let id = ids.shift(); id !== undefined; id = ids.shift()) {
        if (stopped || resting()) return;
        await attempt(id);
      }
    };
    const isFull = ids.length === BATCH;
    await Promise.all(Array.from({ length: lanes }, lane));
    return isFull && !stopped && !resting();
  };

  const loop = async () => {
    while (!stopped) {
      try {
        if (now() - seen > HOUR) {
          seen = now();
          await store.transaction((db) => register(db, name, seen), { shared: true });
        }
        if (now() >= restUntil) while (await turn());
      } catch (error) {
        onError(error);
      }
      if (stopped) return;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, interval);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  };
  const running = loop();

  return {
    async stop() {
      stopped = true;
      wake();
      const timer = setTimeout(() => interrupting.abort(), GRACE);
      await running;
      clearTimeout(timer);
    },
  };
}

/** The ids of tasks that are due, those that wait longest first. It only reads: every process asks all the time. */
async function due(db: Reader, worker: string, now: number, most: number): Promise<number[]> {
  const found = await db.rows(
    `select id from outbox where worker = ? and failed_at is null and due_at <= ?
     order by due_at, id limit ?`,
    [worker, now, most],
  );
  return found.map(([id]) => id as number);
}

/** Takes a task, so that no other process does before the lease ends; `undefined` where another has taken it. */
async function lease(
  db: Database,
  id: number,
  owner: string,
  now: number,
): Promise<Task | undefined> {
  const [taken] = await db.rows(
    `update outbox set owner = ?, due_at = ?, attempts = attempts + 1
     where id = ? and failed_at is null and due_at <= ? returning payload, attempts`,
    [owner, now + LEASE, id, now],
  );
  return taken && { id, payload: taken[0] as string, attempts: taken[1] as number };
}

/** Keeps how an attempt ended, unless the lease has ended and another process has the task. */
async function settle(
  db: Database,
  { id, attempts }: Task,
  owner: string,
  outcome: Outcome,
  now: number,
): Promise<void> {
  const own = [id, owner];
  if (outcome === "interrupted") {
    const sql = "update outbox set owner = null, due_at = ? where id = ? and owner = ?";
    await db.run(sql, [now, ...own]);
  } else if (outcome.done) {
    const removed = await db.run("delete from outbox where id = ? and owner = ?", own);
    if (removed === 1) await outcome.follow?.(db);
  } else {
    const isFinal = outcome.final || attempts >= ATTEMPTS;
    const pause = Math.min(FIRST_RETRY * 2 ** (attempts - 1), LAST_RETRY);
    await db.run(
      `update outbox set owner = null, error = ?, due_at = ?, failed_at = ? where id = ? and owner = ?`,
      [outcome.error, now + pause, isFinal ? now : null, ...own],
    );
  }
}
