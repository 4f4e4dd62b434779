import { createGunzip } from "node:zlib";
import { ApiError, tooLarge, unreadable } from "../errors.ts";
import type { Route } from "../resource.ts";
import { limited, uncut } from "./chunks.ts";
import type { Incoming } from "./incoming.ts";

/** Whether a route takes bodies as they are, instead of their parameters. */
export const takesRawBody = ({ body }: Route) =>
  body === "bytes" || body === "stream" || body === "file";

/** The names of gzip (RFC 9110 §8.4.1.3), the only encoding that clients such as Git use. */
const GZIP = new Set(["gzip", "x-gzip"]);

/**
 * The body of a request as the client sent it, without its `Content-Encoding`. It is read only as fast as it is used,
 * and never held as a whole.
 */
export class RawBody {
  readonly #incoming: Incoming;
  readonly #most: number;
  readonly #encoding: string;
  #isBegun = false;
  #isRead = false;

  /** @param most maximum bytes, both as sent and decompressed */
  constructor(incoming: Incoming, most: number) {
    this.#incoming = incoming;
    this.#most = most;
    this.#encoding = incoming.header("content-encoding")?.trim().toLowerCase() || "identity";
  }

  /**
   * Checks what can be known before it is read.
   *
   * @throws ApiError 413 if the client announces too much, 415 for another encoding than gzip, 500 if the host has taken
   * it
   */
  requireReadable(): void {
    const { header, parsedBody, isBodyDecoded } = this.#incoming;
    if (this.#encoding !== "identity" && !GZIP.has(this.#encoding)) {
      throw unsupportedEncoding(this.#encoding);
    }
    if (Number(header("content-length")) > this.#most) throw tooLarge();
    const isLost = isBodyDecoded && isSent(this.#incoming) && !this.#incoming.body();
    if (parsedBody !== undefined || isLost) throw takenByHost();
  }

  /** Whether some of it is still to come, so that the connection can't be used for another request. */
  get isUnread(): boolean {
    return !this.#isRead && isSent(this.#incoming);
  }

  /**
   * Reads it; can be called once.
   *
   * @throws ApiError 413 beyond the limit, 400 if it is truncated or not what its encoding says
   */
  async *chunks(): AsyncGenerator<Uint8Array> {
    if (this.#isBegun) throw new TypeError("A body can be read only once.");
    this.#isBegun = true;
    const sent = this.#sent();
    const isPlain = this.#encoding === "identity" || this.#incoming.isBodyDecoded;
    yield* isPlain ? sent : limited(gunzipped(sent), this.#most);
  }

  /** Reads it as a whole; throws like {@link chunks}. */
  async bytes(): Promise<Uint8Array> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of this.chunks()) chunks.push(chunk);
    return chunks.length === 1 ? (chunks[0] as Uint8Array) : Buffer.concat(chunks);
  }

  async *#sent(): AsyncGenerator<Uint8Array> {
    const body = uncut(this.#incoming.body());
    if (body) yield* limited(body, this.#most);
    this.#isRead = true;
  }
}

/** Decompresses chunk by chunk. Not a pipe: it would close the connection of a broken body before the answer is sent. */
async function* gunzipped(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const gunzip = createGunzip();
  let isBroken = false;
  let wake = () => {};
  gunzip.on("readable", () => wake());
  gunzip.on("end", () => wake());
  gunzip.on("error", () => {
    isBroken = true;
    wake();
  });
  async function* outputUntil(isDone: () => boolean) {
    for (;;) {
      const chunk = gunzip.read() as Uint8Array | null;
      if (isBroken) throw unreadable("message body is not valid gzip");
      if (chunk) yield chunk;
      else if (isDone()) return;
      else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  }
  try {
    for await (const chunk of body) {
      let isTaken = false;
      gunzip.write(chunk, () => {
        isTaken = true;
        wake();
      });
      yield* outputUntil(() => isTaken);
    }
    gunzip.end();
    yield* outputUntil(() => gunzip.readableEnded);
  } finally {
    gunzip.destroy();
  }
}

/** Whether the client sends a body (RFC 9112 §6.3). */
function isSent(incoming: Incoming): boolean {
  const length = incoming.header("content-length");
  return length === undefined ? incoming.header("transfer-encoding") !== undefined : length !== "0";
}

function unsupportedEncoding(encoding: string): ApiError {
  return new ApiError(
    415,
    { error: `The provided content-encoding '${encoding}' is not supported.` },
    { "accept-encoding": "gzip" },
  );
}

function takenByHost(): ApiError {
  const message =
    "500 Internal Server Error - A body parser of the embedding application has already read the body: pm-api must " +
    "be mounted before it";
  return new ApiError(500, { message });
}
