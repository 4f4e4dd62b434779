import type { Steps } from "../turns/pace.ts";
import { Comparison, type Differences, roughRoot } from "./myers.ts";

/** Two texts as sequences of numbers: equal lines have one number. */
export interface Numbered {
  readonly a: Int32Array;
  readonly b: Int32Array;
  /** How many different lines there are. */
  readonly count: number;
}

/** What a line says about where the texts differ. */
const FOREIGN = 0;
const USEFUL = 1;
const FREQUENT = 2;
/** Lines that occur more often than this are frequent in texts of any length. */
const MOST_FREQUENT = 1024;

/** The differences of a shortest list of changes; lines that would only mislead are not compared. */
export function* shortestDifferences({ a, b, count }: Numbered): Steps<Differences> {
  const most = Math.min(a.length, b.length);
  let start = 0;
  while (start < most && a[start] === b[start]) start += 1;
  let end = 0;
  while (start + end < most && a[a.length - end - 1] === b[b.length - end - 1]) end += 1;
  const keptOfA = usefulLines(a, start, a.length - end, occurrences(b, count));
  yield a.length;
  const keptOfB = usefulLines(b, start, b.length - end, occurrences(a, count));
  yield b.length;
  const part = (numbers: Int32Array, kept: Int32Array) =>
    kept.map((place) => numbers[place] as number);
  const found = yield* new Comparison(part(a, keptOfA), part(b, keptOfB)).run();
  const whole = (numbers: Int32Array, kept: Int32Array, differ: Uint8Array) => {
    const marks = new Uint8Array(numbers.length).fill(1, start, numbers.length - end);
    for (const [at, place] of kept.entries()) marks[place] = differ[at] as number;
    return marks;
  };
  const marksOfA = whole(a, keptOfA, found.a);
  yield a.length;
  return { a: marksOfA, b: whole(b, keptOfB, found.b) };
}

function occurrences(numbers: Int32Array, count: number): Int32Array {
  const result = new Int32Array(count);
  for (const number of numbers) result[number] = (result[number] as number) + 1;
  return result;
}

/**
 * The places of lines worth comparing, from `start` to `end`. Lines that the other text does not have are not, nor are
 * frequent ones, such as blank lines, in the midst of those.
 *
 * @param others how often the other text has each line
 */
function usefulLines(
  numbers: Int32Array,
  start: number,
  end: number,
  others: Int32Array,
): Int32Array {
  const often = Math.min(roughRoot(numbers.length), MOST_FREQUENT);
  const kinds = numbers.map((number) => {
    const count = others[number] as number;
    return count === 0 ? FOREIGN : count >= often ? FREQUENT : USEFUL;
  });
  const misleads = surroundedBy(kinds, start, end);
  return numbers
    .map((_, place) => place)
    .filter(
      (place) =>
        place >= start &&
        place < end &&
        (kinds[place] === USEFUL || (kinds[place] === FREQUENT && !misleads(place))),
    );
}

/** How far around a frequent line is looked. */
const AROUND = 100;
/** How many lines there must be for each frequent one of them. */
const RARE = 4;

/** Tells which frequent lines are among lines that the other text does not have. */
function surroundedBy(kinds: Int32Array, start: number, end: number): (place: number) => boolean {
  /** The number of foreign lines before each place, and the places of the nearest useful ones. */
  const foreign = new Int32Array(kinds.length + 1);
  const before = new Int32Array(kinds.length);
  const after = new Int32Array(kinds.length);
  for (let place = start, last = start - 1; place < end; place += 1) {
    before[place] = last;
    if (kinds[place] === USEFUL) last = place;
    foreign[place + 1] = (foreign[place] as number) + (kinds[place] === FOREIGN ? 1 : 0);
  }
  for (let place = end - 1, next = end; place >= start; place -= 1) {
    after[place] = next;
    if (kinds[place] === USEFUL) next = place;
  }
  return (place) => {
    const first = Math.max(place - AROUND, (before[place] as number) + 1);
    const last = Math.min(place + AROUND, (after[place] as number) - 1);
    const above = (foreign[place] as number) - (foreign[first] as number);
    const below = (foreign[last + 1] as number) - (foreign[place + 1] as number);
    if (above === 0 || below === 0) return false;
    // The line itself counts as one above and one below.
    const all = last - first + 2;
    return RARE * (all - above - below) < all;
  };
}
