import { nextTurn } from "./end.ts";

/** Milliseconds of work after which the event loop gets a turn: all others wait for a slice (decision 84). */
const SLICE = 0.3;

/** Divides long work into slices, between which other requests are answered. */
export class Pace {
  readonly #signal: AbortSignal | undefined;
  #since = performance.now();

  /** @param signal ends the work, when nobody waits for its result any more */
  constructor(signal?: AbortSignal) {
    this.#signal = signal;
  }

  /** Whether it is time to {@link pause}. */
  get isDue(): boolean {
    return performance.now() - this.#since > SLICE;
  }

  /** Lets everything else run that is due. @throws the signal's reason once it is aborted */
  async pause(): Promise<void> {
    await nextTurn();
    this.#signal?.throwIfAborted();
    this.#since = performance.now();
  }
}
