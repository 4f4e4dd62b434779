import { ApiError, forbidden, notFound } from "../../core/errors.ts";
import { commitId, commitNumber, readCommit, titleOf } from "../../git/commits.ts";
import { treeNameOf } from "../../git/contents.ts";
import { Draft } from "../../git/draft.ts";
import { logOf } from "../../git/log.ts";
import { mergeTrees } from "../../git/merge.ts";
import { treeBefore } from "../../git/patch-ids.ts";
import { BRANCHES } from "../../git/refs.ts";
import type { Repository } from "../../git/repository.ts";
import type { Reader } from "../../store/port.ts";
import type { StagedCommit } from "../repositories/commit.ts";
import { requireCommit } from "../repositories/open.ts";
import { openToChange, type Place, signatureOf, stage } from "../repositories/write.ts";

/** What is done with a commit's changes: they are made again on another branch, or undone. */
type Pick = "cherry-pick" | "revert";

/** What a request picks. */
interface PickRequest {
  readonly sha: string;
  readonly branch: string;
  /** Whether it is only tried. */
  readonly dry_run?: boolean | undefined;
  /** The message of the new commit, if it is to be another one. */
  readonly message?: string | undefined;
}

/** A new commit on a branch; `staged` is `undefined` if it was only tried. */
export interface Picked {
  readonly place: Place;
  readonly staged: StagedCommit | undefined;
}

/**
 * Stages a commit that makes or undoes the changes that another one made in its first parent.
 *
 * @throws ApiError 403 if the caller may not push to the branch, 404 without such a commit or branch, 400 if the changes
 *   are there already or conflict with others
 */
export async function stagePick(
  preparing: Parameters<typeof openToChange>[0],
  pick: Pick,
  request: PickRequest,
): Promise<Picked> {
  const { sha, branch } = request;
  const place = await openToChange(preparing, [BRANCHES + branch], [sha]);
  if (!place.rights.mayPush(branch)) {
    throw forbidden("You are not allowed to push into this branch");
  }
  const { repository, refs, store, caller, now } = place;
  const number = await requireCommit(place, sha);
  const from = refs.get(BRANCHES + branch)?.oid;
  const head = from === undefined ? undefined : commitNumber(repository, from);
  if (head === undefined) throw notFound("Branch");
  const draft = new Draft(repository);
  const tree = await pickedTree(draft, pick, number, head);
  if (request.dry_run) return { place, staged: undefined };
  const signature = await signatureOf(store.reader(), caller.id, now);
  const oid = draft.addCommit({
    tree,
    parents: [commitId(repository, head)],
    author: signature,
    committer: signature,
    message: request.message ?? (await messageOf(place, pick, number)),
  });
  const change = { name: BRANCHES + branch, from, to: oid };
  return { place, staged: { received: await stage(place, draft, [change]), oid } };
}

/** The tree of a branch's commit with the changes of another commit, or without them. */
async function pickedTree(draft: Draft, pick: Pick, commit: number, head: number): Promise<string> {
  const { repository } = draft;
  const [before, after] = [treeBefore(repository, commit), treeNameOf(repository, commit)];
  const [base, theirs] = pick === "revert" ? [after, before] : [before, after];
  const ours = treeNameOf(repository, head);
  const { tree, conflicts } = await mergeTrees(draft, base, ours, theirs);
  if (conflicts.size > 0) throw impossiblePick(pick, "conflict");
  if (tree === ours) throw impossiblePick(pick, "empty");
  return tree;
}

function impossiblePick(pick: Pick, code: "conflict" | "empty"): ApiError {
  const reason =
    "Can't perform this action automatically. It may have already been done, or a more recent commit may have updated " +
    "some of this content. Please perform this action locally.";
  return new ApiError(400, { message: `Commit ${pick} failed: ${reason}`, error_code: code });
}

/** GitLab's message for a pick. That of the merge of a merge request names the merge request, or its commits. */
async function messageOf(place: Place, pick: Pick, number: number): Promise<string> {
  const { repository, store } = place;
  const { id, message, author } = await readCommit(repository, number);
  const merged = await mergedRequest(store.reader(), place.project.id, id);
  if (pick === "revert") {
    const what = merged === undefined ? `commit ${id}` : `merge request !${merged}`;
    return `Revert "${titleOf(message)}"\n\nThis reverts ${what}`;
  }
  const commits = merged === undefined ? "" : await listOf(repository, number);
  return `${message}\n\n(cherry picked from commit ${id})${commits}\n\nCo-authored-by: ${author.name} <${author.email}>`;
}

/** The number of the merge request that was merged with a commit. */
async function mergedRequest(
  db: Reader,
  projectId: number,
  commit: string,
): Promise<number | undefined> {
  const found = await db.one<{ iid: number }>(
    "select iid from merge_requests where project_id = ? and merge_commit_sha = ?",
    [projectId, commit],
  );
  return found?.iid;
}

/** Commits of a merge that are listed in a message, the newest ones. */
const MOST_LISTED = 100;

/** The commits that a merge has brought, the oldest first. */
async function listOf(repository: Repository, merge: number): Promise<string> {
  const [ours, theirs] = repository.graph.parentsOf(merge);
  if (ours === undefined || theirs === undefined) return "";
  const log = logOf(repository, { from: [theirs], not: [ours] });
  const lines: string[] = [];
  for (const number of (await log.first(repository, MOST_LISTED)).slice(0, MOST_LISTED)) {
    const { id, message } = await readCommit(repository, number);
    lines.unshift(`${id.slice(0, 8)} ${titleOf(message)}`);
  }
  return `\n\n${lines.join("\n")}`;
}
