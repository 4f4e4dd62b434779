import { BEING_DELETED } from "../core/access/visibility.ts";
import { recordGroup } from "../hooks/records.ts";
import type { Store } from "../store/port.ts";
import { delayedDeletion } from "./application-settings/deletion.ts";
import * as groups from "./groups/deletion.ts";
import { remove as removeGroup } from "./groups/removal.ts";
import { changed } from "./projects/followers.ts";
import { remove as removeProject } from "./projects/removal.ts";

const DAY = 86_400_000;

/** Deletes the projects and groups that were marked for as long as the application's settings say. */
export async function deleteDue(store: Store, now: number): Promise<void> {
  const { days } = await delayedDeletion(store);
  const before = now - days * DAY;
  for (const kind of ["group", "project"] as const) {
    const table = kind === "group" ? "namespaces" : "projects";
    const isDue = `${table} where marked_for_deletion_at <= ? and visibility > ${BEING_DELETED}`;
    for (const [id] of await store.rows(`select id from ${isDue} order by id`, [before])) {
      await store.transaction(async (db) => {
        // Meanwhile it may have been restored, or deleted with its group.
        const found = await db.rows(`select id from ${isDue} and id = ?`, [before, id as number]);
        if (found.length > 0) await deleteOne(db, kind, id as number, now);
      });
    }
  }
}

async function deleteOne(
  db: Parameters<typeof removeProject>[0],
  kind: "group" | "project",
  id: number,
  now: number,
): Promise<void> {
  if (kind === "project") {
    await changed({ db, now }, "destroy", { id, userId: null });
    await removeProject(db, id, now);
    return;
  }
  const { parent_id: parentId } = await groups.findDeleted(db, id);
  await recordGroup({ db, now }, "destroy", { id, parentId, userId: null });
  await removeGroup(db, id, now);
}
