import { UnavailableError } from "../store/port.ts";

/** Milliseconds without a failure after which an outage is over. */
const QUIET = 5000;

/** The database answers again. */
class OutageEnded extends Error {
  override readonly name = "OutageEnded";
}

/**
 * Reports an outage of the database once when it begins and once when it is over, and not with every request that it
 * fails.
 */
export class Outages {
  readonly #onError: (error: unknown) => void;
  #failures = 0;
  #began = 0;
  #last = 0;

  /** @param onError is told of all other failures too */
  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  /** Reports a failure, unless it is one more of an outage that is known. */
  failed(error: unknown): void {
    if (!(error instanceof UnavailableError)) {
      this.#onError(error);
      return;
    }
    this.#last = performance.now();
    this.#failures += 1;
    if (this.#failures > 1) return;
    this.#began = this.#last;
    this.#onError(error);
  }

  /** The database has answered. Where only some of what it is asked fails, the outage goes on. */
  succeeded(): void {
    if (this.#failures === 0 || performance.now() - this.#last < QUIET) return;
    const seconds = ((this.#last - this.#began) / 1000).toFixed(1);
    const failures = this.#failures;
    this.#failures = 0;
    this.#onError(
      new OutageEnded(
        `the database answers again: ${failures} failures in ${seconds} s, of which the first was reported`,
      ),
    );
  }
}
