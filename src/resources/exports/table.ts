import { owning } from "../../files/table.ts";
import type { Migration } from "../../store/migrate.ts";

/**
 * The archives of projects (a project has one at most, as stored file), and the imports of projects with the archive
 * that is still to be read.
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
];
