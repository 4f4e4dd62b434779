import type { Budget } from "../turns/budget.ts";
import { compareTrees, kindOf, textOf } from "./changes.ts";
import { type Objects, StoredObjects, treeNameOf } from "./contents.ts";
import { PathFinder } from "./history.ts";
import { compareLines, type LineChange, linesOf } from "./lines.ts";
import { Lru } from "./lru.ts";
import { withRenames } from "./renames.ts";
import type { Repository } from "./repository.ts";
import { entryAt, type TreeEntry, treeOf } from "./trees.ts";

/** Lines of a file, one after the other, that a commit wrote. */
export interface BlamedLines {
  /** The commit's number. */
  readonly commit: number;
  /** The first line, counted from 0. */
  readonly from: number;
  readonly count: number;
}

/** Lines of the file, and where they are in a version of it. */
interface Piece {
  readonly line: number;
  readonly from: number;
  readonly count: number;
}

/** A version of the file that lines may come from. */
interface Version {
  readonly commit: number;
  readonly path: string;
  /** The name of its content, in hex. */
  readonly oid: string;
}

/** A version, and the lines that come from it or from an older one. */
interface Suspect extends Version {
  readonly pieces: Piece[];
}

/** Lines that are compared at most, in all versions together. */
const MOST_LINES = 100_000_000;
/** Changes of a commit among which the old name of a file is looked for. */
const MOST_CHANGES = 10_000;
const CACHED_BYTES = 32 * 1024 * 1024;
/** What a line takes in memory besides its text. */
const LINE_BYTES = 32;
/** What is cut off of what two texts end with is a multiple of this, in bytes. */
const BLOCK = 1024;

/**
 * Finds out which commits wrote the lines of a file, as `git blame` does: each line is followed to the first parent that
 * has it, through renames of the file.
 *
 * @param commit the number of the commit that has the file
 * @param path the path of the file
 * @param lines which lines are asked for: from the first one, up to but without the last one, counted from 0
 * @returns the lines in order; `undefined` if the history is too long
 */
export async function blame(
  repository: Repository,
  commit: number,
  path: string,
  lines: { readonly from: number; readonly to: number },
  budget: Budget,
): Promise<BlamedLines[] | undefined> {
  const file = await entryAt(repository, treeOf(repository, commit), path);
  const count = lines.to - lines.from;
  if (!file || count <= 0) return [];
  const pieces = [{ line: lines.from, from: lines.from, count }];
  return new Blame(repository, budget).run({ commit, path, oid: file.oid }, pieces);
}

class Blame {
  readonly #repository: Repository;
  readonly #objects: Objects;
  readonly #finders = new Map<string, PathFinder>();
  readonly #texts = new Lru<string, string[]>(CACHED_BYTES);
  readonly #budget: Budget;
  /** Versions to look at, by the generations of their commits. */
  readonly #waiting = new Map<number, Map<string, Suspect>>();
  readonly #found: BlamedLines[] = [];
  #compared = 0;

  constructor(repository: Repository, budget: Budget) {
    this.#repository = repository;
    this.#budget = budget;
    this.#objects = new StoredObjects(repository, budget);
  }

  async run(version: Version, pieces: readonly Piece[]): Promise<BlamedLines[] | undefined> {
    this.#suspect(version, pieces);
    const highest = this.#repository.graph.generations[version.commit] as number;
    // What descends from a commit has a higher generation, so all its lines are known when it is looked at.
    for (let generation = highest; generation > 0; generation -= 1) {
      for (const suspect of this.#waiting.get(generation)?.values() ?? []) {
        const own = await this.#passOn(suspect);
        for (const { line, count } of own) {
          this.#found.push({ commit: suspect.commit, from: line, count });
        }
        if (this.#compared > MOST_LINES) return undefined;
        if (this.#budget.isDue) await this.#budget.pause();
      }
      this.#waiting.delete(generation);
    }
    return joined(this.#found);
  }

  #suspect(version: Version, pieces: readonly Piece[]): void {
    const generation = this.#repository.graph.generations[version.commit] as number;
    const versions = this.#waiting.get(generation) ?? new Map<string, Suspect>();
    this.#waiting.set(generation, versions);
    const key = `${version.commit} ${version.path}`;
    const known = versions.get(key);
    if (known) known.pieces.push(...pieces);
    else versions.set(key, { ...version, pieces: [...pieces] });
  }

  /** Passes the lines on that parents have, too. Returns those that are the commit's own. */
  async #passOn(suspect: Suspect): Promise<readonly Piece[]> {
    const before: Version[] = [];
    for (const find of [this.#underSameName, this.#underOtherName]) {
      for (const parent of this.#repository.graph.parentsOf(suspect.commit)) {
        if (before.some(({ commit }) => commit === parent)) continue;
        const version = await find.call(this, suspect, parent);
        if (version?.oid === suspect.oid) {
          this.#suspect(version, suspect.pieces);
          return [];
        }
        if (version) before.push(version);
      }
    }
    const order = this.#repository.graph.parentsOf(suspect.commit);
    before.sort((a, b) => order.indexOf(a.commit) - order.indexOf(b.commit));
    let left = inOrder(suspect.pieces);
    for (const version of before) {
      if (left.length === 0) break;
      const { kept, passed } = divided(left, await this.#compare(version, suspect));
      if (passed.length > 0) this.#suspect(version, passed);
      left = kept;
    }
    return left;
  }

  async #underSameName(
    { commit, path, oid }: Suspect,
    parent: number,
  ): Promise<Version | undefined> {
    const finder = this.#finders.get(path) ?? new PathFinder(this.#repository, path);
    this.#finders.set(path, finder);
    if ((await finder.at(parent)) === (await finder.at(commit)))
      return { commit: parent, path, oid };
    const entry = await this.#entryAt(parent, path);
    const own = await this.#entryAt(commit, path);
    if (!entry || !own || kindOf(entry.mode) !== kindOf(own.mode)) return undefined;
    return { commit: parent, path, oid: entry.oid };
  }

  async #underOtherName({ commit, path }: Suspect, parent: number): Promise<Version | undefined> {
    const [before, after] = [parent, commit].map((one) => treeNameOf(this.#repository, one));
    const { list } = await compareTrees(this.#objects, before, after, MOST_CHANGES);
    const only = Buffer.from(path).toString("latin1");
    const changes = await withRenames(this.#objects, list, { allowEmpty: true, only });
    const from = changes.find(({ to }) => to?.path === only)?.from;
    // Under the same name, there was another kind of file.
    if (!from || from.path === only) return undefined;
    return { commit: parent, path: textOf(from.path), oid: from.oid };
  }

  #entryAt(commit: number, path: string): Promise<TreeEntry | undefined> {
    return entryAt(this.#repository, treeOf(this.#repository, commit), path);
  }

  async #compare(before: Version, after: Version): Promise<LineChange[]> {
    const a = await this.#linesOf(before.oid);
    const b = await this.#linesOf(after.oid);
    this.#compared += a.length + b.length;
    const tail = commonTail(a, b);
    return this.#budget.take(
      compareLines(a.slice(0, a.length - tail), b.slice(0, b.length - tail)),
    );
  }

  async #linesOf(oid: string): Promise<string[]> {
    const known = this.#texts.get(oid);
    if (known) return known;
    const { data } = await this.#objects.read(oid);
    const lines = await this.#budget.take(linesOf(data));
    this.#texts.set(oid, lines, data.length + LINE_BYTES * lines.length);
    return lines;
  }
}

/**
 * How many lines at the end of two texts `git blame` does not compare: those of the last whole blocks that are equal. That
 * shows where the last changes could also be somewhat further down.
 */
function commonTail(a: readonly string[], b: readonly string[]): number {
  let lines = 0;
  let bytes = 0;
  while (lines < Math.min(a.length, b.length)) {
    const [one, other] = [a.at(-1 - lines) as string, b.at(-1 - lines) as string];
    if (one !== other) {
      let same = 0;
      while (same < one.length && one.at(-1 - same) === other.at(-1 - same)) same += 1;
      bytes += same;
      break;
    }
    bytes += one.length;
    lines += 1;
  }
  // The line that the blocks begin in is compared.
  let left = bytes - (bytes % BLOCK) - 1;
  let tail = 0;
  while (tail < lines && (a.at(-1 - tail) as string).length <= left) {
    left -= (a.at(-1 - tail) as string).length;
    tail += 1;
  }
  return tail;
}

/** Lines by their place in a version; those that follow each other in it and in the file are joined. */
function inOrder(pieces: readonly Piece[]): Piece[] {
  const sorted: Piece[] = [];
  for (const piece of pieces.toSorted((a, b) => a.from - b.from || a.line - b.line)) {
    const last = sorted.at(-1);
    const isNext =
      last && last.from + last.count === piece.from && last.line + last.count === piece.line;
    if (isNext) sorted[sorted.length - 1] = { ...last, count: last.count + piece.count };
    else sorted.push(piece);
  }
  return sorted;
}

/**
 * Divides lines into those that changed, and those that did not.
 *
 * @param pieces in order
 * @param changes from the older to the newer version, in order
 * @returns those that did not change by their place in the older version
 */
function divided(
  pieces: readonly Piece[],
  changes: readonly LineChange[],
): { kept: Piece[]; passed: Piece[] } {
  const kept: Piece[] = [];
  const passed: Piece[] = [];
  let first = 0;
  for (const { line, from, count } of pieces) {
    while (first < changes.length && endOf(changes[first] as LineChange) <= from) first += 1;
    const end = from + count;
    let at = from;
    for (let next = first; at < end; next += 1) {
      const change = changes[next];
      const before = changes[next - 1];
      const offset = before ? before.from + before.removed - endOf(before) : 0;
      const same = Math.min(end, change?.to ?? end);
      if (same > at) {
        passed.push({ line: line + at - from, from: at + offset, count: same - at });
        at = same;
      }
      const changed = Math.min(end, change ? endOf(change) : end);
      if (changed > at) {
        kept.push({ line: line + at - from, from: at, count: changed - at });
        at = changed;
      }
    }
  }
  return { kept, passed };
}

const endOf = ({ to, added }: LineChange) => to + added;

/** The result in the order of the file; neighbours of one commit are joined. */
function joined(found: readonly BlamedLines[]): BlamedLines[] {
  const result: BlamedLines[] = [];
  for (const lines of found.toSorted((a, b) => a.from - b.from)) {
    const last = result.at(-1);
    if (last?.commit === lines.commit) {
      result[result.length - 1] = { ...last, count: last.count + lines.count };
    } else result.push(lines);
  }
  return result;
}
