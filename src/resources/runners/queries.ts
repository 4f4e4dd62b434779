import { digestOf, newSecret } from "../../auth/token-secrets.ts";
import { memberGroups, memberProjects, type Viewer } from "../../core/access/visibility.ts";
import * as param from "../../core/input.ts";
import type { Condition } from "../../store/conditions.ts";
import { insertRow } from "../../store/insert.ts";
import type { Database, Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";

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

/** The condition under which the caller manages a row `rn` of runners. */
export function managedRunners(viewer: Viewer): Condition {
  if (viewer.caller?.admin) return { sql: "1 = 1", values: [] };
  const [projects, groups] = [memberProjects(viewer, "maintainer"), memberGroups(viewer, "owner")];
  return {
    sql: `(rn.kind = 'project_type' and rn.id in (select rp.runner_id from runner_projects rp
        join projects p on p.id = rp.project_id where ${projects.sql})
      or rn.kind = 'group_type' and rn.namespace_id in (select n.id from namespaces n
        where n.kind = 'group' and ${groups.sql}))`,
    values: [...projects.values, ...groups.values],
  };
}
