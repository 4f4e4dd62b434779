import { owning } from "../../files/table.ts";
import type { Migration } from "../../store/migrate.ts";

/** Pictures of users, groups, projects and topics, whose rows have the path of their picture in `avatar_url`. */
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
  {
    id: "20261126-10-01-avatars-of-topics",
    sql: `
alter table avatars add column topic_id $int references topics (id) on delete cascade;
create unique index avatars_by_topic on avatars (topic_id) where topic_id is not null;
alter table topics add column avatar_url $text;
`,
  },
];
