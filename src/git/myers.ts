import { STEPS as SLICE, type Steps } from "../turns/pace.ts";

/** Steps after which a comparison stops looking for what is common: some tenths of a second. */
const STEPS = 20_000_000;
/** A diagonal that no path has reached, for those that go right and for those that go left. */
const NEVER = -1;
const BEYOND = 2 ** 31 - 1;
/** From this cost on, a path that has come far is good enough. */
const COSTLY = 256;
/** How many equal numbers in a row make a path a promising one. */
const PROMISING = 20;
/** How much further than its cost a promising path must have come. */
const FAR = 4;

/** Which numbers of two sequences are not common to both. */
export interface Differences {
  readonly a: Uint8Array;
  readonly b: Uint8Array;
}

/** A part of both sequences: of one from `left` to `right`, of the other from `top` to `bottom`. */
interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
  /** Whether the cheapest path is wanted, whatever it takes to find it. */
  readonly isExact: boolean;
}

/** Where a box is divided, and which of the halves are to be compared exactly. */
interface Split {
  readonly x: number;
  readonly y: number;
  readonly isFirstExact: boolean;
  readonly isLastExact: boolean;
}

/** How far paths from one corner of a box have come on each diagonal. */
class Frontier {
  readonly #reached: Int32Array;
  readonly #origin: number;
  readonly #unreached: number;
  low = 0;
  high = 0;

  constructor(columns: number, rows: number, unreached: number) {
    this.#reached = new Int32Array(columns + rows + 3);
    this.#origin = rows + 1;
    this.#unreached = unreached;
  }

  begin(diagonal: number, x: number): void {
    this.low = diagonal;
    this.high = diagonal;
    this.set(diagonal, x);
  }

  at(diagonal: number): number {
    return this.#reached[this.#origin + diagonal] as number;
  }

  set(diagonal: number, x: number): void {
    this.#reached[this.#origin + diagonal] = x;
  }

  /** Goes on to the diagonals of the next cost: one more on either side, or one less where the box ends. */
  widen(lowest: number, highest: number): void {
    if (this.low > lowest) {
      this.low -= 1;
      this.set(this.low - 1, this.#unreached);
    } else this.low += 1;
    if (this.high < highest) {
      this.high += 1;
      this.set(this.high + 1, this.#unreached);
    } else this.high -= 1;
  }

  has(diagonal: number): boolean {
    return this.low <= diagonal && diagonal <= this.high;
  }
}

/**
 * Finds what two sequences of numbers have in common, dividing them where the cheapest paths from both ends meet (Myers,
 * "An O(ND) Difference Algorithm and Its Variations", 1986, section 4b). What would take too long is divided where the
 * paths have come furthest, as `git diff` does; what takes longer still counts as different.
 */
export class Comparison {
  readonly #a: Int32Array;
  readonly #b: Int32Array;
  readonly #differences: Differences;
  readonly #ahead: Frontier;
  readonly #back: Frontier;
  /** The cost from which on the path that has come furthest is taken. */
  readonly #most: number;
  #steps = STEPS;
  /** The steps that were left when it last said so. */
  #told = STEPS;

  constructor(a: Int32Array, b: Int32Array) {
    this.#a = a;
    this.#b = b;
    this.#differences = { a: new Uint8Array(a.length), b: new Uint8Array(b.length) };
    this.#ahead = new Frontier(a.length, b.length, NEVER);
    this.#back = new Frontier(a.length, b.length, BEYOND);
    this.#most = Math.max(COSTLY, roughRoot(a.length + b.length + 3));
  }

  /** The numbers that are not common. */
  *run(): Steps<Differences> {
    const { a, b } = this.#differences;
    const whole = { left: 0, right: a.length, top: 0, bottom: b.length, isExact: false };
    const open: Box[] = [whole];
    for (let next = open.pop(); next; next = open.pop()) {
      const box = this.#shrink(next);
      // What is equal takes steps, too, but no part of those that it has.
      this.#told += 1 + box.left - next.left + next.right - box.right;
      yield* this.#tell();
      const { left, right, top, bottom } = box;
      if (left === right || top === bottom || this.#steps < 0) {
        a.fill(1, left, right);
        b.fill(1, top, bottom);
        continue;
      }
      const { x, y, isFirstExact, isLastExact } = yield* this.#split(box);
      open.push({ left, right: x, top, bottom: y, isExact: isFirstExact });
      open.push({ left: x, right, top: y, bottom, isExact: isLastExact });
    }
    return this.#differences;
  }

  /** Lets pauses be made after some steps. */
  *#tell(): Steps<void> {
    if (this.#told - this.#steps < SLICE) return;
    yield this.#told - this.#steps;
    this.#told = this.#steps;
  }

  /** A box without what is equal at its beginning and at its end. */
  #shrink({ left, right, top, bottom, isExact }: Box): Box {
    const most = Math.min(right - left, bottom - top);
    let start = 0;
    while (start < most && this.#a[left + start] === this.#b[top + start]) start += 1;
    let end = 0;
    while (start + end < most && this.#a[right - end - 1] === this.#b[bottom - end - 1]) end += 1;
    return {
      left: left + start,
      right: right - end,
      top: top + start,
      bottom: bottom - end,
      isExact,
    };
  }

  *#split(box: Box): Steps<Split> {
    const { left, right, top, bottom } = box;
    this.#ahead.begin(left - top, left);
    this.#back.begin(right - bottom, right);
    const doMeetAhead = ((left - top - right + bottom) & 1) !== 0;
    for (let cost = 1; ; cost += 1) {
      yield* this.#tell();
      const forward = this.#advance(box, doMeetAhead);
      if (typeof forward !== "boolean") return forward;
      const backward = this.#retreat(box, !doMeetAhead);
      if (typeof backward !== "boolean") return backward;
      if (box.isExact) continue;
      if ((forward || backward) && cost > COSTLY) {
        const split = this.#promisingAhead(box, cost) ?? this.#promisingBack(box, cost);
        if (split) return split;
      }
      if (cost >= this.#most) return this.#furthest(box);
    }
  }

  /** Lengthens the paths from the upper left corner. Returns where they meet the others, or whether one is promising. */
  #advance({ left, right, top, bottom }: Box, doMeet: boolean): Split | boolean {
    const a = this.#a;
    const b = this.#b;
    const ahead = this.#ahead;
    const back = this.#back;
    ahead.widen(left - bottom, right - top);
    let isPromising = false;
    for (let diagonal = ahead.high; diagonal >= ahead.low; diagonal -= 2) {
      const start = Math.max(ahead.at(diagonal - 1) + 1, ahead.at(diagonal + 1));
      let x = start;
      let y = x - diagonal;
      while (x < right && y < bottom && a[x] === b[y]) {
        x += 1;
        y += 1;
      }
      this.#steps -= 1 + x - start;
      if (x - start > PROMISING) isPromising = true;
      ahead.set(diagonal, x);
      if (doMeet && back.has(diagonal) && back.at(diagonal) <= x) {
        return { x, y, isFirstExact: true, isLastExact: true };
      }
    }
    return isPromising;
  }

  /** The same from the lower right corner. */
  #retreat({ left, right, top, bottom }: Box, doMeet: boolean): Split | boolean {
    const a = this.#a;
    const b = this.#b;
    const ahead = this.#ahead;
    const back = this.#back;
    back.widen(left - bottom, right - top);
    let isPromising = false;
    for (let diagonal = back.high; diagonal >= back.low; diagonal -= 2) {
      const start = Math.min(back.at(diagonal - 1), back.at(diagonal + 1) - 1);
      let x = start;
      let y = x - diagonal;
      while (x > left && y > top && a[x - 1] === b[y - 1]) {
        x -= 1;
        y -= 1;
      }
      this.#steps -= 1 + start - x;
      if (start - x > PROMISING) isPromising = true;
      back.set(diagonal, x);
      if (doMeet && ahead.has(diagonal) && x <= ahead.at(diagonal)) {
        return { x, y, isFirstExact: true, isLastExact: true };
      }
    }
    return isPromising;
  }

  /** Where to divide if a path from the upper left has come far, and its end is common to both sequences. */
  #promisingAhead({ left, right, top, bottom }: Box, cost: number): Split | undefined {
    let best = FAR * cost;
    let split: Split | undefined;
    for (let diagonal = this.#ahead.high; diagonal >= this.#ahead.low; diagonal -= 2) {
      const x = this.#ahead.at(diagonal);
      const y = x - diagonal;
      const way = x - left + y - top - Math.abs(diagonal - left + top);
      const isInside = x >= left + PROMISING && x < right && y >= top + PROMISING && y < bottom;
      if (way <= best || !isInside || !this.#areEqual(x - PROMISING, y - PROMISING)) continue;
      best = way;
      split = { x, y, isFirstExact: true, isLastExact: false };
    }
    return split;
  }

  /** The same for paths from the lower right. */
  #promisingBack({ left, right, top, bottom }: Box, cost: number): Split | undefined {
    let best = FAR * cost;
    let split: Split | undefined;
    for (let diagonal = this.#back.high; diagonal >= this.#back.low; diagonal -= 2) {
      const x = this.#back.at(diagonal);
      const y = x - diagonal;
      const way = right - x + bottom - y - Math.abs(diagonal - right + bottom);
      const isInside = x > left && x <= right - PROMISING && y > top && y <= bottom - PROMISING;
      if (way <= best || !isInside || !this.#areEqual(x, y)) continue;
      best = way;
      split = { x, y, isFirstExact: false, isLastExact: true };
    }
    return split;
  }

  /** Whether so many numbers are equal that a path is promising. */
  #areEqual(x: number, y: number): boolean {
    for (let at = 0; at < PROMISING; at += 1) {
      if (this.#a[x + at] !== this.#b[y + at]) return false;
    }
    return true;
  }

  /** Where a path has come furthest, from either corner. */
  #furthest({ left, right, top, bottom }: Box): Split {
    const ahead = this.#ahead;
    const back = this.#back;
    let [fromStart, startX] = [NEVER, NEVER];
    for (let diagonal = ahead.high; diagonal >= ahead.low; diagonal -= 2) {
      const x = Math.min(ahead.at(diagonal), right, bottom + diagonal);
      if (2 * x - diagonal <= fromStart) continue;
      [fromStart, startX] = [2 * x - diagonal, x];
    }
    let [fromEnd, endX] = [BEYOND, BEYOND];
    for (let diagonal = back.high; diagonal >= back.low; diagonal -= 2) {
      const x = Math.max(back.at(diagonal), left, top + diagonal);
      if (2 * x - diagonal >= fromEnd) continue;
      [fromEnd, endX] = [2 * x - diagonal, x];
    }
    const isAhead = right + bottom - fromEnd < fromStart - left - top;
    return isAhead
      ? { x: startX, y: fromStart - startX, isFirstExact: true, isLastExact: false }
      : { x: endX, y: fromEnd - endX, isFirstExact: false, isLastExact: true };
  }
}

/** A power of two near the square root of a number. */
export function roughRoot(value: number): number {
  let root = 1;
  for (let rest = value; rest > 0; rest = Math.floor(rest / 4)) root *= 2;
  return root;
}
