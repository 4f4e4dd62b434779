import type { Migration } from "../../store/migrate.ts";

/** Links between two issues, in either direction at most one: `relates_to`, or the source `blocks` the target. */
export const migrations: Migration[] = [
  {
    id: "20261122-83-issue-links",
    sql: `
create table issue_links (
  id $id,
  source_id $int not null references issues (id) on delete cascade,
  target_id $int not null references issues (id) on delete cascade,
  link_type $text not null,
  created_at $int not null,
  updated_at $int not null
);
create unique index issue_links_by_source on issue_links (source_id, target_id);
create index issue_links_by_target on issue_links (target_id);
`,
  },
];
