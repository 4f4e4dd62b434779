import { randomUUID } from "node:crypto";
import type { Condition } from "../store/conditions.ts";
import type { Awaitable, Database, Reader, Store } from "../store/port.ts";
import { inBatches } from "./batches.ts";

/** A task, as its worker gets it. */
export interface Task {
  readonly id: number;
  /** JSON, as it was queued. */
  readonly payload: string;
  /** How often it was started, including this time. */
  readonly attempts: number;
}

/** `waiting` for its next attempt, `running`, or `failed` for good. */
export type TaskState = "waiting" | "running" | "failed";

/** A task in the queue, as operators see it. */
export interface QueuedTask extends Task {
  readonly worker: string;
  readonly state: TaskState;
  /** When it is tried next, in epoch milliseconds; `null` for never. */
  readonly dueAt: number | null;
  readonly error: string | null;
  readonly createdAt: number;
  /** When the running attempt began; `null` if none runs. */
  readonly startedAt: number | null;
  /** Why it seems that the running attempt will not end; `null` if it does not. */
  readonly stuck: string | null;
}

/** The queue of a worker, as operators see it. Instants are epoch milliseconds. */
export interface QueueState {
  readonly worker: string;
  /** Tasks by state. */
  readonly waiting: number;
  readonly running: number;
  readonly failed: number;
  /** Running tasks that seem not to end: see {@link QueuedTask.stuck}. */
  readonly stuck: number;
  /** When the oldest task that is not failed was queued; `null` if there is none. */
  readonly oldestAt: number | null;
  /** When a process that runs the worker was last seen, to the hour; `null` if never. */
  readonly seenAt: number | null;
  /** Since when the worker can't reach the service it needs; `null` if it can. */
  readonly failingSince: number | null;
}

const DAY = 86_400_000;
/** Tasks are no longer queued for a worker that no process has run for this long. */
const FORGOTTEN = 7 * DAY;
/** A process that has not renewed its leases for this long, in milliseconds, has probably ended. */
const SILENT = 30_000;
/** An attempt that takes longer, in milliseconds, hangs. */
const LONG = 900_000;
/** Maximum rows added by one statement. */
const ROWS = 250;

/** Tasks are due at once, whatever the clocks of other processes say. */
const ANNOUNCED = "case when ordered = 1 then cast(? as bigint) end, 0, cast(? as bigint)";

/**
 * Queues events for every known worker, in the transaction that caused them.
 *
 * @param payloads what the workers need to know of each, such as the event's id
 * @param key workers that ask for it do tasks with the same key in order; for example, the id of a project
 */
export async function announce(
  db: Database,
  payloads: readonly object[],
  key: number,
  now: number,
): Promise<void> {
  for (let start = 0; start < payloads.length; start += ROWS) {
    const some = payloads.slice(start, start + ROWS);
    const each = some.map((_, at) => `select ${at} as place, cast(? as text) as payload`);
    await db.run(
      `insert into outbox (worker, payload, order_key, due_at, created_at)
       select name, payload, ${ANNOUNCED} from outbox_workers, (${each.join(" union all ")}) as announced
       where seen_at > ? order by place`,
      [key, now, ...some.map((payload) => JSON.stringify(payload)), now - FORGOTTEN],
    );
  }
}

/**
 * Same as {@link announce} for a row whose id is only known at the end: the one inserted by the statement passed to
 * `db.last` just before. The payload is an object with that id as `property`.
 */
export function announceLast(db: Database, property: string, key: number, now: number): void {
  db.last(
    `with inserted (id) as materialized (select last_insert_rowid())
     insert into outbox (worker, payload, order_key, due_at, created_at)
     select name, cast(? as text) || id || '}', ${ANNOUNCED}
     from outbox_workers, inserted where seen_at > ?`,
    [`{${JSON.stringify(property)}:`, key, now, now - FORGOTTEN],
  );
}

/**
 * Queues tasks for one worker.
 *
 * @param keyOf tasks with the same key are done one after another, in order; without it, in any order
 */
export async function add<Payload extends object>(
  db: Database,
  worker: string,
  payloads: readonly Payload[],
  now: number,
  keyOf?: (payload: Payload) => number,
): Promise<void> {
  for (let start = 0; start < payloads.length; start += ROWS) {
    const batch = payloads.slice(start, start + ROWS);
    await db.run(
      `insert into outbox (worker, payload, order_key, due_at, created_at)
       values ${batch.map(() => "(?, ?, ?, 0, ?)").join(", ")}`,
      batch.flatMap((payload) => [
        worker,
        JSON.stringify(payload),
        keyOf ? keyOf(payload) : null,
        now,
      ]),
    );
  }
}

/** Whether a process has run a worker not long ago. */
export async function isRun(db: Reader, worker: string, now: number): Promise<boolean> {
  const sql = "select 1 from outbox_workers where name = ? and seen_at > ?";
  return (await db.rows(sql, [worker, now - FORGOTTEN])).length > 0;
}

/** Whether a task of a worker is being done. */
export async function isInProgress(db: Reader, worker: string): Promise<boolean> {
  const sql = "select 1 from outbox where worker = ? and owner is not null limit 1";
  return (await db.rows(sql, [worker])).length > 0;
}

/** Queues a task for one worker, unless no process has run it for a long time. */
export async function addIfRun(
  db: Database,
  worker: string,
  payload: object,
  now: number,
): Promise<void> {
  await db.run(
    `insert into outbox (worker, payload, order_key, due_at, created_at)
     select name, cast(? as text), null, 0, cast(? as bigint) from outbox_workers
     where name = ? and seen_at > ?`,
    [JSON.stringify(payload), now, worker, now - FORGOTTEN],
  );
}

/**
 * Queues tasks at the end of the transaction, for what is only known then.
 *
 * @param tasks a query for `worker`, `payload`, as JSON text, and `order_key`, in their order: see {@link add}
 */
export function addLast(db: Database, tasks: Condition, now: number): void {
  db.last(
    `insert into outbox (worker, payload, order_key, due_at, created_at)
     select t.worker, t.payload, t.order_key, 0, cast(? as bigint) from (${tasks.sql}) t`,
    [now, ...tasks.values],
  );
}

/** The queues whose names begin with this are only filled while a process listens to them: see `Leases.listen`. */
export const LISTENERS = "listeners:";
/** Whether any process listens to a queue, whose name is the value. */
export const IS_LISTENED_TO = "select 1 from listeners where queue = ?";

/** One task of {@link addLast}, if any process listens to its queue. */
export function taskIfListenedTo(queue: string, payload: object, key: number): Condition {
  return {
    sql: `select cast(? as text) as worker, cast(? as text) as payload, cast(? as bigint) as order_key
      from (${IS_LISTENED_TO} limit 1) l`,
    values: [queue, JSON.stringify(payload), key, queue],
  };
}

/** Removes the tasks that were left a day ago in queues to which no process listens. */
export function sweepUnheard(store: Store, now: number): Promise<void> {
  const queues = `o.worker >= '${LISTENERS}' and o.worker < '${LISTENERS}~'`;
  return removeUnheard(store, { sql: `${queues} and o.created_at < ?`, values: [now - DAY] });
}

/** Removes the tasks that are left in a queue, unless another process listens to it. */
export function dropUnheard(store: Store, queue: string): Promise<void> {
  return removeUnheard(store, { sql: "o.worker = ?", values: [queue] });
}

async function removeUnheard(store: Store, { sql, values }: Condition): Promise<void> {
  const unheard = `select o.id from outbox o where ${sql} and o.failed_at is null and o.owner is null
    and o.order_key is not null and not exists (select 1 from listeners l where l.queue = o.worker) limit ?`;
  await inBatches(store, (db, batch) =>
    db.run(`delete from outbox where id in (${unheard})`, [...values, batch]),
  );
}

/** Makes the waiting tasks of a worker with one key due at once, and returns how many there are. */
export async function hasten(db: Database, worker: string, key: number): Promise<number> {
  return db.run(
    "update outbox set due_at = 0 where worker = ? and order_key = ? and owner is null and failed_at is null",
    [worker, key],
  );
}

/**
 * Registers a worker, or records that it is still alive; from then on, tasks are queued for it.
 *
 * @param options `ordered`: whether announced tasks get their key
 */
export async function register(
  db: Database,
  name: string,
  { ordered }: { ordered: boolean },
  now: number,
): Promise<void> {
  await db.run(
    `insert into outbox_workers (name, token, ordered, seen_at) values (?, ?, ?, ?)
     on conflict (name) do update set ordered = excluded.ordered,
       seen_at = case when outbox_workers.seen_at < excluded.seen_at then excluded.seen_at
         else outbox_workers.seen_at end`,
    [name, randomUUID(), ordered ? 1 : 0, now],
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

/** Whether a task `o` with the row `p` of its process, if it has one, is stuck. */
const STUCK = "o.owner is not null and (p.id is null or p.seen_at < ? or o.leased_at < ?)";
const WITH_PROCESS = "outbox o left join processes p on p.id = o.process";

/** The number of tasks of each worker that are stuck. */
export async function stuckTasks(db: Reader, now: number): Promise<Record<string, number>> {
  const found = await db.rows(
    `select o.worker, count(*) from ${WITH_PROCESS} where ${STUCK} group by o.worker order by o.worker`,
    [now - SILENT, now - LONG],
  );
  return Object.fromEntries(found) as Record<string, number>;
}

/** The queues of all workers that are known or have tasks, by name. */
export async function queues(db: Reader, now: number): Promise<QueueState[]> {
  const stuck = await stuckTasks(db, now);
  const found = await db.rows(
    `select n.name, coalesce(q.waiting, 0), coalesce(q.running, 0), coalesce(q.failed, 0), q.oldest, w.seen_at,
       w.failing_since
     from (select name from outbox_workers union select worker from outbox) n
     left join outbox_workers w on w.name = n.name
     left join (
       select worker,
         sum(case when failed_at is null and owner is null then 1 else 0 end) as waiting,
         sum(case when owner is not null then 1 else 0 end) as running,
         sum(case when failed_at is not null then 1 else 0 end) as failed,
         min(case when failed_at is null then created_at end) as oldest
       from outbox group by worker
     ) q on q.worker = n.name
     order by n.name`,
  );
  return found.map(([worker, waiting, running, failed, oldestAt, seenAt, failingSince]) => ({
    worker: worker as string,
    waiting: waiting as number,
    running: running as number,
    failed: failed as number,
    stuck: stuck[worker as string] ?? 0,
    oldestAt: oldestAt as number | null,
    seenAt: seenAt as number | null,
    failingSince: failingSince as number | null,
  }));
}

const STATES: Record<TaskState, string> = {
  waiting: "o.failed_at is null and o.owner is null",
  running: "o.owner is not null",
  failed: "o.failed_at is not null",
};

/**
 * The tasks in the queues: failed ones first, then the others, each in the order of their ids.
 *
 * @param only the tasks of one worker, or in one state
 */
export async function queued(
  db: Reader,
  only: { worker?: string | undefined; state?: TaskState | undefined },
  most: number,
  now: number,
): Promise<QueuedTask[]> {
  const conditions = [
    ...(only.worker === undefined ? [] : ["o.worker = ?"]),
    ...(only.state === undefined ? [] : [STATES[only.state]]),
  ];
  const found = await db.rows(
    `select o.id, o.worker, o.payload, o.attempts, o.due_at, o.owner, o.error, o.failed_at, o.created_at,
       o.leased_at, p.pid, p.seen_at
     from ${WITH_PROCESS}
     ${conditions.length > 0 ? `where ${conditions.join(" and ")}` : ""}
     order by case when o.failed_at is null then 1 else 0 end, o.id limit ?`,
    [...(only.worker === undefined ? [] : [only.worker]), most],
  );
  return found.map(
    ([id, worker, payload, attempts, dueAt, owner, error, failedAt, createdAt, ...lease]) => {
      const [startedAt, pid, seenAt] = lease as (number | null)[];
      const state = failedAt !== null ? "failed" : owner !== null ? "running" : "waiting";
      return {
        id: id as number,
        worker: worker as string,
        payload: payload as string,
        attempts: attempts as number,
        state,
        dueAt: failedAt === null ? Math.max(dueAt as number, createdAt as number) : null,
        error: error as string | null,
        createdAt: createdAt as number,
        startedAt: startedAt ?? null,
        stuck: state === "running" ? whyStuck({ startedAt, pid, seenAt }, now) : null,
      };
    },
  );
}

/** An attempt that runs, and its process. */
interface Running {
  readonly startedAt: number | null | undefined;
  readonly pid: number | null | undefined;
  readonly seenAt: number | null | undefined;
}

function whyStuck({ startedAt, pid, seenAt }: Running, now: number): string | null {
  const instant = (at: number) => new Date(at).toISOString();
  if (seenAt == null) return "its process has ended";
  if (seenAt < now - SILENT) return `process ${pid} was last heard of at ${instant(seenAt)}`;
  if (startedAt == null || startedAt >= now - LONG) return null;
  return `process ${pid} has been doing it since ${instant(startedAt)}`;
}

/**
 * Makes failed and waiting tasks due at once, and resets their number of attempts.
 *
 * @param only the tasks of one worker, or one task
 * @returns the number of tasks
 */
export function retry(
  db: Database,
  only: { worker?: string | undefined; id?: number | undefined },
): Awaitable<number> {
  const conditions = [
    "owner is null",
    ...(only.worker === undefined ? [] : ["worker = ?"]),
    ...(only.id === undefined ? [] : ["id = ?"]),
  ];
  return db.run(
    `update outbox set failed_at = null, attempts = 0, due_at = 0 where ${conditions.join(" and ")}`,
    [only.worker, only.id].filter((value) => value !== undefined),
  );
}
