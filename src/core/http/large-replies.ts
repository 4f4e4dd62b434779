import { setImmediate as nextTurn } from "node:timers/promises";
import { SLICE, slicesOf } from "../slices.ts";
import type { Bytes } from "./incoming.ts";

/** Maximum bytes of answers in this process that their clients have not read yet. */
const MAX_UNREAD_BYTES = 32 * 1024 * 1024;
/** Bytes passed to a connection at a time. */
const PIECE = 64 * 1024;

/** An answer was aborted, since its client did not read it. */
export class SlowReaderError extends Error {
  override readonly name = "SlowReaderError";
  constructor() {
    super("the client reads too slowly");
  }
}

/** What is in memory of an answer until its client has read it. */
interface Unread {
  readonly bytes: number;
  /** Its pieces; `undefined` once it is aborted. */
  pieces: Generator<Uint8Array> | undefined;
}

/** Text that is written while it is sent: in memory are only the values it is made of. */
export interface Part {
  /** The bytes of the values. */
  readonly bytes: number;
  readonly texts: Iterable<string>;
}

/** Ordered by when their clients last read. */
const unread = new Set<Unread>();
let unreadBytes = 0;

let turns = Promise.resolve();

/**
 * Waits for this piece's turn of the event loop. The system may take megabytes of each answer at once, so without turns
 * all other clients would wait for them.
 */
function turn(): Promise<void> {
  turns = turns.then(() => nextTurn());
  return turns;
}

/** Sends a complete answer in pieces. */
export function inPieces(body: string | Uint8Array): Bytes {
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  return {
    length: bytes.length,
    chunks: () => asRead({ bytes: bytes.length, pieces: cut(bytes) }),
  };
}

/**
 * Sends an answer that is never in memory as a whole.
 *
 * @param next returns the next part once those before it are read; `undefined` at the end
 */
export function partByPart(next: () => Promise<Part | undefined>): Bytes {
  return {
    length: undefined,
    async *chunks() {
      for (let part = await next(); part; part = await next()) {
        yield* asRead({ bytes: part.bytes, pieces: encode(part.texts) });
      }
    },
  };
}

/** Encodes texts, joining short ones and slicing long ones. */
function* encode(texts: Iterable<string>): Generator<Uint8Array> {
  let short = "";
  for (const text of texts) {
    short += text;
    if (short.length < SLICE) continue;
    for (const slice of slicesOf(short)) yield Buffer.from(slice);
    short = "";
  }
  if (short !== "") yield Buffer.from(short);
}

function* cut(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PIECE) {
    // A copy: the connection may hold the piece for longer than we want to hold the whole.
    yield new Uint8Array(bytes.subarray(at, at + PIECE));
  }
}

/**
 * Yields pieces as the client reads them. If too many bytes of this process are unread, the answer whose client has not
 * read for the longest time is aborted.
 *
 * @throws SlowReaderError if it is this one
 */
async function* asRead(answer: Unread): AsyncGenerator<Uint8Array> {
  add(answer);
  try {
    for (;;) {
      if (!answer.pieces) throw new SlowReaderError();
      // Move it to the end: its client has just read.
      unread.delete(answer);
      unread.add(answer);
      const { done, value } = answer.pieces.next();
      if (done) return;
      yield value;
      await turn();
    }
  } finally {
    forget(answer);
  }
}

function add(answer: Unread): void {
  unread.add(answer);
  unreadBytes += answer.bytes;
  for (const oldest of unread) {
    if (unreadBytes <= MAX_UNREAD_BYTES || oldest === answer) break;
    forget(oldest);
  }
}

function forget(answer: Unread): void {
  if (unread.delete(answer)) unreadBytes -= answer.bytes;
  // Frees what the pieces are made of, whoever else holds the generator.
  answer.pieces?.return(undefined);
  answer.pieces = undefined;
}
