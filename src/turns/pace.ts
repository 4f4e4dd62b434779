import { nextTurn } from "./end.ts";

/** Milliseconds of work after which the event loop gets a turn: all others wait for a slice (decision 84). */
const SHORTEST = 0.1;
const LONGEST = 0.3;
/** A slice is this part of the time that the others took before it: on a busy server, long work gets on as well. */
const SHARE = 1 / 7;

/** Divides long work into slices, between which other requests are answered. */
export class Pace {
  readonly #signal: AbortSignal | undefined;
  #since = performance.now();
  #slice = SHORTEST;

  /** @param signal ends the work, when nobody waits for its result any more */
  constructor(signal?: AbortSignal) {
    this.#signal = signal;
  }

  /** Whether it is time to {@link pause}. */
  get isDue(): boolean {
    return performance.now() - this.#since > this.#slice;
  }

  /** Lets everything else run that is due. @throws the signal's reason once it is aborted */
  async pause(): Promise<void> {
    const before = performance.now();
    await nextTurn();
    this.#signal?.throwIfAborted();
    this.#since = performance.now();
    this.#slice = Math.min(LONGEST, Math.max(SHORTEST, SHARE * (this.#since - before)));
  }
}
