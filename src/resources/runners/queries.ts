import { digestOf, newSecret } from "../../auth/token-secrets.ts";
import {
  BEING_DELETED,
  groupIdsAround,
  memberGroups,
  memberProjects,
  type Viewer,
} from "../../core/access/visibility.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { unsupported } from "../../core/kept.ts";
import type { SourceKind } from "../../core/resource.ts";
import { all, any, type Condition, when } from "../../store/conditions.ts";
import { insertRow } from "../../store/insert.ts";
import type { Database, Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { ONLINE, STALE } from "../ci/json.ts";

/** What runners are for. */
export const RUNNER_KINDS = ["instance_type", "group_type", "project_type"] as const;
type RunnerKind = (typeof RUNNER_KINDS)[number];

/** Tags that a runner can have. */
const MOST_TAGS = 50;

/** The attributes of a runner that its owners choose. */
export const runnerInput = {
  description: param.optional(param.anyText({ max: 1024 })),
  maintenance_note: param.optional(param.anyText({ max: 1024 })),
  paused: param.optional(param.boolean()),
  active: param.optional(param.boolean()),
  locked: param.optional(param.boolean()),
  run_untagged: param.optional(param.boolean()),
  tag_list: param.optional(param.commaSeparated({ max: MOST_TAGS })),
  access_level: param.optional(param.choice(["not_protected", "ref_protected"])),
  maximum_timeout: param.optional(param.integer({ min: 600, max: 2_678_400 })),
};

/** What {@link runnerInput} reads. */
type RunnerSettings = param.Input<typeof runnerInput>;

/** What a runner is for. */
export interface RunnerPlace {
  readonly kind: RunnerKind;
  readonly namespace_id: number | null;
  /** The first project of a project's runner. */
  readonly project_id: number | null;
}

/** The columns that settings change. */
export function columnsOf(settings: RunnerSettings) {
  const { description, maintenance_note, active, paused, locked, run_untagged } = settings;
  const isPaused = paused ?? (active === undefined ? undefined : !active);
  const flag = (value: boolean | undefined) => (value === undefined ? undefined : Number(value));
  return {
    description,
    maintenance_note,
    paused: flag(isPaused),
    locked: flag(locked),
    run_untagged: flag(run_untagged),
    access_level: settings.access_level,
    maximum_timeout: settings.maximum_timeout,
  };
}

/** Adds a runner and returns its id. */
export async function insertRunner(
  db: Database,
  runner: RunnerPlace & { readonly digest: string; readonly creator_id: number | null },
  settings: RunnerSettings,
  now: number,
): Promise<number> {
  const { project_id, ...columns } = runner;
  const chosen = Object.entries(columnsOf(settings)).filter(([, value]) => value !== undefined);
  const id = await insertRow(db, "runners", {
    ...columns,
    ...(Object.fromEntries(chosen) as Record<string, string | number>),
    created_at: now,
    updated_at: now,
  });
  if (project_id !== null) await insertRow(db, "runner_projects", { runner_id: id, project_id });
  await setTags(db, id, settings.tag_list ?? []);
  return id;
}

/** Gives a runner a new token. @returns its secret, which nobody can read again */
export async function renewToken(db: Database, id: number, now: number): Promise<string> {
  const { secret, digest } = newSecret("glrt");
  await updateRow(db, "runners", id, { digest }, now);
  return secret;
}

/** Replaces the tags of a runner. */
export async function setTags(db: Database, id: number, tags: readonly string[]): Promise<void> {
  await db.run("delete from runner_tags where runner_id = ?", [id]);
  if (tags.length === 0) return;
  await db.run(
    `insert into runner_tags (runner_id, tag) values ${tags.map(() => "(?, ?)").join(", ")}`,
    tags.flatMap((tag) => [id, tag]),
  );
}

/** What a registration token lets runners be registered for; `undefined` if there is no such token. */
export async function findRegistration(
  db: Reader,
  token: string,
): Promise<RunnerPlace | undefined> {
  const found = await db.one<Omit<RunnerPlace, "kind">>(
    "select namespace_id, project_id from registration_tokens where digest = ?",
    [digestOf(token)],
  );
  if (!found) return undefined;
  const kind =
    found.project_id !== null
      ? "project_type"
      : found.namespace_id !== null
        ? "group_type"
        : "instance_type";
  return { ...found, kind };
}

const inProjects = (viewer: Viewer) => memberProjects(viewer, "maintainer");
const inGroups = (viewer: Viewer) => all([when("n.kind = 'group'"), memberGroups(viewer, "owner")]);
const EVERY: Condition = { sql: "1 = 1", values: [] };

/** The condition under which the caller manages a row `rn` of runners. */
export function managedRunners(viewer: Viewer): Condition {
  if (viewer.caller?.admin) return EVERY;
  const [projects, groups] = [inProjects(viewer), inGroups(viewer)];
  return {
    sql: `(exists (select 1 from runner_projects rp join projects p on p.id = rp.project_id
        where rp.runner_id = rn.id and ${projects.sql})
      or exists (select 1 from namespaces n where n.id = rn.namespace_id and ${groups.sql}))`,
    values: [...projects.values, ...groups.values],
  };
}

/**
 * The condition under which the caller may read a row `rn` of runners: those that they manage, those of the instance, and as in
 * GitLab those of groups in which, or in something below which, they are maintainers.
 */
export function visibleRunners(viewer: Viewer): Condition {
  const { caller } = viewer;
  if (!caller) return { sql: "1 = 0", values: [] };
  if (caller.admin) return EVERY;
  const groups = groupIdsAround(viewer, "maintainer");
  const ofGroups: Condition = { sql: `rn.namespace_id in (${groups.sql})`, values: groups.values };
  return any([
    { sql: "rn.kind = 'instance_type'", values: [] },
    all([NOT_DELETED, ofGroups]),
    managedRunners(viewer),
  ]);
}

/** The newest of a runner's processes tells what the runner is. */
export const newest = (column: string) =>
  field.text(`(select rm.${column} from runner_managers rm where rm.runner_id = rn.id
    order by rm.contacted_at desc, rm.id desc limit 1)`);

/** The filters of lists of runners. */
export const filters = {
  type: param.optional(param.choice(RUNNER_KINDS)),
  status: param.optional(
    param.choice(["online", "offline", "stale", "never_contacted", "active", "paused"]),
  ),
  paused: param.optional(param.boolean()),
  tag_list: param.optional(param.commaSeparated({ max: 20 })),
  version_prefix: unsupported(param.anyText()),
  // The old names of kinds and states.
  scope: param.optional(
    param.choice(["shared", "specific", "active", "paused", "online", "offline"]),
  ),
};

/** The conditions of {@link filters} on rows `rn` of runners. */
export function filtered(
  input: Partial<param.Input<typeof filters>>,
  now: number,
): (Condition | undefined)[] {
  const { scope, status, paused, tag_list = [] } = input;
  const heard = "coalesce(rn.contacted_at, 0)";
  const ofStatus: Record<NonNullable<typeof status>, Condition> = {
    active: { sql: "rn.paused = 0", values: [] },
    paused: { sql: "rn.paused = 1", values: [] },
    never_contacted: { sql: "rn.contacted_at is null", values: [] },
    online: { sql: `${heard} > ?`, values: [now - ONLINE] },
    offline: { sql: "rn.contacted_at <= ?", values: [now - ONLINE] },
    stale: { sql: "coalesce(rn.contacted_at, rn.created_at) <= ?", values: [now - STALE] },
  };
  const ofScope = {
    shared: when("rn.kind = 'instance_type'"),
    specific: when("rn.kind <> 'instance_type'"),
    ...ofStatus,
  };
  return [
    scope && ofScope[scope],
    when("rn.kind = ?", input.type),
    status && ofStatus[status],
    when("rn.paused = ?", paused === undefined ? undefined : Number(paused)),
    ...tag_list.map((tag) => ({
      sql: "rn.id in (select runner_id from runner_tags where tag = ?)",
      values: [tag],
    })),
  ];
}

/** Runners of groups that are being deleted are not listed. */
export const NOT_DELETED = when(
  `not exists (select 1 from namespaces n where n.id = rn.namespace_id and n.visibility = ${BEING_DELETED})`,
);

const idsOfGroups = (select: string, namespaceId: number): Condition => ({
  sql: `select id from runners where namespace_id in (select ${select} = ?)`,
  values: [namespaceId],
});

/** Queries for the ids of the runners that do jobs of a group or project. */
function usable(kind: SourceKind, sourceId: number, namespaceId: number): Condition[] {
  const ofProject: Condition = {
    sql: "select runner_id from runner_projects where project_id = ?",
    values: [sourceId],
  };
  return [
    { sql: "select id from runners where kind = 'instance_type'", values: [] },
    idsOfGroups("ancestor_id from namespace_ancestors where namespace_id", namespaceId),
    ...(kind === "group" ? [] : [ofProject]),
  ];
}

/** Queries for the ids of the runners of a group and of what is below it. */
const below = (groupId: number): Condition[] => [
  idsOfGroups("namespace_id from namespace_ancestors where ancestor_id", groupId),
  {
    sql: `select rp.runner_id from namespace_ancestors a join projects p on p.namespace_id = a.namespace_id
      join runner_projects rp on rp.project_id = p.id
      where a.ancestor_id = ? and p.visibility > ${BEING_DELETED}`,
    values: [groupId],
  },
];

type Dialect = Reader["dialect"];

/**
 * The condition that queries find a row `rn` of runners, with which a list begins: PostgreSQL would compare every runner with what
 * `in` finds.
 */
const found = (dialect: Dialect, queries: readonly Condition[]): Condition => {
  const ids = queries.map(({ sql }) => sql).join(" union all ");
  return {
    sql: dialect === "sqlite" ? `rn.id in (${ids})` : `rn.id = any(array(${ids}))`,
    values: queries.flatMap(({ values }) => values),
  };
};

/** {@link managedRunners} for lists, whose cost grows with what the caller manages only. */
export function managedIn(dialect: Dialect, viewer: Viewer): Condition {
  if (viewer.caller?.admin) return EVERY;
  const [projects, groups] = [inProjects(viewer), inGroups(viewer)];
  return found(dialect, [
    {
      sql: `select rp.runner_id from projects p join runner_projects rp on rp.project_id = p.id where ${projects.sql}`,
      values: projects.values,
    },
    {
      sql: `select r.id from namespaces n join runners r on r.namespace_id = n.id where ${groups.sql}`,
      values: groups.values,
    },
  ]);
}

/** The condition under which a row `rn` of runners does jobs of a group or project. */
export const usableIn = (dialect: Dialect, ...of: Parameters<typeof usable>): Condition =>
  found(dialect, usable(...of));
/** The condition under which a row `rn` of runners belongs to a group, or to what is below it. */
export const heldBelow = (dialect: Dialect, groupId: number): Condition =>
  found(dialect, below(groupId));
/** The condition under which {@link usableIn} or {@link heldBelow} holds for a group. */
export const availableIn = (dialect: Dialect, groupId: number): Condition =>
  found(dialect, [...below(groupId), ...usable("group", groupId, groupId)]);
