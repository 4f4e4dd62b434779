import { createHash } from "node:crypto";
import { type EntryHeader, readHeader } from "./entries.ts";
import { RefusedError } from "./errors.ts";
import { ArrivingStream, inflate, invalid, LARGE } from "./inflate.ts";
import { LIMITS } from "./limits.ts";
import { BLOB, hashOf } from "./objects.ts";
import { OID_BYTES } from "./oid-table.ts";
import type { PackWriter } from "./packs.ts";
import type { Input } from "./pkt-line.ts";

/** Bytes of a pack before its entries: `PACK`, its version, and the number of entries. */
export const HEAD_BYTES = 12;
/** The checksum after the entries. */
const CHECKSUM_BYTES = 20;
/** The smallest amount to read if an entry has not arrived completely, in bytes. */
const LEAST = 64;

/** The error of a pack that ends before it should. */
export const cutShort = () => new RefusedError("the pack is cut short");
/** The error of an object that is too large. */
export const tooLarge = () =>
  new RefusedError(`an object is larger than ${LIMITS.objectBytes} bytes`);

/** An entry as it was read. */
export interface Entry {
  readonly header: EntryHeader;
  readonly content: Buffer;
  /** Its base's name, if that is how it refers to it. */
  readonly base: Buffer | undefined;
  /** How many bytes it has in the pack. */
  readonly length: number;
}

/** A large blob, as it was read: not kept, only hashed. */
export interface LargeBlob {
  readonly size: number;
  readonly oid: Buffer;
  /** The SHA-256 of its content. */
  readonly digest: Buffer;
  /** How many bytes its entry has in the pack. */
  readonly length: number;
}

/** Whether an entry is a blob that is read by stream. */
const isLarge = ({ type, size }: EntryHeader) => type === BLOB && size > LARGE;

/** Writes bytes of an entry to a pack. @throws RefusedError if it becomes too large */
export function writeEntry(writer: PackWriter, bytes: Buffer): void {
  writer.write(bytes);
  if (writer.length > LIMITS.packBytes) {
    throw new RefusedError(`the pack is larger than ${LIMITS.packBytes} bytes`);
  }
}

/** The entries of a pack that arrives, each of which is written to another one as it is read. */
export class ArrivingEntries {
  readonly #input: Input;
  readonly #writer: PackWriter;
  readonly #expand: (bytes: number) => void;
  readonly #hash = createHash("sha1");
  /** Up to where the input was hashed. */
  #hashed: number;

  /**
   * @param input at the pack's head, which has arrived
   * @param expand notes the size of a large blob before it is read; it may throw
   */
  constructor(input: Input, writer: PackWriter, expand: (bytes: number) => void) {
    this.#input = input;
    this.#writer = writer;
    this.#expand = expand;
    this.#hashed = input.position;
    input.position += HEAD_BYTES;
  }

  /** Reads the next entry, if all of it has arrived, and writes it to the pack. */
  read(): Entry | undefined {
    const input = this.#input;
    const { bytes, position } = input;
    const header = readHeader(bytes, position);
    if (!header) return undefined;
    if (header.type === 0 || header.type === 5) {
      throw new RefusedError("the pack has an entry of an unknown type");
    }
    if (header.size > LIMITS.objectBytes) throw tooLarge();
    if (isLarge(header)) return undefined;
    const inflated = inflate(bytes, header.end, header.size);
    if (!inflated) return undefined;
    const base = header.base
      ? Buffer.from(bytes.subarray(header.base, header.base + OID_BYTES))
      : undefined;
    this.#use(inflated.end - position);
    return { header, content: inflated.data, base, length: inflated.end - position };
  }

  /** Writes bytes of the input to the pack. */
  #use(length: number): void {
    writeEntry(this.#writer, this.#input.take(length));
  }

  /** Waits until more of the input has arrived. */
  async #await(least: number): Promise<void> {
    this.#digest();
    const before = this.#input.available;
    await this.#input.fill(least);
    this.#hashed = this.#input.position;
    if (this.#input.available === before) throw cutShort();
  }

  /** Reads the next entry, waiting until all of it has arrived. */
  async next(): Promise<Entry | LargeBlob> {
    const input = this.#input;
    for (;;) {
      const header = readHeader(input.bytes, input.position);
      if (header && isLarge(header)) return this.#readLarge(header);
      await this.#await(Math.max(LEAST, 2 * input.available));
      const entry = this.read();
      if (entry) return entry;
    }
  }

  /** Reads a large blob while it arrives. */
  async #readLarge({ size, end }: EntryHeader): Promise<LargeBlob> {
    const input = this.#input;
    const start = this.#writer.length;
    this.#expand(size);
    this.#use(end - input.position);
    const name = hashOf(BLOB, size);
    const digest = createHash("sha256");
    let taken = 0;
    const stream = new ArrivingStream((part) => {
      taken += part.length;
      if (taken > size) throw invalid();
      name.update(part);
      digest.update(part);
    });
    try {
      while (!stream.hasEnded) {
        if (input.available === 0) await this.#await(1);
        this.#use(await stream.write(input.bytes.subarray(input.position)));
        if (this.#writer.isFull) await this.#writer.store();
      }
    } finally {
      stream.close();
    }
    if (taken !== size) throw invalid();
    return {
      size,
      oid: name.digest(),
      digest: digest.digest(),
      length: this.#writer.length - start,
    };
  }

  /** Adds what was used of the input to the checksum. */
  #digest(): void {
    const { bytes, position } = this.#input;
    this.#hash.update(bytes.subarray(this.#hashed, position));
    this.#hashed = position;
  }

  /** Reads what comes after the entries. @throws RefusedError if it is not the checksum of what has arrived */
  async checkEnd(): Promise<void> {
    this.#digest();
    if (!(await this.#input.fill(CHECKSUM_BYTES))) throw cutShort();
    if (!this.#hash.digest().equals(this.#input.take(CHECKSUM_BYTES))) {
      throw new RefusedError("the pack's checksum is wrong");
    }
  }
}
