import { RefusedError } from "./errors.ts";
import { OID_BYTES } from "./oid-table.ts";

/** The type of a pack's entry that is a delta of an earlier entry, at a distance in bytes. */
export const OFS_DELTA = 6;
/** The type of a pack's entry that is a delta of the object with a name. */
export const REF_DELTA = 7;

/** No entry's header is longer, in bytes. */
export const MAX_HEADER = 32;

/** The beginning of a pack's entry: its type and size, and for deltas where their base is. */
export interface EntryHeader {
  readonly type: number;
  /** The size of the object, or of the delta, decompressed. */
  readonly size: number;
  /** How far before the entry the base begins; 0 if it is no {@link OFS_DELTA}. */
  readonly distance: number;
  /** Where the base's name begins; 0 if it is no {@link REF_DELTA}. */
  readonly base: number;
  /** Where the compressed data begins. */
  readonly end: number;
}

const MAX_SIZE = Number.MAX_SAFE_INTEGER / 256;

/**
 * Reads the header of an entry.
 *
 * @param at where the entry begins
 * @returns `undefined` if `pack` ends before the header
 * @throws RefusedError if it is malformed
 */
export function readHeader(pack: Uint8Array, at: number): EntryHeader | undefined {
  let next = at;
  let byte = pack[next];
  next += 1;
  if (byte === undefined) return undefined;
  const type = (byte >> 4) & 7;
  let size = byte & 15;
  for (let factor = 16; byte & 0x80; factor *= 128) {
    byte = pack[next];
    next += 1;
    if (byte === undefined) return undefined;
    size += (byte & 0x7f) * factor;
    if (factor > MAX_SIZE) throw new RefusedError("an object has a malformed size");
  }
  if (type === REF_DELTA) {
    const end = next + OID_BYTES;
    return end > pack.length ? undefined : { type, size, distance: 0, base: next, end };
  }
  let distance = 0;
  if (type === OFS_DELTA) {
    for (let more = true; more; ) {
      byte = pack[next];
      next += 1;
      if (byte === undefined) return undefined;
      distance = distance * 128 + (byte & 0x7f);
      more = (byte & 0x80) !== 0;
      if (more) distance += 1;
      if (distance > MAX_SIZE) throw new RefusedError("a delta has a malformed distance");
    }
  }
  return { type, size, distance, base: 0, end: next };
}

/** The header of an entry, without its base. */
export function writeHeader(type: number, size: number): Buffer {
  const bytes: number[] = [];
  let byte = (type << 4) | (size % 16);
  for (let rest = Math.floor(size / 16); rest > 0; rest = Math.floor(rest / 128)) {
    bytes.push(byte | 0x80);
    byte = rest % 128;
  }
  bytes.push(byte);
  return Buffer.from(bytes);
}

/** The distance to the base of an {@link OFS_DELTA}, which follows its header. */
export function writeDistance(distance: number): Buffer {
  const bytes = [distance % 128];
  for (let rest = Math.floor(distance / 128); rest > 0; rest = Math.floor(rest / 128)) {
    rest -= 1;
    bytes.unshift(0x80 | (rest % 128));
  }
  return Buffer.from(bytes);
}

/** Reads a size at the beginning of a delta, and where it ends. */
function readDeltaSize(delta: Uint8Array, start: number): [size: number, end: number] {
  let size = 0;
  let factor = 1;
  for (let at = start; at < delta.length && factor < MAX_SIZE; at += 1) {
    const byte = delta[at] as number;
    size += (byte & 0x7f) * factor;
    factor *= 128;
    if ((byte & 0x80) === 0) return [size, at + 1];
  }
  throw badDelta("has a malformed size");
}

const badDelta = (problem: string) => new RefusedError(`a delta ${problem}`);

/** Longer copies, in bytes, are faster by a call of the runtime. */
const LONG = 128;

/**
 * Applies a delta to its base.
 *
 * @param most maximum bytes of the result
 * @param allocate makes room for the result
 * @throws RefusedError if the delta is malformed, for another base, or makes too much
 */
export function applyDelta(
  base: Buffer,
  delta: Buffer,
  most: number,
  allocate: (size: number) => Buffer = Buffer.allocUnsafe,
): Buffer {
  const [baseSize, afterBase] = readDeltaSize(delta, 0);
  const [size, start] = readDeltaSize(delta, afterBase);
  if (baseSize !== base.length) throw badDelta("is for another base");
  if (size > most) throw new RefusedError(`an object is larger than ${most} bytes`);
  const result = allocate(size);
  let at = start;
  let to = 0;
  while (at < delta.length) {
    const code = delta[at] as number;
    at += 1;
    if (code & 0x80) {
      let from = 0;
      let length = 0;
      if (code & 1) from = delta[at++] as number;
      if (code & 2) from |= (delta[at++] as number) << 8;
      if (code & 4) from |= (delta[at++] as number) << 16;
      if (code & 8) from += (delta[at++] as number) * 0x1000000;
      if (code & 16) length = delta[at++] as number;
      if (code & 32) length |= (delta[at++] as number) << 8;
      if (code & 64) length |= (delta[at++] as number) << 16;
      if (length === 0) length = 0x10000;
      if (at > delta.length || from + length > base.length || to + length > size) {
        throw badDelta("copies too much");
      }
      if (length > LONG) result.set(base.subarray(from, from + length), to);
      else for (let n = 0; n < length; n += 1) result[to + n] = base[from + n] as number;
      to += length;
    } else {
      if (code === 0) throw badDelta("has an unknown instruction");
      if (at + code > delta.length || to + code > size) throw badDelta("inserts too much");
      for (let n = 0; n < code; n += 1) result[to + n] = delta[at + n] as number;
      at += code;
      to += code;
    }
  }
  if (to !== size) throw badDelta("makes too little");
  return result;
}
