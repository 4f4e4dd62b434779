import { nextTurn } from "./end.ts";

/** Milliseconds of work after which the event loop gets a turn: all others wait for a slice (decision 84). */
const SHORTEST = 0.1;
const LONGEST = 0.3;
/** A slice is this part of the time that the others took before it: on a busy server, long work gets on as well. */
const SHARE = 1 / 7;

/** Who waits for a result, such as a signal. */
export interface Waiting {
  /** @throws if nobody waits any more */
  throwIfAborted(): void;
}

/** Nobody waits any more for what several did. */
export class Abandoned extends Error {}

/** Several who wait for the same result: the work for it ends when none of them waits any more. */
export class Waiters implements Waiting {
  readonly #all = new Set<Waiting>();

  add(one: Waiting): void {
    this.#all.add(one);
  }

  delete(one: Waiting): void {
    this.#all.delete(one);
  }

  /** @throws Abandoned if all have gone */
  throwIfAborted(): void {
    for (const one of this.#all) {
      try {
        one.throwIfAborted();
        return;
      } catch {
        // Another may still wait.
      }
    }
    throw new Abandoned("nobody waits any more");
  }
}

/** A computation in steps, between which there may be pauses. Each time, it says how many it took since the last one. */
export type Steps<T> = Generator<number, T, undefined>;

/** Steps of a computation after which it should say so: some microseconds. */
export const STEPS = 1000;

/** Divides long work into slices, between which other requests are answered. */
export class Pace implements Waiting {
  readonly #waiting: Waiting | undefined;
  #since = performance.now();
  #slice = SHORTEST;

  /** @param waiting ends the work, when nobody waits for its result any more */
  constructor(waiting?: Waiting) {
    this.#waiting = waiting;
  }

  /** Whether it is time to {@link pause}. */
  get isDue(): boolean {
    return performance.now() - this.#since > this.#slice;
  }

  throwIfAborted(): void {
    this.#waiting?.throwIfAborted();
  }

  /** Lets everything else run that is due. @throws what tells that nobody waits any more */
  async pause(): Promise<void> {
    const before = performance.now();
    await nextTurn();
    this.throwIfAborted();
    this.#since = performance.now();
    this.#slice = Math.min(LONGEST, Math.max(SHORTEST, SHARE * (this.#since - before)));
  }

  /** Takes the steps of a computation, with pauses between them, and returns its result. */
  async take<T>(steps: Iterator<unknown, T, undefined>): Promise<T> {
    for (let step = steps.next(); ; step = steps.next()) {
      if (step.done) return step.value;
      if (this.isDue) await this.pause();
    }
  }
}
