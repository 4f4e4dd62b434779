import { UnavailableError } from "../store/port.ts";

/** Milliseconds without a failure after which an outage has ended. */
const QUIET = 5000;
/** How often the database is asked during an outage, in milliseconds: nobody else may do so. */
const PROBING = 1000;

/** The database answers again. */
class OutageEnded extends Error {
  override get name() {
    return "OutageEnded" as const;
  }
}

/** Reports a database outage once when it begins and once when it ends, instead of with every failed request. */
export class Outages {
  readonly #onError: (error: unknown) => void;
  readonly #probe: () => unknown;
  #failures = 0;
  #began = 0;
  #last = 0;
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param onError also receives all other failures
   * @param probe asks the database for something, and fails if it does not answer
   */
  constructor(onError: (error: unknown) => void, probe: () => unknown) {
    this.#onError = onError;
    this.#probe = probe;
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
    this.#probeSoon();
  }

  /** Asks no more. */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #probeSoon(): void {
    this.#timer = setTimeout(async () => {
      const asked = this.#timer;
      try {
        await this.#probe();
        this.#succeeded();
      } catch {
        this.#last = performance.now();
      }
      if (this.#failures > 0 && this.#timer === asked) this.#probeSoon();
    }, PROBING);
    this.#timer.unref();
  }

  /** If others still fail, the outage continues. */
  #succeeded(): void {
    if (performance.now() - this.#last < QUIET) return;
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
