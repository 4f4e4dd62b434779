import type { Steps } from "../turns/pace.ts";
import { compareForMerge, type LineChange } from "./lines.ts";

/** A part of a merged text: the same part of both sides, which is taken from one of them unless they are in conflict. */
interface Region {
  readonly taken: "ours" | "theirs" | "none";
  readonly ours: Range;
  readonly theirs: Range;
}

interface Range {
  readonly from: number;
  readonly to: number;
}

/** Conflicts with fewer lines between them are one. */
const NEAR = 3;

/** Two texts merged. */
export interface MergedLines {
  readonly lines: readonly string[];
  /** Whether both changed the same lines, which are marked as Git does then. */
  readonly hasConflicts: boolean;
}

/**
 * Merges the changes that two sides made to a text, as `git merge` does.
 *
 * @param markerSize how many characters the lines have that mark conflicts
 * @param names what the sides are called there
 */
export function* mergeLines(
  base: readonly string[],
  ours: readonly string[],
  theirs: readonly string[],
  markerSize: number,
  names: readonly [ours: string, theirs: string],
): Steps<MergedLines> {
  const changesOfOurs = yield* compareForMerge(base, ours);
  const changesOfTheirs = yield* compareForMerge(base, theirs);
  if (changesOfOurs.length === 0) return { lines: theirs, hasConflicts: false };
  if (changesOfTheirs.length === 0) return { lines: ours, hasConflicts: false };
  const divided: Region[] = [];
  for (const region of regionsOf(changesOfOurs, changesOfTheirs, ours, theirs)) {
    const parts = region.taken === "none" ? yield* refined(region, ours, theirs) : [region];
    for (const part of parts) divided.push(part);
  }
  const regions = joined(divided);
  const parts: (readonly string[])[] = [];
  let at = 0;
  const marker = (character: string, name: string) => [
    `${character.repeat(markerSize)}${name && ` ${name}`}\n`,
  ];
  for (const region of regions) {
    parts.push(ours.slice(at, region.ours.from));
    at = region.ours.to;
    const [own, other] = [partOf(ours, region.ours), partOf(theirs, region.theirs)];
    if (region.taken !== "none") parts.push(region.taken === "ours" ? own : other);
    else {
      parts.push(marker("<", names[0]), ended(own), marker("=", ""));
      parts.push(ended(other), marker(">", names[1]));
    }
  }
  parts.push(ours.slice(at));
  return { lines: parts.flat(), hasConflicts: regions.some(({ taken }) => taken === "none") };
}

const partOf = (lines: readonly string[], { from, to }: Range) => lines.slice(from, to);

/** Lines that others can follow. */
const ended = (lines: readonly string[]) =>
  lines.map((line) => (line.endsWith("\n") ? line : `${line}\n`));

/** Where the sides differ from the base. Changes that touch each other are in conflict, unless they are the same. */
function regionsOf(
  changesOfOurs: readonly LineChange[],
  changesOfTheirs: readonly LineChange[],
  ours: readonly string[],
  theirs: readonly string[],
): Region[] {
  const regions: Region[] = [];
  const [left, right] = [new Side(changesOfOurs), new Side(changesOfTheirs)];
  for (;;) {
    const [own, other] = [left.next, right.next];
    if (!own && !other) return regions;
    const start = Math.min(
      own?.from ?? Number.POSITIVE_INFINITY,
      other?.from ?? Number.POSITIVE_INFINITY,
    );
    const [shiftOfOurs, shiftOfTheirs] = [left.shift, right.shift];
    let end = start;
    for (let hasGrown = true; hasGrown; ) {
      const before = end;
      end = Math.max(end, left.takeUpTo(end), right.takeUpTo(end));
      hasGrown = end > before;
    }
    const region = {
      ours: { from: start + shiftOfOurs, to: end + left.shift },
      theirs: { from: start + shiftOfTheirs, to: end + right.shift },
    };
    const isOurs = left.next !== own;
    const isTheirs = right.next !== other;
    if (isOurs && isTheirs) {
      if (!areSame(own, other, ours, theirs)) regions.push({ ...region, taken: "none" });
    } else regions.push({ ...region, taken: isOurs ? "ours" : "theirs" });
  }
}

/** Goes through the changes of a side. */
class Side {
  readonly #changes: readonly LineChange[];
  #at = 0;
  /** How much further down the lines after the changes that were taken are than in the base. */
  shift = 0;

  constructor(changes: readonly LineChange[]) {
    this.#changes = changes;
  }

  get next(): LineChange | undefined {
    return this.#changes[this.#at];
  }

  /** Takes the changes that begin at or before a line of the base. Returns where the last one ends. */
  takeUpTo(line: number): number {
    let end = line;
    for (let change = this.next; change && change.from <= line; change = this.next) {
      end = Math.max(end, change.from + change.removed);
      this.shift += change.added - change.removed;
      this.#at += 1;
    }
    return end;
  }
}

function areSame(
  own: LineChange | undefined,
  other: LineChange | undefined,
  ours: readonly string[],
  theirs: readonly string[],
): boolean {
  if (own?.from !== other?.from || own?.removed !== other?.removed || own?.added !== other?.added) {
    return false;
  }
  const [added, from, to] = [own?.added ?? 0, own?.to ?? 0, other?.to ?? 0];
  for (let at = 0; at < added; at += 1) if (ours[from + at] !== theirs[to + at]) return false;
  return true;
}

/** Divides a conflict by what both sides have in common there. */
function* refined(
  region: Region,
  ours: readonly string[],
  theirs: readonly string[],
): Steps<Region[]> {
  const [own, other] = [partOf(ours, region.ours), partOf(theirs, region.theirs)];
  if (own.length === 0 || other.length === 0) return [region];
  const changes = yield* compareForMerge(own, other);
  // Both sides are the same after all. The region keeps others apart.
  if (changes.length === 0) return [{ ...region, taken: "ours" }];
  return changes.map(({ from, removed, to, added }) => ({
    taken: "none",
    ours: { from: region.ours.from + from, to: region.ours.from + from + removed },
    theirs: { from: region.theirs.from + to, to: region.theirs.from + to + added },
  }));
}

/** Joins conflicts that are near each other. */
function joined(regions: readonly Region[]): Region[] {
  const result: Region[] = [];
  for (const region of regions) {
    const last = result.at(-1);
    const isNear =
      last?.taken === "none" && region.taken === "none" && region.ours.from - last.ours.to <= NEAR;
    if (isNear) {
      result[result.length - 1] = {
        taken: "none",
        ours: { from: last.ours.from, to: region.ours.to },
        theirs: { from: last.theirs.from, to: region.theirs.to },
      };
    } else result.push(region);
  }
  return result;
}
