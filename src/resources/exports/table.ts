import { owning } from "../../files/table.ts";
import type { Migration } from "../../store/migrate.ts";

/**
 * The archives of projects and groups (each has one at most, as stored file), imports with the archive that is still
 * to be read, and relations that were exported apart.
 */
export const migrations: Migration[] = [
  {
    id: "20261124-09-exports",
    sql: `
create table project_exports (
  project_id $int primary key references projects (id) on delete cascade,
  status $text not null,
  file_id $int references stored_files (id),
  created_at $int not null
);
create table project_imports (
  project_id $int primary key references projects (id) on delete cascade,
  status $text not null,
  file_id $int references stored_files (id),
  user_id $int references users (id) on delete set null,
  error $text,
  created_at $int not null
);
create index project_imports_by_user on project_imports (user_id);
${owning("project_exports", "file_id")}
${owning("project_imports", "file_id")}`,
  },
  {
    // The project that an import replaces once its archive was read, as JSON.
    id: "20261201-41-overwriting-imports",
    sql: "alter table project_imports add column overwrites $text;",
  },
  {
    id: "20261213-01-group-exports",
    sql: `
create table group_exports (
  namespace_id $int primary key references namespaces (id) on delete cascade,
  status $text not null,
  file_id $int references stored_files (id),
  created_at $int not null
);
create table group_imports (
  namespace_id $int primary key references namespaces (id) on delete cascade,
  status $text not null,
  file_id $int references stored_files (id),
  user_id $int references users (id) on delete set null,
  error $text,
  created_at $int not null
);
create index group_imports_by_user on group_imports (user_id);
${owning("group_exports", "file_id")}
${owning("group_imports", "file_id")}`,
  },
  {
    // status: -1 failed, 0 started, 1 finished. total: how many objects its files have.
    id: "20261213-02-relation-exports",
    sql: `
create table relation_exports (
  id $id,
  namespace_id $int references namespaces (id) on delete cascade,
  project_id $int references projects (id) on delete cascade,
  relation $text not null,
  status $int not null,
  batched $int not null,
  error $text,
  total $int not null,
  updated_at $int not null,
  check ((namespace_id is null) <> (project_id is null))
);
create unique index relation_exports_of_namespace on relation_exports (namespace_id, relation) where namespace_id is not null;
create unique index relation_exports_of_project on relation_exports (project_id, relation) where project_id is not null;
create index relation_exports_by_age on relation_exports (updated_at);
create table relation_export_files (
  export_id $int not null references relation_exports (id) on delete cascade,
  number $int not null,
  objects $int not null,
  file_id $int not null references stored_files (id),
  updated_at $int not null,
  primary key (export_id, number)
);
${owning("relation_export_files", "file_id")}`,
  },
  {
    // Of imports by URL, which have no archive: the URL without credentials, and these while they are needed.
    id: "20261225-01-imports-by-url",
    sql: `
alter table project_imports add column url $text;
alter table project_imports add column credentials $text;
`,
  },
  {
    // In which format the file is: 'pm-api', or GitLab's 'gitlab'.
    id: "20270125-01-formats-of-exports",
    sql: `
alter table project_exports add column format $text not null default 'pm-api';
alter table group_exports add column format $text not null default 'pm-api';
`,
  },
];
