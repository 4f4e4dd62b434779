import { REMOVED } from "../../core/access/visibility.ts";
import { inBatches } from "../../jobs/batches.ts";
import * as outbox from "../../jobs/outbox.ts";
import { type Outcome, startWorker, type Worker, type WorkerSettings } from "../../jobs/worker.ts";
import { belowGroup } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Database, Reader, Store } from "../../store/port.ts";
import {
  areFew,
  haveFewRows,
  type Part,
  REMOVER,
  removePart,
  removeProjects,
  SMALL,
} from "../projects/removal.ts";

/** What a group has, besides projects and subgroups. */
export const GROUP_PARTS: readonly Part[] = [
  ["scim_values", "namespace_id", "id"],
  ["scim_users", "namespace_id", "id"],
  ["scim_tokens", "namespace_id", "id"],
  ["boards", "namespace_id", "id"],
  ["labels", "namespace_id", "id"],
  ["milestones", "namespace_id", "id"],
  ["badges", "namespace_id", "id"],
  ["approval_rule_groups", "namespace_id", "rule_id"],
  ["notification_settings", "namespace_id", "id"],
  ["members", "namespace_id", "id"],
];

/** Projects that are hidden within the request; more are hidden right after it. */
const HIDDEN_AT_ONCE = 2000;
/** Projects or groups that are deleted together. */
const CHUNK = 100;
/** How long a worker's task takes, in milliseconds; then the next one continues. */
const PIECE_MS = 30_000;

const groupsBelow = (groupId: number) => {
  const { sql, values } = belowGroup("id", groupId);
  return { sql: `select id from namespaces where ${sql}`, values };
};
const projectsBelow = (groupId: number) => {
  const { sql, values } = belowGroup("namespace_id", groupId);
  return { sql: `select id from projects where ${sql}`, values };
};

/**
 * Deletes a group with everything below it: at once if that has few rows. Otherwise nobody sees it any more, and a
 * worker deletes it.
 *
 * @returns whether it was deleted at once
 */
export async function remove(db: Database, groupId: number, now: number): Promise<boolean> {
  if (await hasFewRows(db, groupId)) {
    await db.run("delete from namespaces where id = ?", [groupId]);
    return true;
  }
  const { sql, values } = groupsBelow(groupId);
  await db.run(`update namespaces set visibility = ${REMOVED} where id in (${sql})`, values);
  await hideProjects(db, groupId, HIDDEN_AT_ONCE);
  await outbox.add(db, REMOVER, [{ group: groupId }], now);
  return false;
}

async function hasFewRows(db: Reader, groupId: number): Promise<boolean> {
  const [groups, projects] = [groupsBelow(groupId), projectsBelow(groupId)];
  return (
    (await areFew(db, [["namespaces", "id", "id"]], groups, SMALL)) &&
    (await areFew(db, [["projects", "id", "id"]], projects, SMALL)) &&
    (await areFew(db, GROUP_PARTS, groups, SMALL)) &&
    (await haveFewRows(db, projects))
  );
}

async function hideProjects(db: Database, groupId: number, most: number): Promise<number> {
  const { sql, values } = projectsBelow(groupId);
  return db.run(
    `update projects set visibility = ${REMOVED}
     where id in (${sql} and visibility > ${REMOVED} limit ?)`,
    [...values, most],
  );
}

/** A project or group that is hidden, and has to be deleted. */
export type Hidden = { readonly project: number } | { readonly group: number };

/** Deletes what is hidden, in batches, between which others can write. @throws what the signal was aborted with */
export async function finish(store: Store, hidden: Hidden, signal?: AbortSignal): Promise<void> {
  if ("project" in hidden) return removeProjects(store, [hidden.project], signal);
  const { group } = hidden;
  await inBatches(store, (db, batch) => hideProjects(db, group, batch), { signal });
  const [projects, groups] = [projectsBelow(group), belowGroup("n.id", group)];
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

/** Deletes what is hidden although no task says so, as after a failed one, or if no worker runs. */
export async function finishAll(store: Store): Promise<void> {
  const found = await store.rows(
    `select 'group', id from namespaces where visibility = ${REMOVED}
     union all select 'project', id from projects where visibility = ${REMOVED}`,
  );
  for (const [kind, id] of found) {
    await finish(store, kind === "group" ? { group: id as number } : { project: id as number });
  }
}

/** Starts the worker that deletes what is hidden. */
export function startRemover(
  settings: Pick<WorkerSettings, "store" | "now" | "onError">,
): Promise<Worker> {
  const { store, now } = settings;
  const work: WorkerSettings["work"] = async ({ payload }, stopping): Promise<Outcome> => {
    const hidden = JSON.parse(payload) as Hidden;
    const piece = AbortSignal.timeout(PIECE_MS);
    try {
      await finish(store, hidden, AbortSignal.any([stopping, piece]));
      return { done: true };
    } catch (error) {
      if (stopping.aborted) return "interrupted";
      if (!piece.aborted) throw error;
      return { done: true, follow: (db) => outbox.add(db, REMOVER, [hidden], now()) };
    }
  };
  return startWorker({
    ...settings,
    name: REMOVER,
    announced: false,
    interval: 1000,
    lanes: 1,
    grace: 0,
    work,
  });
}
