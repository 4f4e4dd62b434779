import { REMOVED } from "../../core/access/visibility.ts";
import { inBatches } from "../../jobs/batches.ts";
import * as outbox from "../../jobs/outbox.ts";
import type { Condition } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Awaitable, Database, Reader, Store } from "../../store/port.ts";
import * as events from "../events/record.ts";

/** Rows that belong to something that is deleted: their table, the column with its id, and what tells them apart. */
export type Part = readonly [table: string, owner: string, key: string];

/**
 * What a project has, besides events. Rows of which a row of another table can have many come first: deleting an issue
 * deletes its notes, too, and that must not take long.
 */
export const PROJECT_PARTS: readonly Part[] = [
  ["todos", "project_id", "id"],
  ["timelogs", "project_id", "id"],
  ["notes", "project_id", "id"],
  ["issues", "project_id", "id"],
  ["merge_requests", "project_id", "id"],
  ["boards", "project_id", "id"],
  ["labels", "project_id", "id"],
  ["milestones", "project_id", "id"],
  ["snippets", "project_id", "id"],
  ["dependencies", "project_id", "id"],
  ["wiki_attachments", "project_id", "id"],
  ["wiki_blobs", "project_id", "id"],
  ["wiki_page_versions", "project_id", "id"],
  ["wiki_pages", "project_id", "id"],
  ["commit_comments", "project_id", "id"],
  ["git_repositories", "project_id", "id"],
  ["protected_branches", "project_id", "id"],
  ["protected_tags", "project_id", "id"],
  ["deploy_keys", "project_id", "key_id"],
  ["badges", "project_id", "id"],
  ["job_tokens", "project_id", "id"],
  ["notification_settings", "project_id", "id"],
  ["members", "project_id", "id"],
  ["project_stars", "project_id", "user_id"],
  ["label_counts", "project_id", "label_id"],
];

/** Rows that are deleted within the request; deleting more is continued after it. */
export const SMALL = 1000;

/**
 * Whether projects have so few rows that they can be deleted at once.
 *
 * @param projects a query for their ids
 */
export async function haveFewRows(db: Reader, projects: Condition): Promise<boolean> {
  const found = await countUpTo(db, ["events", "project_id", "id"], projects, SMALL + 1);
  return found <= SMALL && (await areFew(db, PROJECT_PARTS, projects, SMALL - found));
}

/** Whether the rows of some tables that belong to something are no more than `most` in all. */
export async function areFew(
  db: Reader,
  parts: readonly Part[],
  owners: Condition,
  most: number,
): Promise<boolean> {
  let left = most;
  for (const part of parts) {
    left -= await countUpTo(db, part, owners, left + 1);
    if (left < 0) return false;
  }
  return true;
}

async function countUpTo(
  db: Reader,
  [table, owner]: Part,
  { sql, values }: Condition,
  most: number,
): Promise<number> {
  const [counted] = await db.rows(
    `select count(*) from (select 1 from ${table} where ${owner} in (${sql}) limit ?) as counted`,
    [...values, most],
  );
  return (counted as [number])[0];
}

/** Deletes rows of a table that belong to something, in batches. @param owners a query for its ids, or placeholders */
export async function removePart(
  store: Store,
  [table, owner, key]: Part,
  { sql, values }: Condition,
  signal?: AbortSignal,
): Promise<void> {
  const ofOwner = `${owner} in (${sql})`;
  const batchOf = `delete from ${table}
    where ${ofOwner} and ${key} in (select ${key} from ${table} where ${ofOwner} limit ?)`;
  await inBatches(store, (db, batch) => db.run(batchOf, [...values, ...values, batch]), { signal });
}

/** The worker that deletes what is too large for a request. */
export const REMOVER = "remover";

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
  await db.run(`update projects set visibility = ${REMOVED} where id = ?`, [projectId]);
  await outbox.add(db, REMOVER, [{ project: projectId }], now);
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
