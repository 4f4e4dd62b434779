import { promisify } from "node:util";
import { constants, deflate, deflateSync, type ZlibOptions } from "node:zlib";
import { adler32 } from "./inflate.ts";
import { type GitObject, TREE } from "./objects.ts";

const deflateBeside = promisify<Buffer, ZlibOptions, Buffer>(deflate);
/** Larger objects, in bytes, are compressed beside the event loop. */
const LARGE = 64 * 1024;
/**
 * Smaller ones are stored as they are: compressing them would save some dozens of bytes, of a tree a quarter, and take
 * longer than the rest.
 */
const SMALL = 512;
const SMALL_TREE = 4096;
/** Bytes that are reserved at once for what is compressed. */
const CHUNK = 16 * 1024;
/**
 * The level of trees. Most of one is names of objects, which no level makes smaller: the default takes up to
 * four times as long.
 */
const FAST = constants.Z_BEST_SPEED;

/** Compresses the content of an object (RFC 1950). */
export function deflated({ type, data }: GitObject): Buffer | Promise<Buffer> {
  const [level, small] =
    type === TREE ? [FAST, SMALL_TREE] : [constants.Z_DEFAULT_COMPRESSION, SMALL];
  if (data.length > LARGE) return deflateBeside(data, { level });
  if (data.length < small) return stored(data);
  // By default, 16 KiB are reserved for the result of each.
  return deflateSync(data, { level, chunkSize: Math.min(data.length + 64, CHUNK) });
}

/** A zlib stream that is not compressed (RFC 1951 §3.2.4). */
function stored(data: Buffer): Buffer {
  const stream = Buffer.allocUnsafe(data.length + 11);
  stream.writeUInt32BE(0x78_01_01_00);
  stream.writeUInt16LE(data.length, 3);
  stream.writeUInt16LE(0xffff - data.length, 5);
  stream.set(data, 7);
  stream.writeUInt32BE(adler32(data), data.length + 7);
  return stream;
}
