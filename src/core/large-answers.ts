import type { Bytes } from "./incoming.ts";

/** Bytes of answers that their clients have not read yet, in this process. */
const MOST_UNREAD = 64 * 1024 * 1024;
/** Bytes that are handed to a connection at a time. */
const PIECE = 64 * 1024;

interface Unread {
  bytes: Uint8Array | undefined;
}

/** In the order in which their clients last read. */
const unread = new Set<Unread>();
let unreadBytes = 0;

/** Sends an answer that is there as a whole, in pieces. */
export function inPieces(text: string): Bytes {
  const bytes = Buffer.from(text);
  return { length: bytes.length, chunks: () => piecesOf({ bytes }) };
}

/**
 * Sends an answer that is never there as a whole.
 *
 * @param next gives the next part when those before it are read, `undefined` at the end
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
 * Gives bytes as the client reads them. Where all that is unread in this process comes to more than a bound, the answer
 * whose client has not read for the longest time is broken off.
 *
 * @throws Error where it is this one
 */
async function* piecesOf(part: Unread): AsyncGenerator<Uint8Array> {
  const length = part.bytes?.length ?? 0;
  add(part);
  try {
    for (let at = 0; at < length; at += PIECE) {
      if (!part.bytes) throw new Error("the client reads too slowly");
      // The one that has read comes last.
      unread.delete(part);
      unread.add(part);
      // A copy: the connection may keep the piece for longer than we want to keep the whole.
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
