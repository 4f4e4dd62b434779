import { ApiError } from "../core/errors.ts";

/** Milliseconds for which a client that sends a body may send nothing. */
const PATIENCE = 15_000;
/** Bytes that it must send in each second besides. */
const LEAST = 1024;

/**
 * A body that is read as long as its client sends enough: what others wait for is not held by one that sends a byte now and
 * then. Only the time counts for which the client is waited for.
 */
export class SteadyBody implements AsyncIterable<Uint8Array> {
  readonly #source: AsyncIterator<Uint8Array>;
  #first: IteratorResult<Uint8Array> | undefined;
  /** For how many milliseconds the client is waited for now, if it sends nothing more. */
  #patience = PATIENCE;

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** Waits until something has arrived, or the body has ended. @throws ApiError 408 */
  async begin(): Promise<void> {
    this.#first = await this.#next();
  }

  /** Whether nothing comes, once it has begun. */
  get isEmpty(): boolean {
    return this.#first?.done === true;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for (let next = this.#first ?? (await this.#next()); !next.done; next = await this.#next()) {
      yield next.value;
    }
  }

  async #next(): Promise<IteratorResult<Uint8Array>> {
    const since = performance.now();
    const next = await within(this.#patience, this.#source.next());
    const gained = next.done ? 0 : (1000 * next.value.length) / LEAST;
    this.#patience = Math.min(PATIENCE, this.#patience - (performance.now() - since) + gained);
    return next;
  }
}

/** What comes within some milliseconds. @throws ApiError 408 if nothing does */
async function within<T>(milliseconds: number, coming: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const message = "408 Request Timeout - The push was sent too slowly";
    timer = setTimeout(() => reject(new ApiError(408, { message })), milliseconds).unref();
  });
  // It may fail later, when the client has left.
  coming.catch(() => {});
  try {
    return await Promise.race([coming, late]);
  } finally {
    clearTimeout(timer);
  }
}
