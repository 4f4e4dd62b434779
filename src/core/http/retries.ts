import { Queue } from "../../store/queue.ts";
import { Unapplied } from "../errors.ts";

/**
 * Attempts after the first, of a request that finds each time that others have changed what it was prepared with. With
 * several processes it may lose against another one at every second of them, or more often if it is slower.
 */
const ATTEMPTS = 50;

/**
 * Repeats work that is outdated when it is done. Repetitions for one project follow each other: side by side, each of
 * them would make all others outdated again. While any of them wait, so do first attempts of what can be outdated.
 */
export class Retries {
  readonly #queues = new Map<string, Queue>();
  /** Kinds of work that were outdated before. */
  readonly #contended = new WeakSet<object>();

  /**
   * @param key names the project
   * @param kind of work, such as the route
   * @param work is told whether it has to read again what was read before
   * @throws Unapplied if it is outdated after several attempts, too, or can't be done
   */
  async run<T>(key: string, kind: object, work: (isLater: boolean) => Promise<T>): Promise<T> {
    if (!this.#queues.has(key) || !this.#contended.has(kind)) {
      const first = await attempt(() => work(false));
      if (!(first instanceof Unapplied)) return first;
      this.#contended.add(kind);
    }
    const queue = this.#queues.get(key) ?? new Queue();
    this.#queues.set(key, queue);
    try {
      return await queue.add(async () => {
        let result = await attempt(() => work(true));
        for (let left = ATTEMPTS; result instanceof Unapplied; left -= 1) {
          if (left === 0) throw result;
          result = await attempt(() => work(true));
        }
        return result;
      });
    } finally {
      if (queue.idle) this.#queues.delete(key);
    }
  }
}

/** The result of work, or how it is outdated, with nothing left of it. */
async function attempt<T>(work: () => Promise<T>): Promise<T | Unapplied> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Unapplied)) throw error;
    await error.discard();
    if (!error.isOutdated) throw error;
    return error;
  }
}
