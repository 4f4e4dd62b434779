import { VISIBILITIES } from "../../core/access/visibility.ts";
import type { Database, Reader, Value } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";

/** The settings of the application, as stored. */
export interface ApplicationSettings {
  /** The visibility levels of what is created without one. */
  readonly default_project_visibility: number;
  readonly default_group_visibility: number;
  readonly default_snippet_visibility: number;
  /** The words of the levels that only administrators may use, separated by commas. */
  readonly restricted_visibility_levels: string;
  /** The default branch of new projects; `null`: whichever is pushed first. */
  readonly default_branch_name: string | null;
  readonly default_ci_config_path: string | null;
  /** What new users may create. */
  readonly default_projects_limit: number;
  readonly can_create_group: number;
  readonly user_default_external: number;
  /** How large artifacts may be where neither the project nor a group says it, in mebibytes. */
  readonly max_artifacts_size: number;
}

/** The SQL of each setting. */
export const COLUMNS = {
  default_project_visibility: `coalesce(s.default_project_visibility, ${VISIBILITIES.private})`,
  default_group_visibility: `coalesce(s.default_group_visibility, ${VISIBILITIES.private})`,
  default_snippet_visibility: `coalesce(s.default_snippet_visibility, ${VISIBILITIES.internal})`,
  restricted_visibility_levels: "coalesce(s.restricted_visibility_levels, '')",
  default_branch_name: "s.default_branch_name",
  default_ci_config_path: "s.default_ci_config_path",
  default_projects_limit: "coalesce(s.default_projects_limit, 100000)",
  can_create_group: "coalesce(s.can_create_group, 1)",
  user_default_external: "coalesce(s.user_default_external, 0)",
  max_artifacts_size: "coalesce(s.max_artifacts_size, 100)",
} as const satisfies Record<keyof ApplicationSettings, string>;

/** One row, also while nothing was ever changed. */
export const TABLES = "(select 1 as id) d left join application_settings s on s.id = d.id";

const SELECT = `select ${Object.entries(COLUMNS)
  .map(([name, sql]) => `${sql} as ${name}`)
  .join(", ")} from ${TABLES}`;

/** The settings of the application. */
export async function find(db: Reader): Promise<ApplicationSettings> {
  return (await db.one<ApplicationSettings>(SELECT, [])) as ApplicationSettings;
}

/** Changes settings, except those that are `undefined`. */
export async function change(
  db: Database,
  changes: Readonly<{
    [name in keyof ApplicationSettings | "kept_settings"]?: Value | undefined;
  }>,
  now: number,
): Promise<void> {
  await db.run(
    "insert into application_settings (id, updated_at) values (1, ?) on conflict do nothing",
    [now],
  );
  await updateRow(db, "application_settings", 1, changes, now);
}
