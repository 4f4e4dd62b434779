import type { Budget } from "../turns/budget.ts";
import type { Steps } from "../turns/pace.ts";
import { type FileChange, type FileEntry, kindOf, textOf } from "./changes.ts";
import type { Objects } from "./contents.ts";
import { compareLines, isBinary, type LineChange, linesOf } from "./lines.ts";
import { SUBMODULE } from "./objects.ts";

/** Larger files are not compared, in bytes. */
const MOST_COMPARED = 2 * 1024 * 1024;
/** Longer patches are not shown, in bytes. */
const MOST_SHOWN = 200 * 1024;
/** How many unchanged lines are shown before and after changed ones. */
const CONTEXT = 3;
/** The longest line that is shown as the heading of a hunk. */
const HEADING = 80;

const NOTHING = Buffer.alloc(0);

/** What changed in a file. */
export interface Patch {
  /** As `git diff` shows it, without what comes before the first hunk; empty if it is too large. */
  readonly text: string;
  readonly isTooLarge: boolean;
}

/** The lines of a file before and after a change, and which ones differ. */
export interface Difference {
  readonly a: readonly string[];
  readonly b: readonly string[];
  readonly changes: readonly LineChange[];
}

/** Finds out what changed in a file. */
export async function patchOf(objects: Objects, change: FileChange): Promise<Patch> {
  const difference = await compareFiles(objects, change);
  if (difference === "binary") {
    const names = `${nameOf("a", change.from)} and ${nameOf("b", change.to)}`;
    return { text: textOf(`Binary files ${names} differ\n`), isTooLarge: false };
  }
  const text = typeof difference === "string" ? undefined : shownHunks(difference);
  return { text: textOf(text ?? ""), isTooLarge: text === undefined };
}

/**
 * The lines that changed in a file: none of binary files, and of those that are too large to compare.
 *
 * @returns `undefined` if too little is left of the budget
 */
export async function changedLines(
  objects: Objects,
  change: FileChange,
): Promise<readonly LineChange[] | undefined> {
  const difference = await compareFiles(objects, change);
  if (difference === "unpaid") return undefined;
  return typeof difference === "string" ? [] : difference.changes;
}

/** How the lines of a file correspond before and after a change. */
export interface LineMap {
  /** How many lines it had, and has. */
  readonly before: number;
  readonly after: number;
  readonly changes: readonly LineChange[];
}

/** Finds out how the lines of a file correspond: `undefined` of binary files, and of those that are too large. */
export async function mapLines(objects: Objects, change: FileChange): Promise<LineMap | undefined> {
  const difference = await compareFiles(objects, change);
  if (typeof difference === "string") return undefined;
  const { a, b, changes } = difference;
  return { before: a.length, after: b.length, changes };
}

/** What a known difference takes, and each of its changes, in bytes. */
const ENTRY = 200;
const CHANGE = 64;

/** Compares the content of a file before and after a change. It is `"unpaid"` if that costs more than is left to do so. */
export async function compareFiles(
  objects: Objects,
  { from, to }: FileChange,
): Promise<Difference | "binary" | "large" | "unpaid"> {
  if (from?.oid === to?.oid) return { a: [], b: [], changes: [] };
  const { budget, compared } = objects;
  const sizes = [sizeOf(objects, from), sizeOf(objects, to)] as const;
  if (Math.max(...sizes) > MOST_COMPARED) return "large";
  if (!budget.spend("compared", sizes[0] + sizes[1])) return "unpaid";
  const before = await contentOf(objects, from);
  const after = await contentOf(objects, to);
  if (isBinary(before) || isBinary(after)) return "binary";
  const a = await budget.take(linesOf(before));
  const b = await budget.take(linesOf(after));
  const key = `${from?.oid} ${to?.oid}`;
  const known = compared?.get(key);
  const changes = known ?? (await budget.take(paid(budget, compareLines(a, b))));
  if (!changes) return "unpaid";
  if (!known) compared?.set(key, changes, ENTRY + CHANGE * changes.length);
  return { a, b, changes };
}

/** A comparison whose steps the budget pays; it ends without a result if they are too many. */
function* paid<T>(budget: Budget, steps: Steps<T>): Steps<T | undefined> {
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done) return step.value;
    if (!budget.spend("steps", step.value)) return undefined;
    yield step.value;
  }
}

/** The changes as `git diff` shows them: a file that becomes another kind of file is deleted and added. */
export function shownChanges(changes: readonly FileChange[]): FileChange[] {
  return changes.flatMap((change) => {
    const { from, to } = change;
    if (!from || !to || kindOf(from.mode) === kindOf(to.mode)) return [change];
    return [
      { from, to: undefined },
      { from: undefined, to },
    ];
  });
}

/** The lines that name a file before a patch in the unified format. */
export function patchHead({ from, to }: FileChange): string {
  return textOf(`--- ${nameOf("a", from)}\n+++ ${nameOf("b", to)}\n`);
}

const nameOf = (side: string, entry: FileEntry | undefined) =>
  entry ? `${side}/${entry.path}` : "/dev/null";

/** The size of what is compared of a file, in bytes. */
function sizeOf(objects: Objects, entry: FileEntry | undefined): number {
  return entry && entry.mode !== SUBMODULE ? objects.sizeOf(entry.oid) : 0;
}

/** What is compared of a file: of a submodule, a line with its commit. */
async function contentOf(objects: Objects, entry: FileEntry | undefined): Promise<Uint8Array> {
  if (!entry) return NOTHING;
  if (entry.mode === SUBMODULE) return Buffer.from(`Subproject commit ${entry.oid}\n`);
  return (await objects.read(entry.oid)).data;
}

/** The hunks of a text; `undefined` if they are too large to show. */
function shownHunks(difference: Difference): string | undefined {
  const parts: string[] = [];
  let length = 0;
  for (const part of hunksOf(difference)) {
    parts.push(part);
    length += part.length;
    if (length > MOST_SHOWN) return undefined;
  }
  return parts.join("");
}

/** The changes of a text as `git diff` shows them, line by line: each byte as one character. */
export function* hunksOf({ a, b, changes }: Difference): Generator<string> {
  const headings = new Headings(a);
  for (const hunk of grouped(changes)) {
    const first = hunk[0] as LineChange;
    const last = hunk.at(-1) as LineChange;
    const before = Math.min(CONTEXT, first.from);
    const end = Math.min(last.from + last.removed + CONTEXT, a.length);
    const start = first.from - before;
    const startOfB = first.to - before;
    const sizeOfB = last.to + last.added - startOfB + end - last.from - last.removed;
    const heading = headings.before(start);
    const ranges = `-${rangeOf(start, end - start)} +${rangeOf(startOfB, sizeOfB)}`;
    yield `@@ ${ranges} @@${heading && ` ${heading}`}\n`;
    let at = start;
    for (const { from, removed, to, added } of hunk) {
      yield* signed(" ", a, at, from);
      at = from + removed;
      yield* signed("-", a, from, at);
      yield* signed("+", b, to, to + added);
    }
    yield* signed(" ", a, at, end);
  }
}

/** Lines behind a sign. */
function* signed(sign: string, lines: readonly string[], from: number, to: number) {
  for (let at = from; at < to; at += 1) {
    const line = lines[at] as string;
    yield line.endsWith("\n") ? sign + line : `${sign}${line}\n\\ No newline at end of file\n`;
  }
}

/** Changes, grouped into hunks: the context of two changes of a hunk has no lines between. */
function grouped(changes: readonly LineChange[]): LineChange[][] {
  const hunks: LineChange[][] = [];
  let end = Number.NEGATIVE_INFINITY;
  for (const change of changes) {
    if (change.from - end > 2 * CONTEXT) hunks.push([]);
    hunks.at(-1)?.push(change);
    end = change.from + change.removed;
  }
  return hunks;
}

/** Lines by their number, which is left out if it is 1; none are after the line before. */
function rangeOf(start: number, count: number): string {
  const first = count === 0 ? start : start + 1;
  return count === 1 ? `${first}` : `${first},${count}`;
}

/** Finds the last line before a hunk that looks like the beginning of a function. */
class Headings {
  readonly #lines: readonly string[];
  #place = 0;
  #heading = "";

  constructor(lines: readonly string[]) {
    this.#lines = lines;
  }

  /** @param place not before that of the last call */
  before(place: number): string {
    let at = place - 1;
    while (at >= this.#place && !/^[A-Za-z_$]/.test(this.#lines[at] as string)) at -= 1;
    if (at >= this.#place) {
      this.#heading = (this.#lines[at] as string).slice(0, HEADING).replace(/[ \t\r\n]+$/, "");
    }
    this.#place = place;
    return this.#heading;
  }
}
