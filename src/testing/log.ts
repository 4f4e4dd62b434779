/** How much a log keeps: the oldest entries go first. */
export interface LogLimits {
  readonly entries: number;
  readonly bytes: number;
}

/** Someone who waits for an entry. */
interface Waiting<Entry> {
  readonly fits: (entry: Entry) => boolean;
  readonly end: (entry: Entry | undefined) => void;
}

/** What a test server keeps of what has happened, in order, and whom it tells of more. */
export class Log<Entry extends object> {
  /** What is kept; the same array as long as the log lives. */
  readonly entries: Entry[] = [];
  readonly #limits: LogLimits;
  readonly #sizes = new Map<Entry, number>();
  readonly #waiting = new Set<Waiting<Entry>>();
  #bytes = 0;
  #dropped = 0;

  constructor(limits: LogLimits) {
    this.#limits = limits;
  }

  /** How many entries had to go for newer ones. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Adds an entry. It is nothing that is waited for until {@link complete}. */
  add(entry: Entry): void {
    this.entries.push(entry);
    this.#sizes.set(entry, 0);
    this.#drop();
  }

  /** Notes that nothing is added to an entry any more. @param bytes that it takes, about */
  complete(entry: Entry, bytes: number): void {
    const before = this.#sizes.get(entry);
    if (before === undefined) return;
    this.#sizes.set(entry, bytes);
    this.#bytes += bytes - before;
    this.#drop();
    for (const one of this.#waiting) if (one.fits(entry)) one.end(entry);
  }

  /**
   * Waits for an entry, which may be there already.
   *
   * @returns `undefined` if there is none after so many milliseconds
   */
  wait(fits: (entry: Entry) => boolean, timeout: number): Promise<Entry | undefined> {
    const found = this.entries.find(fits);
    if (found) return Promise.resolve(found);
    return new Promise((resolve) => {
      const timer = setTimeout(() => waiting.end(undefined), timeout);
      const waiting: Waiting<Entry> = {
        fits,
        end: (entry) => {
          clearTimeout(timer);
          this.#waiting.delete(waiting);
          resolve(entry);
        },
      };
      this.#waiting.add(waiting);
    });
  }

  /** Forgets all entries. */
  clear(): void {
    this.entries.length = 0;
    this.#sizes.clear();
    this.#bytes = 0;
    this.#dropped = 0;
  }

  /** Ends all waits. */
  end(): void {
    for (const one of this.#waiting) one.end(undefined);
  }

  #drop(): void {
    const { entries, bytes } = this.#limits;
    while (this.entries.length > entries || (this.#bytes > bytes && this.entries.length > 1)) {
      const oldest = this.entries.shift() as Entry;
      this.#bytes -= this.#sizes.get(oldest) ?? 0;
      this.#sizes.delete(oldest);
      this.#dropped += 1;
    }
  }
}
