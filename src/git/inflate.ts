import { promisify } from "node:util";
import { createInflate, inflate as inflateBeside, inflateSync } from "node:zlib";
import { RefusedError } from "./errors.ts";
import { through } from "./streams.ts";

/**
 * Larger objects are decompressed by node:zlib. For smaller ones, which most are, setting that up takes several times as
 * long as the decompressing.
 */
const SMALL = 1200;
/** No DEFLATE stream expands by more. */
const MAX_RATIO = 1032;
const MEBIBYTE = 1024 * 1024;
/** Bytes of a part of a large object's content. */
const PART = 64 * 1024;

/**
 * Larger objects, in bytes, are decompressed beside the event loop: all others would wait meanwhile. If they are no
 * deltas, they are never in memory as a whole.
 */
export const LARGE = MEBIBYTE;

/** A decompressed stream. */
export interface Inflated {
  readonly data: Buffer;
  /** Where the stream ended in the source. */
  readonly end: number;
}

/**
 * Decompresses a zlib stream (RFC 1950) whose size is known.
 *
 * @param start where it starts in `source`
 * @returns `undefined` if `source` ends before the stream
 * @throws RefusedError if it is not such a stream, or of another size
 */
export function inflate(source: Buffer, start: number, size: number): Inflated | undefined {
  // An announced size reserves no memory until enough bytes for it have arrived.
  if (size > SMALL) {
    return (source.length - start) * MAX_RATIO < size ? undefined : large(source, start, size);
  }
  const data = Buffer.allocUnsafe(size);
  const end = inflateInto(source, start, data);
  if (end === MORE) return undefined;
  if (end === BAD) throw invalid();
  return { data, end };
}

/**
 * Decompresses a zlib stream that was checked.
 *
 * @param size that of its content
 */
export async function inflateChecked(
  source: Buffer,
  start: number,
  size: number,
): Promise<Buffer | undefined> {
  if (size <= LARGE) return inflate(source, start, size)?.data;
  const whole = promisify<Buffer, { maxOutputLength: number }, Buffer>(inflateBeside);
  return whole(source.subarray(start), { maxOutputLength: size });
}

/** Bytes of a part of an object that is read part by part. */
export const STREAMED = 256 * 1024;

/** Decompresses a zlib stream that was checked, part by part. */
export async function* inflateParts(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let held: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of through(source, createInflate({ chunkSize: PART }))) {
    held.push(chunk);
    bytes += chunk.length;
    if (bytes < STREAMED) continue;
    yield Buffer.concat(held);
    held = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(held);
}

/** A zlib stream (RFC 1950) that is decompressed beside the event loop while it arrives. */
export class ArrivingStream {
  readonly #engine = createInflate({ chunkSize: PART });
  #hasEnded = false;
  /** Why it is not valid. */
  #error: unknown;
  /** Ends the waiting of {@link write}. */
  #settle: () => void = () => undefined;

  /** @param take gets each part of its content, and may throw */
  constructor(take: (part: Buffer) => void) {
    this.#engine.on("data", (part: Buffer) => {
      try {
        take(part);
      } catch (error) {
        this.#engine.destroy(error as Error);
      }
    });
    this.#engine.on("error", (error) => {
      this.#error = error instanceof RefusedError ? error : invalid();
      this.#settle();
    });
    this.#engine.on("end", () => {
      this.#hasEnded = true;
      this.#settle();
    });
  }

  /** Whether all of it has arrived and was taken. This shows when more bytes are written than it has. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /**
   * Adds bytes that have arrived.
   *
   * @returns how many of them belong to it
   * @throws RefusedError if they are not valid
   */
  async write(bytes: Buffer): Promise<number> {
    const before = this.#engine.bytesWritten;
    await new Promise<void>((resolve) => {
      this.#settle = resolve;
      this.#engine.write(bytes, () => resolve());
    });
    // Parts are taken later than they are made, so this may be about earlier bytes.
    if (this.#error) throw this.#error;
    return this.#engine.bytesWritten - before;
  }

  /** Frees its memory. */
  close(): void {
    this.#engine.destroy();
  }
}

function large(source: Buffer, start: number, size: number): Inflated | undefined {
  try {
    const { buffer, engine } = inflateSync(source.subarray(start), {
      info: true,
      maxOutputLength: size + 1,
      chunkSize: Math.min(size + 64, 4 * MEBIBYTE),
    }) as unknown as { buffer: Buffer; engine: { bytesWritten: number } };
    if (buffer.length !== size) throw invalid();
    return { data: buffer, end: start + engine.bytesWritten };
  } catch (error) {
    if ((error as { code?: unknown }).code === "Z_BUF_ERROR") return undefined;
    throw invalid();
  }
}

/** An object that is no valid zlib data, or of another size. */
export const invalid = () =>
  new RefusedError("an object is not valid zlib data of its announced size");

// What follows is DEFLATE (RFC 1951), for small streams. Its functions return codes instead of throwing, since V8 gives up
// optimizing functions that throw.

/** The source ended early. */
const MORE = -1;
/** The source is not valid. */
const BAD = -2;
/** What a block returns if it was read to its end. */
const DONE = 0;

const LENGTHS = Uint16Array.of(
  ...[3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31],
  ...[35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258],
);
const LENGTH_BITS = Uint8Array.of(
  ...[0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2],
  ...[3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0],
);
const DISTANCES = Uint16Array.of(
  ...[1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769],
  ...[1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577],
);
const DISTANCE_BITS = Uint8Array.of(
  ...[0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8],
  ...[9, 9, 10, 10, 11, 11, 12, 12, 13, 13],
);
/** The order in which the lengths of the codes for code lengths are stored. */
const ORDER = Uint8Array.of(16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15);
const MAX_BITS = 15;
const END_OF_BLOCK = 256;

/** 15 bits in reverse: the first bit of a code is the lowest one of the source. */
const REVERSED = new Uint16Array(1 << MAX_BITS);
for (let value = 0; value < REVERSED.length; value += 1) {
  REVERSED[value] = ((REVERSED[value >> 1] as number) >> 1) | ((value & 1) << (MAX_BITS - 1));
}

const counts = new Uint16Array(MAX_BITS + 1);
const nextCodes = new Uint16Array(MAX_BITS + 1);
const lengths = new Uint8Array(320);
const codeLengths = new Uint8Array(19);
const codeTable = new Uint16Array(1 << 7);
const literalTable = new Uint16Array(1 << MAX_BITS);
const distanceTable = new Uint16Array(1 << MAX_BITS);

/** How far a stream is read, between its blocks. */
interface Progress {
  /** Where the next byte of the source is. */
  position: number;
  /** Bits that were read and not used. */
  hold: number;
  held: number;
  /** Bytes of the target that are written. */
  filled: number;
  /** What picks the bits that look up a symbol in the tables of a block with codes of its own. */
  literalMask: number;
  distanceMask: number;
}

/**
 * Fills a table in which the next bits of the source look up a symbol: `symbol << 4 | length of its code`.
 *
 * @returns how many bits look it up, or {@link BAD} if there are more codes than fit
 */
function fillTable(table: Uint16Array, from: Uint8Array, at: number, symbols: number): number {
  counts.fill(0);
  for (let symbol = 0; symbol < symbols; symbol += 1) {
    const length = from[at + symbol] as number;
    counts[length] = (counts[length] as number) + 1;
  }
  counts[0] = 0;
  let bits = MAX_BITS;
  while (bits > 0 && counts[bits] === 0) bits -= 1;
  if (bits === 0) {
    table.fill(0, 0, 2);
    return 1;
  }
  let left = 1;
  let code = 0;
  for (let length = 1; length <= bits; length += 1) {
    left = (left << 1) - (counts[length] as number);
    if (left < 0) return BAD;
    code = (code + (counts[length - 1] as number)) << 1;
    nextCodes[length] = code;
  }
  const size = 1 << bits;
  if (left > 0) table.fill(0, 0, size);
  for (let symbol = 0; symbol < symbols; symbol += 1) {
    const length = from[at + symbol] as number;
    if (length === 0) continue;
    const own = nextCodes[length] as number;
    nextCodes[length] = own + 1;
    const entry = (symbol << 4) | length;
    const step = 1 << length;
    for (let slot = (REVERSED[own] as number) >> (MAX_BITS - length); slot < size; slot += step) {
      table[slot] = entry;
    }
  }
  return bits;
}

const FIXED_LITERALS = new Uint16Array(1 << 9);
const FIXED_DISTANCES = new Uint16Array(1 << 5);
const fixedLengths = new Uint8Array(288).fill(8, 0, 144).fill(9, 144, 256).fill(7, 256, 280);
fillTable(FIXED_LITERALS, fixedLengths.fill(8, 280), 0, 288);
fillTable(FIXED_DISTANCES, new Uint8Array(32).fill(5), 0, 32);

/** Reads the codes of a block into the tables. */
function readCodes(source: Uint8Array, progress: Progress): number {
  const end = source.length;
  let { position: at, hold: bits, held: count } = progress;
  while (count < 14) {
    if (at >= end) return MORE;
    bits |= (source[at] as number) << count;
    at += 1;
    count += 8;
  }
  const literals = (bits & 31) + 257;
  const total = literals + ((bits >> 5) & 31) + 1;
  const codes = ((bits >> 10) & 15) + 4;
  bits >>= 14;
  count -= 14;
  codeLengths.fill(0);
  for (let index = 0; index < codes; index += 1) {
    if (count < 3) {
      if (at >= end) return MORE;
      bits |= (source[at] as number) << count;
      at += 1;
      count += 8;
    }
    codeLengths[ORDER[index] as number] = bits & 7;
    bits >>= 3;
    count -= 3;
  }
  const codeBits = fillTable(codeTable, codeLengths, 0, 19);
  if (codeBits === BAD) return BAD;
  const mask = (1 << codeBits) - 1;
  for (let index = 0; index < total; ) {
    while (count < 14 && at < end) {
      bits |= (source[at] as number) << count;
      at += 1;
      count += 8;
    }
    const entry = codeTable[bits & mask] as number;
    const length = entry & 15;
    if (length > count) return MORE;
    if (length === 0) return count < codeBits ? MORE : BAD;
    bits >>= length;
    count -= length;
    const symbol = entry >> 4;
    if (symbol < 16) {
      lengths[index] = symbol;
      index += 1;
      continue;
    }
    const extra = symbol === 16 ? 2 : symbol === 17 ? 3 : 7;
    if (count < extra) return MORE;
    const repeats = (bits & ((1 << extra) - 1)) + (symbol === 18 ? 11 : 3);
    bits >>= extra;
    count -= extra;
    if (index + repeats > total || (symbol === 16 && index === 0)) return BAD;
    const value = symbol === 16 ? (lengths[index - 1] as number) : 0;
    lengths.fill(value, index, index + repeats);
    index += repeats;
  }
  const literalBits = fillTable(literalTable, lengths, 0, literals);
  const distanceBits = fillTable(distanceTable, lengths, literals, total - literals);
  if (literalBits === BAD || distanceBits === BAD) return BAD;
  progress.literalMask = (1 << literalBits) - 1;
  progress.distanceMask = (1 << distanceBits) - 1;
  progress.position = at;
  progress.hold = bits;
  progress.held = count;
  return DONE;
}

/** Reads literals and copies up to the end of a block. */
function readBlock(
  source: Uint8Array,
  target: Uint8Array,
  progress: Progress,
  literals: Uint16Array,
  literalMask: number,
  distances: Uint16Array,
  distanceMask: number,
): number {
  const end = source.length;
  const size = target.length;
  let { position: at, hold: bits, held: count, filled: to } = progress;
  for (;;) {
    while (count < MAX_BITS && at < end) {
      bits |= (source[at] as number) << count;
      at += 1;
      count += 8;
    }
    let entry = literals[bits & literalMask] as number;
    let length = entry & 15;
    if (length > count) return MORE;
    if (length === 0) return count < MAX_BITS ? MORE : BAD;
    bits >>= length;
    count -= length;
    const symbol = entry >> 4;
    if (symbol < END_OF_BLOCK) {
      if (to >= size) return BAD;
      target[to] = symbol;
      to += 1;
      continue;
    }
    if (symbol === END_OF_BLOCK) break;
    if (symbol > 285) return BAD;
    let extra = LENGTH_BITS[symbol - 257] as number;
    let copied = LENGTHS[symbol - 257] as number;
    if (extra > 0) {
      while (count < extra) {
        if (at >= end) return MORE;
        bits |= (source[at] as number) << count;
        at += 1;
        count += 8;
      }
      copied += bits & ((1 << extra) - 1);
      bits >>= extra;
      count -= extra;
    }
    while (count < MAX_BITS && at < end) {
      bits |= (source[at] as number) << count;
      at += 1;
      count += 8;
    }
    entry = distances[bits & distanceMask] as number;
    length = entry & 15;
    if (length > count) return MORE;
    if (length === 0) return count < MAX_BITS ? MORE : BAD;
    bits >>= length;
    count -= length;
    const distanceSymbol = entry >> 4;
    if (distanceSymbol > 29) return BAD;
    extra = DISTANCE_BITS[distanceSymbol] as number;
    let back = DISTANCES[distanceSymbol] as number;
    if (extra > 0) {
      while (count < extra) {
        if (at >= end) return MORE;
        bits |= (source[at] as number) << count;
        at += 1;
        count += 8;
      }
      back += bits & ((1 << extra) - 1);
      bits >>= extra;
      count -= extra;
    }
    const stop = to + copied;
    if (back > to || stop > size) return BAD;
    if (copied > 40 && back >= copied) {
      target.copyWithin(to, to - back, to - back + copied);
      to = stop;
    } else {
      for (let from = to - back; to < stop; to += 1, from += 1) target[to] = target[from] as number;
    }
  }
  progress.position = at;
  progress.hold = bits;
  progress.held = count;
  progress.filled = to;
  return DONE;
}

/** Copies a block that is not compressed. */
function readStored(source: Uint8Array, target: Uint8Array, progress: Progress): number {
  const at = progress.position - (progress.held >> 3);
  if (at + 4 > source.length) return MORE;
  const length = (source[at] as number) | ((source[at + 1] as number) << 8);
  const inverse = (source[at + 2] as number) | ((source[at + 3] as number) << 8);
  const end = at + 4 + length;
  if ((length ^ 0xffff) !== inverse || progress.filled + length > target.length) return BAD;
  if (end > source.length) return MORE;
  target.set(source.subarray(at + 4, end), progress.filled);
  progress.filled += length;
  progress.position = end;
  progress.hold = 0;
  progress.held = 0;
  return DONE;
}

/** Decompresses a zlib stream into a target of exactly its size, and returns where it ended, {@link MORE} or {@link BAD}. */
function inflateInto(source: Uint8Array, start: number, target: Uint8Array): number {
  const end = source.length;
  if (start + 2 > end) return MORE;
  const method = source[start] as number;
  const flags = source[start + 1] as number;
  const isZlib = (method & 15) === 8 && method >> 4 <= 7 && ((method << 8) | flags) % 31 === 0;
  if (!isZlib || (flags & 32) !== 0) return BAD;
  const progress: Progress = {
    position: start + 2,
    hold: 0,
    held: 0,
    filled: 0,
    literalMask: 0,
    distanceMask: 0,
  };
  for (let isLast = false; !isLast; ) {
    while (progress.held < 3) {
      if (progress.position >= end) return MORE;
      progress.hold |= (source[progress.position] as number) << progress.held;
      progress.position += 1;
      progress.held += 8;
    }
    isLast = (progress.hold & 1) === 1;
    const kind = (progress.hold >> 1) & 3;
    progress.hold >>= 3;
    progress.held -= 3;
    const result =
      kind === 0
        ? readStored(source, target, progress)
        : kind === 1
          ? readBlock(source, target, progress, FIXED_LITERALS, 511, FIXED_DISTANCES, 31)
          : kind === 2
            ? readCodes(source, progress) ||
              readBlock(
                source,
                target,
                progress,
                literalTable,
                progress.literalMask,
                distanceTable,
                progress.distanceMask,
              )
            : BAD;
    if (result !== DONE) return result;
  }
  if (progress.filled !== target.length) return BAD;
  const at = progress.position - (progress.held >> 3);
  if (at + 4 > end) return MORE;
  let sum = 0;
  for (let index = at; index < at + 4; index += 1) sum = (sum << 8) | (source[index] as number);
  // Clients check it, so an object without it could be pushed, but never be fetched.
  return adler32(target) === sum >>> 0 ? at + 4 : BAD;
}

/** The checksum of RFC 1950 §8.2, of at most some kilobytes. */
export function adler32(data: Uint8Array): number {
  let low = 1;
  let high = 0;
  for (let at = 0; at < data.length; at += 1) {
    low += data[at] as number;
    high += low;
  }
  // Both sums are exact: at most SMALL bytes are added.
  return (((high % 65521) << 16) | (low % 65521)) >>> 0;
}
