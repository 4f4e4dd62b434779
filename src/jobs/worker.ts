import { randomUUID } from "node:crypto";
import type { Awaitable, Database, Reader, Store, Value } from "../store/port.ts";
import { register, type Task } from "./outbox.ts";

/** How an attempt ended. */
export type Outcome =
  | {
      readonly done: true;
      /**
       * Writes its results in the transaction that removes the task: both happen, or neither. If it throws, the attempt
       * has failed.
       */
      readonly follow?: (db: Database) => Awaitable<void>;
    }
  | {
      readonly done: false;
      readonly error: string;
      /** Whether retrying is useless. */
      readonly final?: boolean;
      /**
       * Milliseconds until the next attempt, by a plan of the worker's own, which also decides when it gives up. Default:
       * delays that double, {@link ATTEMPTS} times.
       */
      readonly pause?: number;
      /** Writes what is known of the attempt in the transaction that puts it off. */
      readonly follow?: (db: Database) => Awaitable<void>;
      /** Milliseconds during which the worker starts nothing else, if the cause is not this task. */
      readonly rest?: number;
    }
  /** Aborted because the worker stops: the task is due at once. */
  | "interrupted";

/** The settings of a worker. */
export interface WorkerSettings {
  store: Store;
  /** The name under which tasks are queued for it. */
  name: string;
  /** The wall clock, in epoch milliseconds, for the times of retries. */
  now: () => number;
  /** A clock in milliseconds that is never set, for the ends of leases. Default `performance.now`. */
  elapsed?: () => number;
  /** Milliseconds between two checks of an empty queue. */
  interval: number;
  /** Maximum tasks in progress at once. */
  lanes: number;
  /**
   * Whether every recorded event is announced to it. Default true; without, it only gets what is added for it, and does
   * not keep the process alive.
   */
  announced?: boolean;
  /** Whether announced tasks with the same key are done one after another, in order. Default false. */
  ordered?: boolean;
  /** Milliseconds for which {@link Worker.stop} waits for running tasks before it interrupts them. Default 3000. */
  grace?: number;
  /**
   * Does a task, outside any transaction, within {@link LEASE}. The signal aborts it when the worker has to stop.
   * Throwing is a failed attempt.
   */
  work: (task: Task, signal: AbortSignal) => Promise<Outcome>;
  onError: (error: unknown) => void;
}

/** A running worker. */
export interface Worker {
  /** Starts nothing more, waits for running tasks, and then interrupts them. */
  stop(): Promise<void>;
}

const HOUR = 3_600_000;
/**
 * A process counts as dead, in milliseconds, if one of its leases was seen for this long. Nobody compares clocks: each
 * process measures with its own how long it has seen a lease. It is far longer than an attempt may take.
 */
const LEASE = 600_000;
/** How often leases of others are looked at, in milliseconds. */
const LOOK = 30_000;
/** Maximum leases looked at: more than all processes of a worker have lanes. */
const MAX_LEASES = 1000;
const FIRST_RETRY = 30_000;
const LAST_RETRY = 4 * HOUR;
/** A task that is due later than this was delayed by a process whose clock was wrong: it is due now. */
const FARTHEST_RETRY = 2 * LAST_RETRY;
/** About two days, with the pauses between them. */
const ATTEMPTS = 20;
/** A task that takes longer, in milliseconds, is slow, and so is the next one with its key. */
const SLOW = 1000;
/** Maximum keys that are remembered as slow. */
const MAX_SLOW = 10_000;
/** Tasks looked up at once. */
const BATCH = 50;
const GRACE = 3000;

/** A task that can be leased. */
interface Candidate {
  id: number;
  /** `null` if it needs no order. */
  key: number | null;
  /** The lease of a dead process, if it is taken over. */
  owner: string | null;
}

/**
 * Runs a worker in the background until it is stopped. Any number of processes may run the same worker on a database:
 * one of them leases a task, and another leases it again if the first one dies. Effects written by `follow` happen
 * once. Effects outside the database happen at least once: twice if the process dies between causing them and removing
 * the task.
 *
 * @throws UnavailableError if the worker can't be registered
 */
export async function startWorker(settings: WorkerSettings): Promise<Worker> {
  const { store, name, now, interval, lanes, work, onError } = settings;
  const { elapsed = () => performance.now(), announced = true, ordered = false } = settings;
  const { grace = GRACE } = settings;
  const interrupting = new AbortController();
  const leases = new Leases(name, elapsed);
  const alive = async () => {
    if (!announced) return;
    await store.transaction((db) => register(db, name, { ordered }, now()), { shared: true });
  };
  await alive();
  let aliveAt = elapsed();
  if (announced) await leases.abandoned(store);

  let stopped = false;
  let wake = () => {};
  let rest = { from: 0, until: 0 };
  /** Also ends if the clock is set back. */
  const isResting = () => now() >= rest.from && now() < rest.until;
  const running = new Map<number, Promise<void>>();
  /** Keys whose last task took long, and the tasks of such keys that run. */
  const slow = new Set<number>();
  const slowRunning = new Set<number>();
  /** The key whose turn was last. */
  let last = 0;
  /** Whether tasks that are due found no lane, or were not all found. */
  let isCrowded = false;
  /** Whether a task has ended since the queue was last looked at after which more may be due. */
  let changed = false;

  let turnOfTasks = Promise.resolve();
  /** Waits for a turn of the event loop: tasks of all lanes that begin in the same one would keep requests waiting. */
  const ownTurn = () => {
    turnOfTasks = turnOfTasks.then(() => new Promise((resolve) => setImmediate(resolve)));
    return turnOfTasks;
  };

  /** Returns the next task with the same key, unless others are to have their turn first. */
  const attempt = async (candidate: Candidate): Promise<Candidate | undefined> => {
    const owner = randomUUID();
    const task = await store.transaction((db) => lease(db, name, candidate, owner, now()), {
      shared: true,
    });
    if (!task) return undefined;
    if (running.size > 1) await ownTurn();
    const startedAt = elapsed();
    const outcome = await attemptOf(task, work, interrupting.signal, onError);
    if (outcome !== "interrupted" && !outcome.done && outcome.rest !== undefined) {
      rest = { from: now(), until: now() + outcome.rest };
    }
    const { key } = candidate;
    if (key !== null) note(key, elapsed() - startedAt > SLOW);
    await end(store, task, owner, outcome, now, onError);
    if (key !== null && !isCrowded && !slow.has(key)) return headOf(store, name, key, now());
    // Looks at all keys take time where many of them wait, so there is none after each task.
    changed = true;
    wake();
    return undefined;
  };

  const note = (key: number, isSlow: boolean): void => {
    if (!isSlow) slow.delete(key);
    else if (slow.size < MAX_SLOW) slow.add(key);
  };

  const start = (first: Candidate): void => {
    const lane = async () => {
      let next: Candidate | undefined = first;
      try {
        while (next && !stopped && !isResting()) next = await attempt(next);
      } catch (error) {
        onError(error);
      }
      running.delete(first.id);
      slowRunning.delete(first.id);
    };
    if (isSlow(first)) slowRunning.add(first.id);
    running.set(first.id, lane());
  };
  const isSlow = ({ key }: Candidate) => key !== null && slow.has(key);

  /** Starts what is due. Keys whose tasks take long get half of the lanes, so that the others need not wait for them. */
  const turn = async (): Promise<void> => {
    const found = [...(await leases.abandoned(store)), ...(await due(store, name, now(), last))];
    isCrowded = found.length >= BATCH;
    for (const candidate of found.filter(({ id }) => !running.has(id))) {
      last = candidate.key ?? last;
      const hasNoLane = isSlow(candidate) && slowRunning.size >= Math.ceil(lanes / 2);
      isCrowded ||= hasNoLane || running.size >= lanes;
      if (hasNoLane) continue;
      while (running.size >= lanes) await Promise.race(running.values());
      if (stopped || isResting()) return;
      start(candidate);
    }
  };

  /** Waits for the next check of the queue, at most until a task ends. */
  const pause = () =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, interval);
      if (!announced) timer.unref();
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  const loop = async () => {
    // Applications that are opened for a moment only ask for nothing.
    if (!announced) await pause();
    while (!stopped) {
      changed = false;
      try {
        if (elapsed() - aliveAt > HOUR) {
          await alive();
          aliveAt = elapsed();
        }
        if (!isResting()) await turn();
      } catch (error) {
        onError(error);
      }
      if (!stopped && (!changed || isResting())) await pause();
    }
  };
  const looping = loop();

  return {
    async stop() {
      stopped = true;
      wake();
      const timer = setTimeout(() => interrupting.abort(), grace);
      await looping;
      await Promise.all(running.values());
      clearTimeout(timer);
    },
  };
}

/** Does a task, unless it was tried too often. */
async function attemptOf(
  task: Task,
  work: WorkerSettings["work"],
  signal: AbortSignal,
  onError: WorkerSettings["onError"],
): Promise<Outcome> {
  if (task.attempts > ATTEMPTS) {
    return { done: false, error: "every process that tried it has died", final: true };
  }
  return work(task, signal).catch((error: unknown) => {
    onError(error);
    return failure(error);
  });
}

/** Stores how an attempt ended. If what follows from it can't be written, it has failed. */
async function end(
  store: Store,
  task: Task,
  owner: string,
  outcome: Outcome,
  now: () => number,
  onError: WorkerSettings["onError"],
): Promise<void> {
  const settled = (how: Outcome) =>
    store.transaction((db) => settle(db, task, owner, how, now()), { shared: true });
  try {
    await settled(outcome);
  } catch (error) {
    if (outcome === "interrupted" || !outcome.follow) throw error;
    onError(error);
    await settled(failure(error));
  }
}

function failure(error: unknown): Outcome {
  return { done: false, error: error instanceof Error ? error.message : String(error) };
}

/**
 * Does all tasks of a worker that are due, one after another, instead of running it in the background. Several processes may
 * do so at once.
 *
 * @returns how many
 */
export async function workOff(settings: WorkerSettings): Promise<number> {
  const { store, name, now, work, onError } = settings;
  const { signal } = new AbortController();
  let done = 0;
  for (;;) {
    const found = await due(store, name, now(), 0);
    if (found.length === 0) return done;
    for (const candidate of found) {
      const owner = randomUUID();
      const task = await store.transaction((db) => lease(db, name, candidate, owner, now()), {
        shared: true,
      });
      if (!task) continue;
      const outcome = await attemptOf(task, work, signal, onError);
      await end(store, task, owner, outcome, now, onError);
      done += 1;
    }
  }
}

/** The leases of a worker's tasks, and since when this process has seen them. */
class Leases {
  readonly #worker: string;
  readonly #elapsed: () => number;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #seen = new Map<string, { candidate: Candidate; since: number }>();

  constructor(worker: string, elapsed: () => number) {
    this.#worker = worker;
    this.#elapsed = elapsed;
  }

  /** Tasks whose process has died. */
  async abandoned(db: Reader): Promise<Candidate[]> {
    const at = this.#elapsed();
    if (at - this.#lookedAt < LOOK) return [];
    this.#lookedAt = at;
    const leased = await db.rows(
      `select id, order_key, owner from outbox where worker = ? and owner is not null order by id limit ?`,
      [this.#worker, MAX_LEASES],
    );
    const before = this.#seen;
    this.#seen = new Map(
      leased.map((row) => {
        const candidate = candidateOf(row);
        const key = `${candidate.id} ${candidate.owner}`;
        return [key, before.get(key) ?? { candidate, since: at }];
      }),
    );
    const dead = [...this.#seen.values()].filter(({ since }) => at - since > LEASE);
    return dead.map(({ candidate }) => candidate);
  }
}

function candidateOf([id, key, owner]: Value[]): Candidate {
  return { id: id as number, key: key as number | null, owner: owner as string | null };
}

/** Tasks that need no order and that nobody does. */
const freeWhere = (time: string) => `select id, order_key, owner from outbox
  where worker = ? and failed_at is null and owner is null and order_key is null and ${time}
  order by due_at, id limit ?`;

/** The first task of each key: found by one look-up in the index per key, however many tasks wait behind it. */
const HEADS = `with recursive keys (order_key) as (
    select min(order_key) from outbox where worker = ? and failed_at is null and order_key is not null
    union all
    select (
      select min(o.order_key) from outbox o
      where o.worker = ? and o.failed_at is null and o.order_key is not null and o.order_key > k.order_key
    ) from keys k where k.order_key is not null
  )
  select o.id, o.order_key, o.owner from keys k join outbox o on o.id = (
    select min(h.id) from outbox h
    where h.worker = ? and h.failed_at is null and h.order_key is not null and h.order_key = k.order_key
  )
  where o.owner is null and (o.due_at <= ? or o.due_at > ?)
  order by case when o.order_key > ? then 0 else 1 end, o.order_key limit ?`;

/**
 * Due tasks: those without a key longest overdue first, and those with a key by turns, so that no key waits because others
 * have many tasks. It only reads, since every process calls it all the time.
 *
 * @param last the key whose turn was last
 */
async function due(db: Reader, worker: string, now: number, last: number): Promise<Candidate[]> {
  const farthest = now + FARTHEST_RETRY;
  const free = await db.rows(freeWhere("due_at <= ?"), [worker, now, BATCH]);
  const putOff = await db.rows(freeWhere("due_at > ?"), [worker, farthest, BATCH]);
  const heads = await db.rows(HEADS, [worker, worker, worker, now, farthest, last, BATCH]);
  return [...free, ...putOff, ...heads].map(candidateOf);
}

/** The first task with a key, if it is due. */
async function headOf(
  db: Reader,
  worker: string,
  key: number,
  now: number,
): Promise<Candidate | undefined> {
  const [head] = await db.rows(
    `select id, order_key, owner, due_at from outbox
     where worker = ? and failed_at is null and order_key is not null and order_key = ? order by id limit 1`,
    [worker, key],
  );
  if (!head || head[2] !== null || (head[3] as number) > now) return undefined;
  return candidateOf(head);
}

/** Leases a task; `undefined` if another process was faster, or does another one with the same key. */
async function lease(
  db: Database,
  worker: string,
  { id, key, owner: before }: Candidate,
  owner: string,
  now: number,
): Promise<Task | undefined> {
  const state =
    before === null
      ? {
          sql: "owner is null and (due_at <= ? or due_at > ?)",
          values: [now, now + FARTHEST_RETRY],
        }
      : { sql: "owner = ?", values: [before] };
  if (key !== null) {
    // A task with a lower id can appear late, when its transaction commits.
    db.lock(key);
    const others = await db.rows(
      `select 1 from outbox where worker = ? and failed_at is null and order_key is not null and order_key = ?
       and owner is not null and id <> ? limit 1`,
      [worker, key, id],
    );
    if (others.length > 0) return undefined;
  }
  const [leased] = await db.rows(
    `update outbox set owner = ?, attempts = attempts + 1
     where id = ? and failed_at is null and ${state.sql} returning payload, attempts`,
    [owner, id, ...state.values],
  );
  return leased && { id, payload: leased[0] as string, attempts: leased[1] as number };
}

/** Stores the outcome of an attempt, unless another process has taken the task over. */
async function settle(
  db: Database,
  { id, attempts }: Task,
  owner: string,
  outcome: Outcome,
  now: number,
): Promise<void> {
  const own = [id, owner];
  if (outcome === "interrupted") {
    await db.run("update outbox set owner = null, due_at = 0 where id = ? and owner = ?", own);
  } else if (outcome.done) {
    const removed = await db.run("delete from outbox where id = ? and owner = ?", own);
    if (removed === 1) await outcome.follow?.(db);
  } else {
    const isPlanned = outcome.pause !== undefined;
    const isFinal = outcome.final || (!isPlanned && attempts >= ATTEMPTS);
    const pause = outcome.pause ?? Math.min(FIRST_RETRY * 2 ** (attempts - 1), LAST_RETRY);
    // By a plan of its own, only attempts whose process dies are counted.
    const changed = await db.run(
      `update outbox set owner = null, error = ?, due_at = ?, failed_at = ?, attempts = ?
       where id = ? and owner = ?`,
      [outcome.error, now + pause, isFinal ? now : null, isPlanned ? 0 : attempts, ...own],
    );
    if (changed === 1) await outcome.follow?.(db);
  }
}
