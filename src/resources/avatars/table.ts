import { owning } from "../../files/table.ts";
import type { Migration } from "../../store/migrate.ts";

/** Pictures of users, groups and projects, whose rows have the path of their picture in `avatar_url`. */
export const migrations: Migration[] = [
  {
    id: "20261125-10-avatars",
    sql: `
create table avatars (
  id $id,
  user_id $int references users (id) on delete cascade,
  namespace_id $int references namespaces (id) on delete cascade,
  project_id $int references projects (id) on delete cascade,
  file_id $int not null references stored_files (id),
  file_name $text not null,
  content_type $text not null
);
create unique index avatars_by_user on avatars (user_id) where user_id is not null;
create unique index avatars_by_namespace on avatars (namespace_id) where namespace_id is not null;
create unique index avatars_by_project on avatars (project_id) where project_id is not null;
${owning("avatars", "file_id")}`,
  },
];
