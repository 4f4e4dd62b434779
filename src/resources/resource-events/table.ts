import type { Migration } from "../../store/migrate.ts";

const table = (name: string, columns: string) => `
create table resource_${name}_events (
  id $id,
  issue_id $int references issues (id) on delete cascade,
  merge_request_id $int references merge_requests (id) on delete cascade,
  user_id $int references users (id) on delete set null,
  ${columns},
  created_at $int not null,
  check ((issue_id is null) <> (merge_request_id is null))
);
create index resource_${name}_events_of_issue on resource_${name}_events (issue_id, id);
create index resource_${name}_events_of_merge_request on resource_${name}_events (merge_request_id, id);
create index resource_${name}_events_by_user on resource_${name}_events (user_id);`;

const TABLES = ["resource_label_events", "resource_milestone_events", "resource_state_events"];

/**
 * When labels were added to issues and merge requests and removed from them, their milestone was set or removed, and
 * their state changed. They are written by issuables/history.ts.
 */
export const migrations: Migration[] = [
  {
    id: "20261122-83-resource-events",
    sql: `${table("label", "label_id $int references labels (id) on delete set null,\n  action $text not null")}
create index resource_label_events_by_label on resource_label_events (label_id);
${table("milestone", "milestone_id $int references milestones (id) on delete set null,\n  action $text not null,\n  state $text not null")}
create index resource_milestone_events_by_milestone on resource_milestone_events (milestone_id);
${table("state", "state $text not null")}
`,
  },
  {
    // One of the two is null in each row: its index would cost each commit a page.
    id: "20261122-92-resource-event-indexes",
    sql: TABLES.map(
      (name) => `
drop index ${name}_of_issue;
create index ${name}_of_issue on ${name} (issue_id, id) where issue_id is not null;
drop index ${name}_of_merge_request;
create index ${name}_of_merge_request on ${name} (merge_request_id, id) where merge_request_id is not null;
`,
    ).join(""),
  },
  {
    id: "20261122-96-state-causes",
    sql: `
alter table resource_state_events add column source_commit $text;
alter table resource_state_events add column source_merge_request_id
  $int references merge_requests (id) on delete set null;
create index resource_state_events_by_cause on resource_state_events (source_merge_request_id)
  where source_merge_request_id is not null;
`,
  },
  {
    // What only issues have.
    id: "20261208-76-iteration-and-weight-events",
    sql: `
create table resource_iteration_events (
  id $id,
  issue_id $int not null references issues (id) on delete cascade,
  user_id $int references users (id) on delete set null,
  iteration_id $int references iterations (id) on delete set null,
  action $text not null,
  created_at $int not null
);
create index resource_iteration_events_of_issue on resource_iteration_events (issue_id, id);
create index resource_iteration_events_by_user on resource_iteration_events (user_id) where user_id is not null;
create index resource_iteration_events_by_iteration on resource_iteration_events (iteration_id)
  where iteration_id is not null;
create table resource_weight_events (
  id $id,
  issue_id $int not null references issues (id) on delete cascade,
  user_id $int references users (id) on delete set null,
  weight $int,
  created_at $int not null
);
create index resource_weight_events_of_issue on resource_weight_events (issue_id, id);
create index resource_weight_events_by_user on resource_weight_events (user_id) where user_id is not null;
`,
  },
];
