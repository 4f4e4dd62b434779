import { among, type Condition } from "../../store/conditions.ts";
import { insertRow } from "../../store/insert.ts";
import type { Database, Reader } from "../../store/port.ts";
import { nameErrors } from "./environment-names.ts";
import { resourceGroupModeOf } from "./settings.ts";

/** Which job of a resource group is the next one. */
export const PROCESS_MODES = [
  "unordered",
  "oldest_first",
  "newest_first",
  "newest_ready_first",
] as const;
type ProcessMode = (typeof PROCESS_MODES)[number];

/** SQL: jobs `cj` of a group that have its resource. */
export const HOLDS =
  "cj.status in ('preparing', 'waiting_for_callback', 'pending', 'running', 'canceling')";

const WAITS = "cj.status = 'waiting_for_resource' and cj.retried = 0";
/** Jobs that wait for the resource, or will: those that were started by hand are among them once they are. */
const COMES =
  "cj.resource_group_id is not null and cj.status in ('created', 'scheduled', 'waiting_for_resource') and cj.retried = 0";
const READY = "case cj.status when 'waiting_for_resource' then 0 else 1 end, cj.id";

/** For each mode, which jobs `cj` are looked at, and in which order. */
const NEXT: Readonly<Record<ProcessMode, { readonly where: string; readonly order: string }>> = {
  unordered: { where: WAITS, order: "cj.pipeline_id, cj.id" },
  oldest_first: { where: COMES, order: `cj.pipeline_id, ${READY}` },
  newest_first: { where: COMES, order: `cj.pipeline_id desc, ${READY}` },
  newest_ready_first: { where: WAITS, order: "cj.pipeline_id desc, cj.id desc" },
};

/** A resource group, as far as its jobs need it. */
export interface ResourceGroup {
  readonly id: number;
  readonly process_mode: ProcessMode;
}

/** The jobs `cj` that get a group's resource next, and their order. */
export function upcoming({
  id,
  process_mode,
}: ResourceGroup): Condition & { readonly order: string } {
  const { where, order } = NEXT[process_mode];
  return { sql: `cj.resource_group_id = ? and ${where}`, values: [id], order };
}

/**
 * The ids of resource groups of a project, which are added if their keys are new, in a transaction that has locked it.
 * What can't be a key, as a variable without a value, is none.
 */
export async function groupsNamed(
  db: Database,
  projectId: number,
  keys: readonly (string | undefined)[],
  now: number,
): Promise<ReadonlyMap<string, number>> {
  const wanted = [...new Set(keys)].filter(
    (key) => key !== undefined && nameErrors(key).length === 0,
  );
  if (wanted.length === 0) return new Map();
  const these = among("key", wanted as string[]);
  const found = await db.rows(
    `select key, id from resource_groups where project_id = ? and ${these.sql}`,
    [projectId, ...these.values],
  );
  const ids = new Map(found.map(([key, id]) => [key as string, id as number]));
  const added = wanted.filter((key) => !ids.has(key as string)) as string[];
  if (added.length === 0) return ids;
  const process_mode = await resourceGroupModeOf(db, projectId);
  for (const key of added) {
    const group = { project_id: projectId, key, process_mode, created_at: now, updated_at: now };
    ids.set(key, await insertRow(db, "resource_groups", group));
  }
  return ids;
}

/** The jobs that get the resources of some groups next: at most one for each group whose resource is free. */
export async function nextOf(
  db: Reader,
  groupIds: readonly number[],
): Promise<{ readonly id: number; readonly pipeline_id: number }[]> {
  if (groupIds.length === 0) return [];
  const these = among("rg.id", groupIds);
  const free = await db.all<ResourceGroup>(
    `select rg.id, rg.process_mode from resource_groups rg where ${these.sql}
     and exists (select 1 from ci_jobs cj where cj.resource_group_id = rg.id and ${WAITS})
     and not exists (select 1 from ci_jobs cj where cj.resource_group_id = rg.id and ${HOLDS}) order by rg.id`,
    these.values,
  );
  const next: { id: number; pipeline_id: number }[] = [];
  for (const group of free) {
    const { sql, values, order } = upcoming(group);
    const job = await db.one<{ id: number; pipeline_id: number; status: string }>(
      `select cj.id, cj.pipeline_id, cj.status from ci_jobs cj where ${sql} order by ${order} limit 1`,
      values,
    );
    // Whose turn it is may not be ready yet: then the others wait, too.
    if (job?.status === "waiting_for_resource") next.push(job);
  }
  return next;
}

/** The resource groups of a pipeline's jobs. */
export async function groupsOf(db: Reader, pipelineId: number): Promise<number[]> {
  const rows = await db.rows(
    "select distinct resource_group_id from ci_jobs where pipeline_id = ? and resource_group_id is not null",
    [pipelineId],
  );
  return rows.map(([id]) => id as number);
}
