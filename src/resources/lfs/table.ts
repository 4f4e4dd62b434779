import { owning } from "../../files/table.ts";
import type { Migration } from "../../store/migrate.ts";

/**
 * Objects of Git LFS are stored once, whichever projects have them: a project has those that it has a row for, which is
 * made only once their bytes came through it, or through the project that it is a fork of. Locks are of paths.
 */
export const migrations: Migration[] = [
  {
    id: "20261223-01-lfs",
    sql: `
create table lfs_objects (
  id $id,
  oid $text not null unique,
  size $int not null,
  file_id $int not null references stored_files (id)
);
${owning("lfs_objects", "file_id")}create table lfs_object_projects (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  object_id $int not null references lfs_objects (id),
  created_at $int not null,
  unique (project_id, object_id)
);
create index lfs_object_projects_of_object on lfs_object_projects (object_id);
create table lfs_locks (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  user_id $int not null references users (id) on delete cascade,
  path $text not null,
  created_at $int not null,
  unique (project_id, path)
);
create index lfs_locks_of_project on lfs_locks (project_id, id);
create index lfs_locks_of_user on lfs_locks (user_id);
update projects set lfs_enabled = 1 where lfs_enabled = 0 and visibility > -2;
update namespaces set lfs_enabled = 1 where lfs_enabled = 0;
`,
  },
  {
    id: "20270121-02-lfs-in-order",
    sql: "create index lfs_object_projects_in_order on lfs_object_projects (project_id, id);",
  },
];
