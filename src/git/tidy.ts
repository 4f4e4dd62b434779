import type { Database, Store } from "../store/port.ts";
import { Pace } from "../turns/pace.ts";
import { RefusedError } from "./errors.ts";
import { Packs } from "./packs.ts";
import { Input } from "./pkt-line.ts";
import { receivePack, type StagedPack } from "./receive.ts";
import { listRefs, type Ref } from "./refs.ts";
import { load, Repository } from "./repository.ts";
import { EVERYTHING, Selection } from "./select.ts";
import { writePack } from "./send.ts";

const DAY = 86_400_000;
/** Repositories with more packs are packed again: objects are looked up in each of them. */
const MAX_PACKS = 50;

/** What was tidied up. */
export interface Tidied {
  /** Repositories that were packed again. */
  readonly repositories: number;
  /** Packs that were deleted. */
  readonly packs: number;
}

/** A repository that may have to be packed again. */
interface Candidate {
  readonly id: number;
  readonly project_id: number;
  readonly version: number;
}

/**
 * Packs repositories again that have many packs, or objects that no reference reaches; and deletes packs that no
 * repository has had for a day. Until then, those who have begun to read them can go on.
 *
 * @param now epoch milliseconds
 */
export async function tidy(store: Store, now: number): Promise<Tidied> {
  const candidates = await store.all<Candidate>(
    `select id, project_id, version from git_repositories r
     where has_garbage = 1 or (select count(*) from git_repository_packs p where p.repository_id = r.id) > ?
     order by id`,
    [MAX_PACKS],
  );
  const repositories = await packAll(store, candidates, now);
  const unused = await store.rows(
    `select id from git_packs p where unused_since < ?
       and not exists (select 1 from git_repository_packs r where r.pack_id = p.id) order by id`,
    [now - DAY],
  );
  for (const [id] of unused) await Packs.of(store).discard(id as number);
  return { repositories, packs: unused.length };
}

/**
 * Packs the repositories of a project again, unless they are one pack that has nothing else.
 *
 * @param now epoch milliseconds
 */
export async function packProject(store: Store, projectId: number, now: number): Promise<void> {
  const candidates = await store.all<Candidate>(
    `select id, project_id, version from git_repositories r where project_id = ?
     and (has_garbage = 1 or (select count(*) from git_repository_packs p where p.repository_id = r.id) > 1)
     order by id`,
    [projectId],
  );
  await packAll(store, candidates, now);
}

/** Packs repositories again, and returns how many were. */
async function packAll(
  store: Store,
  candidates: readonly Candidate[],
  now: number,
): Promise<number> {
  let count = 0;
  for (const candidate of candidates) {
    try {
      if (await packAgain(store, candidate, now)) count += 1;
    } catch (error) {
      // As one pack it would be too large. It stays as it is.
      if (!(error instanceof RefusedError)) throw error;
    }
  }
  return count;
}

/**
 * Makes one pack of everything that the references of a repository reach. It is sent and received like a push, so every
 * object is checked on the way.
 *
 * @returns whether it was done: not if somebody has pushed meanwhile
 */
async function packAgain(store: Store, candidate: Candidate, now: number): Promise<boolean> {
  const packs = Packs.of(store);
  const repository = await load(store, packs, candidate.id);
  const refs = await listRefs(store, candidate.id);
  const pace = new Pace();
  const selection = await selectReachable(repository, refs, pace);
  const options = { ofsDeltas: true, thin: false };
  const input = new Input(writePack(selection, options, pace));
  const staged = await receivePack(input, new Repository(packs, []), packs, now);
  const isDone = await store.transaction(
    async (db) => {
      db.lock(candidate.project_id);
      if (!(await isUnchanged(db, candidate, refs))) return false;
      await replacePacks(db, candidate, staged, now);
      return true;
    },
    { shared: true },
  );
  if (!isDone) await staged?.discard();
  return isDone;
}

async function selectReachable(
  repository: Repository,
  refs: readonly Ref[],
  pace: Pace,
): Promise<Selection> {
  const { graph } = repository;
  const selection = new Selection(repository, EVERYTHING, pace);
  const starts: number[] = [];
  for (const { oid } of refs) {
    const commit = await selection.addWanted(repository.findHex(oid));
    if (commit !== undefined) starts.push(commit);
  }
  const reached = graph.reach(starts);
  const commits: number[] = [];
  for (let commit = 0; commit < graph.count; commit += 1) if (reached[commit]) commits.push(commit);
  await selection.addCommits(commits, new Set(), true);
  return selection;
}

/** Whether nobody has pushed: what was pushed may rely on objects that were not packed again. */
async function isUnchanged(
  db: Database,
  { id, version }: Candidate,
  refs: readonly Ref[],
): Promise<boolean> {
  const [row] = await db.rows("select version from git_repositories where id = ?", [id]);
  if (row?.[0] !== version) return false;
  const now = await listRefs(db, id);
  return (
    now.length === refs.length &&
    now.every(({ name, oid }, at) => refs[at]?.name === name && refs[at]?.oid === oid)
  );
}

async function replacePacks(
  db: Database,
  { id }: Candidate,
  staged: StagedPack | undefined,
  now: number,
): Promise<void> {
  await db.run(
    `update git_packs set unused_since = ?
     where id in (select pack_id from git_repository_packs where repository_id = ?)`,
    [now, id],
  );
  await db.run("delete from git_repository_packs where repository_id = ?", [id]);
  if (staged) {
    await db.run("insert into git_repository_packs (repository_id, pack_id) values (?, ?)", [
      id,
      staged.pack.id,
    ]);
  }
  await db.run(
    "update git_repositories set version = version + 1, repacked = version + 1, has_garbage = 0 where id = ?",
    [id],
  );
}
