import type { Bytes } from "./incoming.ts";

/** Maximum bytes of answers in this process that their clients have not read yet. */
const MOST_UNREAD = 32 * 1024 * 1024;
/** Bytes passed to a connection at a time. */
const PIECE = 64 * 1024;

/** An answer was aborted, since its client did not read it. */
export class SlowReaderError extends Error {
  override readonly name = "SlowReaderError";
  constructor() {
    super("the client reads too slowly");
  }
}

interface Unread {
  bytes: Uint8Array | undefined;
}

/** Ordered by when their clients last read. */
const unread = new Set<Unread>();
let unreadBytes = 0;

/** Sends a complete answer in pieces. */
export function inPieces(body: string | Uint8Array): Bytes {
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  return { length: bytes.length, chunks: () => piecesOf({ bytes }) };
}

/**
 * Sends an answer that is never in memory as a whole.
 *
 * @param next returns the next part once those before it are read; `undefined` at the end
 */
export function partByPart(next: () => Promise<string | undefined>): Bytes {
  return {
    length: undefined,
    async *chunks() {
      for (let part = await next(); part !== undefined; part = await next()) {
        yield* piecesOf({ bytes: Buffer.from(part) });
      }
    },
  };
}

/**
 * Yields bytes as the client reads them. If too many bytes of this process are unread, the answer whose client has not
 * read for the longest time is aborted.
 *
 * @throws Error if it is this one
 */
async function* piecesOf(part: Unread): AsyncGenerator<Uint8Array> {
  const length = part.bytes?.length ?? 0;
  add(part);
  try {
    for (let at = 0; at < length; at += PIECE) {
      if (!part.bytes) throw new SlowReaderError();
      // Move it to the end: its client has just read.
      unread.delete(part);
      unread.add(part);
      // A copy: the connection may hold the piece for longer than we want to hold the whole.
      yield new Uint8Array(part.bytes.subarray(at, at + PIECE));
    }
  } finally {
    forget(part);
  }
}

function add(part: Unread): void {
  unread.add(part);
  unreadBytes += part.bytes?.length ?? 0;
  for (const oldest of unread) {
    if (unreadBytes <= MOST_UNREAD || oldest === part) break;
    forget(oldest);
  }
}

function forget(part: Unread): void {
  if (unread.delete(part)) unreadBytes -= part.bytes?.length ?? 0;
  part.bytes = undefined;
}
