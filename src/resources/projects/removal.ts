import { BEING_DELETED } from "../../core/access/visibility.ts";
import { inBatches } from "../../jobs/batches.ts";
import { removeLater, removePart, SMALL } from "../../jobs/removal.ts";
import type { Condition } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Awaitable, Database, Store } from "../../store/port.ts";
import * as events from "../events/record.ts";
import { haveFewRows, PROJECT_PARTS } from "../namespaces/removal.ts";

/**
 * Deletes a project: at once if it has few rows. Otherwise nobody sees it any more, and a worker deletes it.
 *
 * @returns whether it was deleted at once
 */
export async function remove(db: Database, projectId: number, now: number): Promise<boolean> {
  if (await haveFewRows(db, { sql: "?", values: [projectId] })) {
    await closeRequestsOf(db, { sql: "?", values: [projectId] }, SMALL);
    await db.run("delete from projects where id = ?", [projectId]);
    return true;
  }
  await db.run(`update projects set visibility = ${BEING_DELETED} where id = ?`, [projectId]);
  await removeLater(db, { project: projectId }, now);
  return false;
}

/**
 * Closes at most `batch` merge requests from projects that are deleted to others, where they stay, and returns how many.
 *
 * @param among placeholders for the projects' ids
 */
function closeRequestsOf(db: Database, among: Condition, batch: number): Awaitable<number> {
  return db.run(
    `update merge_requests set source_project_id = null,
       closed_at = case when state = 'opened' then updated_at else closed_at end,
       state = case when state = 'opened' then 'closed' else state end
     where id in (select id from merge_requests
       where source_project_id in (${among.sql}) and project_id not in (${among.sql}) limit ?)`,
    [...among.values, ...among.values, batch],
  );
}

/** Deletes projects with all their contents, in batches. @throws what the signal was aborted with */
export async function removeProjects(
  store: Store,
  projectIds: readonly number[],
  signal?: AbortSignal,
): Promise<void> {
  const among = placeholders(projectIds);
  await inBatches(store, (db, batch) => events.removeOfProjects(db, among, batch), { signal });
  await inBatches(store, (db, batch) => closeRequestsOf(db, among, batch), { signal });
  for (const part of PROJECT_PARTS) await removePart(store, part, among, signal);
  const forks = `update projects set forked_from_project_id = null
    where id in (select id from projects where forked_from_project_id in (${among.sql}) limit ?)`;
  await inBatches(store, (db, batch) => db.run(forks, [...among.values, batch]), { signal });
  await removePart(store, ["projects", "id", "id"], among, signal);
}
