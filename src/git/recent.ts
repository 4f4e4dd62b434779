import { moved } from "./received.ts";

const MEBIBYTE = 1024 * 1024;
/** The room for contents, in bytes. Each time it is full, it becomes larger by this factor: most packs are small. */
const FIRST = 16 * 1024;
const FACTOR = 4;
const MOST = 16 * MEBIBYTE;
/** Contents that are among the last bytes, so many, are not moved when they are used. */
const YOUNG = MOST / 4;
/** Larger contents, in bytes, are not kept. With one more of this size, which may not fit at the end, young ones stay. */
const LARGEST = (MOST - YOUNG) / 2;
/** Room for at least so many entries. */
const FEWEST = 64;
/** The place of contents that were never added. */
const NONE = -1;

/**
 * The contents of a pack's entries that were used last. They lie one after the other in one buffer, which begins anew at
 * its end: with a buffer for each, the garbage collector would take as long as the rest (decision 84).
 */
export class RecentContents {
  #bytes = Buffer.alloc(0);
  /** The place of the next content: how many bytes were ever used. */
  #next = 0;
  /** Of each entry: its place, and its size. */
  #placeOf = new Float64Array(FEWEST).fill(NONE);
  #sizeOf = new Uint32Array(FEWEST);

  /**
   * The content of an entry, if it is still in memory.
   *
   * @returns a view, valid while one more content is added, and until the next is
   */
  get(entry: number): Buffer | undefined {
    const place = this.#placeOf[entry] ?? NONE;
    const age = this.#next - place;
    if (place === NONE || age > MOST) return undefined;
    const start = place % MOST;
    const content = this.#bytes.subarray(start, start + (this.#sizeOf[entry] as number));
    if (age <= YOUNG) return content;
    // What is used stays. Its new place may be part of its old one.
    const again = this.reserve(entry, content.length);
    again.set(content);
    return again;
  }

  /** Adds the content of an entry, which is copied. */
  add(entry: number, content: Buffer): void {
    if (content.length <= LARGEST) this.reserve(entry, content.length).set(content);
  }

  /**
   * Makes room for the content of an entry, which the caller fills in. It is not kept if it would displace too many
   * others.
   */
  reserve(entry: number, size: number): Buffer {
    while (this.#placeOf.length <= entry) this.#grow();
    if (size > LARGEST) return Buffer.allocUnsafeSlow(size);
    if (this.#next + size > this.#bytes.length) this.#widen(this.#next + size);
    const rest = MOST - (this.#next % MOST);
    if (size > rest) this.#next += rest;
    const start = this.#next % MOST;
    this.#placeOf[entry] = this.#next;
    this.#sizeOf[entry] = size;
    this.#next += size;
    return this.#bytes.subarray(start, start + size);
  }

  /** Makes room for more bytes, as long as there may be more. */
  #widen(needed: number): void {
    const { length } = this.#bytes;
    if (length === MOST) return;
    let room = Math.max(length, FIRST);
    while (room < Math.min(needed, MOST)) room *= FACTOR;
    const larger = Buffer.allocUnsafeSlow(Math.min(room, MOST));
    larger.set(this.#bytes);
    this.#bytes = larger;
  }

  /** Makes room for more entries. */
  #grow(): void {
    const count = this.#placeOf.length;
    this.#placeOf = moved(this.#placeOf, new Float64Array(2 * count).fill(NONE, count));
    this.#sizeOf = moved(this.#sizeOf, new Uint32Array(2 * count));
  }
}
