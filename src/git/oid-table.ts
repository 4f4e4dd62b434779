import { randomBytes } from "node:crypto";

/** Bytes of an object's name, its SHA-1. */
export const OID_BYTES = 20;
const WORDS = 5;

/** Secret, because clients choose the names in a tree: otherwise they could choose names that all collide. */
const SEED = new Int32Array(new Uint8Array(randomBytes(8)).buffer);

/**
 * Objects' names, numbered in the order they were added, with the numbers found by name. Typed arrays instead of a `Map`:
 * a repository can have millions of names, and this takes 28 bytes for each.
 */
export class OidTable {
  #words: Int32Array;
  #slots: Int32Array;
  #mask = 0;
  #size = 0;

  /** @param expected how many names there will be */
  constructor(expected: number) {
    this.#words = new Int32Array(WORDS * Math.max(expected, 16));
    this.#slots = new Int32Array(0);
    this.#index(2 * expected);
  }

  /** The names in an array, all different, without copying them: no further names may be added. */
  static over(words: Int32Array): OidTable {
    const table = new OidTable(0);
    table.#words = words;
    table.#size = words.length / WORDS;
    table.#index(2 * table.#size);
    return table;
  }

  /** A copy of the first names, to which others can be added. */
  first(count: number): OidTable {
    const table = new OidTable(count);
    table.#words.set(this.#words.subarray(0, WORDS * count));
    table.#size = count;
    table.#index(2 * count);
    return table;
  }

  /** How many names there are. */
  get size(): number {
    return this.#size;
  }

  /** Memory used, in bytes. */
  get bytes(): number {
    return this.#words.byteLength + this.#slots.byteLength;
  }

  /** The number of a name, which begins at `at`; -1 if it was not added. */
  find(bytes: Uint8Array, at = 0): number {
    const slot = this.#slotOf(bytes, at);
    return slot < 0 ? -1 : (this.#slots[slot] as number);
  }

  /** Adds a name, and returns its number; the one it had before, if it was added already. */
  add(bytes: Uint8Array, at = 0): number {
    const slot = this.#slotOf(bytes, at);
    if (slot >= 0) return this.#slots[slot] as number;
    const number = this.#size;
    this.#size += 1;
    const start = WORDS * number;
    if (start + WORDS > this.#words.length) {
      const larger = new Int32Array(this.#words.length * 2);
      larger.set(this.#words);
      this.#words = larger;
    }
    for (let word = 0; word < WORDS; word += 1) {
      this.#words[start + word] = wordAt(bytes, at + 4 * word);
    }
    this.#slots[~slot] = number;
    if (this.#size * 2 > this.#mask) this.#index(this.#slots.length);
    return number;
  }

  /** The name with a number; a view that must not be changed, valid until the next name is added. */
  bytesOf(number: number): Buffer {
    const { buffer, byteOffset } = this.#words;
    return Buffer.from(buffer, byteOffset + OID_BYTES * number, OID_BYTES);
  }

  /** Writes the names with some numbers, one after the other, to where a target has room for them. */
  copy(numbers: ArrayLike<number>, target: Uint8Array, start: number): void {
    const names = this.all;
    let to = start;
    for (let index = 0; index < numbers.length; index += 1) {
      const from = OID_BYTES * (numbers[index] as number);
      for (let at = 0; at < OID_BYTES; at += 1) target[to + at] = names[from + at] as number;
      to += OID_BYTES;
    }
  }

  /** All names, one after the other; a view that must not be changed, valid until the next name is added. */
  get all(): Uint8Array {
    const { buffer, byteOffset } = this.#words;
    return new Uint8Array(buffer, byteOffset, OID_BYTES * this.#size);
  }

  /**
   * The numbers of names that begin with some hex digits; all names are looked at.
   *
   * @param digits at least two
   * @param most how many to find
   */
  withPrefix(digits: string, most: number): number[] {
    const found: number[] = [];
    const first = Number.parseInt(digits.slice(0, 2), 16);
    const names = this.all;
    for (let number = 0; number < this.#size && found.length < most; number += 1) {
      if (names[OID_BYTES * number] !== first) continue;
      if (this.bytesOf(number).toString("hex").startsWith(digits)) found.push(number);
    }
    return found;
  }

  /** Where a name is, or the complement of where it belongs. */
  #slotOf(bytes: Uint8Array, at: number): number {
    const words = this.#words;
    const slots = this.#slots;
    const first = wordAt(bytes, at);
    const second = wordAt(bytes, at + 4);
    let hash =
      Math.imul(first ^ (SEED[0] as number), 0x9e3779b1) ^
      Math.imul(second ^ (SEED[1] as number), 0x85ebca77);
    hash ^= hash >>> 15;
    for (let slot = hash & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const number = slots[slot] as number;
      if (number < 0) return ~slot;
      const start = WORDS * number;
      if (
        words[start] === first &&
        words[start + 1] === second &&
        words[start + 2] === wordAt(bytes, at + 8) &&
        words[start + 3] === wordAt(bytes, at + 12) &&
        words[start + 4] === wordAt(bytes, at + 16)
      ) {
        return slot;
      }
    }
  }

  /** Finds a slot for each name again, among more than `least`. */
  #index(least: number): void {
    let slots = 64;
    while (slots <= least) slots *= 2;
    this.#slots = new Int32Array(slots).fill(-1);
    this.#mask = slots - 1;
    const names = this.all;
    for (let number = 0; number < this.#size; number += 1) {
      this.#slots[~this.#slotOf(names, OID_BYTES * number)] = number;
    }
  }
}

function wordAt(bytes: Uint8Array, at: number): number {
  return (
    (bytes[at] as number) |
    ((bytes[at + 1] as number) << 8) |
    ((bytes[at + 2] as number) << 16) |
    ((bytes[at + 3] as number) << 24)
  );
}
