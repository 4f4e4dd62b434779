import type { Migration } from "../../store/migrate.ts";

/**
 * Who approved merge requests, and who must. A rule of a merge request has `merge_request_id`; if it was made from a
 * project's rule, `source_id` is that one. The approvers of a rule are its users and the direct members of its groups.
 * Rules with branches count for merge requests into these only. Rules about code owners are made from the target branch's
 * CODEOWNERS file: `roles` are access levels, whose direct members of the project are approvers, too.
 */
export const migrations: Migration[] = [
  {
    id: "20261122-98-approvals",
    sql: `
create table approvals (
  merge_request_id $int not null references merge_requests (id) on delete cascade,
  user_id $int not null references users (id) on delete cascade,
  created_at $int not null,
  primary key (merge_request_id, user_id)
);
create index approvals_by_user on approvals (user_id, merge_request_id);
create table approval_rules (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  merge_request_id $int references merge_requests (id) on delete cascade,
  source_id $int references approval_rules (id) on delete set null,
  name $text not null,
  rule_type $text not null,
  approvals_required $int not null,
  all_protected_branches $int not null default 0,
  created_at $int not null,
  updated_at $int not null
);
create index approval_rules_of_project on approval_rules (project_id, merge_request_id, id);
create index approval_rules_of_merge_request on approval_rules (merge_request_id, id);
create index approval_rules_by_source on approval_rules (source_id);
create table approval_rule_users (
  rule_id $int not null references approval_rules (id) on delete cascade,
  user_id $int not null references users (id) on delete cascade,
  primary key (rule_id, user_id)
);
create index approval_rule_users_by_user on approval_rule_users (user_id);
create table approval_rule_groups (
  rule_id $int not null references approval_rules (id) on delete cascade,
  namespace_id $int not null references namespaces (id) on delete cascade,
  primary key (rule_id, namespace_id)
);
create index approval_rule_groups_by_group on approval_rule_groups (namespace_id);
create table approval_rule_branches (
  rule_id $int not null references approval_rules (id) on delete cascade,
  branch_id $int not null references protected_branches (id) on delete cascade,
  primary key (rule_id, branch_id)
);
create index approval_rule_branches_by_branch on approval_rule_branches (branch_id);
alter table projects add column approvals_before_merge $int not null default 0;
alter table projects add column reset_approvals_on_push $int not null default 1;
alter table projects add column selective_code_owner_removals $int not null default 0;
alter table projects add column disable_overriding_approvers_per_merge_request $int not null default 0;
alter table projects add column merge_requests_author_approval $int not null default 0;
alter table projects add column merge_requests_disable_committers_approval $int not null default 0;
alter table projects add column require_password_to_approve $int not null default 0;
`,
  },
  {
    id: "20261122-98-code-owners",
    sql: `
alter table approval_rules add column section $text;
alter table approval_rules add column is_optional $int not null default 0;
alter table approval_rules add column roles $text;
alter table protected_branches add column code_owner_approval_required $int not null default 0;
create table merge_request_committers (
  merge_request_id $int not null references merge_requests (id) on delete cascade,
  user_id $int not null references users (id) on delete cascade,
  primary key (merge_request_id, user_id)
);
create index merge_request_committers_by_user on merge_request_committers (user_id);
`,
  },
  {
    // It had no effect: the rule about any approver has the number that counts.
    id: "20261123-05-approvals-before-merge",
    sql: "alter table projects drop column approvals_before_merge;",
  },
  {
    id: "20261130-11-reports-of-approval-rules",
    sql: "alter table approval_rules add column report_type $text;\n",
  },
  {
    // What groups say for all projects below them; null for nothing.
    id: "20261206-54-group-approval-settings",
    sql: `
create table group_approval_settings (
  id $id,
  namespace_id $int not null references namespaces (id) on delete cascade,
  merge_requests_author_approval $int,
  merge_requests_disable_committers_approval $int,
  disable_overriding_approvers_per_merge_request $int,
  reset_approvals_on_push $int,
  require_password_to_approve $int,
  created_at $int not null,
  updated_at $int not null
);
create unique index group_approval_settings_of_namespace on group_approval_settings (namespace_id);
`,
  },
];
