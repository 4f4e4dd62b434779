import { createHash } from "node:crypto";
import { deflateSync } from "node:zlib";
import type { Pace } from "../turns/pace.ts";
import {
  type EntryHeader,
  MAX_HEADER,
  OFS_DELTA,
  REF_DELTA,
  readHeader,
  writeDistance,
  writeHeader,
} from "./entries.ts";
import type { Pack } from "./pack.ts";
import type { Repository } from "./repository.ts";
import type { Selection } from "./select.ts";

/** Bytes that are sent at once. */
const CHUNK = 128 * 1024;
/** Larger entries, in bytes, are not read as a whole to be copied. */
const LARGE = 1024 * 1024;
/** The longest chain of deltas that is sent. */
const MAX_CHAIN = 60;

/** What a client understands of packs. */
export interface PackOptions {
  /** Whether a delta may say where its base is in the pack, instead of naming it. */
  readonly ofsDeltas: boolean;
  /** Whether deltas may be of objects that the client has. */
  readonly thin: boolean;
}

/**
 * Writes a pack of selected objects, in parts. They are sent as they are stored, unless they are deltas of something
 * that the client would not have.
 */
export async function* writePack(
  selection: Selection,
  options: PackOptions,
  pace: Pace,
): AsyncGenerator<Buffer> {
  const hash = createHash("sha1");
  for await (const part of new Sender(selection, options, pace).parts()) {
    hash.update(part);
    yield part;
  }
  yield hash.digest();
}

/** Writes one pack. */
class Sender {
  readonly #selection: Selection;
  readonly #repository: Repository;
  readonly #options: PackOptions;
  readonly #pace: Pace;
  /** Where each object was written; 0 if it was not yet. */
  readonly #places: Float64Array;
  /** How many deltas lead from each object to one that is whole. */
  readonly #depths: Uint8Array;
  #held: Buffer[] = [];
  #holds = 0;
  #length = 0;

  constructor(selection: Selection, options: PackOptions, pace: Pace) {
    this.#selection = selection;
    this.#repository = selection.repository;
    this.#options = options;
    this.#pace = pace;
    this.#places = new Float64Array(this.#repository.count);
    this.#depths = new Uint8Array(this.#repository.count);
  }

  async *parts(): AsyncGenerator<Buffer> {
    const head = Buffer.from("PACK\0\0\0\x02\0\0\0\0", "latin1");
    head.writeUInt32BE(this.#selection.count, 8);
    this.#write(head);
    const marks = this.#oldest();
    for (const [place, pack] of this.#repository.list.entries()) {
      const start = this.#repository.startOf(place);
      let count = 0;
      for (let entry = 0; entry < pack.count; entry += 1) count += marks[start + entry] as number;
      if (count === 0) continue;
      if (count === pack.count && this.#options.ofsDeltas) yield* this.#wholePack(pack, start);
      else {
        for (let entry = 0; entry < pack.count; entry += 1) {
          if (marks[start + entry]) yield* this.#entry(pack, start, entry);
        }
      }
    }
    yield this.#cut();
  }

  /**
   * Marks the oldest copies of the selected objects. As they were pushed first they may be deltas; later copies are
   * whole. A base that is in another pack is then in an older one, which is written before.
   */
  #oldest(): Uint8Array {
    const repository = this.#repository;
    const { marks } = this.#selection;
    if (repository.list.length === 1) return marks;
    const oldest = new Uint8Array(repository.count);
    for (let object = 0; object < repository.count; object += 1) {
      if (marks[object]) oldest[repository.findOldest(repository.oidOf(object))] = 1;
    }
    return oldest;
  }

  #write(bytes: Buffer): void {
    this.#held.push(bytes);
    this.#holds += bytes.length;
    this.#length += bytes.length;
  }

  #cut(): Buffer {
    const part = this.#held.length === 1 ? (this.#held[0] as Buffer) : Buffer.concat(this.#held);
    this.#held = [];
    this.#holds = 0;
    return part;
  }

  /** Copies bytes of a pack. */
  async *#copy(pack: Pack, from: number, to: number): AsyncGenerator<Buffer> {
    for await (const part of this.#repository.packs.parts(pack.id, from, to)) {
      this.#write(part);
      if (this.#holds >= CHUNK) yield this.#cut();
      if (this.#pace.isDue) await this.#pace.pause();
    }
  }

  async *#wholePack(pack: Pack, start: number): AsyncGenerator<Buffer> {
    for (let entry = 0; entry < pack.count; entry += 1) {
      this.#places[start + entry] = this.#length + (pack.offsets[entry] as number);
      // Unknown, and mostly less.
      this.#depths[start + entry] = MAX_CHAIN / 4;
    }
    yield* this.#copy(pack, 0, pack.length);
  }

  async *#entry(pack: Pack, start: number, entry: number): AsyncGenerator<Buffer> {
    const from = pack.offsets[entry] as number;
    const to = pack.offsets[entry + 1] as number;
    const isLarge = to - from > LARGE;
    const raw = await this.#repository.packs.range(pack.id, from, isLarge ? from + MAX_HEADER : to);
    const header = readHeader(raw, 0) as EntryHeader;
    this.#places[start + entry] = this.#length;
    if (header.type === OFS_DELTA || header.type === REF_DELTA) {
      const base =
        header.type === OFS_DELTA
          ? pack.entryAt(from - header.distance)
          : pack.oids.find(raw, header.base);
      const beginning = this.#deltaHeader(pack, start, entry, base, header);
      if (beginning) {
        this.#write(beginning);
        if (isLarge) yield* this.#copy(pack, from + header.end, to);
        else this.#write(raw.subarray(header.end));
      } else {
        const { type, data } = await this.#repository.packs.read(pack, entry);
        this.#write(writeHeader(type, data.length));
        this.#write(deflateSync(data, { level: 1 }));
      }
    } else if (isLarge) yield* this.#copy(pack, from, to);
    else this.#write(raw);
    if (this.#holds >= CHUNK) yield this.#cut();
    if (this.#pace.isDue) await this.#pace.pause();
  }

  /** The header with which a delta is sent; `undefined` if the client would not have its base. */
  #deltaHeader(
    pack: Pack,
    start: number,
    entry: number,
    base: number,
    { size }: EntryHeader,
  ): Buffer | undefined {
    const oid = pack.oids.bytesOf(base);
    const sent = this.#places[start + base] ? start + base : this.#repository.findOldest(oid);
    const place = this.#places[sent] as number;
    const depth = (this.#depths[sent] as number) + 1;
    if (place > 0 && depth <= MAX_CHAIN) {
      this.#depths[start + entry] = depth;
      return this.#options.ofsDeltas
        ? Buffer.concat([writeHeader(OFS_DELTA, size), writeDistance(this.#length - place)])
        : Buffer.concat([writeHeader(REF_DELTA, size), oid]);
    }
    if (!this.#options.thin || !this.#selection.had[this.#repository.find(oid)]) return undefined;
    return Buffer.concat([writeHeader(REF_DELTA, size), oid]);
  }
}
