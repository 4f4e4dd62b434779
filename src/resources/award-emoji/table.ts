import type { Migration } from "../../store/migrate.ts";

/** Emoji given to issues, merge requests, snippets and notes: exactly one of the four ids is set. */
export const migrations: Migration[] = [
  {
    id: "20261121-17-award-emoji",
    sql: `
create table award_emoji (
  id $id,
  name $text not null,
  user_id $int not null references users (id) on delete cascade,
  issue_id $int references issues (id) on delete cascade,
  merge_request_id $int references merge_requests (id) on delete cascade,
  note_id $int references notes (id) on delete cascade,
  created_at $int not null,
  updated_at $int not null
);
create unique index award_emoji_of_issue on award_emoji (issue_id, name, user_id) where issue_id is not null;
create unique index award_emoji_of_merge_request on award_emoji (merge_request_id, name, user_id) where merge_request_id is not null;
create unique index award_emoji_of_note on award_emoji (note_id, name, user_id) where note_id is not null;
create index award_emoji_by_user on award_emoji (user_id);
`,
  },
  {
    id: "20261122-82-award-emoji-of-snippets",
    sql: `
alter table award_emoji add column snippet_id $int references snippets (id) on delete cascade;
create unique index award_emoji_of_snippet on award_emoji (snippet_id, name, user_id) where snippet_id is not null;
`,
  },
  {
    id: "20261122-91-award-emoji-orders",
    sql: `
create index award_emoji_of_issue_by_id on award_emoji (issue_id, id) where issue_id is not null;
create index award_emoji_of_merge_request_by_id on award_emoji (merge_request_id, id) where merge_request_id is not null;
create index award_emoji_of_note_by_id on award_emoji (note_id, id) where note_id is not null;
create index award_emoji_of_snippet_by_id on award_emoji (snippet_id, id) where snippet_id is not null;
`,
  },
];
