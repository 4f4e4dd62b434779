import { type Source, sourcesById } from "../../core/access/source.ts";
import { VISIBILITIES } from "../../core/access/visibility.ts";
import { BRANCHES } from "../../git/refs.ts";
import type { Writing } from "../issuables/type.ts";
import { rightsOf } from "../protected-refs/abilities.ts";
import * as requests from "./queries.ts";

/** What a request says about whether those who may merge it may push to its source branch. */
interface Wanted {
  readonly allow_collaboration?: boolean | undefined;
  /** What older clients call the same. */
  readonly allow_maintainer_to_push?: boolean | undefined;
}

/** The ends of a merge request. */
interface Ends {
  readonly source: Source;
  readonly source_branch: string;
  readonly target: Source;
}

/**
 * Whether those who may merge a merge request may push to its source branch, if a request says it. As in GitLab, that is for
 * those who may push there to decide, and only for forks; neither project is private, and the branch is not protected.
 *
 * @returns `undefined` if nothing is to change
 */
export async function collaborationIn(
  { db }: Pick<Writing, "db">,
  { source, source_branch, target }: Ends,
  { allow_maintainer_to_push, allow_collaboration = allow_maintainer_to_push }: Wanted,
): Promise<boolean | undefined> {
  if (allow_collaboration === undefined || source.id === target.id) return undefined;
  const isOpen = [source, target].every(({ visibility }) => visibility > VISIBILITIES.private);
  if (!isOpen) return undefined;
  const rights = await rightsOf(db, source, [BRANCHES + source_branch]);
  const isPossible =
    rights.mayWrite && !rights.isProtected(source_branch) && rights.mayPush(source_branch);
  return isPossible ? allow_collaboration : undefined;
}

/** {@link collaborationIn} a request to change a merge request. */
export async function collaborationOf(
  context: Pick<Writing, "db" | "source" | "viewer">,
  id: number,
  wanted: Wanted,
): Promise<boolean | undefined> {
  const { db, source: target, viewer } = context;
  if (wanted.allow_collaboration === undefined && wanted.allow_maintainer_to_push === undefined) {
    return undefined;
  }
  const { source_project_id: from, source_branch } = await requests.branchesOf(db, id);
  if (from === null || from === target.id) return undefined;
  const source = (await sourcesById(db, "project", [from], viewer)).get(from);
  return source && collaborationIn(context, { source, source_branch, target }, wanted);
}
