import { Pace } from "../turns/pace.ts";
import { Lru } from "./lru.ts";
import { FOLDER, SUBMODULE } from "./objects.ts";
import { OID_BYTES } from "./oid-table.ts";
import type { PackReader } from "./packs.ts";
import type { Repository } from "./repository.ts";
import { locate, partsOf, treeOf } from "./trees.ts";

/** What stands for a path where there is nothing. */
const NOTHING = -1;
/** Objects have lower numbers. */
const OBJECTS = 2 ** 32;
/** Trees that are remembered with what they have at a path. */
const REMEMBERED = 20_000;

/**
 * What the trees of commits have at a path, as numbers that are equal if the objects and modes are. Most commits leave
 * most folders as they are, so what was found in a folder is remembered.
 */
export class PathFinder {
  readonly #repository: Repository;
  readonly #parts: readonly Buffer[];
  /** What was found in trees, for each part of the path. */
  readonly #found: Map<number, number>[];
  readonly #submodules = new Map<string, number>();

  /** @param path without anything, it is that of the whole tree */
  constructor(repository: Repository, path: string) {
    this.#repository = repository;
    this.#parts = partsOf(path).map((part) => Buffer.from(part));
    this.#found = this.#parts.map(() => new Map());
  }

  /** Whether what {@link at} returned stands for nothing at all. */
  static isNothing(found: number): boolean {
    return found === NOTHING;
  }

  /** What a commit has at the path; a promise only if trees must be read. */
  at(commit: number): number | Promise<number> {
    let tree = treeOf(this.#repository, commit);
    let found = FOLDER * OBJECTS + tree;
    for (const [depth, known] of this.#found.entries()) {
      const next = known.get(tree);
      if (next === undefined) return this.#read(tree, depth);
      if (depth === this.#parts.length - 1 || Math.floor(next / OBJECTS) !== FOLDER) {
        return depth === this.#parts.length - 1 ? next : NOTHING;
      }
      tree = next % OBJECTS;
      found = next;
    }
    return found;
  }

  async #read(first: number, from: number): Promise<number> {
    let tree = first;
    for (let depth = from; ; depth += 1) {
      const known = this.#found[depth] as Map<number, number>;
      const next = known.get(tree) ?? (await this.#look(tree, depth));
      if (known.size >= REMEMBERED) known.clear();
      known.set(tree, next);
      if (depth === this.#parts.length - 1) return next;
      if (Math.floor(next / OBJECTS) !== FOLDER) return NOTHING;
      tree = next % OBJECTS;
    }
  }

  async #look(tree: number, depth: number): Promise<number> {
    const { data } = await this.#repository.read(tree);
    const entry = locate(data, this.#parts[depth] as Buffer);
    if (!entry) return NOTHING;
    const { mode, at } = entry;
    return (
      mode * OBJECTS +
      (mode === SUBMODULE ? this.#numberOf(data, at) : this.#repository.find(data, at))
    );
  }

  /** A number of our own for a commit of another repository. */
  #numberOf(tree: Buffer, at: number): number {
    const oid = tree.toString("hex", at, at + OID_BYTES);
    const number = this.#submodules.get(oid) ?? this.#submodules.size;
    this.#submodules.set(oid, number);
    return number;
  }
}

/** The last changes of paths that were found, by repositories' packs. */
const lastChanges = new WeakMap<PackReader, Lru<string, number>>();
const LAST_CHANGES_BYTES = 8 * 1024 * 1024;

/**
 * Finds the last commit that changed what is at a path, like `git log -1 -- path`: of a merge, the history of the first
 * parent that has the same there is followed.
 *
 * @param from the commit to begin at
 * @param pace ends it, when nobody waits any more. Default: it goes on
 * @returns the commit's number; `undefined` if there never was anything
 */
export async function lastChange(
  repository: Repository,
  from: number,
  path: string,
  pace = new Pace(),
): Promise<number | undefined> {
  const known = lastChanges.get(repository.packs) ?? new Lru<string, number>(LAST_CHANGES_BYTES);
  lastChanges.set(repository.packs, known);
  const place = partsOf(path).join("/");
  const keyOf = (commit: number) => `${repository.lineage} ${commit} ${place}`;
  const finder = new PathFinder(repository, place);
  let commit = from;
  const value = await finder.at(commit);
  let last: number | undefined;
  for (;;) {
    last = known.get(keyOf(commit));
    if (last !== undefined) break;
    let same: number | undefined;
    for (const parent of repository.graph.parentsOf(commit)) {
      const before = finder.at(parent);
      if ((typeof before === "number" ? before : await before) !== value) continue;
      same = parent;
      break;
    }
    if (same === undefined) {
      last = commit;
      break;
    }
    commit = same;
    if (pace.isDue) await pace.pause();
  }
  const isFirst = repository.graph.parentsOf(last).length === 0;
  if (isFirst && PathFinder.isNothing(value)) return undefined;
  known.set(keyOf(from), last, 2 * (place.length + 60));
  return last;
}
