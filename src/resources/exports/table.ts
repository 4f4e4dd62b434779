import { owning } from "../../files/table.ts";
import type { Migration } from "../../store/migrate.ts";

/**
 * The archives of projects and groups (each has one at most, as stored file), and imports with the archive that is still
 * to be read.
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
];
