import { randomUUID } from "node:crypto";
import { hasEnded, type OsProcess, thisProcess } from "../core/os-process.ts";
import type { Database, Reader, Store } from "../store/port.ts";

/** What a task's row says while it is done. */
export interface Lease {
  /** The process that does it: its number in `processes`. */
  readonly process: number;
  /** A random token, new for each attempt. */
  readonly owner: string;
}

/** The settings of {@link Leases}. */
export interface LeaseSettings {
  readonly store: Store;
  /** The wall clock, in epoch milliseconds. */
  readonly now: () => number;
  readonly onError: (error: unknown) => void;
  /** Milliseconds between two renewals. Default {@link EVERY}. */
  readonly every?: number;
  /** The process that holds them. Default: this one. */
  readonly holder?: OsProcess;
}

/** How often a process renews its leases, and looks for those of others that have ended, in milliseconds. */
const EVERY = 3000;
/** The first look of a process: soon, but not in applications that are opened for a moment only. */
const FIRST = 300;
/**
 * A process on another machine has ended if it was found without a renewal so many times, one after another. No clocks
 * are compared, and while the database is away nobody looks.
 */
const PATIENCE = 10;
/** Attempts after which a task whose process ended is done again at once; then it waits, as it may be the cause. */
const AT_ONCE = 5;
/** The first such wait, in milliseconds; it doubles. */
const FIRST_WAIT = 30_000;
const LAST_WAIT = 3_600_000;
/** Attempts of a task whose processes all ended that are waited for; then it is only given up. */
const ATTEMPTS = 20;
/** Maximum leases that are looked at: more than all processes have lanes. */
const MOST = 1000;

/** A row of `processes`. */
interface Holder extends OsProcess {
  readonly id: number;
  readonly beat: number;
}

/** A lease, as others find it. */
interface Found {
  readonly owner: string;
  readonly process: number | null;
  readonly attempts: number;
}

/**
 * The leases of one process: of tasks and periodic jobs that it does. It renews all of them at once, every few seconds, and
 * hands over those of processes that have ended, and its own that it has lost track of because the database did not answer.
 * It gets a row in `processes` with its first lease.
 */
export class Leases {
  readonly #settings: LeaseSettings;
  readonly #held = new Set<string>();
  /** The queues that this process listens to. */
  readonly #listening = new Set<string>();
  /** Other processes, and at how many looks they had the same beat. */
  #seen = new Map<number, { beat: number; times: number }>();
  #process: Promise<number> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> = Promise.resolve();
  #ended = false;

  constructor(settings: LeaseSettings) {
    this.#settings = settings;
  }

  /** Begins to look for the leases of processes that have ended. Its timer does not keep the process alive. */
  start(): void {
    this.#lookIn(FIRST);
  }

  /**
   * Runs `use` with a lease that it may write, and that counts as lost when it ends.
   *
   * @throws UnavailableError if this process can't be registered
   */
  async hold<T>(use: (lease: Lease) => Promise<T>): Promise<T> {
    const owner = randomUUID();
    const process = await this.#registered();
    this.#held.add(owner);
    try {
      return await use({ owner, process });
    } finally {
      this.#held.delete(owner);
    }
  }

  /**
   * From now on, tasks are put into a queue that is only filled while a process listens to it (`taskIfListenedTo`): until
   * {@link ignore}, or this process ends.
   *
   * @throws UnavailableError if the database can't be used
   */
  async listen(queue: string): Promise<void> {
    this.#listening.add(queue);
    try {
      const process = await this.#registered();
      await this.#settings.store.transaction((db) => addListener(db, queue, process), {
        shared: true,
      });
    } catch (error) {
      this.#listening.delete(queue);
      throw error;
    }
  }

  /** Ends {@link listen}. */
  async ignore(queue: string): Promise<void> {
    if (!this.#listening.delete(queue)) return;
    const process = await this.#registered();
    await this.#settings.store.transaction(
      (db) => db.run("delete from listeners where queue = ? and process = ?", [queue, process]),
      { shared: true },
    );
  }

  /** Renews this process's leases, and hands over those that nobody holds any more. */
  async look(): Promise<void> {
    const { store } = this.#settings;
    await this.#renew();
    const found = await leased(store);
    const own = await this.#process;
    const holders = await store.all<Holder>(
      "select id, machine, pid, started, beat from processes order by id",
    );
    const ended = holders.filter((holder) => this.#hasEnded(holder, own));
    this.#seen = new Map(holders.map((holder) => [holder.id, this.#sight(holder)]));
    const isLost = ({ process, owner }: Found, gone: ReadonlySet<number>) =>
      process === null || gone.has(process) || (process === own && !this.#held.has(owner));
    const there = new Set<number | null>(holders.map(({ id }) => id));
    const absent = found.flatMap(({ process }) =>
      process === null || there.has(process) ? [] : process,
    );
    if (ended.length === 0 && !found.some((one) => isLost(one, new Set(absent)))) return;
    await store.transaction(
      async (db) => {
        const gone = new Set(absent);
        // Whoever is faster does it; a process that has renewed its leases meanwhile keeps them.
        for (const { id, beat } of ended) {
          const sql = "delete from processes where id = ? and beat = ?";
          if ((await db.run(sql, [id, beat])) === 1) gone.add(id);
        }
        await this.#release(
          db,
          found.filter((one) => isLost(one, gone)),
        );
      },
      { shared: true },
    );
  }

  /** Ends the looks, and hands over what is left. */
  async close(): Promise<void> {
    this.#ended = true;
    clearTimeout(this.#timer);
    await this.#looking;
    if (this.#process === undefined) return;
    const { store, onError } = this.#settings;
    const left = async (db: Database, process: number) => {
      await db.run("delete from processes where id = ?", [process]);
      const found = await leased(db);
      await this.#release(
        db,
        found.filter((one) => one.process === process),
      );
    };
    try {
      const process = await this.#process;
      await store.transaction((db) => left(db, process), { shared: true });
    } catch (error) {
      // Whoever starts next finds that this process has ended.
      onError(error);
    }
  }

  #lookIn(milliseconds: number): void {
    clearTimeout(this.#timer);
    if (this.#ended) return;
    const { every = EVERY, onError } = this.#settings;
    this.#timer = setTimeout(() => {
      this.#looking = this.look()
        .catch((error: unknown) => onError(error))
        .then(() => this.#lookIn(every));
    }, milliseconds);
    this.#timer.unref();
  }

  #registered(): Promise<number> {
    this.#process ??= this.#register().catch((error: unknown) => {
      this.#process = undefined;
      throw error;
    });
    return this.#process;
  }

  async #register(): Promise<number> {
    const { store, now, every = EVERY, holder = thisProcess() } = this.#settings;
    const { machine, pid, started } = holder;
    const process = await store.transaction(
      async (db) => {
        const [row] = await db.rows(
          "insert into processes (machine, pid, started, beat, seen_at) values (?, ?, ?, 0, ?) returning id",
          [machine, pid, started, now()],
        );
        const [id] = row as [number];
        for (const queue of this.#listening) await addListener(db, queue, id);
        return id;
      },
      { shared: true },
    );
    if (!this.#timer) this.#lookIn(every);
    return process;
  }

  async #renew(): Promise<void> {
    if (this.#process === undefined) return;
    const { store, now } = this.#settings;
    const process = await this.#process;
    const renewed = await store.transaction(
      (db) =>
        db.run("update processes set beat = beat + 1, seen_at = ? where id = ?", [now(), process]),
      { shared: true },
    );
    // Others have taken this process for dead, as after a machine was suspended.
    if (renewed > 0) return;
    this.#process = undefined;
    if (this.#listening.size > 0) await this.#registered();
  }

  #hasEnded(holder: Holder, own: number | undefined): boolean {
    if (holder.id === own) return false;
    return hasEnded(holder) || this.#sight(holder).times > PATIENCE;
  }

  /** What this look adds to what is known of a process. */
  #sight({ id, beat }: Holder): { beat: number; times: number } {
    const before = this.#seen.get(id);
    return { beat, times: before?.beat === beat ? before.times + 1 : 1 };
  }

  /** Makes tasks and jobs free again. */
  async #release(db: Database, lost: readonly Found[]): Promise<void> {
    for (const { owner, attempts } of lost) {
      await db.run(
        "update outbox set owner = null, process = null, leased_at = null, due_at = ? where owner = ?",
        [this.#dueAfter(attempts), owner],
      );
      await db.run("update jobs set owner = null, process = null, due_at = 0 where owner = ?", [
        owner,
      ]);
    }
  }

  /** When a task is due whose process has ended: 0 for at once. */
  #dueAfter(attempts: number): number {
    if (attempts <= AT_ONCE || attempts >= ATTEMPTS) return 0;
    const wait = Math.min(FIRST_WAIT * 2 ** (attempts - AT_ONCE - 1), LAST_WAIT);
    return this.#settings.now() + wait;
  }
}

async function addListener(db: Database, queue: string, process: number): Promise<void> {
  await db.run("insert into listeners (queue, process) values (?, ?) on conflict do nothing", [
    queue,
    process,
  ]);
}

/** All leases. */
async function leased(db: Reader): Promise<Found[]> {
  const found = await db.rows(
    `select owner, process, attempts from outbox where owner is not null
     union all select owner, process, 0 from jobs where owner is not null limit ${MOST}`,
  );
  return found.map(([owner, process, attempts]) => ({
    owner: owner as string,
    process: process as number | null,
    attempts: attempts as number,
  }));
}
