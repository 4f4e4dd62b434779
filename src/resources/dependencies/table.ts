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
  {
    // What somebody wants to download; it is read then.
    id: "20270105-02-dependency-list-exports",
    sql: `
create table dependency_list_exports (
  id $id,
  user_id $int not null references users (id) on delete cascade,
  project_id $int references projects (id) on delete cascade,
  namespace_id $int references namespaces (id) on delete cascade,
  pipeline_id $int references pipelines (id) on delete cascade,
  export_type $text not null,
  created_at $int not null
);
create index dependency_list_exports_of_user on dependency_list_exports (user_id);
create index dependency_list_exports_of_project on dependency_list_exports (project_id);
create index dependency_list_exports_of_namespace on dependency_list_exports (namespace_id);
create index dependency_list_exports_of_pipeline on dependency_list_exports (pipeline_id);
create index dependency_list_exports_by_age on dependency_list_exports (created_at);
`,
  },
];
