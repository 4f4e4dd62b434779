import { STEPS as SLICE, type Steps } from "../turns/pace.ts";
import type { Differences } from "./myers.ts";
import { type Numbered, shortestDifferences } from "./shortest.ts";

/** Lines that occur more often than this divide no text. */
const COMMON = 64;
/** Steps after which a comparison stops looking for what is common. */
const STEPS = 20_000_000;

/** Lines that two texts have in common, one after the other. */
interface Run {
  readonly a: number;
  readonly b: number;
  readonly length: number;
}

/** Parts of both texts. */
interface Box {
  readonly fromA: number;
  readonly toA: number;
  readonly fromB: number;
  readonly toB: number;
}

/**
 * Finds what two texts have in common by dividing them at the run of equal lines that is rarest, then longest, as JGit's
 * histogram difference does. Parts that have only frequent lines in common are compared by the shortest list of changes.
 */
export function* histogramDifferences({ a, b, count }: Numbered): Steps<Differences> {
  const differences = { a: new Uint8Array(a.length), b: new Uint8Array(b.length) };
  const index = new Occurrences(a, count);
  let steps = STEPS;
  const open: Box[] = [{ fromA: 0, toA: a.length, fromB: 0, toB: b.length }];
  for (let box = open.pop(); box; box = open.pop()) {
    const { fromA, toA, fromB, toB } = box;
    steps -= toA - fromA + toB - fromB;
    const isEmpty = fromA === toA || fromB === toB;
    const search = isEmpty || steps < 0 ? undefined : new Search();
    yield* search?.run(a, b, index, box, steps) ?? [];
    steps -= search?.steps ?? 0;
    if (search?.isFrequent) {
      const part = { a: a.slice(fromA, toA), b: b.slice(fromB, toB), count };
      const found = yield* shortestDifferences(part);
      differences.a.set(found.a, fromA);
      differences.b.set(found.b, fromB);
      steps -= count;
    } else if (search?.best) {
      const { best } = search;
      open.push({ fromA, toA: best.a, fromB, toB: best.b });
      open.push({ fromA: best.a + best.length, toA, fromB: best.b + best.length, toB });
    } else {
      differences.a.fill(1, fromA, toA);
      differences.b.fill(1, fromB, toB);
    }
  }
  return differences;
}

/** Where each line of a part of a text occurs, and how often. */
class Occurrences {
  readonly #numbers: Int32Array;
  readonly #first: Int32Array;
  readonly #next: Int32Array;
  readonly #counts: Int32Array;

  constructor(numbers: Int32Array, count: number) {
    this.#numbers = numbers;
    this.#first = new Int32Array(count).fill(-1);
    this.#next = new Int32Array(numbers.length);
    this.#counts = new Int32Array(count);
  }

  add(from: number, to: number): void {
    for (let place = to - 1; place >= from; place -= 1) {
      const number = this.#numbers[place] as number;
      this.#next[place] = this.#first[number] as number;
      this.#first[number] = place;
      this.#counts[number] = (this.#counts[number] as number) + 1;
    }
  }

  remove(from: number, to: number): void {
    for (let place = from; place < to; place += 1) {
      const number = this.#numbers[place] as number;
      this.#first[number] = -1;
      this.#counts[number] = 0;
    }
  }

  /** The first place of a line; -1 if there is none. */
  firstOf(number: number): number {
    return this.#first[number] as number;
  }

  /** The next place of the line at a place; -1 if there is none. */
  after(place: number): number {
    return this.#next[place] as number;
  }

  countOf(number: number): number {
    return this.#counts[number] as number;
  }
}

/** The best run of equal lines in parts of both texts. */
class Search {
  best: Run | undefined;
  steps = 0;
  #hasCommon = false;
  /** How often the rarest line of the best run occurs. */
  #rarity = COMMON + 1;

  /** @param most steps after which the best run found so far is taken */
  *run(
    a: Int32Array,
    b: Int32Array,
    index: Occurrences,
    { fromA, toA, fromB, toB }: Box,
    most: number,
  ): Steps<void> {
    index.add(fromA, toA);
    let told = 0;
    for (let at = fromB; at < toB && this.steps < most; ) {
      if (this.steps + at - fromB - told >= SLICE) {
        yield SLICE;
        told = this.steps + at - fromB;
      }
      let next = at + 1;
      const number = b[at] as number;
      let place = index.firstOf(number);
      if (place >= 0) this.#hasCommon = true;
      if (index.countOf(number) > this.#rarity) place = -1;
      while (place >= 0) {
        let rarity = index.countOf(number);
        let [startA, startB] = [place, at];
        while (startA > fromA && startB > fromB && a[startA - 1] === b[startB - 1]) {
          startA -= 1;
          startB -= 1;
          rarity = Math.min(rarity, index.countOf(a[startA] as number));
        }
        let [endA, endB] = [place + 1, at + 1];
        while (endA < toA && endB < toB && a[endA] === b[endB]) {
          rarity = Math.min(rarity, index.countOf(a[endA] as number));
          endA += 1;
          endB += 1;
        }
        this.steps += endA - startA;
        next = Math.max(next, endB);
        const length = endA - startA;
        if (length > (this.best?.length ?? 0) || rarity < this.#rarity) {
          this.best = { a: startA, b: startB, length };
          this.#rarity = rarity;
        }
        do place = index.after(place);
        while (place >= 0 && place < endA);
      }
      at = next;
    }
    index.remove(fromA, toA);
  }

  /** Whether all that the parts have in common are frequent lines. */
  get isFrequent(): boolean {
    return this.#hasCommon && this.#rarity > COMMON;
  }
}
