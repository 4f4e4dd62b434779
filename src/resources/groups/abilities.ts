import type { Caller } from "../../core/access/caller.ts";
import { hasRole } from "../../core/access/roles.ts";
import { findSource } from "../../core/access/source.ts";
import type { Viewer } from "../../core/access/visibility.ts";
import { storedIn } from "../../core/kept.ts";
import type { Reader } from "../../store/port.ts";
import { groupSettings } from "../namespaces/kept.ts";
import * as users from "../users/queries.ts";

/**
 * Whether the caller may create a group, or move one, below another: as its owner, or whom its
 * `subgroup_creation_level` allows; at the top level as administrator or with `can_create_group`.
 *
 * @throws ApiError 404 for a parent the caller cannot see
 */
export async function mayCreateGroup(
  { db, caller, viewer }: { readonly db: Reader; readonly caller: Caller; readonly viewer: Viewer },
  parentId: number | undefined,
): Promise<boolean> {
  if (parentId === undefined) {
    return caller.admin || (await users.find(db, caller.id))?.can_create_group === 1;
  }
  const parent = await findSource(db, "group", String(parentId), viewer);
  const settings = groupSettings.read(await storedIn(db, "namespaces", parent.id));
  return !parent.archived && hasRole(parent, settings.subgroup_creation_level ?? "owner");
}
