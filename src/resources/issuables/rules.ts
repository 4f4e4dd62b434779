import type { Caller } from "../../core/access/caller.ts";
import { ROLES } from "../../core/access/roles.ts";
import type { Source } from "../../core/access/source.ts";
import type { Viewer } from "../../core/access/visibility.ts";
import { forbidden, notFound } from "../../core/errors.ts";
import type { Reader } from "../../store/port.ts";
import { find, type Issuable, isAssigned } from "./queries.ts";
import type { IssuableType } from "./type.ts";

/**
 * Finds an issuable by its number in the path's project.
 *
 * @param name what is not found, in the error
 * @throws ApiError 404 if there is none or the caller may not read it
 */
export async function findIssuable(
  { db, source, viewer }: { db: Reader; source: Source; viewer: Viewer },
  type: IssuableType,
  iid: number,
  name?: string,
): Promise<Issuable> {
  const found = await find(db, type, source.id, iid, viewer);
  if (!found?.visible) throw notFound(name);
  return found;
}

/** Whether a locked discussion excludes the caller. Project members may continue it, whatever their role. */
export function isLockedOut(source: Source, issuable: Pick<Issuable, "discussion_locked">) {
  return issuable.discussion_locked === 1 && source.level === 0;
}

/** Who changes an issuable, in which project. */
interface Changing {
  readonly db: Reader;
  readonly source: Source;
  readonly caller: Caller;
}

/** Whether the caller may change an issuable: as its author, as an assignee, or by role. */
export async function mayChange(
  { db, source, caller }: Changing,
  type: IssuableType,
  issuable: Issuable,
  role: "reporter" | "developer",
): Promise<boolean> {
  if (!issuable.visible) return false;
  if (issuable.author_id === caller.id || source.level >= ROLES[role]) return true;
  return isAssigned(db, type, issuable.id, caller.id);
}

/**
 * Checks {@link mayChange}.
 *
 * @throws ApiError 403
 */
export async function requireChanger(
  changing: Changing,
  type: IssuableType,
  issuable: Issuable,
  role: "reporter" | "developer",
): Promise<void> {
  if (!(await mayChange(changing, type, issuable, role))) throw forbidden();
}
