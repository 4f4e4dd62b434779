import type { Migration } from "../../store/migrate.ts";

/** Badges of groups (`namespace_id`) and projects (`project_id`). */
export const migrations: Migration[] = [
  {
    id: "20261121-09-badges",
    sql: `
create table badges (
  id $id,
  namespace_id $int references namespaces (id) on delete cascade,
  project_id $int references projects (id) on delete cascade,
  name $text,
  link_url $text not null,
  image_url $text not null,
  created_at $int not null,
  updated_at $int not null,
  check ((namespace_id is null) <> (project_id is null))
);
create index badges_of_namespace on badges (namespace_id, id);
create index badges_of_project on badges (project_id, id);
create index projects_by_age on projects (namespace_id, created_at, id);
`,
  },
];
