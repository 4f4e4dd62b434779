import type { Migration } from "../../store/migrate.ts";

/**
 * Notes on merge requests that only their author sees until they are published. `thread_id` is the number of the
 * discussion that one answers in, which may be gone by then. The place in a diff is that of `note_positions`.
 */
export const migrations: Migration[] = [
  {
    id: "20261122-97-draft-notes",
    sql: `
create table draft_notes (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  merge_request_id $int not null references merge_requests (id) on delete cascade,
  author_id $int not null references users (id) on delete cascade,
  body $text not null,
  thread_id $int,
  resolve_discussion $int not null default 0,
  path $text,
  line $int,
  line_type $text,
  line_code $text,
  position $text,
  created_at $int not null,
  updated_at $int not null
);
create index draft_notes_of_merge_request on draft_notes (merge_request_id, author_id, id);
create index draft_notes_by_author on draft_notes (author_id);
create index draft_notes_by_project on draft_notes (project_id);
`,
  },
  {
    id: "20261123-05-draft-commits",
    sql: "alter table draft_notes add column commit_id $text;",
  },
];
