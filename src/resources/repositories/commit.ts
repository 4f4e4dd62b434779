import { areRelated } from "../../core/access/forks.ts";
import { findSource, mayReadCode, type Source } from "../../core/access/source.ts";
import { forbidden } from "../../core/errors.ts";
import { commitId, commitNumber } from "../../git/commits.ts";
import { Draft } from "../../git/draft.ts";
import { BRANCHES, isShortName } from "../../git/refs.ts";
import { joined, type Repository } from "../../git/repository.ts";
import { treeOf } from "../../git/trees.ts";
import { WorkTree } from "../../git/work-tree.ts";
import { type OpenRepository, openRepository } from "./open.ts";
import type { Received } from "./pushes.ts";
import { impossible } from "./rules.ts";
import { openToChange, type Place, signatureOf, stage } from "./write.ts";

/** A commit that a request asks for. */
export interface CommitRequest {
  /** The branch that gets it, and is created if there is none. */
  readonly branch: string;
  /** The branch that it follows, if that is another one. */
  readonly start_branch?: string | undefined;
  /** The commit that it follows. */
  readonly start_sha?: string | undefined;
  /** The project that these are in, by id or path: one of the same fork network. */
  readonly start_project?: string | undefined;
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

/** A repository that was opened for a commit. */
export interface CommitPlace extends Place {
  /** The name of the commit that it follows, in hex; `undefined` if its branch does not exist. */
  readonly start: string | undefined;
  /** Whether it is to follow something else than its branch. */
  readonly isOther: boolean;
}

type Preparing = Parameters<typeof openToChange>[0];

/**
 * Opens a repository for a commit.
 *
 * @throws ApiError 404 without such a project to start from; 403 if that is no relative, or the caller may not read its
 *   code, or not push to the branch; 400 if the commit to start from does not exist
 */
export async function openToCommit(
  preparing: Preparing,
  request: CommitRequest,
): Promise<CommitPlace> {
  const { branch, start_branch = branch, start_sha, start_project } = request;
  const startProject =
    start_project === undefined ? undefined : await findRelative(preparing, start_project);
  const startName = BRANCHES + start_branch;
  const place = await openToChange(preparing, [BRANCHES + branch], [startName]);
  if (!place.rights.mayPush(branch)) {
    throw forbidden("You are not allowed to push into this branch");
  }
  const from = startProject
    ? await openRepository({ ...preparing, source: startProject }, [startName])
    : place;
  const start =
    start_sha === undefined ? from.refs.get(startName)?.oid : await commitNamed(from, start_sha);
  const isOther = startProject !== undefined || start_sha !== undefined || start_branch !== branch;
  const isLent = start !== undefined && place.repository.findHex(start) < 0;
  return {
    ...place,
    start,
    isOther,
    ...(isLent && { repository: joined(place.repository, from.repository), lender: from.row }),
  };
}

/**
 * Finds another project of the fork network, from which a commit starts.
 *
 * @returns `undefined` if it is the project itself
 */
async function findRelative(
  { db, source, viewer }: Preparing,
  project: string,
): Promise<Source | undefined> {
  const found = await findSource(db, "project", project, viewer);
  if (found.id === source.id) return undefined;
  if (!mayReadCode(found) || !(await areRelated(db, source.id, found.id))) {
    throw forbidden(`Project is not included in the fork network for ${found.fullPath}`);
  }
  return found;
}

/**
 * Stages a commit, and the change of its branch.
 *
 * @param place opened for the request by {@link openToCommit}
 * @param edit makes its files of those of its parent, which is `undefined` in an empty repository
 * @throws ApiError 400 if the branch can't get it
 */
export async function stageCommit(
  place: CommitPlace,
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
  { repository, refs, start, isOther, rights: { isEmpty } }: CommitPlace,
  { branch, force }: CommitRequest,
): { from: string | undefined; parent: number | undefined } {
  const from = refs.get(BRANCHES + branch)?.oid;
  const parent = start === undefined ? undefined : commitNumber(repository, start);
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

/** Checks that there is a commit with a full name. @throws ApiError 400 if there is none */
async function commitNamed({ shown }: OpenRepository, sha: string): Promise<string> {
  if (!/^[0-9a-f]{40}$/.test(sha)) throw impossible(`Invalid start_sha '${sha}'`);
  if (!(await shown.hasCommitNamed(sha))) {
    throw impossible(`Cannot find start_sha '${sha}'`);
  }
  return sha;
}
