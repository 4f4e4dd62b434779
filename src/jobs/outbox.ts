import { randomUUID } from "node:crypto";
import type { Awaitable, Database, Reader, Store } from "../store/port.ts";

/** A task, as its worker gets it. */
export interface Task {
  readonly id: number;
  /** JSON, as it was queued. */
  readonly payload: string;
  /** How often it was started, including this time. */
  readonly attempts: number;
}

/** How an attempt ended. */
export type Outcome =
  | {
      readonly done: true;
      /** Writes its results in the transaction that removes the task: both happen, or neither. */
      readonly follow?: (db: Database) => Awaitable<void>;
    }
  | {
      readonly done: false;
      readonly error: string;
      /** Whether retrying is useless. */
      readonly final?: boolean;
      /** Milliseconds during which the worker starts nothing else, if the cause is not this task. */
      readonly rest?: number;
    }
  /** Aborted because the worker stops: the task is due at once. */
  | "interrupted";

/** A task in the queue, as operators see it. */
export interface QueuedTask extends Task {
  readonly state: "waiting" | "running" | "failed";
  /** When it is tried next, in epoch milliseconds; `null` for never. */
  readonly dueAt: number | null;
  readonly error: string | null;
  readonly createdAt: number;
}

/** The settings of a worker. */
export interface WorkerSettings {
  store: Store;
  /** The name under which tasks are queued for it. */
  name: string;
  now: () => number;
  /** Milliseconds between two checks of an empty queue. */
  interval: number;
  /** Maximum tasks in progress at once. */
  lanes: number;
  /** Does a task, outside any transaction. The signal aborts it when the worker has to stop. */
  work: (task: Task, signal: AbortSignal) => Promise<Outcome>;
  onError: (error: unknown) => void;
}

/** A running worker. */
export interface Worker {
  /** Starts nothing more, waits some seconds for running tasks, and then interrupts them. */
  stop(): Promise<void>;
}

const HOUR = 3_600_000;
/** Tasks are no longer queued for a worker that no process has run for this long. */
const FORGOTTEN = 7 * 24 * HOUR;
/**
 * After this long, in milliseconds, the process with a task counts as dead. It is far longer than an attempt may take,
 * and than the difference between the clocks of two servers.
 */
const LEASE = 600_000;
const FIRST_RETRY = 30_000;
const LAST_RETRY = 4 * HOUR;
/** About two days, with the pauses between them. */
const ATTEMPTS = 20;
/** Tasks looked up at once. */
const BATCH = 50;
/** Maximum rows added by one statement. */
const ROWS = 250;
const GRACE = 3000;

/**
 * Queues an event for every known worker, in the transaction that caused the event.
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
 * Same as {@link announce} for a row whose id is only known at the end: the one inserted by the statement passed to
 * `db.last` just before. The payload is an object with that id under `key`.
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

/** Registers a worker, or records that it is still alive; from then on, tasks are queued for it. */
async function register(db: Database, name: string, now: number): Promise<void> {
  await db.run(
    `insert into outbox_workers (name, token, seen_at) values (?, ?, ?)
     on conflict (name) do update set seen_at = excluded.seen_at where outbox_workers.seen_at < excluded.seen_at`,
    [name, randomUUID(), now],
  );
}

/** A random token that identifies this installation; `undefined` if the worker has never run. */
export async function tokenOf(db: Reader, name: string): Promise<string | undefined> {
  const [found] = await db.rows("select token from outbox_workers where name = ?", [name]);
  return found?.[0] as string | undefined;
}

/**
 * Records, for all processes, whether a worker can reach the service it needs.
 *
 * @param since when it began to fail, in epoch milliseconds; `null` if it does not fail
 * @returns whether this changed anything
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

/** The state of all known workers, by name: whether they can reach the service they need. */
export async function health(db: Reader, now: number): Promise<Record<string, "ok" | "failing">> {
  const found = await db.rows(
    "select name, failing_since from outbox_workers where seen_at > ? order by name",
    [now - FORGOTTEN],
  );
  return Object.fromEntries(
    found.map(([name, since]) => [String(name), since === null ? "ok" : "failing"]),
  );
}

/** The tasks in a worker's queue: failed ones first, then the others, each in the order of their ids. */
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
 * Makes failed and waiting tasks due at once, and resets their number of attempts.
 *
 * @param id only this task
 * @returns the number of tasks
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
 * Runs a worker in the background until it is stopped. Any number of processes may run the same worker on a database:
 * one of them leases a task, and another leases it again if the first one dies. Tasks are done at least once: effects
 * outside the database may happen twice if the process dies between causing them and removing the task.
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

  /** Works on due tasks; returns whether there may be more. */
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

/** The ids of due tasks, longest overdue first. It only reads, since every process calls it all the time. */
async function due(db: Reader, worker: string, now: number, most: number): Promise<number[]> {
  const found = await db.rows(
    `select id from outbox where worker = ? and failed_at is null and due_at <= ?
     order by due_at, id limit ?`,
    [worker, now, most],
  );
  return found.map(([id]) => id as number);
}

/** Leases a task, so that no other process takes it before the lease ends; `undefined` if another has taken it. */
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

/** Stores the outcome of an attempt, unless the lease has ended and another process has the task. */
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
