import { UnavailableError } from "./port.ts";

/** Maximum waiting tasks. More are refused: they would wait longer than clients do. */
const MAX_WAITING = 1000;
/** Milliseconds of work after which the event loop gets a turn. */
const TURN_MS = 10;

/** Runs tasks one after another, which separates the transactions of a single connection. */
export class Queue {
  #tail: Promise<unknown> = Promise.resolve();
  #length = 0;
  /** When the event loop last had a turn. */
  #turn = 0;

  /** How many tasks run or wait. */
  get length(): number {
    return this.#length;
  }

  /** Whether nothing runs or waits. */
  get idle(): boolean {
    return this.#length === 0;
  }

  /**
   * Runs `task` after all earlier tasks have ended or failed.
   *
   * @throws UnavailableError if too many are waiting
   */
  add<T>(task: () => T | Promise<T>): Promise<T> {
    if (this.#length >= MAX_WAITING) {
      return Promise.reject(new UnavailableError("the database is busy: too many writes wait"));
    }
    if (this.idle) this.#turn = performance.now();
    this.#length += 1;
    const result = this.#tail
      .then(() => this.#pause())
      .then(task)
      .finally(() => {
        this.#length -= 1;
      });
    this.#tail = result.catch(() => undefined);
    return result;
  }

  /** SQLite works synchronously: without pauses, tasks would follow each other and never let new requests in. */
  #pause(): Promise<void> | undefined {
    if (performance.now() - this.#turn < TURN_MS) return undefined;
    return new Promise((resolve) => {
      setImmediate(() => {
        this.#turn = performance.now();
        resolve();
      });
    });
  }
}
