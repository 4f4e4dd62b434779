import type { Bytes } from "./incoming.ts";
import { inPieces, SlowReaderError } from "./large-replies.ts";

/** Larger chunks, in bytes, are cut into pieces, which count as unread until the client takes them. */
const LARGE = 256 * 1024;

/** Notified about the reading of a body. */
interface Watch {
  began(): void;
  /** It was read to its end, failed, or was cancelled. */
  ended(): void;
  /** It could not be read to its end. */
  failed(error: unknown): void;
}

/** A body that is made while it is sent. The work ends if the client leaves. */
export function cancellable(generate: (signal: AbortSignal) => AsyncIterable<Uint8Array>): Bytes {
  return {
    chunks: () => ({
      [Symbol.asyncIterator]: () => {
        const abort = new AbortController();
        const source = generate(abort.signal)[Symbol.asyncIterator]();
        return {
          next: () => source.next(),
          return: async () => {
            abort.abort();
            await source.return?.();
            return { done: true, value: undefined };
          },
        };
      },
    }),
  };
}

/** Sends a body, however large its chunks are, and notifies `watch`. */
export function streamed(body: Bytes, watch: Watch): Bytes {
  return {
    length: body.length,
    chunks: () => ({
      [Symbol.asyncIterator]: () => new Pieces(body.chunks()[Symbol.asyncIterator](), watch),
    }),
  };
}

/**
 * The pieces of a stream. Not a generator: the `return()` of one waits for its pending `next()`, but a source that
 * waits for something must be cancelled at once when the client disconnects.
 */
class Pieces implements AsyncIterator<Uint8Array> {
  readonly #source: AsyncIterator<Uint8Array>;
  readonly #watch: Watch;
  /** The rest of a chunk that is too large to be passed on as a whole. */
  #rest: AsyncIterator<Uint8Array> | undefined;
  #isCancelled = false;
  #isEnded = false;

  constructor(source: AsyncIterator<Uint8Array>, watch: Watch) {
    this.#source = source;
    this.#watch = watch;
    watch.began();
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    try {
      const result = await this.#next();
      if (result.done) this.#end();
      return result;
    } catch (error) {
      if (error instanceof SlowReaderError) await this.return();
      else if (!this.#isCancelled) this.#watch.failed(error);
      this.#end();
      throw error;
    }
  }

  async #next(): Promise<IteratorResult<Uint8Array>> {
    for (;;) {
      const piece = await this.#rest?.next();
      if (piece && !piece.done) return piece;
      this.#rest = undefined;
      const chunk = await this.#source.next();
      if (chunk.done || chunk.value.length <= LARGE) return chunk;
      this.#rest = inPieces(chunk.value).chunks()[Symbol.asyncIterator]();
    }
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    if (this.#isCancelled) return { done: true, value: undefined };
    this.#isCancelled = true;
    try {
      await Promise.all([this.#source.return?.(), this.#rest?.return?.()]);
    } catch (error) {
      this.#watch.failed(error);
    }
    this.#end();
    return { done: true, value: undefined };
  }

  #end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#watch.ended();
  }
}
