import { Column } from "./columns.ts";
import { OID_BYTES, OidTable } from "./oid-table.ts";
import type { Pack } from "./pack.ts";

/** Where the parents of the first commit begin. */
const START = new Int32Array(1);
const NOBODY = new Int32Array();

/** The commits of a repository, as numbers, and their parents. Those in several packs have one number. */
export class Graph {
  /** An object that is each commit. */
  readonly objects: Int32Array;
  /** When each commit was committed, in seconds of the epoch. */
  readonly times: Float64Array;
  /** The name of each commit's tree. */
  readonly trees: Uint8Array;
  /** One more than the highest generation of a commit's parents. */
  readonly generations: Int32Array;
  readonly #names: OidTable;
  /** The commit that each object is; -1 if it is none. */
  readonly #commits: Int32Array;
  readonly #starts: Int32Array;
  readonly #parents: Int32Array;
  /** All commits, parents before their children. */
  #order: Int32Array | undefined;

  /**
   * @param packs those of the repository; each refers only to itself and those before
   * @param starts the number of each pack's first object
   * @param total how many objects there are
   * @param base the graph of the first of these packs, which is continued
   * @param known how many packs those are
   */
  constructor(
    packs: readonly Pack[],
    starts: readonly number[],
    total: number,
    base: Graph | undefined,
    known: number,
  ) {
    this.#names = base ? base.#names.copy() : new OidTable(64);
    this.#commits = new Int32Array(total).fill(-1);
    if (base) this.#commits.set(base.#commits);
    const objects = new Column(base?.objects ?? new Int32Array(), base?.count);
    const times = new Column(base?.times ?? new Float64Array(), base?.count);
    const trees = new Column(base?.trees ?? new Uint8Array(), base?.trees.length);
    const ends = base ? new Column(base.#starts, base.#starts.length) : new Column(START, 1);
    const parents = base ? new Column(base.#parents, base.#parents.length) : new Column(NOBODY);
    for (const [index, pack] of packs.entries()) {
      if (index < known) continue;
      let from = 0;
      const added: [parents: number, count: number][] = [];
      for (const [at, entry] of pack.commits.entries()) {
        const object = (starts[index] as number) + entry;
        const commit = this.#names.add(pack.oids.bytesOf(entry));
        const count = pack.parentCounts[at] as number;
        this.#commits[object] = commit;
        if (commit === objects.length) {
          objects.push(object);
          times.push(pack.times[at] as number);
          trees.append(pack.trees.subarray(OID_BYTES * at, OID_BYTES * (at + 1)));
          added.push([from, count]);
        }
        from += OID_BYTES * count;
      }
      // Parents may follow their children.
      for (const [first, count] of added) {
        for (let parent = 0; parent < count; parent += 1) {
          parents.push(this.#names.find(pack.parents, first + OID_BYTES * parent));
        }
        ends.push(parents.length);
      }
    }
    this.objects = objects.array;
    this.times = times.array;
    this.trees = trees.array;
    this.#starts = ends.array;
    this.#parents = parents.array;
    this.generations = this.#findGenerations(base);
  }

  /** How many commits there are. */
  get count(): number {
    return this.objects.length;
  }

  /** The commit that an object is; -1 if it is none. */
  commitOf(object: number): number {
    return this.#commits[object] ?? -1;
  }

  /** The commits whose names begin with some hex digits, at least two; at most `most`. */
  withPrefix(digits: string, most: number): number[] {
    return this.#names.withPrefix(digits, most);
  }

  /** The parents of a commit. */
  parentsOf(commit: number): Int32Array {
    return this.#parents.subarray(this.#starts[commit], this.#starts[commit + 1]);
  }

  /**
   * All commits that can be reached from some, which are included, as marks.
   *
   * @param ends commits whose parents are not followed
   * @param known commits that are left out, and all that can be reached from them only
   */
  reach(from: Iterable<number>, ends?: ReadonlySet<number>, known?: Uint8Array): Uint8Array {
    const marks = new Uint8Array(this.count);
    const parents = this.#parents;
    const starts = this.#starts;
    const open: number[] = [];
    for (const commit of from) {
      if (marks[commit] || known?.[commit]) continue;
      marks[commit] = 1;
      open.push(commit);
    }
    for (let commit = open.pop(); commit !== undefined; commit = open.pop()) {
      if (ends?.has(commit)) continue;
      const end = starts[commit + 1] as number;
      for (let edge = starts[commit] as number; edge < end; edge += 1) {
        const parent = parents[edge] as number;
        if (marks[parent] || known?.[parent]) continue;
        marks[parent] = 1;
        open.push(parent);
      }
    }
    return marks;
  }

  /** How many commits can be reached from one, which counts, too. */
  countTo(from: number, isFirstParent = false): number {
    if (!isFirstParent) return this.reach([from]).reduce((sum, mark) => sum + mark, 0);
    let count = 0;
    for (let at: number | undefined = from; at !== undefined; at = this.parentsOf(at)[0])
      count += 1;
    return count;
  }

  /** A commit and all from which it can be reached, as marks. */
  descendants(of: number): Uint8Array {
    const marks = new Uint8Array(this.count);
    marks[of] = 1;
    this.#order ??= this.#byGeneration();
    for (const commit of this.#order) {
      const end = this.#starts[commit + 1] as number;
      for (let edge = this.#starts[commit] as number; edge < end; edge += 1) {
        if (marks[this.#parents[edge] as number]) marks[commit] = 1;
      }
    }
    return marks;
  }

  #byGeneration(): Int32Array {
    const { generations } = this;
    /** Where the commits of each generation begin. */
    const places = new Int32Array(this.count + 2);
    for (const generation of generations)
      places[generation + 1] = (places[generation + 1] as number) + 1;
    for (let generation = 1; generation < places.length; generation += 1) {
      places[generation] = (places[generation] as number) + (places[generation - 1] as number);
    }
    const order = new Int32Array(this.count);
    for (const [commit, generation] of generations.entries()) {
      const place = places[generation] as number;
      order[place] = commit;
      places[generation] = place + 1;
    }
    return order;
  }

  /** Whether a commit is another one or an ancestor of it. */
  isAncestor(ancestor: number, commit: number): boolean {
    return this.areBelow([commit], new Set([ancestor]));
  }

  /** Whether each of some commits is or descends from one of others. */
  areBelow(commits: readonly number[], ancestors: ReadonlySet<number>): boolean {
    let lowest = Number.POSITIVE_INFINITY;
    for (const commit of ancestors) {
      lowest = Math.min(lowest, this.generations[commit] as number);
    }
    const reaches = (start: number) => {
      const seen = new Set([start]);
      const open = [start];
      for (let commit = open.pop(); commit !== undefined; commit = open.pop()) {
        if (ancestors.has(commit)) return true;
        for (const parent of this.parentsOf(commit)) {
          if ((this.generations[parent] as number) < lowest || seen.has(parent)) continue;
          seen.add(parent);
          open.push(parent);
        }
      }
      return false;
    };
    return commits.every(reaches);
  }

  #findGenerations(base: Graph | undefined): Int32Array {
    const generations = new Int32Array(this.count);
    if (base) generations.set(base.generations);
    const open: number[] = [];
    for (let start = base?.count ?? 0; start < this.count; start += 1) {
      if (generations[start] !== 0) continue;
      open.push(start);
      for (let commit = open.at(-1); commit !== undefined; commit = open.at(-1)) {
        let highest = 0;
        let isReady = true;
        for (const parent of this.parentsOf(commit)) {
          const generation = generations[parent] as number;
          highest = Math.max(highest, generation);
          if (generation !== 0) continue;
          isReady = false;
          open.push(parent);
        }
        if (!isReady) continue;
        generations[commit] = highest + 1;
        open.pop();
      }
    }
    return generations;
  }
}
