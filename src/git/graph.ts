import { OID_BYTES } from "./oid-table.ts";
import type { Pack } from "./pack.ts";

/** The commits of a repository, as numbers, and their parents. */
export class Graph {
  /** How many commits there are. */
  readonly count: number;
  /** The object of each commit. */
  readonly objects: Int32Array;
  /** When each commit was committed, in seconds of the epoch. */
  readonly times: Float64Array;
  /** The name of each commit's tree. */
  readonly trees: Buffer;
  /** One more than the highest generation of a commit's parents. */
  readonly generations: Int32Array;
  readonly #commits: Int32Array;
  readonly #starts: Int32Array;
  readonly #parents: Int32Array;

  /**
   * @param packs those of the repository
   * @param starts the number of each pack's first object
   * @param objects how many objects there are
   * @param find an object's number by its name
   */
  constructor(
    packs: readonly Pack[],
    starts: readonly number[],
    objects: number,
    find: (bytes: Uint8Array, at: number) => number,
  ) {
    this.count = packs.reduce((sum, { commits }) => sum + commits.length, 0);
    this.objects = new Int32Array(this.count);
    this.times = new Float64Array(this.count);
    this.trees = Buffer.alloc(OID_BYTES * this.count);
    this.#commits = new Int32Array(objects).fill(-1);
    let commit = 0;
    let edges = 0;
    for (const [index, pack] of packs.entries()) {
      this.times.set(pack.times, commit);
      this.trees.set(pack.trees, OID_BYTES * commit);
      for (const entry of pack.commits) {
        const object = (starts[index] as number) + entry;
        this.objects[commit] = object;
        this.#commits[object] = commit;
        commit += 1;
      }
      edges += pack.parents.length / OID_BYTES;
    }
    this.#starts = new Int32Array(this.count + 1);
    this.#parents = new Int32Array(edges);
    commit = 0;
    let edge = 0;
    for (const pack of packs) {
      let at = 0;
      for (const count of pack.parentCounts) {
        for (let end = edge + count; edge < end; edge += 1, at += OID_BYTES) {
          this.#parents[edge] = this.#commits[find(pack.parents, at)] as number;
        }
        commit += 1;
        this.#starts[commit] = edge;
      }
    }
    this.generations = this.#findGenerations();
  }

  /** The commit that an object is; -1 if it is none. */
  commitOf(object: number): number {
    return this.#commits[object] ?? -1;
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

  #findGenerations(): Int32Array {
    const generations = new Int32Array(this.count);
    const open: number[] = [];
    for (let start = 0; start < this.count; start += 1) {
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
