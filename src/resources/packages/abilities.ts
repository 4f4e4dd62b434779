import { hasRole } from "../../core/access/roles.ts";
import { sourcesById } from "../../core/access/source.ts";
import type { Viewer } from "../../core/access/visibility.ts";
import type { Reader, Value } from "../../store/port.ts";

/**
 * Which of some namespaces the caller owns, and may see and change the settings of packages of: as in GitLab, groups as an owner, and
 * their own one. Administrators own all.
 *
 * @param owners those of users' own namespaces, by the ids of the namespaces
 */
export async function ownedAmong(
  db: Reader,
  ids: readonly Value[],
  viewer: Viewer,
  owners: ReadonlyMap<Value, Value>,
): Promise<Value[]> {
  const { caller } = viewer;
  if (ids.length === 0 || !caller) return [];
  const groups = await sourcesById(db, "group", ids, viewer);
  return ids.filter((id) => {
    const group = groups.get(id);
    if (group) return hasRole(group, "owner");
    return owners.has(id) && (caller.admin || owners.get(id) === caller.id);
  });
}
