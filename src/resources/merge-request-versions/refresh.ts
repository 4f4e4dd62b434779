import { commitId, commitNumber, readCommit, titleOf } from "../../git/commits.ts";
import type { Graph } from "../../git/graph.ts";
import { logOf } from "../../git/log.ts";
import { findMergeability } from "../../git/mergeability.ts";
import { Packs } from "../../git/packs.ts";
import type { CheckedChange, Push } from "../../git/push.ts";
import { BRANCHES, findRef } from "../../git/refs.ts";
import {
  findRow,
  joined,
  load,
  open,
  type Repository,
  type RepositoryRow,
  shareCode,
} from "../../git/repository.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Database, Reader, Store } from "../../store/port.ts";
import { Pace } from "../../turns/pace.ts";
import { type NewVersion, planVersion, type VersionOwner } from "./versions.ts";

/** Commits that a note about a push lists at most. */
const MOST_LISTED = 100;
/** Commits that are looked up by one statement. */
const BATCH = 500;

/** An open merge request, as pushes to its branches find it. */
export interface OpenRequest extends VersionOwner {
  readonly target_branch: string;
  readonly sha: string | null;
}

/** The commits that a push adds to a merge request. */
interface AddedCommits {
  readonly count: number;
  /** The newest of them. */
  readonly listed: readonly { readonly id: string; readonly title: string }[];
}

/** The code that a merge request will have. */
export interface PlannedVersion {
  readonly facts: NewVersion;
  readonly added: AddedCommits;
}

/** A merge request that a push merges, since its target branch gets all of its commits. */
interface MergedByPush {
  readonly id: number;
  /** The newest commit of its source branch. */
  readonly sha: string;
  /** The commit that brought it into the target branch; itself, if it was moved there. */
  readonly mergeCommit: string;
}

/** A merge request that waits to be merged, and has conflicts by a push to its target branch. */
interface StuckByPush {
  readonly id: number;
  /** The newest commit of its source branch. */
  readonly sha: string;
}

/** What a change of a branch means for merge requests. */
export interface Refresh {
  /** The versions that they get, by their ids. */
  readonly versions: ReadonlyMap<number, PlannedVersion>;
  readonly merged: readonly MergedByPush[];
  readonly stuck: readonly StuckByPush[];
}

/**
 * Finds out what a change of a branch will mean for the merge requests that are open. It takes too long for a
 * transaction.
 *
 * @param push the whole push
 * @param change one of its changes, of a branch
 * @param base the public address: messages of commits may refer to pages below it
 */
export async function planRefresh(
  store: Store,
  projectId: number,
  { repository, changes }: Push,
  { name, from, to, isForced }: CheckedChange,
  base: string | undefined,
  pace = new Pace(),
): Promise<Refresh> {
  const db = store.reader();
  const branch = name.slice(BRANCHES.length);
  const versions = new Map<number, PlannedVersion>();
  if (to === undefined) return { versions, merged: [], stuck: [] };
  for (const request of await openFrom(db, projectId, branch)) {
    const isOwn = request.project_id === projectId;
    const target = await startOf(db, request);
    // The target branch may be pushed together with it.
    const pushed = changes.find((one) => one.name === BRANCHES + request.target_branch);
    const start = isOwn && pushed ? pushed.to : target?.start;
    if (start === undefined) continue;
    const whole = isOwn || !target ? repository : joined(await open(store, target.row), repository);
    const planned = await planOf(whole, request, to, start, base);
    if (planned) versions.set(request.id, planned);
    if (pace.isDue) await pace.pause();
  }
  if (from === undefined || from === to) return { versions, merged: [], stuck: [] };
  for (const request of isForced ? await openInto(db, projectId, branch) : []) {
    if (request.sha === null) continue;
    const planned = await planOf(repository, request, request.sha, to, base);
    if (planned) versions.set(request.id, planned);
    if (pace.isDue) await pace.pause();
  }
  return {
    versions,
    merged: await findMerged(db, projectId, branch, repository, from, to),
    stuck: await findStuck(db, projectId, branch, repository, from, to),
  };
}

/**
 * Finds out in a transaction what code a merge request has. It was opened while a push was on its way, so this was not
 * planned.
 */
export async function planWithin(
  db: Database,
  request: OpenRequest,
  to: string,
  base: string | undefined,
): Promise<PlannedVersion | undefined> {
  const target = await startOf(db, request);
  if (!target) return undefined;
  if (request.source_project_id !== null && request.source_project_id !== request.project_id) {
    await shareCode(db, request.source_project_id, request.project_id);
  }
  const repository = await load(db, Packs.within(db), target.row.id);
  return planOf(repository, request, to, target.start, base);
}

/** Branches that one statement looks up. */
const BRANCHES_TOGETHER = 100;

/**
 * Those of some branches of a project that open merge requests come from or go into. Most pushes, and those of many
 * branches above all, have none.
 */
export async function branchesInUse(
  db: Reader,
  projectId: number,
  branches: readonly string[],
): Promise<Set<string>> {
  const used = new Set<string>();
  for (let start = 0; start < branches.length; start += BRANCHES_TOGETHER) {
    const names = placeholders(branches.slice(start, start + BRANCHES_TOGETHER)).values;
    const found = await db.rows(
      `with wanted (name) as (values ${names.map(() => "(?)").join(", ")}) ${IN_USE}`,
      [...names, projectId, projectId],
    );
    for (const [name] of found) used.add(name as string);
  }
  return used;
}

const IN_USE = `select name from wanted where exists (select 1 from merge_requests
    where source_project_id = ? and source_branch = wanted.name and state = 'opened')
  or exists (select 1 from merge_requests
    where project_id = ? and target_branch = wanted.name and state = 'opened')`;

/** What a change means if no merge request was open when it was planned. */
export const NO_REFRESH: Refresh = { versions: new Map(), merged: [], stuck: [] };

const OPEN = `select id, iid, project_id, source_project_id, target_branch, sha from merge_requests
  where state = 'opened'`;

/** The open merge requests from a branch of a project. */
export async function openFrom(
  db: Reader,
  projectId: number,
  branch: string,
): Promise<OpenRequest[]> {
  return db.all<OpenRequest>(
    `${OPEN} and source_project_id = ? and source_branch = ? order by id`,
    [projectId, branch],
  );
}

/** The open merge requests with code into a branch of a project. */
export async function openInto(
  db: Reader,
  projectId: number,
  branch: string,
): Promise<OpenRequest[]> {
  const into = await db.all<OpenRequest>(
    `${OPEN} and project_id = ? and target_branch = ?
       and exists (select 1 from merge_request_versions v where v.merge_request_id = merge_requests.id)`,
    [projectId, branch],
  );
  return into.sort(byId);
}

/** Rows are sorted here: to return them in order, SQLite would read those of all projects with such a branch. */
const byId = (a: { id: number }, b: { id: number }) => a.id - b.id;

/** The newest commit of a merge request's target branch, and the repository that has it. */
async function startOf(
  db: Reader,
  { project_id, target_branch }: OpenRequest,
): Promise<{ row: RepositoryRow; start: string } | undefined> {
  // The reference first: what it is for is then part of the repository.
  const before = await findRow(db, project_id);
  const ref = before && (await findRef(db, before.id, BRANCHES + target_branch));
  const row = ref && (await findRow(db, project_id));
  return row && { row, start: ref.oid };
}

/** @returns `undefined` if somebody has replaced one of the commits meanwhile */
async function planOf(
  repository: Repository,
  request: OpenRequest,
  head: string,
  start: string,
  base: string | undefined,
): Promise<PlannedVersion | undefined> {
  const [to, from] = [head, start].map((oid) => commitNumber(repository, oid));
  if (to === undefined || from === undefined) return undefined;
  const before = request.sha === null ? undefined : commitNumber(repository, request.sha);
  const known = before === undefined ? [from] : [before, from];
  const count = repository.graph.missing(to, known).length;
  const listed: { id: string; title: string }[] = [];
  if (count > 0) {
    const log = logOf(repository, { from: [to], not: known, order: "date" });
    for (const number of (await log.first(repository, MOST_LISTED)).slice(0, MOST_LISTED)) {
      const { id, message } = await readCommit(repository, number);
      listed.push({ id, title: titleOf(message) });
    }
  }
  return { facts: await planVersion(repository, head, start, base), added: { count, listed } };
}

/** Merge requests that wait to be merged and are looked at for conflicts, at most: the newest ones. */
const MOST_WAITING = 100;

/** The merge requests into a branch that wait to be merged, and that get conflicts by a push to it. */
async function findStuck(
  db: Reader,
  projectId: number,
  branch: string,
  repository: Repository,
  from: string,
  to: string,
): Promise<StuckByPush[]> {
  const waiting = await db.all<StuckByPush>(
    `select id, sha from merge_requests where project_id = ? and target_branch = ? and state = 'opened'
       and auto_merge = 1 and sha is not null order by id desc limit ${MOST_WAITING}`,
    [projectId, branch],
  );
  const stuck: StuckByPush[] = [];
  for (const { id, sha } of waiting) {
    const known = [sha, from, to].every((oid) => commitNumber(repository, oid) !== undefined);
    if (!known || (await findMergeability(repository, sha, from)).hasConflicts) continue;
    if ((await findMergeability(repository, sha, to)).hasConflicts) stuck.push({ id, sha });
  }
  return stuck;
}

/** The merge requests into a branch whose newest commits are among those that a push adds to it. */
async function findMerged(
  db: Reader,
  projectId: number,
  branch: string,
  repository: Repository,
  from: string,
  to: string,
): Promise<MergedByPush[]> {
  const open = "from merge_requests where project_id = ? and state = 'opened'";
  const [first] = await db.rows(`select 1 ${open} limit 1`, [projectId]);
  const [old, next] = [from, to].map((oid) => commitNumber(repository, oid));
  if (!first || next === undefined) return [];
  const { graph } = repository;
  const added = new Set(graph.missing(next, old === undefined ? [] : [old]));
  const merged: MergedByPush[] = [];
  let oids: string[] = [];
  const lookUp = async () => {
    if (oids.length === 0) return;
    const among = placeholders(oids);
    const found = await db.all<{ id: number; sha: string }>(
      `select id, sha ${open} and target_branch = ? and sha in (${among.sql})`,
      [projectId, branch, ...among.values],
    );
    oids = [];
    for (const { id, sha } of found.sort(byId)) {
      const head = commitNumber(repository, sha) as number;
      const mergeCommit = commitId(repository, broughtBy(graph, head, next, added));
      merged.push({ id, sha, mergeCommit });
    }
  };
  for (const commit of added) {
    oids.push(commitId(repository, commit));
    if (oids.length === BATCH) await lookUp();
  }
  await lookUp();
  return merged;
}

/**
 * The commit that brought another one into a branch: the oldest of the branch's own line that has it.
 *
 * @param tip the branch's newest commit
 * @param added the commits that are looked at; by default all
 */
export function broughtBy(
  graph: Graph,
  commit: number,
  tip: number,
  added?: ReadonlySet<number>,
): number {
  const line: number[] = [];
  for (let at: number | undefined = tip; at !== undefined && added?.has(at) !== false; ) {
    line.push(at);
    at = graph.parentsOf(at)[0];
  }
  let low = 0;
  let high = line.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (graph.isAncestor(commit, line[middle] as number)) low = middle;
    else high = middle - 1;
  }
  return line[low] as number;
}
