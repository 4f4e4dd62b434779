import type { Source } from "../../core/access/source.ts";
import type { PrepareContext } from "../../core/resource.ts";
import { dayOf } from "../../core/time.ts";
import { commitNumber } from "../../git/commits.ts";
import { aheadBehind } from "../../git/merge-bases.ts";
import { findMergeability } from "../../git/mergeability.ts";
import { BRANCHES, type Ref } from "../../git/refs.ts";
import { mergeStateOf } from "../issuables/merge-checks.ts";
import { MERGE_REQUEST } from "../issuables/merge-request.ts";
import type { Issuable } from "../issuables/queries.ts";
import { findIssuable } from "../issuables/rules.ts";
import * as versions from "../merge-request-versions/versions.ts";
import { type OpenRepository, openRepository, withRefs } from "../repositories/open.ts";
import * as requests from "./queries.ts";

/** What routes of one merge request are prepared with. */
type Preparing = Pick<PrepareContext, "db" | "store" | "caller" | "now"> & {
  /** The project of the merge request: that of its target branch. */
  readonly source: Source;
};

/** A merge request with its code. */
export interface RequestCode {
  readonly request: Issuable & requests.Branches;
  /** The repository of the target project: it has the code of forks, too. It is empty if there is none. */
  readonly opened: OpenRepository;
  /** The target branch; `undefined` if there is none. */
  readonly target: Ref | undefined;
  /** The latest version; `undefined` if the merge request is only a record, in a project without a repository. */
  readonly version: versions.Version | undefined;
}

/**
 * Opens the code of a merge request, in the `prepare` of a route.
 *
 * @param iid its number in the project
 * @param names what the request names commits of the target project by besides
 * @throws ApiError 404 if there is none, or the caller may not read it
 */
export async function openCode(
  preparing: Preparing,
  iid: number,
  names: readonly string[] = [],
): Promise<RequestCode> {
  const found = await requestOf(preparing, iid);
  const request = { ...found, ...(await requests.branchesOf(preparing.db, found.id)) };
  const targetName = BRANCHES + request.target_branch;
  const opened = await openRepository(preparing, [targetName, ...names]);
  const target = opened.refs.get(targetName);
  const version = await versions.latest(preparing.db, found.id);
  const refs = target ? [target] : [];
  const head = version && { name: request.source_branch, oid: version.head_sha, peeled: null };
  return {
    request,
    opened: await withRefs(opened, head ? [...refs, head] : refs),
    target,
    version,
  };
}

/**
 * Finds out whether a merge request can be merged, unless that is known: the answers that present it say so then.
 * To be called before the transaction.
 *
 * @returns the merge request
 * @throws ApiError 404 if there is none, or the caller may not read it
 */
export async function checkCode(preparing: Preparing, iid: number): Promise<Issuable> {
  const request = await requestOf(preparing, iid);
  await checkCodeOf(preparing, request.id);
  return request;
}

/** {@link checkCode} of the merge request with this id. */
export async function checkCodeOf({ db, store, source }: Preparing, id: number): Promise<void> {
  const { unknown } = await mergeStateOf(db, id, undefined);
  if (!unknown) return;
  const opened = await openRepository({ db, store, source });
  const refs = Object.values(unknown).map((oid) => ({ name: oid, oid, peeled: null }));
  const { repository } = await withRefs(opened, refs);
  await findMergeability(repository, unknown.source, unknown.target);
}

/** How many commits the target branch has that the source branch lacks. */
export async function divergedCommits(preparing: Preparing, iid: number): Promise<number> {
  const { opened, target, version } = await openCode(preparing, iid);
  if (!target || !version) return 0;
  const { repository } = opened;
  const [ours, theirs] = [target.oid, version.head_sha].map((oid) => commitNumber(repository, oid));
  return aheadBehind(repository.graph, ours as number, theirs as number).ahead;
}

function requestOf({ db, source, caller, now }: Preparing, iid: number): Promise<Issuable> {
  return findIssuable({ db, source, viewer: { caller, today: dayOf(now) } }, MERGE_REQUEST, iid);
}
