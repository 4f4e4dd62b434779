import { inBatches } from "../../jobs/batches.ts";
import { removeLater, removePart } from "../../jobs/removal.ts";
import { belowGroup } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Database, Store } from "../../store/port.ts";
import { removeOfGroups } from "../group-links/queries.ts";
import {
  GROUP_PARTS,
  hasFewRows,
  hide,
  hideProjects,
  projectsBelow,
} from "../namespaces/removal.ts";
import { removeProjects } from "../projects/removal.ts";

/** Projects or groups that are deleted together. */
const CHUNK = 100;

/**
 * Deletes a group with everything below it: at once if that has few rows. Otherwise nobody sees it any more, and a
 * worker deletes it. Its members lose at once what they may do where it, or a group below it, was invited.
 *
 * @returns whether it was deleted at once
 */
export async function remove(db: Database, groupId: number, now: number): Promise<boolean> {
  await removeOfGroups(db, groupId);
  if (await hasFewRows(db, groupId)) {
    await db.run("delete from namespaces where id = ?", [groupId]);
    return true;
  }
  await hide(db, groupId);
  await removeLater(db, { group: groupId }, now);
  return false;
}

/**
 * Deletes a hidden group, or a user's own namespace, with everything below it, in batches.
 *
 * @throws what the signal was aborted with
 */
export async function removeGroup(
  store: Store,
  groupId: number,
  signal?: AbortSignal,
): Promise<void> {
  await inBatches(store, (db, batch) => hideProjects(db, groupId, batch), { signal });
  const [projects, groups] = [projectsBelow(groupId), belowGroup("n.id", groupId)];
  for (;;) {
    const ids = await store.rows(`${projects.sql} limit ${CHUNK}`, projects.values);
    if (ids.length === 0) break;
    await removeProjects(
      store,
      ids.map(([id]) => id as number),
      signal,
    );
  }
  for (;;) {
    const ids = await store.rows(
      `select n.id from namespaces n where ${groups.sql}
       order by (select count(*) from namespace_ancestors a where a.namespace_id = n.id) desc limit ${CHUNK}`,
      groups.values,
    );
    if (ids.length === 0) break;
    const among = placeholders(ids.map(([id]) => id as number));
    for (const part of GROUP_PARTS) await removePart(store, part, among, signal);
    await removePart(store, ["namespaces", "id", "id"], among, signal);
  }
}
