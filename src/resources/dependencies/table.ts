import type { Migration } from "../../store/migrate.ts";

/** Dependencies of projects, by file. `vulnerabilities` is JSON as shown to callers who may see it. */
export const migrations: Migration[] = [
  {
    id: "20261121-16-dependencies",
    sql: `
create table dependencies (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  name $text not null,
  version $text not null,
  package_manager $text not null,
  dependency_file_path $text not null,
  vulnerabilities $text not null default '[]'
);
create index dependencies_by_name on dependencies (project_id, name, id);
create index dependencies_by_manager on dependencies (project_id, package_manager, name, id);
create index dependencies_by_file on dependencies (project_id, dependency_file_path);
`,
  },
];
