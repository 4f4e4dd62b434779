import type { Migration } from "../../store/migrate.ts";

/** Comments on issues and on merge requests: one of the two is set. `system` notes record actions. */
export const migrations: Migration[] = [
  {
    id: "20261121-13-notes",
    sql: `
create table notes (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  issue_id $int references issues (id) on delete cascade,
  merge_request_id $int references merge_requests (id) on delete cascade,
  author_id $int references users (id) on delete set null,
  body $text not null,
  system $int not null default 0,
  created_at $int not null,
  updated_at $int not null,
  check ((issue_id is null) <> (merge_request_id is null))
);
create index notes_of_issue on notes (issue_id, created_at, id);
create index notes_of_merge_request on notes (merge_request_id, created_at, id);
create index notes_by_author on notes (author_id);
create index notes_by_project on notes (project_id);
`,
  },
];
