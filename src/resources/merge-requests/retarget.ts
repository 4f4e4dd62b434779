import { change } from "../issuables/change.ts";
import { MERGE_REQUEST } from "../issuables/merge-request.ts";
import { findById } from "../issuables/queries.ts";
import type { Writing } from "../issuables/type.ts";
import { openInto, planWithin } from "../merge-request-versions/refresh.ts";
import { renewVersion } from "../merge-request-versions/versions.ts";
import * as requests from "./queries.ts";

/** Merge requests that get another target branch at once, at most, as in GitLab: the oldest ones. */
const MOST = 4;

/** A branch that is merged into another one and deleted. */
export interface Ended {
  readonly branch: string;
  /** The other branch. */
  readonly into: string;
}

/**
 * Gives the open merge requests into a branch that has ended the branch that it was merged into as their target, in the
 * transaction of the merge. Those that another open merge request would then be the same as stay.
 *
 * @param base the public address: texts may refer to pages below it
 */
export async function retarget(
  context: Writing,
  { branch, into }: Ended,
  base: string | undefined,
): Promise<void> {
  const { db, source } = context;
  const waiting = await openInto(db, source.id, branch);
  for (const request of waiting.slice(0, MOST)) {
    const { id, sha, source_project_id } = request;
    if (sha === null || source_project_id === null) continue;
    const { source_branch } = await requests.branchesOf(db, id);
    const branches = { source_project_id, source_branch, target_branch: into };
    if (source_branch === into || (await requests.findOpen(db, source.id, branches))) continue;
    const planned = await planWithin(db, { ...request, target_branch: into }, sha, base);
    if (!planned) continue;
    const before = await findById(db, MERGE_REQUEST, id);
    const version = await renewVersion(context, request, planned.facts);
    const columns = { target_branch: into };
    await change(context, MERGE_REQUEST, before, { columns }, { version });
  }
}
