import type { Migration } from "../../store/migrate.ts";

/** Who was asked to review merge requests, and what they have said: `state` is one of `ReviewState` (queries.ts). */
export const migrations: Migration[] = [
  {
    id: "20261122-98-reviewers",
    sql: `
create table merge_request_reviewers (
  merge_request_id $int not null references merge_requests (id) on delete cascade,
  user_id $int not null references users (id) on delete cascade,
  state $text not null default 'unreviewed',
  created_at $int not null,
  primary key (merge_request_id, user_id)
);
create index merge_request_reviewers_by_user on merge_request_reviewers (user_id, merge_request_id);
`,
  },
];
