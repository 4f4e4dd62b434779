import { setTimeout as sleep } from "node:timers/promises";
import {
  type Awaitable,
  type Database,
  type Reader,
  type Store,
  UnavailableError,
  type Value,
} from "../store/port.ts";
import type { Lease, Leases } from "./leases.ts";
import { register, type Task } from "./outbox.ts";
import type { Service } from "./services.ts";

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
      /** The first of the delays that double, in milliseconds. Default {@link FIRST_RETRY}. */
      readonly first?: number;
      /** Writes what is known of the attempt in the transaction that puts it off. */
      readonly follow?: (db: Database) => Awaitable<void>;
      /** Milliseconds during which the worker starts nothing else, if the cause is not this task. */
      readonly rest?: number;
    }
  /** Aborted because the worker stops: the task is due at once. */
  | "interrupted";

/** What all workers of a process share. */
export interface Working {
  readonly store: Store;
  /** The wall clock, in epoch milliseconds, for the times of retries. */
  readonly now: () => number;
  /** The leases of this process. */
  readonly leases: Leases;
  readonly onError: (error: unknown) => void;
}

/** The settings of a worker. */
export interface WorkerSettings extends Working {
  /** The name under which tasks are queued for it. */
  name: string;
  /** A clock in milliseconds that is never set, for how long tasks take. Default `performance.now`. */
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
  /** Does a task, outside any transaction. The signal aborts it when the worker has to stop. Throwing is a failed attempt. */
  work: (task: Task, signal: AbortSignal) => Promise<Outcome>;
}

/** A running worker. To stop, it starts nothing more, waits for running tasks, and then interrupts them. */
export interface Worker extends Service {
  /** Looks at the queue now, instead of at the end of the interval. */
  wake(): void;
  stop(): Promise<void>;
}

const HOUR = 3_600_000;
const FIRST_RETRY = 30_000;
/** The first retry of a task that failed because the database did not answer. */
const SOON = 1000;
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
/** The first and the last pause before the outcome of an attempt is written again, in milliseconds. */
const FIRST_PAUSE = 100;
const LAST_PAUSE = 2000;

/** A task that can be leased. */
interface Candidate {
  readonly id: number;
  /** `null` if it needs no order. */
  readonly key: number | null;
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
  const worker = new BackgroundWorker(settings);
  await worker.start();
  return worker;
}

/** {@link startWorker}. */
class BackgroundWorker implements Worker {
  readonly #settings: WorkerSettings;
  readonly #elapsed: () => number;
  readonly #interrupting = new AbortController();
  readonly #running = new Map<number, Promise<void>>();
  /** Keys whose last task took long, and the tasks of such keys that run. */
  readonly #slow = new Set<number>();
  readonly #slowRunning = new Set<number>();
  #registeredAt = 0;
  #looking: Promise<void> = Promise.resolve();
  #stopped = false;
  #rest = { from: 0, until: 0 };
  /** The key whose turn was last. */
  #last = 0;
  /** Whether tasks that are due found no lane, or were not all found. */
  #isCrowded = false;
  /** Whether a task has ended since the queue was last looked at after which more may be due. */
  #changed = false;
  #turn: Promise<void> = Promise.resolve();
  #endPause = () => {};

  constructor(settings: WorkerSettings) {
    this.#settings = settings;
    this.#elapsed = settings.elapsed ?? (() => performance.now());
  }

  async start(): Promise<void> {
    await this.#register();
    this.#looking = this.#look();
  }

  wake(): void {
    this.#changed = true;
    this.#endPause();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#endPause();
    const { grace = GRACE } = this.#settings;
    const timer = setTimeout(() => this.#interrupting.abort(), grace);
    await this.#looking;
    await Promise.all(this.#running.values());
    clearTimeout(timer);
  }

  get #isAnnounced(): boolean {
    return this.#settings.announced ?? true;
  }

  /** Also ends if the clock is set back. */
  get #isResting(): boolean {
    const now = this.#settings.now();
    return now >= this.#rest.from && now < this.#rest.until;
  }

  async #register(): Promise<void> {
    if (!this.#isAnnounced) return;
    const { store, name, now, ordered = false } = this.#settings;
    await store.transaction((db) => register(db, name, { ordered }, now()), { shared: true });
    this.#registeredAt = this.#elapsed();
  }

  /** Looks at the queue again and again. */
  async #look(): Promise<void> {
    // Applications that are opened for a moment only ask for nothing.
    if (!this.#isAnnounced) await this.#pause();
    while (!this.#stopped) {
      this.#changed = false;
      try {
        if (this.#elapsed() - this.#registeredAt > HOUR) await this.#register();
        if (!this.#isResting) await this.#startDue();
      } catch (error) {
        this.#settings.onError(error);
      }
      if (!this.#stopped && (!this.#changed || this.#isResting)) await this.#pause();
    }
  }

  /** Waits for the next look at the queue, at most until a task ends. */
  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.#settings.interval);
      if (!this.#isAnnounced) timer.unref();
      this.#endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Starts what is due. Keys whose tasks take long get half of the lanes, so that the others need not wait for them. */
  async #startDue(): Promise<void> {
    const { store, name, now, lanes } = this.#settings;
    const found = await due(store, name, now(), this.#last);
    this.#isCrowded = found.length >= BATCH;
    for (const candidate of found.filter(({ id }) => !this.#running.has(id))) {
      this.#last = candidate.key ?? this.#last;
      const hasNoLane = this.#isSlow(candidate) && this.#slowRunning.size >= Math.ceil(lanes / 2);
      this.#isCrowded ||= hasNoLane || this.#running.size >= lanes;
      if (hasNoLane) continue;
      while (this.#running.size >= lanes) await Promise.race(this.#running.values());
      if (this.#stopped || this.#isResting) return;
      if (this.#isSlow(candidate)) this.#slowRunning.add(candidate.id);
      this.#running.set(candidate.id, this.#run(candidate));
    }
  }

  /** A lane: does a task, and those with the same key after it. */
  async #run(first: Candidate): Promise<void> {
    let next: Candidate | undefined = first;
    try {
      while (next && !this.#stopped && !this.#isResting) next = await this.#do(next);
    } catch (error) {
      this.#settings.onError(error);
    }
    this.#running.delete(first.id);
    this.#slowRunning.delete(first.id);
  }

  /** Does a task. Returns the next one with the same key, unless others are to have their turn first. */
  async #do(candidate: Candidate): Promise<Candidate | undefined> {
    const { store, name, now } = this.#settings;
    const { key } = candidate;
    const { signal } = this.#interrupting;
    const signals = { stopping: signal, leaving: signal };
    const watched = (work: () => Promise<Outcome>) => this.#watched(key, work);
    const isDone = await attempt(this.#settings, candidate, signals, watched);
    if (!isDone) return undefined;
    if (key !== null && !this.#isCrowded && !this.#slow.has(key)) {
      return headOf(store, name, key, now());
    }
    // Looks at all keys take time where many of them wait, so there is none after each task.
    this.#changed = true;
    this.#endPause();
    return undefined;
  }

  /** Notes how long a task takes, and whether the worker has to rest after it. */
  async #watched(key: number | null, work: () => Promise<Outcome>): Promise<Outcome> {
    if (this.#running.size > 1) await this.#ownTurn();
    const startedAt = this.#elapsed();
    const outcome = await work();
    if (outcome !== "interrupted" && !outcome.done && outcome.rest !== undefined) {
      const from = this.#settings.now();
      this.#rest = { from, until: from + outcome.rest };
    }
    if (key !== null) this.#note(key, this.#elapsed() - startedAt > SLOW);
    return outcome;
  }

  /** Waits for a turn of the event loop: tasks of all lanes that begin in the same one would keep requests waiting. */
  #ownTurn(): Promise<void> {
    this.#turn = this.#turn.then(() => new Promise((resolve) => setImmediate(resolve)));
    return this.#turn;
  }

  #note(key: number, isSlow: boolean): void {
    if (!isSlow) this.#slow.delete(key);
    else if (this.#slow.size < MAX_SLOW) this.#slow.add(key);
  }

  #isSlow({ key }: Candidate): boolean {
    return key !== null && this.#slow.has(key);
  }
}

/**
 * Leases a task, does it, and stores how that ended.
 *
 * @param signals `stopping` aborts the work, `leaving` ends the wait for a database that does not answer
 * @param watched runs the work
 * @returns whether it was done; `false` if another process was faster
 */
function attempt(
  { store, name, now, leases, work, onError }: WorkerSettings,
  candidate: Candidate,
  { stopping, leaving }: { stopping: AbortSignal; leaving: AbortSignal },
  watched = (work: () => Promise<Outcome>) => work(),
): Promise<boolean> {
  return leases.hold(async (lease) => {
    const task = await store.transaction((db) => take(db, name, candidate, lease, now()), {
      shared: true,
    });
    if (!task) return false;
    const outcome = await watched(() =>
      outcomeOf(task, work, stopping).catch((error: unknown) => {
        onError(error);
        return failure(error);
      }),
    );
    const write = (how: Outcome) =>
      store.transaction((db) => settle(db, task, lease.owner, how, now()), { shared: true });
    await end(outcome, write, leaving, onError);
    return true;
  });
}

/** Does a task, unless it was tried too often. */
async function outcomeOf(
  task: Task,
  work: WorkerSettings["work"],
  signal: AbortSignal,
): Promise<Outcome> {
  if (task.attempts > ATTEMPTS) {
    return { done: false, error: "every process that tried it has died", final: true };
  }
  return work(task, signal);
}

/**
 * Stores how an attempt ended, as soon as the database answers. If what follows from it can't be written, it has failed. A
 * worker that stops tries once more: whoever finds the lease then does the task again.
 */
async function end(
  outcome: Outcome,
  write: (how: Outcome) => Promise<void>,
  leaving: AbortSignal,
  onError: (error: unknown) => void,
): Promise<void> {
  let how = outcome;
  for (let pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LAST_PAUSE)) {
    const isLast = leaving.aborted;
    try {
      return await write(how);
    } catch (error) {
      onError(error);
      const follows = how !== "interrupted" && how.follow !== undefined;
      if (follows && !(error instanceof UnavailableError)) how = failure(error);
      else if (isLast) return;
      else await sleep(pause, undefined, { signal: leaving, ref: false }).catch(() => undefined);
    }
  }
}

/** The failure of the task, or of the database, which is the cause of many tasks' and passes. */
function failure(error: unknown): Outcome {
  const { message } = error instanceof Error ? error : new Error(String(error));
  return { done: false, error: message, ...(error instanceof UnavailableError && { first: SOON }) };
}

/**
 * Does all tasks of a worker that are due, one after another, instead of running it in the background. Several processes may
 * do so at once.
 *
 * @returns how many
 */
export async function workOff(settings: WorkerSettings): Promise<number> {
  const { store, name, now } = settings;
  // Whoever waits for it does not wait for a database that is away.
  const signals = { stopping: new AbortController().signal, leaving: AbortSignal.abort() };
  let done = 0;
  for (;;) {
    const found = await due(store, name, now(), 0);
    if (found.length === 0) return done;
    for (const candidate of found) {
      if (await attempt(settings, candidate, signals)) done += 1;
    }
  }
}

function candidateOf([id, key]: Value[]): Candidate {
  return { id: id as number, key: key as number | null };
}

/** Tasks that need no order and that nobody does. */
const freeWhere = (time: string) => `select id, order_key from outbox
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
  select o.id, o.order_key from keys k join outbox o on o.id = (
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
async function take(
  db: Database,
  worker: string,
  { id, key }: Candidate,
  { owner, process }: Lease,
  now: number,
): Promise<Task | undefined> {
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
    `update outbox set owner = ?, process = ?, leased_at = ?, attempts = attempts + 1
     where id = ? and failed_at is null and owner is null and (due_at <= ? or due_at > ?)
     returning payload, attempts`,
    [owner, process, now, id, now, now + FARTHEST_RETRY],
  );
  return leased && { id, payload: leased[0] as string, attempts: leased[1] as number };
}

const FREE = "owner = null, process = null, leased_at = null";
/** The maximum length of a stored error, in characters. */
const MAX_ERROR_CHARACTERS = 2000;

/** PostgreSQL refuses texts with a zero, which what a server has answered may have. */
const storable = (error: string) => error.replaceAll("\0", "").slice(0, MAX_ERROR_CHARACTERS);

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
    await db.run(`update outbox set ${FREE}, due_at = 0 where id = ? and owner = ?`, own);
  } else if (outcome.done) {
    const removed = await db.run("delete from outbox where id = ? and owner = ?", own);
    if (removed === 1) await outcome.follow?.(db);
  } else {
    const isPlanned = outcome.pause !== undefined;
    const isFinal = outcome.final || (!isPlanned && attempts >= ATTEMPTS);
    const { first = FIRST_RETRY } = outcome;
    const pause = outcome.pause ?? Math.min(first * 2 ** (attempts - 1), LAST_RETRY);
    // By a plan of its own, only attempts whose process dies are counted.
    const changed = await db.run(
      `update outbox set ${FREE}, error = ?, due_at = ?, failed_at = ?, attempts = ?
       where id = ? and owner = ?`,
      [
        storable(outcome.error),
        now + pause,
        isFinal ? now : null,
        isPlanned ? 0 : attempts,
        ...own,
      ],
    );
    if (changed === 1) await outcome.follow?.(db);
  }
}
