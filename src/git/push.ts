import { placeholders } from "../store/placeholders.ts";
import type { Database, Value } from "../store/port.ts";
import { Pace } from "../turns/pace.ts";
import { parseCommit, tagTime, titleOf } from "./commits.ts";
import { COMMIT } from "./objects.ts";
import type { StagedPack } from "./receive.ts";
import { BRANCHES, bounds, isRefName, isReserved, TAGS } from "./refs.ts";
import { type Repository, type RepositoryRow, sharePacks } from "./repository.ts";

/** A change of a reference that somebody asks for. */
export interface RefChange {
  /** In full. */
  readonly name: string;
  /** What they take it to be; `undefined` if it does not exist. */
  readonly from: string | undefined;
  /** What it is to be; `undefined` to delete it. */
  readonly to: string | undefined;
  /** Whether a protected branch has what it is to be. */
  readonly isMerged?: boolean;
}

/** A change that can be made, as far as the objects are concerned. */
export interface CheckedChange extends RefChange {
  /** What a new annotated tag stands for in the end; `null` for other objects. */
  readonly peeled: string | null;
  /** When a new tag was made, in seconds of the epoch. */
  readonly taggedAt?: number;
  /** Whether commits are lost by it. */
  readonly isForced: boolean;
}

/** The commits of a push to a branch. */
export interface PushedCommits {
  readonly count: number;
  /** The first line of the last commit's message; `null` if there is no commit. */
  readonly title: string | null;
}

/** Changes of references, and the pack of what they need, that have changed nothing yet. */
export interface Push {
  /** The changes asked for, each with the reason why it is impossible, if there is one. */
  readonly changes: readonly (CheckedChange & { readonly problem: string | undefined })[];
  readonly staged: StagedPack | undefined;
  /** The repository with the pack. */
  readonly repository: Repository;
  /** The version of the repository that the pack was checked with. */
  readonly version: number;
  /** Another repository that has objects which the references are to, as it was then. */
  readonly lender?: Pick<RepositoryRow, "id" | "version"> | undefined;
  /** Whether all references are to be changed, or none. */
  readonly isAtomic: boolean;
  /** What the client said with `git push -o`. */
  readonly options?: readonly string[];
}

/**
 * Checks changes with the objects there are.
 *
 * @param by some references are the server's own: clients can't change them
 */
export async function checkChanges(
  repository: Repository,
  changes: readonly RefChange[],
  by: "client" | "server",
  pace = new Pace(),
): Promise<Push["changes"][number][]> {
  const checked: Push["changes"][number][] = [];
  for (const change of changes) {
    checked.push(await checkChange(repository, change, by));
    if (pace.isDue) await pace.pause();
  }
  return checked;
}

async function checkChange(
  repository: Repository,
  change: RefChange,
  by: "client" | "server",
): Promise<Push["changes"][number]> {
  const { name, from, to } = change;
  const isBranch = name.startsWith(BRANCHES);
  const refused = (problem: string) => ({ ...change, peeled: null, isForced: false, problem });
  if (to === undefined) return { ...change, peeled: null, isForced: true, problem: undefined };
  if (!isRefName(name)) return refused("funny refname");
  if (by === "client" && isReserved(name)) return refused("deny updating a hidden ref");
  const object = repository.findHex(to);
  if (object < 0) return refused("missing necessary objects");
  const type = repository.typeOf(object);
  if (isBranch && type !== COMMIT) return refused("not a commit");
  const target = await repository.peel(object);
  const peeled = target === object ? null : repository.oidOf(target).toString("hex");
  const taggedAt = await tagTime(repository, { oid: to, peeled });
  return {
    ...{ ...change, peeled, isForced: isForced(repository, from, to), problem: undefined },
    ...(name.startsWith(TAGS) && { taggedAt }),
  };
}

/** Whether a change from one object to another loses commits. */
function isForced(repository: Repository, from: string | undefined, to: string): boolean {
  if (from === undefined || from === to) return false;
  const { graph } = repository;
  const [old, next] = [from, to].map((oid) => graph.commitOf(repository.findHex(oid)));
  return old === undefined || next === undefined || old < 0 || next < 0
    ? true
    : !graph.isAncestor(old, next);
}

/** A change of a push, and what became of it. */
export interface Outcome {
  readonly change: CheckedChange;
  /** Why it was not made; `undefined` if it was. */
  readonly problem: string | undefined;
}

const MOVED = "fetch first";
const REPACKED = "try again";

/** Whether a change was not made because others have changed the repository since it was checked. */
export function isOutdated({ problem }: Outcome): boolean {
  return problem === MOVED || problem === REPACKED;
}

/**
 * Changes the references of a push in a transaction, and makes its pack part of the repository. References that others
 * have changed since are left alone.
 *
 * @param repositoryId the repository; no other transaction may change it at the same time
 * @param refusal why the whole push is refused, if it is
 */
export async function applyPush(
  db: Database,
  repositoryId: number,
  push: Push,
  refusal: string | undefined,
  pace = new Pace(),
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const shared = refusal ?? ((await hasObjects(db, repositoryId, push)) ? undefined : REPACKED);
  const deleted = new Set(push.changes.filter(({ to }) => !to).map(({ name }) => name));
  const created = new Set(push.changes.filter(({ from }) => !from).map(({ name }) => name));
  for (let start = 0; start < push.changes.length; start += TOGETHER) {
    const changes = push.changes.slice(start, start + TOGETHER);
    const possible = changes.filter(({ problem }) => problem === undefined);
    const existing = shared ? NONE : await existingOf(db, repositoryId, possible, deleted);
    for (const change of changes) {
      const problem = change.problem ?? shared ?? problemOf(change, existing, created);
      outcomes.push({ change, problem });
    }
    if (pace.isDue) await pace.pause();
  }
  const hasFailed = outcomes.some(({ problem }) => problem !== undefined);
  if (hasFailed && push.isAtomic) {
    const problem = "atomic push failed";
    for (const [at, { change, problem: own }] of outcomes.entries()) {
      outcomes[at] = { change, problem: own ?? problem };
    }
  }
  const made = outcomes.filter(({ problem }) => problem === undefined);
  for (let start = 0; start < made.length; start += TOGETHER) {
    const changes = made.slice(start, start + TOGETHER).map(({ change }) => change);
    await setRefs(db, repositoryId, changes);
    if (pace.isDue) await pace.pause();
  }
  const packId = push.staged?.pack.id;
  if (made.length > 0) {
    const hasGarbage = hasFailed || made.some(({ change }) => change.isForced);
    await addPack(db, repositoryId, packId, hasGarbage);
  } else {
    await dropStaged(db, push);
  }
  return outcomes;
}

/** Deletes what a push has staged, in a transaction that does not make it. */
export async function dropStaged(db: Database, { staged }: Pick<Push, "staged">): Promise<void> {
  if (staged) await db.run("delete from git_packs where id = ?", [staged.pack.id]);
}

/** Whether the objects that a push was checked with are all there; the packs of its lender become shared. */
async function hasObjects(db: Database, repositoryId: number, { version, lender }: Push) {
  if (lender) await sharePacks(db, lender.id, repositoryId);
  if (lender && (await wasRepacked(db, lender.id, lender.version))) return false;
  return !(await wasRepacked(db, repositoryId, version));
}

/** Whether objects of a version may have been dropped since. */
async function wasRepacked(db: Database, repositoryId: number, version: number) {
  const sql = "select repacked from git_repositories where id = ?";
  const [row] = await db.rows(sql, [repositoryId]);
  return row === undefined || (row[0] as number) > version;
}

/** References that one statement looks up or changes. */
const TOGETHER = 100;

/** References that exist. */
interface Existing {
  /** What they are for, by their full names. */
  readonly oids: ReadonlyMap<string, string>;
  /** One that stays, by names of folders that it would be in. */
  readonly below: ReadonlyMap<string, string>;
  /** Those that stay. */
  readonly kept: ReadonlySet<string>;
}
const NONE: Existing = { oids: new Map(), below: new Map(), kept: new Set() };

/** The folders of a reference's name, from the nearest one. */
function foldersOf(name: string): string[] {
  const folders: string[] = [];
  for (let end = name.lastIndexOf("/"); end > 0; end = name.lastIndexOf("/", end - 1)) {
    folders.push(name.slice(0, end));
  }
  return folders;
}

const isCreation = ({ from, to }: RefChange) => from === undefined && to !== undefined;

/**
 * The references that decide whether changes can be made: those that change, and of new ones those that have the names of
 * their folders, or would be in them.
 *
 * @param deleted the names of those that the push deletes
 */
async function existingOf(
  db: Database,
  repositoryId: number,
  changes: readonly RefChange[],
  deleted: ReadonlySet<string>,
): Promise<Existing> {
  if (changes.length === 0) return NONE;
  const created = changes.filter(isCreation).map(({ name }) => name);
  const names = [...changes.map(({ name }) => name), ...created.flatMap(foldersOf)];
  const among = placeholders([...new Set(names)]);
  const found = await db.rows(
    `select name, oid from git_refs where repository_id = ? and name in (${among.sql})`,
    [repositoryId, ...among.values],
  );
  found.push(...(await belowEach(db, repositoryId, created, deleted)));
  const oids = new Map(found as [string, string][]);
  const kept = new Set([...oids.keys()].filter((name) => !deleted.has(name)));
  const below = new Map([...kept].flatMap((name) => foldersOf(name).map((at) => [at, name])));
  return { oids, below, kept };
}

/** For each of some names, a reference below it: of several, one that is not deleted. Names without any are left out. */
async function belowEach(
  db: Database,
  repositoryId: number,
  names: readonly string[],
  deleted: ReadonlySet<string>,
): Promise<Value[][]> {
  if (names.length === 0) return [];
  const padded = placeholders(names).values as string[];
  const range = "where repository_id = ? and name > low and name < high";
  const found = await db.rows(
    `with wanted (low, high) as (values ${padded.map(() => "(?, ?)").join(", ")})
     select low, (select name from git_refs ${range} limit 1),
       (select oid from git_refs ${range} limit 1) from wanted`,
    [...padded.flatMap((name) => bounds(`${name}/`)), repositoryId, repositoryId],
  );
  const below = new Map<Value, Value[]>();
  for (const [low, name, oid] of found as [string, string | null, string | null][]) {
    if (name === null || below.has(low)) continue;
    below.set(low, [name, oid]);
    if (!deleted.has(name)) continue;
    // Of so many, one at least is not deleted.
    const all = await db.rows(
      "select name, oid from git_refs where repository_id = ? and name > ? and name < ? limit ?",
      [repositoryId, ...bounds(low), deleted.size + 1],
    );
    const kept = all.find(([one]) => !deleted.has(one as string));
    if (kept) below.set(low, kept);
  }
  return [...below.values()];
}

/** Why a change can't be made, by the references there are. */
function problemOf(
  change: RefChange,
  { oids, below, kept }: Existing,
  created: ReadonlySet<string>,
): string | undefined {
  const { name, from } = change;
  if (oids.get(name) !== from) return MOVED;
  if (!isCreation(change)) return undefined;
  // A name is a file or a folder, not both.
  const folders = foldersOf(name);
  const clash =
    folders.find((folder) => kept.has(folder)) ??
    below.get(name) ??
    folders.find((folder) => created.has(folder));
  return clash && `'${clash}' exists; cannot create '${name}'`;
}

async function setRefs(
  db: Database,
  repositoryId: number,
  changes: readonly CheckedChange[],
): Promise<void> {
  const deleted = changes.filter(({ to }) => to === undefined).map(({ name }) => name);
  if (deleted.length > 0) {
    const among = placeholders(deleted);
    const values = [repositoryId, ...among.values];
    await db.run(`delete from git_refs where repository_id = ? and name in (${among.sql})`, values);
  }
  const set = changes.filter(({ to }) => to !== undefined);
  if (set.length === 0) return;
  await db.run(
    `insert into git_refs (repository_id, name, oid, peeled, tagged_at)
     values ${set.map(() => "(?, ?, ?, ?, ?)").join(", ")}
     on conflict (repository_id, name) do update
       set oid = excluded.oid, peeled = excluded.peeled, tagged_at = excluded.tagged_at`,
    set.flatMap(({ name, to, peeled, taggedAt = null }) => [
      repositoryId,
      ...[name, to as string, peeled, taggedAt],
    ]),
  );
}

async function addPack(
  db: Database,
  repositoryId: number,
  packId: number | undefined,
  hasGarbage: boolean,
): Promise<void> {
  if (packId !== undefined) {
    await db.run("insert into git_repository_packs (repository_id, pack_id) values (?, ?)", [
      repositoryId,
      packId,
    ]);
  }
  await db.run(
    `update git_repositories set version = version + ?, refs_version = refs_version + 1,
       has_garbage = case when has_garbage + ? > 0 then 1 else 0 end
     where id = ?`,
    [packId === undefined ? 0 : 1, hasGarbage ? 1 : 0, repositoryId],
  );
}

/**
 * The commits that a push adds to a branch.
 *
 * @param repository with the pack
 * @param to the branch's new commit
 * @param known commits whose history is not counted, in hex; those that the repository does not have are left out
 */
export async function pushedCommits(
  repository: Repository,
  to: string,
  known: readonly string[],
): Promise<PushedCommits> {
  const { graph } = repository;
  const had = known
    .map((oid) => graph.commitOf(repository.findHex(oid)))
    .filter((commit) => commit >= 0);
  const object = repository.findHex(to);
  const commit = graph.commitOf(object);
  const count = had.length === 0 ? graph.countTo(commit) : graph.missing(commit, had).length;
  const title =
    count === 0 ? null : titleOf(parseCommit(to, (await repository.read(object)).data).message);
  return { count, title };
}
