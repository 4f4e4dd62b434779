import type { Migration } from "../../store/migrate.ts";

/** Environments of projects. Their slug is made of their name, which never changes. */
export const migrations: Migration[] = [
  {
    id: "20261123-08-30-environments",
    sql: `
create table environments (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  name $text not null,
  slug $text not null,
  description $text,
  external_url $text,
  tier $text not null,
  state $text not null,
  auto_stop_setting $text not null,
  created_at $int not null,
  updated_at $int not null
);
create unique index environments_by_name on environments (project_id, name);
create index environments_by_age on environments (project_id, id);
create index environments_by_state on environments (project_id, state, id);
`,
  },
  {
    // The merge request whose pipeline added it: it is stopped with that.
    id: "20261129-61-environments-of-merge-requests",
    sql: `
alter table environments add column merge_request_id $int references merge_requests (id) on delete set null;
create index environments_by_merge_request on environments (merge_request_id) where merge_request_id is not null;
`,
  },
];
