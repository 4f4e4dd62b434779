import { Column } from "./columns.ts";
import { OID_BYTES, OidTable } from "./oid-table.ts";
import type { Pack } from "./pack.ts";

/** What graphs that continue each other share: each adds its commits at the end, and looks at none that were added later. */
interface Columns {
  /** The names of the commits. */
  readonly names: OidTable;
  /** The commit that each object is; -1 if it is none. */
  readonly commits: Column<Int32Array>;
  readonly objects: Column<Int32Array>;
  readonly times: Column<Float64Array>;
  readonly trees: Column<Uint8Array>;
  readonly generations: Column<Int32Array>;
  /** Where the parents of each commit begin, and at last where those of the next one will. */
  readonly starts: Column<Int32Array>;
  readonly parents: Column<Int32Array>;
}

/** Marks of commits that can be reached from where a walk begins, from what is known, and from a common ancestor. */
const REACHED = 1;
const KNOWN = 2;
const COMMON = 4;

const empty = (): Columns => ({
  names: new OidTable(64),
  commits: new Column(new Int32Array()),
  objects: new Column(new Int32Array()),
  times: new Column(new Float64Array()),
  trees: new Column(new Uint8Array()),
  generations: new Column(new Int32Array()),
  starts: new Column(new Int32Array(1), 1),
  parents: new Column(new Int32Array()),
});

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
  readonly #columns: Columns;
  readonly #commits: Int32Array;
  readonly #starts: Int32Array;
  readonly #parents: Int32Array;
  /** All commits, parents before their children. */
  #order: Int32Array | undefined;

  /** @param columns of all its commits */
  private constructor(columns: Columns) {
    this.#columns = columns;
    this.#commits = columns.commits.array;
    this.objects = columns.objects.array;
    this.times = columns.times.array;
    this.trees = columns.trees.array;
    this.generations = columns.generations.array;
    this.#starts = columns.starts.array;
    this.#parents = columns.parents.array;
  }

  /**
   * Makes a graph in steps of some commits each, between which there may be pauses.
   *
   * @param packs those of the repository; each refers only to itself and those before
   * @param starts the number of each pack's first object
   * @param base the graph of the first of these packs, which is continued
   * @param known how many packs those are
   */
  static *steps(
    packs: readonly Pack[],
    starts: readonly number[],
    base: Graph | undefined,
    known: number,
  ): Generator<void, Graph> {
    const columns = base ? base.#continued() : empty();
    for (let place = known; place < packs.length; place += 1) {
      yield* add(columns, packs[place] as Pack, starts[place] as number);
    }
    yield* addGenerations(columns);
    return new Graph(columns);
  }

  /** What is to be continued: copies, if another graph has continued it already. */
  #continued(): Columns {
    const { names, commits, objects } = this.#columns;
    if (objects.length === this.count && commits.length === this.#commits.length) {
      return this.#columns;
    }
    return {
      names: names.first(this.count),
      commits: new Column(this.#commits, this.#commits.length),
      objects: new Column(this.objects, this.count),
      times: new Column(this.times, this.count),
      trees: new Column(this.trees, this.trees.length),
      generations: new Column(this.generations, this.count),
      starts: new Column(this.#starts, this.#starts.length),
      parents: new Column(this.#parents, this.#parents.length),
    };
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
    const found = this.#columns.names.withPrefix(digits, most);
    return found.filter((commit) => commit < this.count);
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

  /** The commits that can be reached from one and not from others, like `git rev-list from ^known`. */
  missing(from: number, known: readonly number[]): number[] {
    const found: number[] = [];
    const isOpen = (marks: number) => marks === REACHED;
    this.#descend(
      [[from, REACHED], ...known.map((one) => [one, KNOWN] as const)],
      isOpen,
      (at, marks) => {
        if (marks === REACHED) found.push(at);
        return marks;
      },
    );
    return found;
  }

  /** The common ancestors of a commit and any of others that are no ancestors of another one. */
  common(one: number, others: readonly number[]): number[] {
    const found: number[] = [];
    const isOpen = (marks: number) => marks < COMMON;
    this.#descend(
      [[one, REACHED], ...others.map((other) => [other, KNOWN] as const)],
      isOpen,
      (at, marks) => {
        if (marks !== (REACHED | KNOWN)) return marks;
        found.push(at);
        return marks | COMMON;
      },
    );
    return found;
  }

  /**
   * Looks at commits and their ancestors, none before one that it can be reached from, until none is open: only at those of
   * a higher generation than what all have in common.
   *
   * @param starts where to begin, with marks
   * @param isOpen whether a commit with these marks must be looked at; with further ones, it may be no longer
   * @param visit returns the marks that a commit's parents get
   */
  #descend(
    starts: readonly (readonly [commit: number, marks: number])[],
    isOpen: (marks: number) => boolean,
    visit: (commit: number, marks: number) => number,
  ): void {
    const marks = new Uint8Array(this.count);
    /** What is to be looked at, by generation. */
    const levels = new Map<number, number[]>();
    let open = 0;
    const mark = (commit: number, as: number) => {
      const before = marks[commit] as number;
      const after = before | as;
      if (after === before) return;
      marks[commit] = after;
      if (before !== 0) {
        if (isOpen(before) && !isOpen(after)) open -= 1;
        return;
      }
      if (isOpen(after)) open += 1;
      const level = this.generations[commit] as number;
      const others = levels.get(level);
      if (others) others.push(commit);
      else levels.set(level, [commit]);
    };
    for (const [commit, as] of starts) mark(commit, as);
    for (let level = Math.max(...levels.keys()); open > 0; level -= 1) {
      for (const commit of levels.get(level) ?? []) {
        const found = marks[commit] as number;
        if (isOpen(found)) open -= 1;
        const as = visit(commit, found);
        const end = this.#starts[commit + 1] as number;
        for (let edge = this.#starts[commit] as number; edge < end; edge += 1) {
          mark(this.#parents[edge] as number, as);
        }
      }
    }
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
        const end = this.#starts[commit + 1] as number;
        for (let edge = this.#starts[commit] as number; edge < end; edge += 1) {
          const parent = this.#parents[edge] as number;
          if ((this.generations[parent] as number) < lowest || seen.has(parent)) continue;
          seen.add(parent);
          open.push(parent);
        }
      }
      return false;
    };
    return commits.every(reaches);
  }
}

/** Commits of a step of what is done with all. */
const STEP = 256;

/** Adds the commits of a pack. @param start the number of its first object */
function* add(columns: Columns, pack: Pack, start: number): Generator<void> {
  const { names, commits, objects, times, trees, starts, parents } = columns;
  commits.append(new Int32Array(pack.count).fill(-1));
  const oids = pack.oids.all;
  let from = 0;
  const added: [parents: number, count: number][] = [];
  for (const [at, entry] of pack.commits.entries()) {
    const object = start + entry;
    const commit = names.add(oids, OID_BYTES * entry);
    const count = pack.parentCounts[at] as number;
    commits.set(object, commit);
    if (commit === objects.length) {
      objects.push(object);
      times.push(pack.times[at] as number);
      trees.append(pack.trees.subarray(OID_BYTES * at, OID_BYTES * (at + 1)));
      added.push([from, count]);
    }
    from += OID_BYTES * count;
    if (at % STEP === STEP - 1) yield;
  }
  // Parents may follow their children.
  for (const [at, [first, count]] of added.entries()) {
    for (let parent = 0; parent < count; parent += 1) {
      parents.push(names.find(pack.parents, first + OID_BYTES * parent));
    }
    starts.push(parents.length);
    if (at % STEP === STEP - 1) yield;
  }
}

/** Finds the generations of the commits that have none yet. */
function* addGenerations({ objects, generations, starts, parents }: Columns): Generator<void> {
  const first = generations.length;
  const count = objects.length;
  generations.append(new Int32Array(count - first));
  const open: number[] = [];
  let found = 0;
  for (let start = first; start < count; start += 1) {
    if (generations.at(start) !== 0) continue;
    open.push(start);
    for (let commit = open.at(-1); commit !== undefined; commit = open.at(-1)) {
      let highest = 0;
      let isReady = true;
      const end = starts.at(commit + 1);
      for (let edge = starts.at(commit); edge < end; edge += 1) {
        const parent = parents.at(edge);
        const generation = generations.at(parent);
        highest = Math.max(highest, generation);
        if (generation !== 0) continue;
        isReady = false;
        open.push(parent);
      }
      if (!isReady) continue;
      generations.set(commit, highest + 1);
      open.pop();
      found += 1;
      if (found % STEP === 0) yield;
    }
  }
}
