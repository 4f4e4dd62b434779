import type { Migration } from "../../store/migrate.ts";

/** Todos of users on issues and on merge requests: one of the two is set. */
export const migrations: Migration[] = [
  {
    id: "20261121-16-todos",
    sql: `
create table todos (
  id $id,
  user_id $int not null references users (id) on delete cascade,
  project_id $int not null references projects (id) on delete cascade,
  issue_id $int references issues (id) on delete cascade,
  merge_request_id $int references merge_requests (id) on delete cascade,
  note_id $int references notes (id) on delete set null,
  author_id $int not null references users (id) on delete cascade,
  action $text not null,
  state $text not null default 'pending',
  created_at $int not null,
  updated_at $int not null,
  check ((issue_id is null) <> (merge_request_id is null))
);
create index todos_of_user on todos (user_id, state, id);
create index todos_of_issue on todos (issue_id, user_id);
create index todos_of_merge_request on todos (merge_request_id, user_id);
create index todos_by_author on todos (author_id);
create index todos_by_project on todos (project_id);
create index todos_by_note on todos (note_id);
`,
  },
  {
    id: "20261122-91-todos-by-action",
    sql: "create index todos_of_user_by_action on todos (user_id, state, action, id);\n",
  },
];
