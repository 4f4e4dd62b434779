import { Pace } from "../turns/pace.ts";
import { Lru } from "./lru.ts";
import { BLOB, COMMIT, FOLDER, TREE } from "./objects.ts";
import type { PackReader } from "./packs.ts";
import type { Repository } from "./repository.ts";
import { entriesOf, type TreeEntry, typeOfMode } from "./trees.ts";

/** An entry of a folder or below it. */
export interface ListedEntry extends TreeEntry {
  readonly path: string;
}

/** The kinds of entries, in the order in which they are listed. */
const KINDS = [TREE, BLOB, COMMIT] as const;

/** How many entries of each of {@link KINDS} there are in a tree, and below. */
type Counts = readonly [number, number, number];

const CACHE = 8 * 1024 * 1024;
const known = new WeakMap<PackReader, Lru<string, Counts>>();

/** A folder to list. */
interface Folder {
  readonly tree: number;
  /** Empty, or with a slash at its end. */
  readonly path: string;
}

/**
 * The entries of a folder: folders, then files, then submodules, each in Git's order. If it is recursive, what is in it is
 * counted first, each tree once: a few trees can have billions of entries together, of which only a part is read.
 */
export class TreeList {
  readonly #repository: Repository;
  readonly #root: Folder;
  readonly #isRecursive: boolean;
  readonly #kept: Lru<string, Counts>;
  /** Also those that were dropped from the cache: each tree is counted once. */
  readonly #counts = new Map<number, Counts>();
  readonly #pace: Pace;
  /** All of them, if it is not recursive. */
  #entries: ListedEntry[] | undefined;

  /**
   * @param tree the folder's tree
   * @param path the folder's path, which the entries' begin with
   * @param pace the request's budget. Default: it goes on, whoever has left
   */
  constructor(
    repository: Repository,
    tree: number,
    path: string,
    isRecursive: boolean,
    pace = new Pace(),
  ) {
    this.#pace = pace;
    this.#repository = repository;
    this.#root = { tree, path: path === "" ? "" : `${path}/` };
    this.#isRecursive = isRecursive;
    this.#kept = known.get(repository.packs) ?? new Lru(CACHE);
    known.set(repository.packs, this.#kept);
  }

  /** How many entries there are. */
  async length(): Promise<number> {
    if (!this.#isRecursive) return (await this.#all()).length;
    const [trees, blobs, submodules] = await this.#countsOf(this.#root.tree);
    return trees + blobs + submodules;
  }

  /** A part of the entries. */
  async slice(from: number, to: number): Promise<ListedEntry[]> {
    if (!this.#isRecursive) return (await this.#all()).slice(from, to);
    const entries: ListedEntry[] = [];
    let start = 0;
    for (const [kind, count] of (await this.#countsOf(this.#root.tree)).entries()) {
      const [first, end] = [Math.max(from - start, 0), Math.min(to - start, count)];
      start += count;
      if (first < end) await this.#collect(kind, first, end, entries);
    }
    return entries;
  }

  /** How many entries of a kind there are, such as {@link TREE}. */
  async lengthOf(kind: (typeof KINDS)[number]): Promise<number> {
    const at = KINDS.indexOf(kind);
    if (this.#isRecursive) return (await this.#countsOf(this.#root.tree))[at] as number;
    return (await this.#ofKind(kind)).length;
  }

  /** A part of the entries of a kind. */
  async sliceOf(kind: (typeof KINDS)[number], from: number, to: number): Promise<ListedEntry[]> {
    if (!this.#isRecursive) return (await this.#ofKind(kind)).slice(from, to);
    const entries: ListedEntry[] = [];
    const end = Math.min(to, await this.lengthOf(kind));
    if (from < end) await this.#collect(KINDS.indexOf(kind), from, end, entries);
    return entries;
  }

  async #ofKind(kind: (typeof KINDS)[number]): Promise<ListedEntry[]> {
    return (await this.#all()).filter(({ mode }) => typeOfMode(mode) === kind);
  }

  async #all(): Promise<ListedEntry[]> {
    if (this.#entries) return this.#entries;
    const { tree, path } = this.#root;
    const entries = await entriesOf(this.#repository, tree);
    this.#entries = KINDS.flatMap((kind) =>
      entries
        .filter(({ mode }) => typeOfMode(mode) === kind)
        .map(({ mode, name, oid }) => ({ mode, name, oid, path: path + name })),
    );
    return this.#entries;
  }

  /** Adds the entries of one kind from one place to another. */
  async #collect(kind: number, from: number, to: number, found: ListedEntry[]): Promise<void> {
    let place = 0;
    const open: { entries: readonly TreeEntry[]; at: number; path: string }[] = [];
    const enter = async ({ tree, path }: Folder) => {
      open.push({ entries: await entriesOf(this.#repository, tree), at: 0, path });
    };
    await enter(this.#root);
    for (let folder = open.at(-1); folder && place < to; folder = open.at(-1)) {
      const entry = folder.entries[folder.at];
      if (!entry) {
        open.pop();
        continue;
      }
      folder.at += 1;
      if (typeOfMode(entry.mode) === KINDS[kind]) {
        if (place >= from) found.push({ ...entry, path: folder.path + entry.name });
        place += 1;
      }
      if (entry.mode !== FOLDER) continue;
      const tree = this.#repository.findHex(entry.oid);
      const count = (await this.#countsOf(tree))[kind] as number;
      if (place + count <= from) place += count;
      else if (count > 0) await enter({ tree, path: `${folder.path}${entry.name}/` });
    }
  }

  async #countsOf(tree: number): Promise<Counts> {
    const name = this.#repository.oidOf(tree).toString("latin1");
    const before = this.#counts.get(tree) ?? this.#kept.get(name);
    if (before) return before;
    const counts: [number, number, number] = [0, 0, 0];
    const add = (kind: number, count: number) => {
      counts[kind] = Math.min((counts[kind] as number) + count, Number.MAX_SAFE_INTEGER / 4);
    };
    for (const { mode, oid } of await entriesOf(this.#repository, tree)) {
      add(KINDS.indexOf(typeOfMode(mode)), 1);
      if (mode !== FOLDER) continue;
      const below = await this.#countsOf(this.#repository.findHex(oid));
      for (const [kind, count] of below.entries()) add(kind, count);
    }
    this.#counts.set(tree, counts);
    this.#kept.set(name, counts, 200);
    if (this.#pace.isDue) await this.#pace.pause();
    return counts;
  }
}
