type Numbers = Uint8Array | Uint16Array | Uint32Array | Int32Array | Float64Array;

/** Numbers in a typed array that grows: a tenth of the memory of objects. */
export class Column<A extends Numbers> {
  #array: A;
  #length: number;

  /**
   * @param array of the type; it is copied before more is added than fits
   * @param length how many of its numbers are taken over
   */
  constructor(array: A, length = 0) {
    this.#array = array;
    this.#length = length;
  }

  get length(): number {
    return this.#length;
  }

  /** The numbers that were added; a view, valid until more are. */
  get array(): A {
    return this.#array.subarray(0, this.#length) as A;
  }

  /** One of the numbers that were added. */
  at(index: number): number {
    return this.#array[index] as number;
  }

  push(value: number): void {
    if (this.#length === this.#array.length) this.#reserve(1);
    this.#array[this.#length] = value;
    this.#length += 1;
  }

  /** Adds all of some numbers. */
  append(values: ArrayLike<number>): void {
    this.#reserve(values.length);
    this.#array.set(values, this.#length);
    this.#length += values.length;
  }

  /** Replaces one of the numbers that were added. */
  set(index: number, value: number): void {
    this.#array[index] = value;
  }

  #reserve(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#array.length) return;
    const larger = Reflect.construct(this.#array.constructor, [Math.max(needed, 2 * this.#length)]);
    larger.set(this.array);
    this.#array = larger;
  }
}
