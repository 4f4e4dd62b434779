/** The remainders of all bytes. */
const REMAINDERS = Uint32Array.from({ length: 256 }, (_, byte) => {
  let remainder = byte;
  for (let bit = 0; bit < 8; bit += 1) {
    remainder = remainder & 1 ? (remainder >>> 1) ^ 0xedb88320 : remainder >>> 1;
  }
  return remainder;
});

/**
 * The checksum of ZIP, gzip (RFC 1952 §8) and indexes of packs. Not node:zlib's: Node.js 20 does not have it everywhere.
 *
 * @param before that of the bytes before, if there are any
 */
export function crc32(data: Uint8Array, before = 0): number {
  let sum = before ^ 0xffffffff;
  for (let at = 0; at < data.length; at += 1) {
    sum = (REMAINDERS[(sum ^ (data[at] as number)) & 0xff] as number) ^ (sum >>> 8);
  }
  return (sum ^ 0xffffffff) >>> 0;
}
