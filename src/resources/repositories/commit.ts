import { Draft } from "../../git/draft.ts";
import { OID_BYTES } from "../../git/oid-table.ts";
import { BRANCHES } from "../../git/refs.ts";
import type { Repository } from "../../git/repository.ts";
import { WorkTree } from "../../git/trees.ts";
import { hasBranches, oidOfRef, type Received } from "./pushes.ts";
import { impossible, isShortName } from "./rules.ts";
import { movedOn, type Place, signatureOf, stage } from "./write.ts";

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

/** Changes the files of a new commit. */
type Edit = (tree: WorkTree, draft: Draft, parent: string | undefined) => Promise<void>;

/**
 * Stages a commit, and the change of its branch.
 *
 * @param edit makes its files of those of its parent, which is `undefined` in an empty repository
 * @throws ApiError 400 if the branch can't get it
 */
export async function stageCommit(
  place: Place,
  request: CommitRequest,
  edit: Edit,
): Promise<StagedCommit> {
  const { store, repository, caller, now } = place;
  const { from, parent } = await branchOf(place, request);
  const draft = new Draft(repository);
  const tree = new WorkTree(draft, parent && treeOf(repository, parent));
  await edit(tree, draft, parent);
  const committer = await signatureOf(store.reader(), caller.id, now);
  const author = {
    ...committer,
    name: request.author_name?.trim() || committer.name,
    email: request.author_email?.trim() || committer.email,
  };
  const oid = draft.addCommit({
    tree: await tree.write(),
    parents: parent === undefined ? [] : [parent],
    author,
    committer,
    message: request.commit_message,
  });
  const change = { name: BRANCHES + request.branch, from, to: oid };
  return { received: await stage(place, draft, [change]), oid };
}

/** What a branch is for, and what a commit to it follows. @throws ApiError 400 if the branch can't get it */
async function branchOf(
  { store, row, repository }: Place,
  { branch, start_branch: start = branch, start_sha, force }: CommitRequest,
): Promise<{ from: string | undefined; parent: string | undefined }> {
  const db = store.reader();
  const from = await oidOfRef(db, row.id, BRANCHES + branch);
  const isEmpty = !(await hasBranches(db, row.id));
  const parent =
    start_sha === undefined
      ? await oidOfRef(db, row.id, BRANCHES + start)
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
  if (parent !== undefined && repository.findHex(parent) < 0) throw movedOn(BRANCHES + branch);
  return { from, parent };
}

/** A commit by its full name. @throws ApiError 400 if there is none */
function commitNamed(repository: Repository, sha: string): string {
  if (!/^[0-9a-f]{40}$/.test(sha)) throw impossible(`Invalid start_sha '${sha}'`);
  if (repository.graph.commitOf(repository.findHex(sha)) < 0) {
    throw impossible(`Cannot find start_sha '${sha}'`);
  }
  return sha;
}

/** The tree of a commit. */
function treeOf(repository: Repository, oid: string): string {
  const { graph } = repository;
  const at = OID_BYTES * graph.commitOf(repository.findHex(oid));
  return Buffer.from(graph.trees.subarray(at, at + OID_BYTES)).toString("hex");
}
