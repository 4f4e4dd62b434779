import type { SealedColumn } from "../../core/sealed.ts";
import type { Migration } from "../../store/migrate.ts";

/** CI variables of groups (`namespace_id`), projects (`project_id`) and, with neither, of the instance. */
export const migrations: Migration[] = [
  {
    id: "20261123-08-20-ci-variables",
    sql: `
create table ci_variables (
  id $id,
  namespace_id $int references namespaces (id) on delete cascade,
  project_id $int references projects (id) on delete cascade,
  key $text not null,
  value $text not null,
  variable_type $text not null,
  protected $int not null,
  masked $int not null,
  hidden $int not null,
  raw $int not null,
  environment_scope $text not null,
  description $text,
  created_at $int not null,
  updated_at $int not null,
  check (namespace_id is null or project_id is null)
);
create unique index ci_variables_of_namespace on ci_variables (namespace_id, key, environment_scope)
  where namespace_id is not null;
create unique index ci_variables_of_project on ci_variables (project_id, key, environment_scope)
  where project_id is not null;
create unique index ci_variables_of_instance on ci_variables (key, environment_scope)
  where namespace_id is null and project_id is null;
create index ci_variables_of_namespace_by_age on ci_variables (namespace_id, id) where namespace_id is not null;
create index ci_variables_of_project_by_age on ci_variables (project_id, id) where project_id is not null;
create index ci_variables_of_instance_by_age on ci_variables (id) where namespace_id is null and project_id is null;
`,
  },
];

/**
 * What a value is encrypted for, as an SQL expression: its owner and its key, which never change.
 *
 * @param v the beginning of the names of the columns, such as `v.`
 */
export const purposeOf = (v: string) =>
  `'variable ' || coalesce('project ' || ${v}project_id, 'group ' || ${v}namespace_id, 'instance') || ' ' || ${v}key`;

/** Where the values are. */
export const VARIABLE_VALUES: SealedColumn = {
  table: "ci_variables",
  id: "id",
  column: "value",
  purpose: purposeOf(""),
};
