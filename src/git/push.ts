import type { Database } from "../store/port.ts";
import { Pace } from "../turns/pace.ts";
import { parseCommit, titleOf } from "./commits.ts";
import { COMMIT } from "./objects.ts";
import type { StagedPack } from "./receive.ts";
import { BRANCHES, bounds, isRefName, isReserved } from "./refs.ts";
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
  return { ...change, peeled, isForced: isForced(repository, from, to), problem: undefined };
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
  for (const change of push.changes) {
    const problem =
      change.problem ?? shared ?? (await problemOf(db, repositoryId, change, deleted, created));
    outcomes.push({ change, problem });
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
  for (const { change } of made) {
    await setRef(db, repositoryId, change);
    if (pace.isDue) await pace.pause();
  }
  const packId = push.staged?.pack.id;
  if (made.length > 0) {
    const hasGarbage = hasFailed || made.some(({ change }) => change.isForced);
    await addPack(db, repositoryId, packId, hasGarbage);
  } else if (packId !== undefined) {
    await db.run("delete from git_packs where id = ?", [packId]);
  }
  return outcomes;
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

/** Why a change can't be made, by the references there are. */
async function problemOf(
  db: Database,
  repositoryId: number,
  { name, from, to }: RefChange,
  deleted: ReadonlySet<string>,
  created: ReadonlySet<string>,
): Promise<string | undefined> {
  const sql = "select oid from git_refs where repository_id = ? and name = ?";
  const [row] = await db.rows(sql, [repositoryId, name]);
  if (row?.[0] !== from) return MOVED;
  if (from !== undefined || to === undefined) return undefined;
  // A name is a file or a folder, not both.
  const folders: string[] = [];
  for (let end = name.lastIndexOf("/"); end > 0; end = name.lastIndexOf("/", end - 1)) {
    folders.push(name.slice(0, end));
  }
  const marks = folders.map(() => "?").join(", ");
  const above = await db.rows(
    `select name from git_refs where repository_id = ? and name in (${marks})`,
    [repositoryId, ...folders],
  );
  const below = await db.rows(
    "select name from git_refs where repository_id = ? and name > ? and name < ? limit ?",
    [repositoryId, ...bounds(`${name}/`), deleted.size + 1],
  );
  const clash =
    [...above, ...below].map(([found]) => found as string).find((found) => !deleted.has(found)) ??
    folders.find((folder) => created.has(folder));
  return clash && `'${clash}' exists; cannot create '${name}'`;
}

async function setRef(
  db: Database,
  repositoryId: number,
  { name, to, peeled }: CheckedChange,
): Promise<void> {
  if (to === undefined) {
    await db.run("delete from git_refs where repository_id = ? and name = ?", [repositoryId, name]);
    return;
  }
  await db.run(
    `insert into git_refs (repository_id, name, oid, peeled) values (?, ?, ?, ?)
     on conflict (repository_id, name) do update set oid = excluded.oid, peeled = excluded.peeled`,
    [repositoryId, name, to, peeled],
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
