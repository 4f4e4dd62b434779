import { RefusedError } from "./errors.ts";
import { OID_BYTES, OidTable } from "./oid-table.ts";

/** What an index says about the entries of a pack, in the pack's order. */
export interface PackContents {
  readonly types: Uint8Array;
  /** The sizes of the objects. */
  readonly sizes: Uint32Array;
  /** How many bytes each entry has in the pack. */
  readonly lengths: Uint32Array;
  /** The objects' names. */
  readonly oids: Uint8Array;
  /** Which entries are commits. */
  readonly commits: Uint32Array;
  /** When each commit was committed, in seconds of the epoch. */
  readonly times: Float64Array;
  /** The name of each commit's tree. */
  readonly trees: Uint8Array;
  /** How many parents each commit has. */
  readonly parentCounts: Uint8Array;
  /** The names of their parents. */
  readonly parents: Uint8Array;
}

/** The two counts at the beginning of an index. */
const HEAD_BYTES = 8;

/** Writes an index. Columns of wider numbers come first, so that all are aligned. */
export function writeIndex(contents: PackContents): Buffer {
  const { types, sizes, lengths, oids, commits, times, trees, parentCounts, parents } = contents;
  const head = Uint32Array.of(types.length, commits.length);
  const columns = [head, times, sizes, lengths, commits, oids, trees, parents, types, parentCounts];
  return Buffer.concat(
    columns.map(({ buffer, byteOffset, byteLength }) =>
      Buffer.from(buffer, byteOffset, byteLength),
    ),
  );
}

/** A pack and its index. Neither ever changes. */
export class Pack implements Omit<PackContents, "oids" | "lengths"> {
  readonly id: number;
  readonly types: Uint8Array;
  readonly sizes: Uint32Array;
  readonly commits: Uint32Array;
  readonly times: Float64Array;
  readonly trees: Buffer;
  readonly parentCounts: Uint8Array;
  readonly parents: Buffer;
  /** The objects' names: their numbers are those of the entries. */
  readonly oids: OidTable;
  /** Where each entry begins, and where the last one ends. */
  readonly offsets: Float64Array;
  /** Memory used, in bytes. */
  readonly memory: number;

  /** @param index as {@link writeIndex} wrote it, in pieces */
  constructor(id: number, index: readonly Uint8Array[]) {
    // Not `Buffer.concat`: its small buffers are not aligned.
    const all = new Uint8Array(index.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const piece of index) {
      all.set(piece, at);
      at += piece.length;
    }
    const { buffer } = all;
    const [objects = 0, commits = 0] = new Uint32Array(buffer, 0, 2);
    at = HEAD_BYTES;
    const next = (bytes: number) => {
      at += bytes;
      return at - bytes;
    };
    this.id = id;
    this.times = new Float64Array(buffer, next(8 * commits), commits);
    this.sizes = new Uint32Array(buffer, next(4 * objects), objects);
    const lengths = new Uint32Array(buffer, next(4 * objects), objects);
    this.commits = new Uint32Array(buffer, next(4 * commits), commits);
    const words = objects * (OID_BYTES / 4);
    this.oids = OidTable.over(new Int32Array(buffer, next(OID_BYTES * objects), words));
    this.trees = Buffer.from(buffer, next(OID_BYTES * commits), OID_BYTES * commits);
    const parents = all.length - at - objects - commits;
    this.parents = Buffer.from(buffer, next(parents), parents);
    this.types = new Uint8Array(buffer, next(objects), objects);
    this.parentCounts = new Uint8Array(buffer, next(commits), commits);
    this.offsets = new Float64Array(objects + 1);
    for (let entry = 0; entry < objects; entry += 1) {
      this.offsets[entry + 1] = (this.offsets[entry] as number) + (lengths[entry] as number);
    }
    this.memory = all.length + this.oids.bytes + this.offsets.byteLength;
  }

  /** How many entries it has. */
  get count(): number {
    return this.types.length;
  }

  /** The bytes of all entries. */
  get length(): number {
    return this.offsets[this.count] as number;
  }

  /** The entry that begins at an offset. @throws RefusedError if there is none */
  entryAt(offset: number): number {
    return entryAt(this.offsets, this.count, offset);
  }
}

/**
 * Finds the entry that begins at an offset.
 *
 * @param offsets where the entries begin
 * @param count how many there are
 * @throws RefusedError if none begins there
 */
export function entryAt(offsets: Float64Array, count: number, offset: number): number {
  let low = 0;
  let high = count - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const found = offsets[middle] as number;
    if (found === offset) return middle;
    if (found < offset) low = middle + 1;
    else high = middle - 1;
  }
  throw new RefusedError("a delta's base is not in the pack");
}
