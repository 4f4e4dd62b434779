import type { Migration } from "../../store/migrate.ts";

/**
 * Comments on issues, merge requests, snippets and commits: one of the four is set. `system` notes record actions;
 * `internal` ones are for reporters and above.
 *
 * `thread_id` is null for a note that stands alone. The notes of a thread share the id of the note it began with, which
 * may have been deleted since. `reply` is 0 for the first note of each discussion that still exists, and 1 for the
 * others, so that discussions are listed from an index (docs/decisions/0022).
 *
 * `noted_commits` has a row for each commit that somebody commented on. `note_positions` has the places of notes on
 * changed files: the line, if it is on one, and the position as clients see it. Comments that name only a path and a line
 * have no position.
 */
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
  {
    // SQLite can't drop a check, so the table is copied there. The tables that refer to notes give up their columns
    // meanwhile: dropping a table deletes its rows first, with what refers to them.
    id: "20261122-82-discussions",
    sql: `
$sqlite create table kept_awards as select id, note_id from award_emoji where note_id is not null;
$sqlite create table kept_todos as select id, note_id from todos where note_id is not null;
$sqlite drop index award_emoji_of_note;
$sqlite drop index todos_by_note;
$sqlite alter table award_emoji drop column note_id;
$sqlite alter table todos drop column note_id;
$sqlite create table new_notes (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  issue_id $int references issues (id) on delete cascade,
  merge_request_id $int references merge_requests (id) on delete cascade,
  snippet_id $int references snippets (id) on delete cascade,
  author_id $int references users (id) on delete set null,
  body $text not null,
  system $int not null default 0,
  internal $int not null default 0,
  thread_id $int,
  reply $int not null default 0,
  resolved_at $int,
  resolved_by_id $int references users (id) on delete set null,
  created_at $int not null,
  updated_at $int not null,
  check (case when issue_id is null then 0 else 1 end + case when merge_request_id is null then 0 else 1 end
    + case when snippet_id is null then 0 else 1 end = 1)
);
$sqlite insert into new_notes (id, project_id, issue_id, merge_request_id, author_id, body, system, created_at, updated_at)
  select id, project_id, issue_id, merge_request_id, author_id, body, system, created_at, updated_at from notes;
$sqlite delete from sqlite_sequence where name = 'new_notes';
$sqlite insert into sqlite_sequence (name, seq) select 'new_notes', seq from sqlite_sequence where name = 'notes';
$sqlite drop table notes;
$sqlite alter table new_notes rename to notes;
$sqlite create index notes_of_issue on notes (issue_id, created_at, id);
$sqlite create index notes_of_merge_request on notes (merge_request_id, created_at, id);
$sqlite create index notes_by_author on notes (author_id);
$sqlite create index notes_by_project on notes (project_id);
$sqlite alter table award_emoji add column note_id $int references notes (id) on delete cascade;
$sqlite alter table todos add column note_id $int references notes (id) on delete set null;
$sqlite update award_emoji set note_id = kept.note_id from kept_awards kept where kept.id = award_emoji.id;
$sqlite update todos set note_id = kept.note_id from kept_todos kept where kept.id = todos.id;
$sqlite create unique index award_emoji_of_note on award_emoji (note_id, name, user_id) where note_id is not null;
$sqlite create index todos_by_note on todos (note_id);
$sqlite drop table kept_awards;
$sqlite drop table kept_todos;
$postgres alter table notes
  drop constraint notes_check,
  add column snippet_id $int references snippets (id) on delete cascade,
  add column internal $int not null default 0,
  add column thread_id $int,
  add column reply $int not null default 0,
  add column resolved_at $int,
  add column resolved_by_id $int references users (id) on delete set null;
$postgres alter table notes add constraint notes_check check (case when issue_id is null then 0 else 1 end + case when merge_request_id is null then 0 else 1 end
    + case when snippet_id is null then 0 else 1 end = 1);
create index notes_of_snippet on notes (snippet_id, created_at, id) where snippet_id is not null;
create index notes_of_thread on notes (thread_id, reply, created_at, id) where thread_id is not null;
create index notes_by_resolver on notes (resolved_by_id) where resolved_by_id is not null;
create index discussions_of_issue on notes (issue_id, created_at, id) where issue_id is not null and reply = 0;
create index discussions_of_merge_request on notes (merge_request_id, created_at, id)
  where merge_request_id is not null and reply = 0;
create index discussions_of_snippet on notes (snippet_id, created_at, id)
  where snippet_id is not null and reply = 0;
`,
  },
  {
    id: "20261122-91-note-orders",
    sql: `
create index notes_of_issue_by_change on notes (issue_id, updated_at, id) where issue_id is not null;
create index notes_of_merge_request_by_change on notes (merge_request_id, updated_at, id) where merge_request_id is not null;
create index notes_of_snippet_by_change on notes (snippet_id, updated_at, id) where snippet_id is not null;
create index user_notes_of_issue on notes (issue_id, internal, project_id) where issue_id is not null and system = 0;
create index user_notes_of_merge_request on notes (merge_request_id, internal, project_id) where merge_request_id is not null and system = 0;
create index notes_by_author_of_issue on notes (author_id, issue_id) where issue_id is not null;
create index notes_by_author_of_merge_request on notes (author_id, merge_request_id) where merge_request_id is not null;
`,
  },
  {
    // A note is of one of them: another would cost its commit a page of an index.
    id: "20261122-92-note-indexes",
    sql: `
drop index notes_of_issue;
create index notes_of_issue on notes (issue_id, created_at, id) where issue_id is not null;
drop index notes_of_merge_request;
create index notes_of_merge_request on notes (merge_request_id, created_at, id) where merge_request_id is not null;
`,
  },
  {
    // SQLite can't drop a check, so the table is copied there once more, without one: nothing has to be copied for the
    // next kind of record. Comments on commits become notes, in the order in which they were written.
    id: "20261122-97-notes-on-commits",
    sql: `
create table noted_commits (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  sha $text not null
);
create unique index noted_commits_by_sha on noted_commits (project_id, sha);
$sqlite create table kept_awards as select id, note_id from award_emoji where note_id is not null;
$sqlite create table kept_todos as select id, note_id from todos where note_id is not null;
$sqlite drop index award_emoji_of_note;
$sqlite drop index award_emoji_of_note_by_id;
$sqlite drop index todos_by_note;
$sqlite alter table award_emoji drop column note_id;
$sqlite alter table todos drop column note_id;
$sqlite create table new_notes (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  issue_id $int references issues (id) on delete cascade,
  merge_request_id $int references merge_requests (id) on delete cascade,
  snippet_id $int references snippets (id) on delete cascade,
  noted_commit_id $int references noted_commits (id) on delete cascade,
  author_id $int references users (id) on delete set null,
  body $text not null,
  system $int not null default 0,
  internal $int not null default 0,
  thread_id $int,
  reply $int not null default 0,
  resolved_at $int,
  resolved_by_id $int references users (id) on delete set null,
  created_at $int not null,
  updated_at $int not null
);
$sqlite insert into new_notes (id, project_id, issue_id, merge_request_id, snippet_id, author_id, body, system, internal,
    thread_id, reply, resolved_at, resolved_by_id, created_at, updated_at)
  select id, project_id, issue_id, merge_request_id, snippet_id, author_id, body, system, internal,
    thread_id, reply, resolved_at, resolved_by_id, created_at, updated_at from notes;
$sqlite delete from sqlite_sequence where name = 'new_notes';
$sqlite insert into sqlite_sequence (name, seq) select 'new_notes', seq from sqlite_sequence where name = 'notes';
$sqlite drop table notes;
$sqlite alter table new_notes rename to notes;
$sqlite create index notes_of_issue on notes (issue_id, created_at, id) where issue_id is not null;
$sqlite create index notes_of_merge_request on notes (merge_request_id, created_at, id) where merge_request_id is not null;
$sqlite create index notes_of_snippet on notes (snippet_id, created_at, id) where snippet_id is not null;
$sqlite create index notes_by_author on notes (author_id);
$sqlite create index notes_by_project on notes (project_id);
$sqlite create index notes_of_thread on notes (thread_id, reply, created_at, id) where thread_id is not null;
$sqlite create index notes_by_resolver on notes (resolved_by_id) where resolved_by_id is not null;
$sqlite create index discussions_of_issue on notes (issue_id, created_at, id) where issue_id is not null and reply = 0;
$sqlite create index discussions_of_merge_request on notes (merge_request_id, created_at, id)
  where merge_request_id is not null and reply = 0;
$sqlite create index discussions_of_snippet on notes (snippet_id, created_at, id)
  where snippet_id is not null and reply = 0;
$sqlite create index notes_of_issue_by_change on notes (issue_id, updated_at, id) where issue_id is not null;
$sqlite create index notes_of_merge_request_by_change on notes (merge_request_id, updated_at, id) where merge_request_id is not null;
$sqlite create index notes_of_snippet_by_change on notes (snippet_id, updated_at, id) where snippet_id is not null;
$sqlite create index user_notes_of_issue on notes (issue_id, internal, project_id) where issue_id is not null and system = 0;
$sqlite create index user_notes_of_merge_request on notes (merge_request_id, internal, project_id) where merge_request_id is not null and system = 0;
$sqlite create index notes_by_author_of_issue on notes (author_id, issue_id) where issue_id is not null;
$sqlite create index notes_by_author_of_merge_request on notes (author_id, merge_request_id) where merge_request_id is not null;
$sqlite alter table award_emoji add column note_id $int references notes (id) on delete cascade;
$sqlite alter table todos add column note_id $int references notes (id) on delete set null;
$sqlite update award_emoji set note_id = kept.note_id from kept_awards kept where kept.id = award_emoji.id;
$sqlite update todos set note_id = kept.note_id from kept_todos kept where kept.id = todos.id;
$sqlite create unique index award_emoji_of_note on award_emoji (note_id, name, user_id) where note_id is not null;
$sqlite create index award_emoji_of_note_by_id on award_emoji (note_id, id) where note_id is not null;
$sqlite create index todos_by_note on todos (note_id);
$sqlite drop table kept_awards;
$sqlite drop table kept_todos;
$postgres alter table notes
  drop constraint notes_check,
  add column noted_commit_id $int references noted_commits (id) on delete cascade;
create index notes_of_commit on notes (noted_commit_id, created_at, id) where noted_commit_id is not null;
create index discussions_of_commit on notes (noted_commit_id, created_at, id)
  where noted_commit_id is not null and reply = 0;
create index unresolved_notes on notes (merge_request_id)
  where merge_request_id is not null and thread_id is not null and system = 0 and resolved_at is null;
create table note_positions (
  id $id,
  note_id $int not null references notes (id) on delete cascade,
  path $text not null,
  line $int,
  line_type $text,
  line_code $text,
  position $text,
  original_position $text
);
create unique index note_positions_of_note on note_positions (note_id);
insert into noted_commits (project_id, sha) select distinct project_id, commit_id from commit_comments;
insert into notes (project_id, noted_commit_id, author_id, body, created_at, updated_at)
  select cc.project_id, nc.id, cc.author_id, cc.note, cc.created_at, cc.created_at from commit_comments cc
  join noted_commits nc on nc.project_id = cc.project_id and nc.sha = cc.commit_id order by cc.id;
insert into note_positions (note_id, path, line, line_type)
  select copies.id, originals.path, originals.line, originals.line_type
  from (select path, line, line_type, row_number() over (order by id) as place from commit_comments) originals
  join (select id, row_number() over (order by id) as place from notes where noted_commit_id is not null) copies
    on copies.place = originals.place
  where originals.path is not null;
drop table commit_comments;
`,
  },
  {
    id: "20261123-05-note-commits",
    sql: `
alter table notes add column commit_id $text;
alter table note_positions add column outdated $int not null default 0;
`,
  },
  {
    // Searches look at the newest notes of a project.
    id: "20261124-05-project-notes",
    sql: `
drop index notes_by_project;
create index notes_by_project on notes (project_id, id);
`,
  },
  {
    // What finds an author's notes on an issue finds all of an author's notes, too.
    id: "20261127-04-notes-by-author",
    sql: `
drop index notes_by_author;
drop index notes_by_author_of_issue;
create index notes_by_author on notes (author_id, issue_id);
`,
  },
];
