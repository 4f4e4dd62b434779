import type { Migration } from "../../store/migrate.ts";

/** Further names of projects, by which Git clients find them. */
export const migrations: Migration[] = [
  {
    id: "20261212-32-project-aliases",
    sql: `
create table project_aliases (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  name $text not null unique,
  created_at $int not null
);
create index project_aliases_of_project on project_aliases (project_id);
`,
  },
];
