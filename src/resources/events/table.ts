import type { Migration } from "../../store/migrate.ts";

/**
 * What users did. `action` is one of `ACTIONS` (record.ts); `target_type` is the class name shown in answers, null for
 * pushes and memberships. The columns from `commit_count` on belong to pushes.
 *
 * `event_counts` stores the number of events per project and author, so that a total reads one row per pair instead of
 * one per event. Whatever adds or removes events updates it too.
 */
export const migrations: Migration[] = [
  {
    id: "20261121-14-events",
    sql: `
create table events (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  author_id $int not null references users (id) on delete cascade,
  action $text not null,
  target_type $text,
  target_id $int,
  target_iid $int,
  target_title $text,
  created_at $int not null,
  commit_count $int,
  push_action $text,
  ref_type $text,
  commit_from $text,
  commit_to $text,
  ref $text,
  commit_title $text
);
create index events_of_project on events (project_id, created_at, id);
create index events_by_author on events (author_id, created_at, id, project_id);
create index events_by_age on events (created_at, id);
create index events_of_target on events (target_type, target_id);
create index events_of_branch on events (project_id, ref, id) where action = 'pushed' and ref_type = 'branch';
create table event_counts (
  project_id $int not null references projects (id) on delete cascade,
  author_id $int not null references users (id) on delete cascade,
  events $int not null,
  primary key (project_id, author_id)
);
create index event_counts_by_author on event_counts (author_id, project_id, events);
`,
  },
  {
    // Finds rare or absent kinds of events without scanning all events of a project or user.
    id: "20261121-41-events-by-kind",
    sql: `
create index events_of_project_by_action on events (project_id, action, created_at, id);
create index events_of_project_by_type on events (project_id, target_type, created_at, id)
  where target_type is not null;
create index events_by_author_and_action on events (author_id, action, created_at, id, project_id);
create index events_by_author_and_type on events (author_id, target_type, created_at, id, project_id)
  where target_type is not null;
`,
  },
  {
    // Counts the events of many projects from the index alone.
    id: "20261121-72-event-counts-of-project",
    sql: `
create index event_counts_of_project on event_counts (project_id, events);
`,
  },
  {
    // Lists a user's events for callers who may see few of them, without scanning all the hidden ones.
    id: "20261121-73-events-by-author-in-project",
    sql: `
create index events_by_author_in_project on events (author_id, project_id, created_at, id);
`,
  },
  {
    // The primary key holds the counts of a project side by side: an event changes it and the index by author, and no
    // third page.
    id: "20261127-03-event-counts-in-two-places",
    sql: `
$sqlite create table new_event_counts (
  project_id $int not null references projects (id) on delete cascade,
  author_id $int not null references users (id) on delete cascade,
  events $int not null,
  primary key (project_id, author_id)
) without rowid;
$sqlite insert into new_event_counts (project_id, author_id, events)
  select project_id, author_id, events from event_counts order by project_id, author_id;
$sqlite drop table event_counts;
$sqlite alter table new_event_counts rename to event_counts;
$sqlite create index event_counts_by_author on event_counts (author_id, project_id, events);
`,
  },
];
