import type { Caller } from "../../core/access/caller.ts";
import { ROLES } from "../../core/access/roles.ts";
import type { Source } from "../../core/access/source.ts";
import { forbidden } from "../../core/errors.ts";
import type { Reader } from "../../store/port.ts";
import { MERGE_REQUEST } from "../issuables/merge-request.ts";
import type { Issuable } from "../issuables/queries.ts";
import { isAssigned } from "../issuables/queries.ts";

/** A caller and the project of a merge request. */
interface Acting {
  readonly db: Reader;
  readonly source: Source;
  readonly caller: Caller | undefined;
}

type Request = Pick<Issuable, "id" | "author_id">;

/** Whether the caller's role lets them approve a merge request: members who may change it. */
export async function mayApprove(
  { db, source, caller }: Acting,
  { id, author_id }: Request,
): Promise<boolean> {
  if (!caller || source.level === 0 || source.archived) return false;
  if (source.level >= ROLES.developer || author_id === caller.id) return true;
  return isAssigned(db, MERGE_REQUEST, id, caller.id);
}

/**
 * Checks that the caller may change the rules of a merge request: its author, its assignees and maintainers, if the
 * project lets merge requests have rules of their own.
 *
 * @throws ApiError 403
 */
export async function requireRuler(
  { db, source, caller }: Acting & { caller: Caller },
  { id, author_id }: Request,
): Promise<void> {
  const [project] = await db.rows(
    "select disable_overriding_approvers_per_merge_request from projects where id = ?",
    [source.id],
  );
  if (project?.[0] !== 0) throw forbidden();
  if (source.level >= ROLES.maintainer) return;
  const isOwn = author_id === caller.id || (await isAssigned(db, MERGE_REQUEST, id, caller.id));
  if (!isOwn || source.level === 0) throw forbidden();
}
