import { UnavailableError } from "./port.ts";

/** Maximum waiting tasks. More are refused: they would wait longer than clients do. */
const MAX_WAITING = 1000;
/** Milliseconds of work after which the event loop gets a turn: about as long as 1 MiB of JSON takes. */
const TURN_MS = 5;

/** SQLite works synchronously: without pauses, statements would follow each other and never let new requests in. */
export class Turn {
  #since = performance.now();

  /** The event loop has a turn now, or nothing has worked before. */
  begin(): void {
    this.#since = performance.now();
  }

  /** Waits for a turn of the event loop, if it is time. */
  pause(): Promise<void> | undefined {
    if (performance.now() - this.#since < TURN_MS) return undefined;
    return new Promise((resolve) => {
      setImmediate(() => {
        this.begin();
        resolve();
      });
    });
  }
}

/** Runs tasks one after another, which separates the transactions of a single connection. */
export class Queue {
  #tail: Promise<unknown> = Promise.resolve();
  #length = 0;
  /** The turns of what runs; tasks may take some themselves. */
  readonly turn = new Turn();

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
    if (this.idle) this.turn.begin();
    this.#length += 1;
    const result = this.#tail
      .then(() => this.turn.pause())
      .then(task)
      .finally(() => {
        this.#length -= 1;
      });
    this.#tail = result.catch(() => undefined);
    return result;
  }
}
