import type { Migration } from "../../store/migrate.ts";

/**
 * Time spent on issues and on merge requests, in seconds: one of the two is set. Entries can be negative. Each issue and
 * merge request has its estimate and the sum of its entries.
 */
export const migrations: Migration[] = [
  {
    id: "20261122-83-timelogs",
    sql: `
create table timelogs (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  issue_id $int references issues (id) on delete cascade,
  merge_request_id $int references merge_requests (id) on delete cascade,
  user_id $int references users (id) on delete set null,
  time_spent $int not null,
  spent_at $int not null,
  summary $text,
  created_at $int not null,
  check ((issue_id is null) <> (merge_request_id is null))
);
create index timelogs_of_issue on timelogs (issue_id, spent_at, id);
create index timelogs_of_merge_request on timelogs (merge_request_id, spent_at, id);
create index timelogs_by_project on timelogs (project_id, spent_at, id);
create index timelogs_by_user on timelogs (user_id, spent_at, id);
create index timelogs_by_time on timelogs (spent_at, id);
alter table issues add column time_estimate $int not null default 0;
alter table issues add column total_time_spent $int not null default 0;
alter table merge_requests add column time_estimate $int not null default 0;
alter table merge_requests add column total_time_spent $int not null default 0;
`,
  },
];
