import type { Pace } from "../turns/pace.ts";
import { BLOB, COMMIT, eachEntry, FOLDER, SUBMODULE, TAG, TREE, tagLinkOf } from "./objects.ts";
import { OID_BYTES } from "./oid-table.ts";
import type { Repository } from "./repository.ts";
import { entryKey, objectsByEntry } from "./trees.ts";

/** Which objects of a history are left out. */
export interface Filter {
  /** Whether trees are sent. */
  readonly trees: boolean;
  /** Blobs of this size, in bytes, and larger ones are not sent. */
  readonly blobLimit: number;
}

/** Leaves out nothing. */
export const EVERYTHING: Filter = { trees: true, blobLimit: Number.POSITIVE_INFINITY };

/** Objects to send, each once. */
export class Selection {
  readonly repository: Repository;
  /** A mark for each selected object. */
  readonly marks: Uint8Array;
  /** Marks for objects that the client has, as far as they were seen: deltas of them can be sent. */
  readonly had: Uint8Array;
  readonly #filter: Filter;
  readonly #pace: Pace;
  #count = 0;

  constructor(repository: Repository, filter: Filter, pace: Pace) {
    this.repository = repository;
    this.marks = new Uint8Array(repository.count);
    this.had = new Uint8Array(repository.count);
    this.#filter = filter;
    this.#pace = pace;
  }

  /** How many objects are selected. */
  get count(): number {
    return this.#count;
  }

  /** Selects an object, and says whether it was not selected before. */
  add(object: number): boolean {
    if (this.marks[object]) return false;
    this.marks[object] = 1;
    this.#count += 1;
    return true;
  }

  /** Selects an object that was asked for, and what a tree consists of; returns the commit to start from, if there is one. */
  async addWanted(wanted: number): Promise<number | undefined> {
    const { repository } = this;
    let object = wanted;
    for (let type = repository.typeOf(object); ; type = repository.typeOf(object)) {
      if (type === COMMIT) return repository.graph.commitOf(object);
      if (type === TREE) await this.#addTree(object);
      if (type === BLOB) this.add(object);
      if (type !== TAG) return undefined;
      this.add(object);
      object = repository.find(tagLinkOf((await repository.read(object)).data).target);
    }
  }

  /** Selects all objects of the repository that the filter does not leave out. */
  addAll(): void {
    const { repository } = this;
    for (const [place, pack] of repository.list.entries()) {
      const newer = repository.list.slice(place + 1);
      const start = repository.startOf(place);
      for (let entry = 0; entry < pack.count; entry += 1) {
        const type = pack.types[entry] as number;
        if (type === TREE && !this.#filter.trees) continue;
        if (type === BLOB && (pack.sizes[entry] as number) >= this.#filter.blobLimit) continue;
        const oid = newer.length > 0 ? pack.oids.bytesOf(entry) : undefined;
        if (oid && newer.some(({ oids }) => oids.find(oid) >= 0)) continue;
        this.add(start + entry);
      }
    }
  }

  /**
   * Selects commits, and of each tree what its commit's parents don't have.
   *
   * @param commits parents first: a tree that is selected is then one of which everything is sent or had. A revert has
   *   its ancestor's tree; if it came first, the ancestor's would not be looked at.
   * @param ends commits whose parents the client does not get
   * @param isWhole whether the client has nothing
   */
  async addCommits(
    commits: readonly number[],
    ends: ReadonlySet<number>,
    isWhole: boolean,
  ): Promise<void> {
    const { repository } = this;
    const { graph } = repository;
    const treeOf = (commit: number) => repository.find(graph.trees, OID_BYTES * commit);
    for (const commit of commits) {
      this.add(graph.objects[commit] as number);
      if (this.#filter.trees) {
        const parents = ends.has(commit) ? [] : [...graph.parentsOf(commit)];
        if (isWhole || parents.length === 0) await this.#addTree(treeOf(commit));
        else await this.#addDifference(treeOf(commit), parents.map(treeOf));
      }
      if (this.#pace.isDue) await this.#pace.pause();
    }
  }

  #isWanted(object: number, mode: number): boolean {
    if (mode === FOLDER) return this.#filter.trees;
    const { blobLimit } = this.#filter;
    return blobLimit === Number.POSITIVE_INFINITY || this.repository.sizeOf(object) < blobLimit;
  }

  /** Selects a tree, and all that it consists of. */
  async #addTree(root: number): Promise<void> {
    const open = [root];
    for (let tree = open.pop(); tree !== undefined; tree = open.pop()) {
      if (!this.add(tree)) continue;
      const { data } = await this.repository.read(tree);
      eachEntry(data, (mode, _from, _to, at) => {
        if (mode === SUBMODULE) return;
        const object = this.repository.find(data, at);
        if (this.marks[object] || !this.#isWanted(object, mode)) return;
        if (mode === FOLDER) open.push(object);
        else this.add(object);
      });
      if (this.#pace.isDue) await this.#pace.pause();
    }
  }

  /** Selects what none of other trees has at the same path. */
  async #addDifference(root: number, others: readonly number[]): Promise<void> {
    const open = [{ tree: root, others }];
    for (let next = open.pop(); next; next = open.pop()) {
      const { tree, others } = next;
      if (others.includes(tree) || this.marks[tree]) continue;
      for (const other of others) this.had[other] = 1;
      this.add(tree);
      const known = await objectsByEntry(this.repository, others);
      const { data } = await this.repository.read(tree);
      eachEntry(data, (mode, from, to, at) => {
        if (mode === SUBMODULE) return;
        const object = this.repository.find(data, at);
        const same = known.get(entryKey(data, mode, from, to)) ?? [];
        if (same.includes(object) || !this.#isWanted(object, mode)) return;
        if (mode === FOLDER) open.push({ tree: object, others: same });
        else {
          for (const had of same) this.had[had] = 1;
          this.add(object);
        }
      });
      if (this.#pace.isDue) await this.#pace.pause();
    }
  }
}
