import type { Migration } from "../../store/migrate.ts";

/**
 * What people did. `action` is the contract's word (§6); `target_type` is the class name that answers show, null for
 * pushes and memberships. The columns from `commit_count` on belong to pushes.
 *
 * `event_counts` says how many events there are of each author in each project, so that a total costs as many rows as
 * there are such pairs, and not as many as there are events. It goes wherever its events go.
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
    // So that a kind of event that is rare, or not there, is not looked for in all of a project's or a user's events.
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
    // So that the events of many projects are counted without reading the pairs themselves.
    id: "20261121-72-event-counts-of-project",
    sql: `
create index event_counts_of_project on event_counts (project_id, events);
`,
  },
  {
    // So that somebody who may see little of what a user did doesn't wait until all of the rest is passed over.
    id: "20261121-73-events-by-author-in-project",
    sql: `
create index events_by_author_in_project on events (author_id, project_id, created_at, id);
`,
  },
];
