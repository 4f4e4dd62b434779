import type { Migration } from "../../store/migrate.ts";

/**
 * Status checks are hooks of projects with a name: they are told of merge requests as others are. With what services
 * have said last of each merge request, and of which commit.
 */
export const migrations: Migration[] = [
  {
    id: "20261206-51-status-checks",
    sql: `
alter table hooks add column check_name $text;
alter table projects add column only_allow_merge_if_all_status_checks_passed $int not null default 0;
create table status_check_branches (
  hook_id $int not null references hooks (id) on delete cascade,
  branch_id $int not null references protected_branches (id) on delete cascade,
  primary key (hook_id, branch_id)
);
create index status_check_branches_by_branch on status_check_branches (branch_id);
create table status_check_responses (
  id $id,
  merge_request_id $int not null references merge_requests (id) on delete cascade,
  hook_id $int not null references hooks (id) on delete cascade,
  sha $text not null,
  status $text not null,
  created_at $int not null
);
create unique index status_check_responses_of_request on status_check_responses (merge_request_id, hook_id);
create index status_check_responses_by_hook on status_check_responses (hook_id);
`,
  },
  {
    id: "20270204-04-status-checks-of-projects",
    sql: "create index hooks_with_checks on hooks (project_id, id) where check_name is not null;",
  },
];
