import { commitId, commitNumber } from "../../git/commits.ts";
import { Draft } from "../../git/draft.ts";
import { BLOB } from "../../git/objects.ts";
import type { RefChange } from "../../git/push.ts";
import { BRANCHES, isShortName, listRefsBelow, type Ref } from "../../git/refs.ts";
import { findCommit } from "../../git/revisions.ts";
import { FILE, WorkTree } from "../../git/work-tree.ts";
import { rightsOf } from "../protected-refs/abilities.ts";
import { withRefs } from "../repositories/open.ts";
import type { Received } from "../repositories/pushes.ts";
import { impossible } from "../repositories/rules.ts";
import { type Place, signatureOf, stage } from "../repositories/write.ts";
import { mergedCommits } from "./merged.ts";

/** A branch that was staged. */
export interface StagedBranch {
  readonly received: Received;
  readonly ref: Ref;
  /** The repository with it. */
  readonly place: Place;
}

/**
 * Stages a new branch. In an empty project it begins with a README.
 *
 * @param place opened with the branch and `from`
 * @param from a branch, tag or commit
 * @throws ApiError 400 if there can't be such a branch
 */
export async function stageBranch(place: Place, name: string, from: string): Promise<StagedBranch> {
  const { repository, refs, rights } = place;
  const fullName = BRANCHES + name;
  if (!isShortName(name)) throw impossible("Branch name is invalid");
  if (refs.has(fullName)) throw impossible("Branch already exists");
  const draft = new Draft(repository);
  const number = rights.isEmpty ? undefined : await findCommit(place, from);
  if (!rights.isEmpty && number === undefined) {
    throw impossible(`Failed to create branch '${name}': invalid reference name '${from}'`);
  }
  const to = number === undefined ? await firstCommit(place, draft) : commitId(repository, number);
  const isMerged = number !== undefined && (await needsMerged(place, name, number));
  const changes: RefChange[] = [{ name: fullName, from: undefined, to, isMerged }];
  if (rights.isEmpty && fullName !== place.head) {
    changes.push({ name: place.head, from: undefined, to });
  }
  const received = await stage(place, draft, changes);
  const ref = { name: fullName, oid: to, peeled: null };
  const known = changes.map((change) => [change.name, { ...ref, name: change.name }] as const);
  return {
    received,
    ref,
    place: { ...place, repository: received.push.repository, refs: new Map([...refs, ...known]) },
  };
}

/** Adds the first commit of an empty project. */
async function firstCommit({ store, caller, now }: Place, draft: Draft): Promise<string> {
  const tree = new WorkTree(draft);
  await tree.set("README.md", { mode: FILE, oid: draft.add(BLOB, Buffer.alloc(0)) });
  const author = await signatureOf(store.reader(), caller.id, now);
  const message = "Add README.md";
  const parents: string[] = [];
  return draft.addCommit({ tree: await tree.write(), parents, author, committer: author, message });
}

/**
 * Whether a protected branch has a commit, if the caller may create a branch only then: those who may merge into it, but
 * not push to it.
 */
async function needsMerged(place: Place, name: string, commit: number): Promise<boolean> {
  const { rights } = place;
  if (rights.mayPush(name) || !rights.mayMerge(name)) return false;
  const branches = await branchesOf(place);
  const { graph } = branches.place.repository;
  return branches.list
    .filter((branch) => branches.place.rights.isProtected(nameOf(branch)))
    .some(({ oid }) => graph.isAncestor(commit, commitNumber(place.repository, oid) ?? commit));
}

const nameOf = ({ name }: Ref) => name.slice(BRANCHES.length);

/** All branches, and the repository with what they are for. */
async function branchesOf(place: Place): Promise<{ list: Ref[]; place: Place }> {
  const db = place.store.reader();
  const list = place.row ? await listRefsBelow(db, place.row.id, BRANCHES) : [];
  const names = list.map(({ name }) => name);
  const rights = await rightsOf(db, place.project, names);
  return { list, place: { ...place, ...(await withRefs(place, list)), rights } };
}

/**
 * Stages the deletion of all branches that are merged into the default one, but for protected ones and those of open
 * merge requests.
 *
 * @param place opened with `HEAD`
 * @returns `undefined` if there are none
 */
export async function stageMerged(place: Place): Promise<Received | undefined> {
  const { list, place: current } = await branchesOf(place);
  const merged = mergedCommits(current);
  const rows = await place.store.reader().rows(
    `select source_branch from merge_requests where source_project_id = ? and state = 'opened'
     union select target_branch from merge_requests where project_id = ? and state = 'opened'`,
    [place.project.id, place.project.id],
  );
  const wanted = new Set(rows.map(([name]) => name));
  const changes = list
    .filter(({ name }) => name !== place.head)
    .filter(({ oid }) => merged[commitNumber(current.repository, oid) ?? -1] === 1)
    .filter((ref) => !current.rights.isProtected(nameOf(ref)) && !wanted.has(nameOf(ref)))
    .map(({ name, oid }) => ({ name, from: oid, to: undefined }));
  return changes.length === 0 ? undefined : stage(current, new Draft(current.repository), changes);
}
