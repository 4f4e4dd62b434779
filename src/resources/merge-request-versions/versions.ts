import { type IssueReference, issuesIn } from "../../core/references.ts";
import { commitId, commitNumber, readCommit } from "../../git/commits.ts";
import { changesBetween, compareCommits } from "../../git/compared.ts";
import { logOf } from "../../git/log.ts";
import { mergeBases } from "../../git/merge-bases.ts";
import { pointerIn } from "../../git/pointers.ts";
import { headNameOf, keptName } from "../../git/refs.ts";
import { type Repository, shareCode } from "../../git/repository.ts";
import * as outbox from "../../jobs/outbox.ts";
import { insertRow } from "../../store/insert.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Database, Reader, Value } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { Budget } from "../../turns/budget.ts";
import { type ReviewFacts, readReview } from "../approval-state/review.ts";
import { resetApprovals, storeReview } from "../approval-state/store.ts";
import { shareObjects } from "../lfs/objects.ts";
import { leaveTrain } from "../train-state/cars.ts";

/** The worker that follows notes on lines into new versions. */
export const TRACER = "positions";

/** What a merge request has to offer at some time. */
export interface VersionFacts {
  /** The newest commit of the source branch. */
  readonly head_sha: string;
  /** What the branches had in common; `null` if that is nothing. */
  readonly base_sha: string | null;
  /** The newest commit of the target branch. */
  readonly start_sha: string;
  /** How many files differ between base and head, as far as they are counted. */
  readonly changed_files: number;
}

/** A version that is about to be added. */
export interface NewVersion extends VersionFacts {
  /** What its code says about approvals. */
  readonly review: ReviewFacts;
  /** The issues that messages of its commits refer to. */
  readonly references: readonly IssueReference[];
  /** The objects of Git LFS that changed files stand for. */
  readonly objects: readonly string[];
}

/** A version of a merge request. */
export interface Version extends VersionFacts {
  readonly id: number;
  /** Epoch milliseconds. */
  readonly created_at: number;
}

/** A merge request, as its versions need it. */
export interface VersionOwner {
  readonly id: number;
  readonly iid: number;
  readonly project_id: number;
  readonly source_project_id: number | null;
}

/** The latest version of a merge request; `undefined` if it is only a record, in a project without a repository. */
export async function latest(db: Reader, requestId: number): Promise<Version | undefined> {
  return db.one<Version>(
    `select id, head_sha, base_sha, start_sha, changed_files, created_at from merge_request_versions
     where merge_request_id = ? order by id desc limit 1`,
    [requestId],
  );
}

/** The latest versions of merge requests. */
export async function latestOf(
  db: Reader,
  requestIds: readonly Value[],
): Promise<(Version & { readonly merge_request_id: number })[]> {
  const among = placeholders(requestIds);
  return db.all<Version & { merge_request_id: number }>(
    `select id, merge_request_id, head_sha, base_sha, start_sha, changed_files, created_at
     from merge_request_versions v where merge_request_id in (${among.sql}) and id =
       (select max(id) from merge_request_versions n where n.merge_request_id = v.merge_request_id)`,
    among.values,
  );
}

/**
 * Finds out what a version of a merge request will say. It takes too long for a transaction.
 *
 * @param repository with both commits
 * @param head the name of the source branch's newest commit, in hex
 * @param start likewise, of the target branch
 * @param base the public address: messages of commits may refer to pages below it
 */
export async function planVersion(
  repository: Repository,
  head: string,
  start: string,
  base?: string,
  budget = new Budget(),
): Promise<NewVersion> {
  const [to, from] = [head, start].map((oid) => commitNumber(repository, oid)) as [number, number];
  const [common] = mergeBases(repository.graph, to, [from]);
  const changes = common === undefined ? [] : await changesBetween(repository, common, to, budget);
  return {
    head_sha: head,
    base_sha: common === undefined ? null : commitId(repository, common),
    start_sha: start,
    changed_files: changes.length,
    review: await readReview(repository, to, from, changes),
    references: issuesIn(await messagesOf(repository, to, from), base),
    objects: await objectsIn(repository, common, to, budget),
  };
}

/** The objects of Git LFS that the files stand for that differ between two commits. */
async function objectsIn(
  repository: Repository,
  from: number | undefined,
  to: number,
  budget: Budget,
): Promise<string[]> {
  const found = new Set<string>();
  for (const { to: file } of await compareCommits(repository, from, to, budget)) {
    if (budget.isDue) await budget.pause();
    const pointer = file && (await pointerIn(repository, repository.findHex(file.oid)));
    if (pointer) found.add(pointer.oid);
  }
  return [...found];
}

/** Commits whose messages are looked at, the newest ones. */
const MOST_MESSAGES = 1000;

/** The messages of commits that can be reached from one commit, but not from another one. */
async function messagesOf(repository: Repository, from: number, not: number): Promise<string[]> {
  const log = logOf(repository, { from: [from], not: [not] });
  const numbers = await log.first(repository, MOST_MESSAGES);
  const messages: string[] = [];
  for (const number of numbers.slice(0, MOST_MESSAGES)) {
    messages.push((await readCommit(repository, number)).message);
  }
  return messages;
}

/** Who adds a version, and when. */
interface Adding {
  readonly db: Database;
  /** `undefined` in seeds. */
  readonly caller?: { readonly id: number };
  readonly now: number;
}

/**
 * Adds a version to a merge request, unless it is the same as the latest one, or there is no code.
 *
 * @returns its id, if it was added
 */
export async function renewVersion(
  adding: Adding,
  request: VersionOwner,
  version: NewVersion | undefined,
): Promise<number | undefined> {
  const before = await latest(adding.db, request.id);
  const isSame =
    version?.head_sha === before?.head_sha &&
    version?.base_sha === before?.base_sha &&
    version?.start_sha === before?.start_sha;
  return version && !isSame ? addVersion(adding, request, version) : undefined;
}

async function hasPositions(db: Reader, requestId: number): Promise<boolean> {
  const found = await db.rows(
    `select 1 from notes nt join note_positions np on np.note_id = nt.id
     where nt.merge_request_id = ? and np.position is not null limit 1`,
    [requestId],
  );
  return found.length > 0;
}

/** Makes a reference of a project's repository be for a commit. */
async function setRef(db: Database, projectId: number, name: string, oid: string): Promise<void> {
  await db.run(
    "update git_repositories set refs_version = refs_version + 1 where project_id = ? and kind = 'code'",
    [projectId],
  );
  await db.run(
    `insert into git_refs (repository_id, name, oid)
     values ((select id from git_repositories where project_id = ? and kind = 'code'), ?, ?)
     on conflict (repository_id, name) do update set oid = excluded.oid`,
    [projectId, name, oid],
  );
}

/**
 * Adds a version to a merge request, and gives its code to the target's repository, where it stays: as
 * `refs/merge-requests/…/head`, and that of the version before as `refs/keep-around/…`.
 *
 * @returns its id
 */
export async function addVersion(
  { db, caller, now }: Adding,
  request: VersionOwner,
  version: NewVersion,
): Promise<number> {
  const { id, iid, project_id, source_project_id } = request;
  const { head_sha, base_sha, start_sha, changed_files, references } = version;
  const before = await latest(db, id);
  const versionId = await insertRow(db, "merge_request_versions", {
    merge_request_id: id,
    head_sha,
    base_sha,
    start_sha,
    changed_files,
    issue_references: JSON.stringify(references),
    created_at: now,
  });
  // What the user wanted to be merged was something else.
  await updateRow(db, "merge_requests", id, { sha: head_sha, auto_merge: 0 }, now);
  if (before) await leaveTrain(db, id, now);
  await storeReview(db, request, version.review, now);
  if (before && before.head_sha !== head_sha) await resetApprovals(db, request);
  if (source_project_id !== null && source_project_id !== project_id) {
    await shareCode(db, source_project_id, project_id);
    await shareObjects(db, source_project_id, project_id, version.objects, now);
  }
  if (before) await setRef(db, project_id, keptName(before.head_sha), before.head_sha);
  await setRef(db, project_id, headNameOf(iid), head_sha);
  if (before && (await hasPositions(db, id))) {
    const task = { merge_request: id, user: caller?.id };
    await outbox.add(db, TRACER, [task], now, ({ merge_request }) => merge_request);
  }
  return versionId;
}
