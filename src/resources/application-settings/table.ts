import type { Migration } from "../../store/migrate.ts";

/** The settings of the application: at most one row. What is null has its default. */
export const migrations: Migration[] = [
  {
    id: "20261125-85-application-settings",
    sql: `
create table application_settings (
  id $int not null primary key check (id = 1),
  default_project_visibility $int,
  default_group_visibility $int,
  default_snippet_visibility $int,
  default_branch_name $text,
  default_ci_config_path $text,
  default_projects_limit $int,
  can_create_group $int,
  user_default_external $int,
  updated_at $int not null
);
`,
  },
  {
    id: "20261126-10-02-restricted-visibility-levels",
    sql: "alter table application_settings add column restricted_visibility_levels $text;\n",
  },
  {
    id: "20261129-53-kept-application-settings",
    sql: "alter table application_settings add column kept_settings $text;\n",
  },
  {
    id: "20261129-63-size-of-artifacts",
    sql: "alter table application_settings add column max_artifacts_size $int;\n",
  },
  {
    // Where there are users already, nobody signs up before an administrator says so.
    id: "20261231-02-sign-up-stays-closed",
    sql: `
insert into application_settings (id, updated_at) select 1, 0
where exists (select 1 from users where state <> 'ghost') on conflict do nothing;
update application_settings set kept_settings = case
  when coalesce(kept_settings, '{}') = '{}' then '{"signup_enabled":false}'
  else '{"signup_enabled":false,' || substr(kept_settings, 2) end;
`,
  },
];
