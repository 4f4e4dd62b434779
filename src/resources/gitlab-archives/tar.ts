import { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { ArchiveError, MAX_GROWTH } from "../exports/format.ts";

/** An archive that can be read again and again. */
export interface Archive {
  readonly open: () => AsyncIterable<Uint8Array>;
  readonly size: number;
}

/** A file of an archive, whose bytes are read before the next one. */
export interface Entry {
  /** Its path, without `./`. */
  readonly name: string;
  readonly bytes: AsyncGenerator<Buffer>;
}

/** Bytes of a block. */
const BLOCK = 512;
/** Bytes of what is said about the next file, such as a long name. */
const MOST_SAID = 64 * 1024;
const MOST_ENTRIES = 1_000_000;
const DAMAGED = "the file is not an archive, or damaged";

/** Whether bytes are the beginning of a tar file. */
export const isTar = (head: Buffer): boolean => head.toString("latin1", 257, 262) === "ustar";

/** The first bytes of a packed file, unpacked; none if it is not packed. @param most bytes */
export async function headOf({ open }: Archive, most: number): Promise<Buffer> {
  const chunks = new Chunks(open(), Number.POSITIVE_INFINITY);
  try {
    return await chunks.upTo(most);
  } catch (error) {
    if (error instanceof ArchiveError) return Buffer.alloc(0);
    throw error;
  } finally {
    await chunks.close();
  }
}

/**
 * The files of a packed tar file. Libraries hold names and attributes in memory however long they are: here these are
 * bounded, and so is everything together.
 *
 * @throws ArchiveError if it is damaged, too large, or has links or paths that lead elsewhere
 */
export async function* entriesOf({ open, size }: Archive): AsyncGenerator<Entry> {
  const chunks = new Chunks(open(), size * MAX_GROWTH);
  try {
    let longName: string | undefined;
    for (let count = 0; ; ) {
      const header = await chunks.upTo(BLOCK);
      // Two empty blocks are the end.
      if (header.length < BLOCK || header.every((byte) => byte === 0)) return;
      requireChecksum(header);
      const length = numberIn(header, 124, 12);
      const type = String.fromCharCode(header[156] as number);
      const padding = (BLOCK - (length % BLOCK)) % BLOCK;
      if (type === "x" || type === "L") {
        if (length > MOST_SAID) throw new ArchiveError("the archive has too long a name");
        const said = await chunks.exactly(length);
        longName = type === "L" ? textIn(said, 0, said.length) : (pathIn(said) ?? longName);
      } else if (type === "0" || type === "\0") {
        count += 1;
        if (count > MOST_ENTRIES) throw new ArchiveError("the archive has too many files");
        const name = checked(longName ?? nameIn(header));
        longName = undefined;
        const bytes = chunks.some(length);
        yield { name, bytes };
        for await (const _ of bytes);
        await chunks.skip(chunks.left);
      } else if (type === "5" || type === "g") {
        longName = undefined;
        await chunks.skip(length);
      } else throw new ArchiveError("the archive has links or other things that are no files");
      await chunks.skip(padding);
    }
  } finally {
    await chunks.close();
  }
}

/** @throws ArchiveError for a path that leads elsewhere */
function checked(name: string): string {
  const path = name.replace(/^(\.\/)+/, "");
  const parts = path.split("/");
  if (path.startsWith("/") || parts.includes("..") || path.includes("\0") || path.length > 4096) {
    throw new ArchiveError("the archive has a path that leads elsewhere");
  }
  return path;
}

function nameIn(header: Buffer): string {
  const prefix = isTar(header) && header[263] === 48 ? textIn(header, 345, 155) : "";
  const name = textIn(header, 0, 100);
  return prefix === "" ? name : `${prefix}/${name}`;
}

/** A text that ends at its length or the first NUL. */
function textIn(bytes: Buffer, from: number, length: number): string {
  const field = bytes.subarray(from, from + length);
  const end = field.indexOf(0);
  return field.toString("utf8", 0, end < 0 ? field.length : end);
}

/** A number in octal digits or, with the first bit set, in bytes. */
function numberIn(header: Buffer, from: number, length: number): number {
  const isBinary = ((header[from] as number) & 0x80) !== 0;
  const value = isBinary
    ? header.readUIntBE(from + length - 6, 6)
    : Number.parseInt(textIn(header, from, length).trim() || "0", 8);
  if (!Number.isSafeInteger(value) || value < 0) throw new ArchiveError(DAMAGED);
  return value;
}

function requireChecksum(header: Buffer): void {
  let sum = 0;
  for (const [at, byte] of header.entries()) sum += at >= 148 && at < 156 ? 32 : byte;
  if (sum !== numberIn(header, 148, 8)) throw new ArchiveError(DAMAGED);
}

/** The path in an extended header: lines of a length, a name and a value. */
function pathIn(said: Buffer): string | undefined {
  for (let at = 0; at < said.length; ) {
    const space = said.indexOf(32, at);
    const length = Number(said.toString("latin1", at, space < 0 ? at : space));
    if (!(length > 0)) return undefined;
    const [, value] = /^path=(.*)\n$/s.exec(said.toString("utf8", space + 1, at + length)) ?? [];
    if (value !== undefined) return value;
    at += length;
  }
  return undefined;
}

/** Bytes of an unpacked stream, as many at a time as are asked for. */
class Chunks {
  readonly #source: Readable;
  readonly #unpacked: AsyncIterator<Buffer>;
  readonly #most: number;
  #read = 0;
  #waiting: Buffer = Buffer.alloc(0);
  /** How many bytes {@link some} has still to give. */
  left = 0;

  constructor(packed: AsyncIterable<Uint8Array>, most: number) {
    const gunzip = createGunzip();
    this.#source = Readable.from(packed, { objectMode: false });
    this.#source.once("error", (error) => gunzip.destroy(error));
    this.#unpacked = this.#source.pipe(gunzip)[Symbol.asyncIterator]();
    this.#most = most;
  }

  async close(): Promise<void> {
    this.#source.destroy();
    await this.#unpacked.return?.();
  }

  /** The next part; empty at the end. */
  async #next(): Promise<Buffer> {
    if (this.#waiting.length > 0) {
      const waiting = this.#waiting;
      this.#waiting = Buffer.alloc(0);
      return waiting;
    }
    try {
      const { done, value } = await this.#unpacked.next();
      if (done) return Buffer.alloc(0);
      this.#read += value.length;
      if (this.#read > this.#most) {
        throw new ArchiveError(`the archive grows to more than ${MAX_GROWTH} times its size`);
      }
      return value;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code?.startsWith("Z_")) throw new ArchiveError(DAMAGED);
      throw error;
    }
  }

  /** So many bytes, or as many as there are. */
  async upTo(length: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    for (let missing = length; missing > 0; ) {
      const chunk = await this.#next();
      if (chunk.length === 0) break;
      const part = chunk.subarray(0, missing);
      this.#waiting = chunk.subarray(part.length);
      parts.push(part);
      missing -= part.length;
    }
    return Buffer.concat(parts);
  }

  /** @throws ArchiveError if there are not so many bytes */
  async exactly(length: number): Promise<Buffer> {
    const bytes = await this.upTo(length);
    if (bytes.length < length) throw new ArchiveError(DAMAGED);
    return bytes;
  }

  /** So many bytes, part by part. @throws ArchiveError if there are not as many */
  async *some(length: number): AsyncGenerator<Buffer> {
    this.left = length;
    while (this.left > 0) {
      const chunk = await this.#next();
      if (chunk.length === 0) throw new ArchiveError(DAMAGED);
      const part = chunk.subarray(0, this.left);
      this.#waiting = chunk.subarray(part.length);
      this.left -= part.length;
      yield part;
    }
  }

  async skip(length: number): Promise<void> {
    for await (const _ of this.some(length));
  }
}
