import { insertRow } from "../store/insert.ts";
import type { Database, Reader, Store } from "../store/port.ts";
import { Pace } from "../turns/pace.ts";
import { Graph } from "./graph.ts";
import { Lru } from "./lru.ts";
import { Names } from "./names.ts";
import { type GitObject, TAG, tagLinkOf } from "./objects.ts";
import type { Pack } from "./pack.ts";
import { type PackReader, Packs } from "./packs.ts";

/** What a repository of a project is for. */
export type RepositoryKind = "code" | "wiki";

/** A repository's record. */
export interface RepositoryRow {
  readonly id: number;
  /** Grows whenever the set of packs changes. */
  readonly version: number;
  /** Whether there may be objects that no reference reaches. */
  readonly has_garbage: number;
  /** Grows whenever a reference changes. */
  readonly refs_version: number;
}

const MEBIBYTE = 1024 * 1024;
/** What a repository in memory takes besides its names, for each of its commits and objects. */
const COMMIT_BYTES = 80;
const OBJECT_BYTES = 4;

/** How many repositories were loaded that continue no earlier one. */
let lineages = 0;

/** A repository as of a version of its record. */
interface Opened {
  readonly version: number;
  readonly repository: Repository;
}

/** Repositories in memory, by id. Each belongs to one version, so none becomes outdated. */
const opened = new WeakMap<Store, Lru<number, Opened>>();

/**
 * A repository with one set of packs. Its objects are numbered through all packs, in the order in which the packs were
 * received; a number is only valid here.
 */
export class Repository {
  readonly packs: PackReader;
  readonly list: readonly Pack[];
  /** How many objects there are; those in several packs count several times. */
  readonly count: number;
  #lineage: number;
  readonly #starts: number[];
  /** How many commits there are; those in several packs count several times. */
  readonly #commits: number;
  readonly #names: Names;
  #graph: Graph | undefined;
  /** One with fewer packs, whose graph is continued: pushes then cost as much whatever was pushed before. */
  #base: Repository | undefined;
  /** The same with the pack that was added last, if it is a small one. */
  #next: Repository | undefined;

  /**
   * @param list its packs, the oldest first
   * @param base the repository with the first of these packs, if it is in memory
   * @param lineage that of the base, unless others may continue it with other packs
   */
  constructor(packs: PackReader, list: readonly Pack[], base?: Repository, lineage?: number) {
    lineages += 1;
    this.packs = packs;
    this.list = list;
    this.#lineage = lineage ?? lineages;
    // One whose graph nobody has asked for is left out: at most two wait for theirs.
    const waiting = base && !base.#graph ? base.#base : undefined;
    this.#base = waiting && !waiting.#graph ? waiting : base;
    this.#starts = base ? base.#starts.slice() : [];
    let names = base ? base.#names : Names.NONE;
    let count = base ? base.count : 0;
    let commits = base ? base.#commits : 0;
    for (let place = this.#starts.length; place < list.length; place += 1) {
      const pack = list[place] as Pack;
      this.#starts.push(count);
      names = names.with(pack, count);
      count += pack.count;
      commits += pack.commits.length;
    }
    this.count = count;
    this.#commits = commits;
    this.#names = names;
  }

  /** Memory that it takes at most besides its packs, in bytes. */
  get bytes(): number {
    return COMMIT_BYTES * this.#commits + OBJECT_BYTES * this.count + this.#names.bytes + 1000;
  }

  /** Repositories of the same lineage have the same commits with the same numbers, as far as both have them. */
  get lineage(): number {
    return this.#lineage;
  }

  /** The same with one more pack, which must not belong to it yet. */
  with(pack: Pack): Repository {
    const next = new Repository(this.packs, [...this.list, pack], this);
    this.#next = pack.memory > MEBIBYTE ? undefined : next;
    return next;
  }

  /**
   * Another version, of the same lineage if it only has further packs. What a push has made to check its pack is used
   * again.
   *
   * @param list its packs
   */
  later(list: readonly Pack[]): Repository {
    const isContinued = this.list.every((pack, at) => list[at]?.id === pack.id);
    if (!isContinued) return new Repository(this.packs, list);
    if (list.length === this.list.length) return this;
    const next = this.#next;
    if (next?.list.length !== list.length || next.list.at(-1)?.id !== list.at(-1)?.id) {
      return new Repository(this.packs, list, this, this.#lineage);
    }
    next.#lineage = this.#lineage;
    return next;
  }

  /** The number of the first object of a pack, by its place in {@link list}. */
  startOf(place: number): number {
    return this.#starts[place] as number;
  }

  /** The number of an object, in the newest pack that has it; -1 if none does. */
  find(oid: Uint8Array, at = 0): number {
    return this.#names.find(oid, at);
  }

  /** The number of an object by its name in hex; -1 if there is none. */
  findHex(oid: string): number {
    return this.find(Buffer.from(oid, "hex"));
  }

  /**
   * The number of an object in the oldest pack that has it. There it is as it was pushed first; later copies are whole,
   * added as bases of deltas.
   */
  findOldest(oid: Uint8Array): number {
    for (const [place, pack] of this.list.entries()) {
      const entry = pack.oids.find(oid);
      if (entry >= 0) return this.startOf(place) + entry;
    }
    return -1;
  }

  /** The type of an object. */
  typeOf(object: number): number {
    const place = this.#placeOf(object);
    return (this.list[place] as Pack).types[object - this.startOf(place)] as number;
  }

  /** The size of an object, in bytes. */
  sizeOf(object: number): number {
    const place = this.#placeOf(object);
    return (this.list[place] as Pack).sizes[object - this.startOf(place)] as number;
  }

  /** The name of an object. */
  oidOf(object: number): Buffer {
    const place = this.#placeOf(object);
    return (this.list[place] as Pack).oids.bytesOf(object - this.startOf(place));
  }

  /** The pack with an object, and which of its entries it is. */
  placeOf(object: number): { readonly pack: Pack; readonly entry: number } {
    const place = this.#placeOf(object);
    return { pack: this.list[place] as Pack, entry: object - this.startOf(place) };
  }

  /** The type and content of an object. */
  read(object: number): Promise<GitObject> {
    const place = this.#placeOf(object);
    return this.packs.read(this.list[place] as Pack, object - this.startOf(place));
  }

  /** The content of an object, part by part: a large blob is not in memory as a whole. */
  stream(object: number): AsyncGenerator<Buffer> {
    const place = this.#placeOf(object);
    return this.packs.stream(this.list[place] as Pack, object - this.startOf(place));
  }

  /** What a tag stands for in the end; other objects stand for themselves. */
  async peel(object: number): Promise<number> {
    let at = object;
    while (this.typeOf(at) === TAG) at = this.find(tagLinkOf((await this.read(at)).data).target);
    return at;
  }

  /** Its commits. */
  get graph(): Graph {
    if (this.#graph) return this.#graph;
    const steps = this.#steps(this.#base?.graph);
    let step = steps.next();
    while (!step.done) step = steps.next();
    return this.#withGraph(step.value);
  }

  /** Finds out about its commits with pauses, in which others may do so, too. */
  async prepareGraph(pace = new Pace()): Promise<void> {
    if (this.#graph) return;
    await this.#base?.prepareGraph(pace);
    if (this.#graph) return;
    const steps = this.#steps(this.#base?.graph);
    let step = steps.next();
    while (!step.done) {
      if (pace.isDue) await pace.pause();
      step = steps.next();
    }
    this.#withGraph(step.value);
  }

  #steps(base: Graph | undefined): Generator<void, Graph> {
    return Graph.steps(this.list, this.#starts, base, this.#base?.list.length ?? 0);
  }

  /** Keeps the first graph that was made. */
  #withGraph(graph: Graph): Graph {
    this.#graph ??= graph;
    this.#base = undefined;
    return this.#graph;
  }

  /** The place in {@link list} of the pack with an object. */
  #placeOf(object: number): number {
    let low = 0;
    let high = this.#starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#starts[middle] as number) <= object) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

/** The record of a project's repository with its code; `undefined` if it has none yet. */
export async function findRow(db: Reader, projectId: number): Promise<RepositoryRow | undefined> {
  return db.one<RepositoryRow>(
    "select id, version, has_garbage, refs_version from git_repositories where project_id = ? and kind = 'code'",
    [projectId],
  );
}

/** A repository with the packs of another one besides: for what is between the branches of both. */
export function joined(one: Repository, other: Repository): Repository {
  const known = new Set(one.list.map(({ id }) => id));
  const added = other.list.filter(({ id }) => !known.has(id));
  return added.length === 0 ? one : new Repository(one.packs, [...one.list, ...added], one);
}

/** The id of a project's repository, which is created if there is none. No other transaction may do so meanwhile. */
export async function create(
  db: Database,
  projectId: number,
  kind: RepositoryKind,
): Promise<number> {
  const sql = "select id from git_repositories where project_id = ? and kind = ?";
  const [known] = await db.rows(sql, [projectId, kind]);
  return known
    ? (known[0] as number)
    : insertRow(db, "git_repositories", { project_id: projectId, kind });
}

/**
 * Gives a new project the branches and tags of another one's repository. Both have the same packs: these never change.
 *
 * @param branch the only one, without tags, if the others are left out
 * @returns whether there is any branch
 */
export async function fork(
  db: Database,
  fromProjectId: number,
  projectId: number,
  branch?: string,
): Promise<boolean> {
  const taken =
    branch === undefined
      ? { sql: FORKED, values: [] }
      : { sql: "f.name = ?", values: [`refs/heads/${branch}`] };
  const [from] = await db.rows(
    `select r.id, case when has_garbage = 1 or exists (
         select 1 from git_refs f where f.repository_id = r.id and not (${taken.sql})) then 1 else 0 end,
       commit_count, readme, is_noted
     from git_repositories r where project_id = ? and kind = 'code'`,
    [...taken.values, fromProjectId],
  );
  if (!from) return false;
  const [fromId, has_garbage, commit_count, readme, is_noted] = from as [
    number,
    number,
    number,
    string | null,
    number,
  ];
  const kept = { has_garbage, commit_count, readme, is_noted };
  const values = { project_id: projectId, kind: "code", version: 1, ...kept };
  const id = await insertRow(db, "git_repositories", values);
  const copied = await db.run(
    `insert into git_refs (repository_id, name, oid, peeled, tagged_at)
     select ?, f.name, f.oid, f.peeled, f.tagged_at from git_refs f where f.repository_id = ? and (${taken.sql})`,
    [id, fromId, ...taken.values],
  );
  await db.run(
    `insert into git_repository_packs (repository_id, pack_id)
     select ?, pack_id from git_repository_packs where repository_id = ?`,
    [id, fromId],
  );
  return copied > 0;
}

/** Gives a repository all packs of another one: what references will be to is among them. */
export async function sharePacks(db: Database, fromId: number, id: number): Promise<void> {
  const added = await db.run(
    `insert into git_repository_packs (repository_id, pack_id)
     select r.id, k.pack_id from git_repositories r, git_repository_packs k
     where r.id = ? and k.repository_id = ?
     on conflict (repository_id, pack_id) do nothing`,
    [id, fromId],
  );
  if (added === 0) return;
  await db.run("update git_repositories set version = version + 1, has_garbage = 1 where id = ?", [
    id,
  ]);
}

/** {@link sharePacks} between the repositories of two projects that have one. */
export async function shareCode(
  db: Database,
  fromProjectId: number,
  projectId: number,
): Promise<void> {
  const from = await findRow(db, fromProjectId);
  const row = await findRow(db, projectId);
  if (from && row) await sharePacks(db, from.id, row.id);
}

// "0" follows "/".
const FORKED = `(f.name > 'refs/heads/' and f.name < 'refs/heads0')
  or (f.name > 'refs/tags/' and f.name < 'refs/tags0')`;

/** Opens a repository as of its record. */
export async function open(
  store: Store,
  { id, version }: Pick<RepositoryRow, "id" | "version">,
): Promise<Repository> {
  const cache = opened.get(store) ?? new Lru<number, Opened>(64 * MEBIBYTE);
  opened.set(store, cache);
  const known = cache.get(id);
  if (known?.version === version) return known.repository;
  const packs = Packs.of(store);
  const list = await packsOf(store, packs, id, known);
  // Another request may have opened it meanwhile: all that are of one lineage continue each other.
  const last = cache.get(id)?.repository;
  const repository = last ? last.later(list) : new Repository(packs, list);
  cache.set(id, { version, repository }, repository.bytes);
  await repository.prepareGraph();
  return repository;
}

/** Loads a repository with the packs it has in a database. */
export async function load(db: Reader, packs: PackReader, id: number): Promise<Repository> {
  return new Repository(packs, await packsOf(db, packs, id));
}

/**
 * The packs that a repository has in a database, the oldest first.
 *
 * @param known as it was before. Where packs were only added since, the ids of the others are not read again: a busy
 *   repository has a thousand before it is tidied
 */
async function packsOf(db: Reader, packs: PackReader, id: number, known?: Opened): Promise<Pack[]> {
  const before = known ? known.repository.list : [];
  const rows = await db.rows(
    `select r.repacked, (select count(*) from git_repository_packs where repository_id = r.id), p.pack_id
     from git_repositories r left join git_repository_packs p on p.repository_id = r.id and p.pack_id > ?
     where r.id = ? order by p.pack_id`,
    [before.at(-1)?.id ?? 0, id],
  );
  const [repacked, count] = (rows[0] ?? [0, 0]) as [number, number];
  const added = rows.flatMap(([, , packId]) => (packId === null ? [] : [packId as number]));
  // Shared packs may be older than known ones.
  const isContinued = known && repacked <= known.version && count === before.length + added.length;
  if (known && !isContinued) return packsOf(db, packs, id);
  const list = [...before];
  for (const packId of added) list.push(await packs.open(packId));
  return list;
}
