import { owning } from "../../files/table.ts";
import type { Migration } from "../../store/migrate.ts";

/** How the application looks: at most one row, and its pictures by the names of their attributes. */
export const migrations: Migration[] = [
  {
    id: "20261212-30-appearance",
    sql: `
create table appearances (
  id $int not null primary key check (id = 1),
  kept_settings $text,
  updated_at $int not null
);
create table appearance_pictures (
  id $id,
  name $text not null unique,
  file_id $int not null references stored_files (id),
  file_name $text not null,
  content_type $text not null
);
${owning("appearance_pictures", "file_id")}`,
  },
];
