import { moved } from "./received.ts";

const MEBIBYTE = 1024 * 1024;
/** Contents lie side by side in blocks of this size, in bytes. */
const BLOCK = MEBIBYTE;
/** The first block has this size, and each of the next ones twice that of the one before: most packs are small. */
const FIRST = BLOCK / 64;
/** Larger contents, in bytes, have a block of their own. */
const LARGE = BLOCK / 4;
/** Room for at least so many entries. */
const FEWEST = 64;
/** The number of no block. */
const NONE = -1;
/** All blocks together, in bytes. */
const MOST = 16 * MEBIBYTE;

interface Block {
  readonly bytes: Buffer;
  /** How many bytes all blocks before it had. */
  readonly from: number;
}

/**
 * The contents of a pack's entries that were used last. They lie in blocks of memory that are used again: with a buffer
 * for each, the garbage collector would take as long as the rest.
 */
export class RecentContents {
  /** By their numbers, the oldest first. */
  readonly #blocks = new Map<number, Block>();
  /** The number of the block that is being filled; -1 if there is none. */
  #open = -1;
  /** How much of it is filled. */
  #filled = 0;
  /** How many blocks there ever were, and their bytes. */
  #count = 0;
  #total = 0;
  /** The bytes of the blocks that there are. */
  #held = 0;
  /** A block that is no longer needed. */
  #spare: Buffer | undefined;

  /** Of each entry: the number of its block, where its content begins there, and its size. */
  #blockOf = new Int32Array(FEWEST).fill(NONE);
  #startOf = new Uint32Array(FEWEST);
  #sizeOf = new Uint32Array(FEWEST);

  /**
   * The content of an entry, if it is still in memory.
   *
   * @returns a view, valid until contents of half of this cache's size were added
   */
  get(entry: number): Buffer | undefined {
    const block = this.#blocks.get(this.#blockOf[entry] ?? NONE);
    if (!block) return undefined;
    const start = this.#startOf[entry] as number;
    const content = block.bytes.subarray(start, start + (this.#sizeOf[entry] as number));
    if (!this.#isOld(block)) return content;
    // What is used stays. It may be moved within its own block, which is used again.
    const copy = this.reserve(entry, content.length);
    copy.set(content);
    return copy;
  }

  /** Adds the content of an entry, which is copied. */
  add(entry: number, content: Buffer): void {
    if (content.length <= MOST / 2) this.reserve(entry, content.length).set(content);
  }

  /**
   * Makes room for the content of an entry, which the caller fills in. It is not kept if it would displace too many
   * others. All entries before were added already.
   */
  reserve(entry: number, size: number): Buffer {
    while (this.#blockOf.length <= entry) this.#grow();
    if (size > MOST / 2) return Buffer.allocUnsafeSlow(size);
    if (size > LARGE) return this.#place(entry, this.#add(Buffer.allocUnsafeSlow(size)), 0, size);
    const open = this.#blocks.get(this.#open);
    if (!open || this.#isOld(open) || this.#filled + size > open.bytes.length) {
      const length = Math.min(BLOCK, Math.max(2 * (open?.bytes.length ?? FIRST / 2), 4 * size));
      this.#makeRoom(length);
      const spare = length === BLOCK ? this.#spare : undefined;
      this.#open = this.#add(spare ?? Buffer.allocUnsafeSlow(length));
      if (spare) this.#spare = undefined;
      this.#filled = 0;
    }
    this.#filled += size;
    return this.#place(entry, this.#open, this.#filled - size, size);
  }

  /** Whether a block is in the older half. */
  #isOld({ from }: Block): boolean {
    return this.#total - from > MOST / 2;
  }

  #place(entry: number, number: number, start: number, size: number): Buffer {
    this.#blockOf[entry] = number;
    this.#startOf[entry] = start;
    this.#sizeOf[entry] = size;
    return (this.#blocks.get(number) as Block).bytes.subarray(start, start + size);
  }

  /** Makes room for more entries. */
  #grow(): void {
    const count = this.#blockOf.length;
    this.#blockOf = moved(this.#blockOf, new Int32Array(2 * count).fill(NONE, count));
    this.#startOf = moved(this.#startOf, new Uint32Array(2 * count));
    this.#sizeOf = moved(this.#sizeOf, new Uint32Array(2 * count));
  }

  /** Adds a block, and returns its number. */
  #add(bytes: Buffer): number {
    this.#makeRoom(bytes.length);
    this.#blocks.set(this.#count, { bytes, from: this.#total });
    this.#held += bytes.length;
    this.#total += bytes.length;
    this.#count += 1;
    return this.#count - 1;
  }

  /** Drops the oldest blocks. */
  #makeRoom(size: number): void {
    for (const [number, { bytes }] of this.#blocks) {
      if (this.#held + size <= MOST) return;
      this.#blocks.delete(number);
      this.#held -= bytes.length;
      if (bytes.length === BLOCK) this.#spare = bytes;
    }
  }
}
