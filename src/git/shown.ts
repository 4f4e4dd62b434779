import type { Reader } from "../store/port.ts";
import { Pace } from "../turns/pace.ts";
import { Lru } from "./lru.ts";
import { BLOB, eachEntry, FOLDER, SUBMODULE, TAG, TREE, tagLinkOf } from "./objects.ts";
import { OID_BYTES } from "./oid-table.ts";
import { hasTip, listRefs, type Ref, tipsAmong } from "./refs.ts";
import type { Repository, RepositoryRow } from "./repository.ts";
import { entryKey, objectsByEntry } from "./trees.ts";

/**
 * What some commits brought: the objects of their trees that their parents' trees do not have at the same path. It only
 * grows, so each commit is looked at once.
 */
class Brought {
  readonly repository: Repository;
  readonly #objects: Uint8Array;
  readonly #commits: Uint8Array;

  constructor(repository: Repository) {
    this.repository = repository;
    this.#objects = new Uint8Array(repository.count);
    this.#commits = new Uint8Array(repository.graph.count);
  }

  has(object: number): boolean {
    return this.#objects[object] === 1;
  }

  /** Whether all commits that were looked at are marked. */
  isWithin(marks: Uint8Array): boolean {
    return this.#commits.every((looked, commit) => looked === 0 || marks[commit] === 1);
  }

  /** The same in a later version of the repository, where objects may have come again: the last ones count. */
  async later(repository: Repository, pace: Pace): Promise<Brought> {
    if (repository === this.repository) return this;
    const later = new Brought(repository);
    later.#commits.set(this.#commits);
    later.#objects.set(this.#objects);
    for (let object = this.#objects.length; object < repository.count; object += 1) {
      const before = this.repository.find(repository.oidOf(object));
      if (before >= 0 && this.has(before)) later.#objects[object] = 1;
      if (pace.isDue) await pace.pause();
    }
    return later;
  }

  /** Looks at a commit. */
  async addCommit(commit: number, pace: Pace): Promise<void> {
    if (this.#commits[commit]) return;
    const { graph } = this.repository;
    const treeOf = (number: number) => this.repository.find(graph.trees, OID_BYTES * number);
    await this.#addTree(treeOf(commit), [...graph.parentsOf(commit)].map(treeOf), pace);
    this.#commits[commit] = 1;
  }

  /** @param others trees whose objects are left out */
  async #addTree(tree: number, others: readonly number[], pace: Pace): Promise<void> {
    const seen = new Set<string>();
    const open = [{ tree, others }];
    for (let next = open.pop(); next; next = open.pop()) {
      const { tree, others } = next;
      const key = `${tree} ${others.join(" ")}`;
      if (others.includes(tree) || seen.has(key)) continue;
      seen.add(key);
      this.#objects[tree] = 1;
      const known = await objectsByEntry(this.repository, others);
      const { data } = await this.repository.read(tree);
      eachEntry(data, (mode, from, to, at) => {
        if (mode === SUBMODULE) return;
        const object = this.repository.find(data, at);
        const same = known.get(entryKey(data, mode, from, to)) ?? [];
        if (mode === FOLDER) open.push({ tree: object, others: same });
        else if (!same.includes(object)) this.#objects[object] = 1;
      });
      if (pace.isDue) await pace.pause();
    }
  }

  /** Looks at an object; a commit is none here. */
  async addObject(object: number, pace: Pace): Promise<void> {
    const type = this.repository.typeOf(object);
    if (type === TREE) await this.#addTree(object, [], pace);
    else if (type === BLOB) this.#objects[object] = 1;
  }
}

/** What the references of a repository reach, as of a version of both. */
class Reach {
  readonly repository: Repository;
  readonly refsVersion: number;
  /** A mark for each commit that a reference reaches. */
  readonly commits: Uint8Array;
  /** The annotated tags that references are for. */
  readonly #tags: ReadonlySet<number>;
  /** What commits brought that no reference reaches. */
  readonly #lost: Brought;
  #isLostKnown = false;
  /** What commits brought that references reach, as far as anybody has asked. */
  readonly #kept: Brought;
  /** The commits that {@link #kept} is of, the newest first, and how many of them were looked at. */
  #newest: readonly number[] | undefined;
  #looked = 0;

  private constructor(
    refsVersion: number,
    commits: Uint8Array,
    tags: ReadonlySet<number>,
    lost: Brought,
    kept: Brought,
  ) {
    this.repository = lost.repository;
    this.refsVersion = refsVersion;
    this.commits = commits;
    this.#tags = tags;
    this.#lost = lost;
    this.#kept = kept;
  }

  /**
   * @param refs all references
   * @param before what was reached earlier, in this version of the repository or one that it continues
   */
  static async of(
    repository: Repository,
    refsVersion: number,
    refs: readonly Ref[],
    before: Reach | undefined,
    pace: Pace,
  ): Promise<Reach> {
    const { graph } = repository;
    const tags = new Set<number>();
    const tips: number[] = [];
    const others: number[] = [];
    for (const { oid } of refs) {
      let object = repository.findHex(oid);
      while (object >= 0 && repository.typeOf(object) === TAG) {
        tags.add(object);
        object = repository.find(tagLinkOf((await repository.read(object)).data).target);
      }
      const commit = graph.commitOf(object);
      if (commit >= 0) tips.push(commit);
      else if (object >= 0) others.push(object);
      if (pace.isDue) await pace.pause();
    }
    const commits = graph.reach(tips);
    const lost = before ? await before.#lost.later(repository, pace) : new Brought(repository);
    const kept = (await before?.keptLater(repository, commits, pace)) ?? new Brought(repository);
    for (const object of others) await kept.addObject(object, pace);
    return new Reach(refsVersion, commits, tags, lost, kept);
  }

  /** What is known of the commits that were reached; `undefined` if one of them is no longer. */
  async keptLater(
    repository: Repository,
    commits: Uint8Array,
    pace: Pace,
  ): Promise<Brought | undefined> {
    return this.#kept.isWithin(commits) ? this.#kept.later(repository, pace) : undefined;
  }

  /** Whether an object that is no commit is reached. */
  async has(object: number, pace: Pace): Promise<boolean> {
    if (this.repository.typeOf(object) === TAG) return this.#tags.has(object);
    if (!this.#isLostKnown) await this.#findLost(pace);
    if (!this.#lost.has(object)) return true;
    this.#newest ??= this.#byTime();
    for (; !this.#kept.has(object) && this.#looked < this.#newest.length; this.#looked += 1) {
      await this.#kept.addCommit(this.#newest[this.#looked] as number, pace);
    }
    return this.#kept.has(object);
  }

  async #findLost(pace: Pace): Promise<void> {
    for (const [commit, isReached] of this.commits.entries()) {
      if (!isReached) await this.#lost.addCommit(commit, pace);
    }
    // What a tag is for need not belong to a commit.
    const { repository } = this;
    for (const [place, { types }] of repository.list.entries()) {
      for (let entry = types.indexOf(TAG); entry >= 0; entry = types.indexOf(TAG, entry + 1)) {
        const tag = repository.startOf(place) + entry;
        if (!this.#tags.has(tag)) await this.#lost.addObject(await repository.peel(tag), pace);
        if (pace.isDue) await pace.pause();
      }
    }
    this.#isLostKnown = true;
  }

  #byTime(): number[] {
    const { times } = this.repository.graph;
    return [...this.commits.keys()]
      .filter((commit) => this.commits[commit])
      .sort((one, other) => (times[other] as number) - (times[one] as number));
  }
}

/** By the lineages of repositories. */
const reaches = new Lru<number, Reach>(64 * 1024 * 1024);

/**
 * What a repository shows: the objects that its references reach, those of merge requests included. Its packs may have
 * others, such as those of deleted branches, and of other branches of forks with merge requests, which are nobody's
 * business here. This is asked wherever the name of an object comes from outside (decision 87).
 */
export class Shown {
  readonly #db: Reader;
  readonly #repository: Repository;
  readonly #row: RepositoryRow | undefined;

  /** @param row the repository's record, as it was opened; `undefined` if it has none yet */
  constructor(db: Reader, repository: Repository, row: RepositoryRow | undefined) {
    this.#db = db;
    this.#repository = repository;
    this.#row = row;
  }

  /** Whether all objects there are are shown. */
  get isEverything(): boolean {
    return !this.#row?.has_garbage;
  }

  /** Whether an object is shown, by its number. */
  async has(object: number, pace = new Pace()): Promise<boolean> {
    if (!this.#row?.has_garbage) return true;
    const repository = this.#repository;
    const commit = repository.graph.commitOf(object);
    if (commit >= 0) return this.hasCommit(commit, pace);
    return (await this.#reach(this.#row, pace)).has(object, pace);
  }

  /** Those of some objects that are shown, with a few statements for all of them. */
  async those(objects: readonly number[], pace = new Pace()): Promise<Set<number>> {
    const wanted = new Set(objects);
    if (!this.#row?.has_garbage || wanted.size === 0) return wanted;
    const repository = this.#repository;
    const oidOf = (object: number) => repository.oidOf(object).toString("hex");
    const tips = await tipsAmong(this.#db, this.#row.id, [...wanted].map(oidOf));
    const shown = new Set<number>();
    for (const object of wanted) {
      if (tips.has(oidOf(object)) || (await this.has(object, pace))) shown.add(object);
      if (pace.isDue) await pace.pause();
    }
    return shown;
  }

  /** Whether a commit is shown, by its number. */
  async hasCommit(commit: number, pace = new Pace()): Promise<boolean> {
    if (!this.#row?.has_garbage) return true;
    if (!this.#known) {
      const oid = this.#repository.oidOf(this.#repository.graph.objects[commit] as number);
      if (await hasTip(this.#db, this.#row.id, oid.toString("hex"))) return true;
    }
    return (await this.#reach(this.#row, pace)).commits[commit] === 1;
  }

  /** Whether there is a commit with a name in hex that is shown. */
  async hasCommitNamed(oid: string, pace?: Pace): Promise<boolean> {
    const object = /^[0-9a-f]{40}$/.test(oid) ? this.#repository.findHex(oid) : -1;
    const commit = object < 0 ? -1 : this.#repository.graph.commitOf(object);
    return commit >= 0 && (await this.hasCommit(commit, pace));
  }

  /** What is known already; `undefined` if nothing is as of now. */
  get #known(): Reach | undefined {
    const known = reaches.get(this.#repository.lineage);
    const isOfNow =
      known?.repository === this.#repository && known.refsVersion === this.#row?.refs_version;
    return isOfNow ? known : undefined;
  }

  async #reach(row: RepositoryRow, pace: Pace): Promise<Reach> {
    const repository = this.#repository;
    if (this.#known) return this.#known;
    const refs = await listRefs(this.#db, row.id);
    const last = reaches.get(repository.lineage);
    const isOlder = last !== undefined && last.repository.list.length > repository.list.length;
    const before = isOlder ? undefined : last;
    const reach = await Reach.of(repository, row.refs_version, refs, before, pace);
    const size = 2 * repository.count + 4 * repository.graph.count;
    if (!isOlder) reaches.set(repository.lineage, reach, size);
    return reach;
  }
}
