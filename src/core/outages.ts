import { UnavailableError } from "../store/port.ts";

/** Milliseconds without a failure after which an outage has ended. */
const QUIET = 5000;

/** The database answers again. */
class OutageEnded extends Error {
  override get name() {
    return "OutageEnded" as const;
  }
}

/**
 * Reports a database outage once when it begins and once when it ends, instead of with every failed request.
 */
export class Outages {
  readonly #onError: (error: unknown) => void;
  #failures = 0;
  #began = 0;
  #last = 0;

  /** @param onError also receives all other failures */
  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  /** Reports a failure, unless it belongs to an outage that was already reported. */
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

  /** Call when the database has answered. If other requests still fail, the outage continues. */
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
