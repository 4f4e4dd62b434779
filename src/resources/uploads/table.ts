import { owning } from "../../files/table.ts";
import type { Migration } from "../../store/migrate.ts";

/** Files that were uploaded to projects, for texts to refer to. Everybody who knows an address may read the file. */
export const migrations: Migration[] = [
  {
    id: "20261123-10-uploads",
    sql: `
create table project_uploads (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  file_id $int not null references stored_files (id),
  secret $text not null,
  file_name $text not null,
  size $int not null,
  uploader_id $int references users (id) on delete set null,
  created_at $int not null
);
create unique index project_uploads_by_secret on project_uploads (project_id, secret, file_name);
create index project_uploads_by_age on project_uploads (project_id, id);
create index project_uploads_by_uploader on project_uploads (uploader_id);
${owning("project_uploads", "file_id")}`,
  },
];
