/** Room for at least so many entries. */
const LEAST = 16;

/**
 * What is known of the entries of a pack while it arrives, by their numbers, in typed arrays that are replaced by larger
 * ones as entries are added. Columns would do the same, but code
 * that all kinds of arrays share is slower.
 */
export class ReceivedEntries {
  /** Where each begins in the pack. */
  offsets: Float64Array;
  /** How many bytes each has in the pack. */
  lengths: Uint32Array;
  /** The size of each one's object. */
  sizes: Uint32Array;
  /** The type of each one's object; 0 of those that are not known yet. */
  types: Uint8Array;
  /** How many deltas lead from each to an object that is none. */
  depths: Uint16Array;
  /** The number of each one's name; -1 of those that have none yet. */
  names: Int32Array;
  /** The entry with each name. */
  named: Uint32Array;
  #count = 0;

  /** @param expected how many there will be; it may be wrong */
  constructor(expected: number) {
    const room = Math.max(expected, LEAST);
    this.offsets = new Float64Array(room);
    this.lengths = new Uint32Array(room);
    this.sizes = new Uint32Array(room);
    this.types = new Uint8Array(room);
    this.depths = new Uint16Array(room);
    this.names = new Int32Array(room);
    this.named = new Uint32Array(room);
  }

  /** How many there are. */
  get count(): number {
    return this.#count;
  }

  /** Adds one that is not known yet, and returns its number. */
  add(offset: number, length: number): number {
    const entry = this.#count;
    if (entry === this.offsets.length) this.#grow();
    this.offsets[entry] = offset;
    this.lengths[entry] = length;
    this.names[entry] = -1;
    this.#count += 1;
    return entry;
  }

  #grow(): void {
    const room = 2 * this.offsets.length;
    this.offsets = moved(this.offsets, new Float64Array(room));
    this.lengths = moved(this.lengths, new Uint32Array(room));
    this.sizes = moved(this.sizes, new Uint32Array(room));
    this.types = moved(this.types, new Uint8Array(room));
    this.depths = moved(this.depths, new Uint16Array(room));
    this.names = moved(this.names, new Int32Array(room));
    this.named = moved(this.named, new Uint32Array(room));
  }
}

/** Copies numbers to a larger array, and returns that. */
export function moved<Larger extends { set(from: ArrayLike<number>): void }>(
  from: ArrayLike<number>,
  to: Larger,
): Larger {
  to.set(from);
  return to;
}
