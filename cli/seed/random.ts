/** Pseudo-random choices, the same for the same seed. */
export class Random {
  #state: number;

  constructor(start: number) {
    this.#state = start;
  }

  /** A number from 0 up to 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** Returns true with this likelihood. */
  chance(likelihood: number): boolean {
    return this.next() < likelihood;
  }

  integer(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  /** A number between the two; smaller ones are far more frequent. */
  skewed(least: number, most: number): number {
    return least * (most / least) ** this.next();
  }

  pick<T>(values: readonly T[]): T {
    return values[this.integer(0, values.length - 1)] as T;
  }

  /** Distinct values in random order. */
  sample<T>(values: readonly T[], count: number): T[] {
    const left = [...values];
    return Array.from({ length: Math.min(count, left.length) }, (_, at) => {
      const chosen = this.integer(at, left.length - 1);
      [left[at], left[chosen]] = [left[chosen] as T, left[at] as T];
      return left[at] as T;
    });
  }

  /** Splits a total into uneven parts. */
  spread(total: number, parts: number): number[] {
    const weights = Array.from({ length: parts }, () => 0.4 + this.next() * 1.2);
    const all = weights.reduce((sum, weight) => sum + weight, 0);
    let weight = 0;
    let dealt = 0;
    return weights.map((one) => {
      weight += one;
      const upToHere = Math.round((total * weight) / all);
      const part = upToHere - dealt;
      dealt = upToHere;
      return part;
    });
  }

  /** Lower-case hexadecimal digits. */
  hex(digits: number): string {
    let text = "";
    while (text.length < digits) {
      text += Math.floor(this.next() * 4_294_967_296)
        .toString(16)
        .padStart(8, "0");
    }
    return text.slice(0, digits);
  }
}
