import { owning } from "../../files/table.ts";
import type { Migration } from "../../store/migrate.ts";

/** Pictures of metrics, of incidents. */
export const migrations: Migration[] = [
  {
    id: "20261212-38-metric-images",
    sql: `
create table metric_images (
  id $id,
  issue_id $int not null references issues (id) on delete cascade,
  file_id $int not null references stored_files (id),
  file_name $text not null,
  content_type $text not null,
  url $text,
  url_text $text,
  created_at $int not null,
  updated_at $int not null
);
create index metric_images_of_issue on metric_images (issue_id, id);
${owning("metric_images", "file_id")}`,
  },
];
