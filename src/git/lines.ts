import { STEPS, type Steps } from "../turns/pace.ts";
import { histogramDifferences } from "./histogram.ts";
import type { Differences } from "./myers.ts";
import { type Numbered, shortestDifferences } from "./shortest.ts";
import { slide } from "./sliders.ts";

/** Lines that are replaced by others; counted from 0. */
export interface LineChange {
  /** The first line that is removed; if none is, the line that others are added before. */
  readonly from: number;
  readonly removed: number;
  /** The first line that is added. */
  readonly to: number;
  readonly added: number;
}

const NEWLINE = "\n";

/**
 * Divides a text into lines, each with the newline at its end. The last one may have none.
 *
 * @returns each byte as one character
 */
export function* linesOf(text: Uint8Array): Steps<string[]> {
  const characters = Buffer.from(text.buffer, text.byteOffset, text.byteLength).toString("latin1");
  const lines: string[] = [];
  for (let at = 0; at < characters.length; ) {
    const end = characters.indexOf(NEWLINE, at) + 1 || characters.length;
    lines.push(characters.slice(at, end));
    at = end;
    if (lines.length % STEPS === 0) yield STEPS;
  }
  return lines;
}

/** The first bytes of a file, by which Git tells whether it is text. */
const HEAD_BYTES = 8000;

/** Whether Git takes a file to be binary: it shows no lines of those. */
export function isBinary(file: Uint8Array): boolean {
  return file.subarray(0, HEAD_BYTES).includes(0);
}

/**
 * Compares two texts as `git diff` does: by the shortest list of changes, each where it is easiest to read.
 *
 * @returns the changes, in order; lines between two of them are equal
 */
export function* compareLines(a: readonly string[], b: readonly string[]): Steps<LineChange[]> {
  const numbered = yield* numberLines(a, b);
  const differences = yield* shortestDifferences(numbered);
  yield* slide(numbered.a, differences.a, differences.b, a);
  yield* slide(numbered.b, differences.b, differences.a, b);
  return yield* changesOf(differences);
}

/**
 * Compares two texts as `git merge` does: what is rare and common to both stays together.
 *
 * @returns as {@link compareLines}
 */
export function* compareForMerge(a: readonly string[], b: readonly string[]): Steps<LineChange[]> {
  const numbered = yield* numberLines(a, b);
  const differences = yield* histogramDifferences(numbered);
  yield* slide(numbered.a, differences.a, differences.b);
  yield* slide(numbered.b, differences.b, differences.a);
  return yield* changesOf(differences);
}

function* numberLines(a: readonly string[], b: readonly string[]): Steps<Numbered> {
  const numbers = new Map<string, number>();
  const numbered = { a: new Int32Array(a.length), b: new Int32Array(b.length) };
  for (const [lines, found] of [
    [a, numbered.a],
    [b, numbered.b],
  ] as const) {
    for (let at = 0; at < lines.length; at += 1) {
      const line = lines[at] as string;
      const number = numbers.get(line) ?? numbers.size;
      if (number === numbers.size) numbers.set(line, number);
      found[at] = number;
      if (at % STEPS === 0) yield STEPS;
    }
  }
  return { ...numbered, count: numbers.size };
}

function* changesOf({ a, b }: Differences): Steps<LineChange[]> {
  const changes: LineChange[] = [];
  for (let from = 0, to = 0; from < a.length || to < b.length; from += 1, to += 1) {
    if (from % STEPS === 0) yield STEPS;
    let removed = 0;
    while (a[from + removed]) removed += 1;
    let added = 0;
    while (b[to + added]) added += 1;
    if (removed > 0 || added > 0) changes.push({ from, removed, to, added });
    from += removed;
    to += added;
  }
  return changes;
}
