import { STEPS, type Steps } from "../turns/pace.ts";

/** How far a group of lines is moved at most to where it is easiest to read. */
const FARTHEST = 100;

/** A group of changed lines of one text, possibly empty, between two lines that are not changed. */
class Group {
  protected readonly changed: Uint8Array;
  start = 0;
  end = 0;

  constructor(changed: Uint8Array) {
    this.changed = changed;
    this.extendDown();
  }

  get size(): number {
    return this.end - this.start;
  }

  /** Goes on to the next group, unless this is the last one. */
  next(): boolean {
    if (this.end === this.changed.length) return false;
    this.start = this.end + 1;
    this.end = this.start;
    this.extendDown();
    return true;
  }

  previous(): void {
    this.end = this.start - 1;
    this.start = this.end;
    this.extendUp();
  }

  protected extendUp(): void {
    while (this.start > 0 && this.changed[this.start - 1]) this.start -= 1;
  }

  protected extendDown(): void {
    while (this.changed[this.end]) this.end += 1;
  }
}

/** A group that can be moved along lines that are equal. */
class MovableGroup extends Group {
  readonly #numbers: Int32Array;

  constructor(numbers: Int32Array, changed: Uint8Array) {
    super(changed);
    this.#numbers = numbers;
  }

  /** Moves it up by a line, if that changes the same; it takes in a group that it meets. */
  moveUp(): boolean {
    const { changed } = this;
    const numbers = this.#numbers;
    if (this.start === 0 || numbers[this.start - 1] !== numbers[this.end - 1]) return false;
    this.start -= 1;
    this.end -= 1;
    changed[this.start] = 1;
    changed[this.end] = 0;
    this.extendUp();
    return true;
  }

  /** Moves it down likewise. */
  moveDown(): boolean {
    const { changed } = this;
    const numbers = this.#numbers;
    const isLast = this.end === numbers.length;
    if (isLast || numbers[this.start] !== numbers[this.end]) return false;
    changed[this.start] = 0;
    changed[this.end] = 1;
    this.start += 1;
    this.end += 1;
    this.extendDown();
    return true;
  }
}

/**
 * Moves groups of changed lines, where several places are as good: next to changes of the other text, else to where they
 * are easiest to read, or as far down as possible.
 *
 * @param numbers the lines of a text: equal ones have one number
 * @param changed which of them are changed; is updated
 * @param others which lines of the other text are changed
 * @param lines the lines themselves, if their indentation says what is easy to read
 */
export function* slide(
  numbers: Int32Array,
  changed: Uint8Array,
  others: Uint8Array,
  lines?: readonly string[],
): Steps<void> {
  const layout = lines && new Layout(lines);
  const group = new MovableGroup(numbers, changed);
  // The text between groups is the same in both, so the groups correspond.
  const other = new Group(others);
  const up = () => {
    if (!group.moveUp()) return false;
    other.previous();
    return true;
  };
  let told = 0;
  do {
    if (group.start - told >= STEPS) {
      yield group.start - told;
      told = group.start;
    }
    if (group.size === 0) continue;
    let size: number;
    let highest: number;
    /** Where the group ends if it is next to the last change of the other text that it can get to. */
    let beside: number | undefined;
    do {
      size = group.size;
      while (up());
      highest = group.end;
      beside = other.size > 0 ? group.end : undefined;
      while (group.moveDown()) {
        other.next();
        if (other.size > 0) beside = group.end;
      }
    } while (size !== group.size);
    let goal = group.end;
    if (beside !== undefined) goal = beside;
    else if (layout && group.end > highest) goal = layout.bestEnd(highest, group.end, size);
    while (group.end > goal) up();
  } while (group.next() && other.next());
}

const WIDEST = 200;
const MOST_BLANK = 20;
const BLANK = -1;
const TAB = 8;

/**
 * How well a text is divided at each place. The weights were found by Michael Haggerty from divisions that people had
 * rated (https://github.com/mhagger/diff-slider-tools).
 */
class Layout {
  readonly #lines: readonly string[];
  readonly #widths: Int16Array;

  constructor(lines: readonly string[]) {
    this.#lines = lines;
    this.#widths = new Int16Array(lines.length).fill(BLANK - 1);
  }

  /** The best end of a group of some lines, from `highest` to `lowest`. */
  bestEnd(highest: number, lowest: number, size: number): number {
    let end = Math.max(highest, lowest - size - 1, lowest - FARTHEST);
    let best = end;
    let least = this.#ratingOf(end, size);
    for (end += 1; end <= lowest; end += 1) {
      const rating = this.#ratingOf(end, size);
      const order = 60 * Math.sign(rating.indent - least.indent) + rating.penalty - least.penalty;
      if (order > 0) continue;
      best = end;
      least = rating;
    }
    return best;
  }

  #ratingOf(end: number, size: number): Rating {
    const bottom = this.#divisionAt(end);
    const top = this.#divisionAt(end - size);
    return { indent: bottom.indent + top.indent, penalty: bottom.penalty + top.penalty };
  }

  /** How bad it is to divide the text before a line. */
  #divisionAt(place: number): Rating {
    const isEnd = place >= this.#lines.length;
    const own = isEnd ? BLANK : this.#indentOf(place);
    const before = this.#nextText(place, -1);
    const after = this.#nextText(place, 1);
    const blanksAfter = own === BLANK ? 1 + after.blanks : 0;
    const blanks = before.blanks + blanksAfter;
    const indent = own === BLANK ? after.indent : own;
    let penalty = -30 * blanks + 6 * blanksAfter;
    if (before.indent === BLANK && before.blanks === 0) penalty += 1;
    if (isEnd) penalty += 21;
    if (indent !== BLANK && before.indent !== BLANK) {
      if (indent > before.indent) penalty += blanks > 0 ? 10 : -4;
      else if (indent < before.indent) {
        const isFollowed = after.indent > indent;
        penalty += blanks > 0 ? 17 : isFollowed ? 24 : 23;
      }
    }
    return { indent, penalty };
  }

  /** The nearest line before or after a place that is not blank, and how many blank ones are between. */
  #nextText(place: number, step: number): { blanks: number; indent: number } {
    let blanks = 0;
    for (let at = place + step; at >= 0 && at < this.#lines.length; at += step) {
      const indent = this.#indentOf(at);
      if (indent !== BLANK) return { blanks, indent };
      blanks += 1;
      if (blanks === MOST_BLANK) return { blanks, indent: 0 };
    }
    return { blanks, indent: BLANK };
  }

  #indentOf(place: number): number {
    if ((this.#widths[place] as number) < BLANK) {
      this.#widths[place] = indentOf(this.#lines[place] as string);
    }
    return this.#widths[place] as number;
  }
}

interface Rating {
  readonly indent: number;
  readonly penalty: number;
}

/** How wide the blank beginning of a line is; {@link BLANK} if nothing follows. */
function indentOf(line: string): number {
  let width = 0;
  for (const character of line) {
    if (character === " ") width += 1;
    else if (character === "\t") width += TAB - (width % TAB);
    else if (character !== "\n" && character !== "\r") return width;
    if (width >= WIDEST) return WIDEST;
  }
  return BLANK;
}
