import { Pace } from "./pace.ts";

const MEBIBYTE = 1024 * 1024;

/** What all work for one answer may use together. */
const MOST = {
  /** Bytes of files that are compared line by line. */
  compared: 64 * MEBIBYTE,
  /** Steps of these comparisons: about a second. */
  steps: 50_000_000,
  /** Bytes of files that are shown beside others. */
  contents: 16 * MEBIBYTE,
  /** Entries of folders whose languages are found out. */
  entries: 200_000,
  /** Characters of Markdown that are rendered, and of the HTML that comes of it. */
  markdown: 256 * 1024,
  html: 4 * MEBIBYTE,
  /** Bytes of reports, and tests in them. */
  reports: 16 * MEBIBYTE,
  testCases: 100_000,
  /** Problems of reports about the quality of code, and lines of those about its coverage. */
  problems: 50_000,
  coveredLines: 500_000,
  /** Microseconds of the processor's time for the colours of code. */
  coloring: 100_000,
};

/**
 * What is left for the work of one request. Whatever loops over what a client sent, or a repository holds, pauses with it
 * and so ends when the client has left; what can cost more than it answers takes from it (decision 86).
 */
export class Budget extends Pace {
  readonly #left = { ...MOST };

  /** Takes from what is left. @returns whether there was enough; else nothing is taken */
  spend(what: keyof typeof MOST, amount: number): boolean {
    if (amount > this.#left[what]) return false;
    this.#left[what] -= amount;
    return true;
  }

  /** Takes from what is left what was used already: at most all of it. */
  charge(what: keyof typeof MOST, amount: number): void {
    this.#left[what] = Math.max(0, this.#left[what] - amount);
  }
}
