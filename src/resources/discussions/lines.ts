import type { LineMap } from "../../git/patches.ts";

/** A line of a diff. Numbers count from 1. */
export interface Line {
  /** Null if it is unchanged. */
  readonly type: "new" | "old" | null;
  /** Its number before the change; of an added one, that of the next line that was there. */
  readonly before: number;
  /** Its number after the change; of a removed one, that of the next line that is there. */
  readonly after: number;
}

/**
 * Finds a line in a diff.
 *
 * @param before its number before the change, unless it is added
 * @param after its number after the change, unless it is removed
 * @returns `undefined` if the diff has no such line
 */
export function locate(
  map: LineMap,
  before: number | undefined,
  after: number | undefined,
): Line | undefined {
  if (before !== undefined && after !== undefined) {
    const isThere = before >= 1 && before <= map.before && afterOf(map, before) === after;
    return isThere ? { type: null, before, after } : undefined;
  }
  for (const { from, removed, to, added } of map.changes) {
    if (before !== undefined && before > from && before <= from + removed) {
      return { type: "old", before, after: to + 1 };
    }
    if (after !== undefined && after > to && after <= to + added) {
      return { type: "new", before: from + removed + 1, after };
    }
  }
  return undefined;
}

/** The number of a line after a change; `undefined` if the change removed it. */
export function afterOf({ changes }: LineMap, before: number): number | undefined {
  let moved = 0;
  for (const { from, removed, to, added } of changes) {
    if (before <= from) break;
    if (before <= from + removed) return undefined;
    moved = to + added - from - removed;
  }
  return before + moved;
}

/** The number of a line before a change; `undefined` if the change added it. */
export function beforeOf({ changes }: LineMap, after: number): number | undefined {
  let moved = 0;
  for (const { from, removed, to, added } of changes) {
    if (after <= to) break;
    if (after <= to + added) return undefined;
    moved = from + removed - to - added;
  }
  return after + moved;
}
