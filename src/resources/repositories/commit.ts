import { forbidden } from "../../core/errors.ts";
import { commitId, commitNumber } from "../../git/commits.ts";
import { Draft } from "../../git/draft.ts";
import { BRANCHES } from "../../git/refs.ts";
import type { Repository } from "../../git/repository.ts";
import { treeOf } from "../../git/trees.ts";
import { WorkTree } from "../../git/work-tree.ts";
import type { Received } from "./pushes.ts";
import { impossible, isShortName } from "./rules.ts";
import { openToChange, type Place, signatureOf, stage } from "./write.ts";

/** A commit that a request asks for. */
export interface CommitRequest {
  /** The branch that gets it, and is created if there is none. */
  readonly branch: string;
  /** The branch that it follows, if that is another one. */
  readonly start_branch?: string | undefined;
  /** The commit that it follows. */
  readonly start_sha?: string | undefined;
  /** Whether it replaces what the branch has, if it follows something else. */
  readonly force?: boolean | undefined;
  readonly commit_message: string;
  readonly author_name?: string | undefined;
  readonly author_email?: string | undefined;
}

/** A commit that was staged. */
export interface StagedCommit {
  readonly received: Received;
  /** Its name, in hex. */
  readonly oid: string;
}

/** Changes the files of a new commit. `parent` is the number of the commit that it follows. */
type Edit = (tree: WorkTree, draft: Draft, parent: number | undefined) => Promise<void>;

/**
 * Opens a repository for a commit.
 *
 * @throws ApiError 403 if the caller may not push to the branch
 */
export async function openToCommit(
  preparing: Parameters<typeof openToChange>[0],
  { branch, start_branch: start }: CommitRequest,
): Promise<Place> {
  const starts = start === undefined ? [] : [BRANCHES + start];
  const place = await openToChange(preparing, [BRANCHES + branch], starts);
  if (!place.rights.mayPush(branch)) {
    throw forbidden("You are not allowed to push into this branch");
  }
  return place;
}

/**
 * Stages a commit, and the change of its branch.
 *
 * @param place opened for the request
 * @param edit makes its files of those of its parent, which is `undefined` in an empty repository
 * @throws ApiError 400 if the branch can't get it
 */
export async function stageCommit(
  place: Place,
  request: CommitRequest,
  edit: Edit,
): Promise<StagedCommit> {
  const { store, repository, caller, now } = place;
  const { from, parent } = branchOf(place, request);
  const draft = new Draft(repository);
  const tree = new WorkTree(draft, parent === undefined ? undefined : rootOf(repository, parent));
  await edit(tree, draft, parent);
  const committer = await signatureOf(store.reader(), caller.id, now);
  const author = {
    ...committer,
    name: request.author_name?.trim() || committer.name,
    email: request.author_email?.trim() || committer.email,
  };
  const oid = draft.addCommit({
    tree: await tree.write(),
    parents: parent === undefined ? [] : [commitId(repository, parent)],
    author,
    committer,
    message: request.commit_message,
  });
  const change = { name: BRANCHES + request.branch, from, to: oid };
  return { received: await stage(place, draft, [change]), oid };
}

/**
 * What a branch is for, and the number of the commit that a commit to it follows.
 *
 * @throws ApiError 400 if the branch can't get it
 */
function branchOf(
  { repository, refs, rights: { isEmpty } }: Place,
  { branch, start_branch: start = branch, start_sha, force }: CommitRequest,
): { from: string | undefined; parent: number | undefined } {
  const from = refs.get(BRANCHES + branch)?.oid;
  const startRef = refs.get(BRANCHES + start);
  const parent =
    start_sha === undefined
      ? startRef && commitNumber(repository, startRef.oid)
      : commitNamed(repository, start_sha);
  const isOther = start_sha !== undefined || start !== branch;
  if (!isEmpty && parent === undefined) {
    throw impossible("You can only create or edit files when you are on a branch");
  }
  if (isOther && from !== undefined && !force) {
    throw impossible(
      `A branch called '${branch}' already exists. Switch to that branch in order to make changes`,
    );
  }
  if ((isEmpty || isOther) && !isShortName(branch)) {
    throw impossible(
      `Something went wrong when we tried to create '${branch}' for you: Branch name is invalid`,
    );
  }
  return { from, parent };
}

/** The name of a commit's tree. */
function rootOf(repository: Repository, commit: number): string {
  return repository.oidOf(treeOf(repository, commit)).toString("hex");
}

/** The number of a commit by its full name. @throws ApiError 400 if there is none */
function commitNamed(repository: Repository, sha: string): number {
  if (!/^[0-9a-f]{40}$/.test(sha)) throw impossible(`Invalid start_sha '${sha}'`);
  const number = commitNumber(repository, sha);
  if (number === undefined) throw impossible(`Cannot find start_sha '${sha}'`);
  return number;
}
