import { searchMigration } from "../../core/lists/search-index.ts";
import type { Migration } from "../../store/migrate.ts";
import { MERGE_REQUEST } from "../issuables/merge-request.ts";

/**
 * Merge requests; their versions, if there is a repository behind them; and the issues their titles and descriptions refer
 * to.
 */
export const migrations: Migration[] = [
  {
    id: "20261121-12-merge-requests",
    sql: `
create table merge_requests (
  id $id,
  iid $int not null,
  project_id $int not null references projects (id) on delete cascade,
  source_project_id $int not null references projects (id) on delete cascade,
  author_id $int references users (id) on delete set null,
  title $text not null,
  description $text,
  state $text not null default 'opened',
  source_branch $text not null,
  target_branch $text not null,
  sha $text,
  merge_commit_sha $text,
  squash $int not null default 0,
  discussion_locked $int not null default 0,
  remove_source_branch $int not null default 0,
  milestone_id $int references milestones (id) on delete set null,
  merged_at $int,
  merged_by_id $int references users (id) on delete set null,
  closed_at $int,
  closed_by_id $int references users (id) on delete set null,
  created_at $int not null,
  updated_at $int not null
);
create unique index merge_requests_iid on merge_requests (project_id, iid);
create index merge_requests_by_created_at on merge_requests (project_id, created_at, id);
create index merge_requests_by_updated_at on merge_requests (project_id, updated_at, id);
create index merge_requests_by_author on merge_requests (author_id, created_at, id);
create index merge_requests_by_branch on merge_requests (project_id, source_branch, target_branch);
create index merge_requests_by_source on merge_requests (source_project_id);
create index merge_requests_by_milestone on merge_requests (milestone_id);
create index merge_requests_by_merger on merge_requests (merged_by_id);
create index merge_requests_by_closer on merge_requests (closed_by_id);
create table merge_request_assignees (
  merge_request_id $int not null references merge_requests (id) on delete cascade,
  user_id $int not null references users (id) on delete cascade,
  primary key (merge_request_id, user_id)
);
create index merge_request_assignees_by_user on merge_request_assignees (user_id, merge_request_id);
create table merge_request_labels (
  merge_request_id $int not null references merge_requests (id) on delete cascade,
  label_id $int not null references labels (id) on delete cascade,
  primary key (merge_request_id, label_id)
);
create index merge_request_labels_by_label on merge_request_labels (label_id, merge_request_id);
alter table projects add column merge_request_count $int not null default 0;
`,
  },
  {
    id: "20261121-15-merge-request-subscriptions",
    sql: `
create table merge_request_subscriptions (
  merge_request_id $int not null references merge_requests (id) on delete cascade,
  user_id $int not null references users (id) on delete cascade,
  subscribed $int not null,
  primary key (merge_request_id, user_id)
);
create index merge_request_subscriptions_by_user on merge_request_subscriptions (user_id);
create index merge_requests_by_age on merge_requests (created_at, id);
create index merge_requests_by_push on merge_requests (source_project_id, source_branch) where state = 'opened';
`,
  },
  {
    id: "20261122-83-merge-request-issues",
    sql: `
create table merge_request_issues (
  issue_id $int not null references issues (id) on delete cascade,
  merge_request_id $int not null references merge_requests (id) on delete cascade,
  closes $int not null,
  primary key (issue_id, merge_request_id)
);
create index merge_request_issues_by_request on merge_request_issues (merge_request_id, issue_id);
`,
  },
  searchMigration("20261122-85-merge-request-search", MERGE_REQUEST.search, { automerge: 8 }),
  {
    id: "20261122-85-merge-request-orders",
    sql: `
create index merge_requests_by_change on merge_requests (updated_at, id);
create index merge_requests_of_milestone on merge_requests (milestone_id, created_at, id);
drop index merge_requests_by_milestone;
create index merge_requests_by_source_branch on merge_requests (source_branch);
create index merge_requests_by_target_branch on merge_requests (target_branch);
`,
  },
  {
    id: "20261122-91-merge-request-states",
    // Without the setting, deleting many rows merges large parts of the index, for half a second at once.
    sql: `
create index merge_requests_by_state on merge_requests (project_id, state, created_at, id);
$sqlite insert into merge_request_search (merge_request_search, rank) values ('deletemerge', 0);
`,
  },
  {
    id: "20261122-95-merge-request-versions",
    // A merge request outlives the fork that it came from.
    sql: `
create table merge_request_versions (
  id $id,
  merge_request_id $int not null references merge_requests (id) on delete cascade,
  head_sha $text not null,
  base_sha $text,
  start_sha $text not null,
  changed_files $int not null,
  created_at $int not null
);
create index merge_request_versions_by_request on merge_request_versions (merge_request_id, id);
alter table merge_requests add column merge_error $text;
alter table merge_requests add column from_project_id $int references projects (id) on delete set null;
update merge_requests set from_project_id = source_project_id;
drop index merge_requests_by_source;
drop index merge_requests_by_push;
alter table merge_requests drop column source_project_id;
alter table merge_requests rename column from_project_id to source_project_id;
create index merge_requests_by_source on merge_requests (source_project_id);
create index merge_requests_by_push on merge_requests (source_project_id, source_branch) where state = 'opened';
create index merge_requests_by_head on merge_requests (project_id, sha) where state = 'opened';
`,
  },
  {
    id: "20261122-96-merges",
    sql: `
alter table merge_requests add column squash_commit_sha $text;
alter table merge_requests add column should_remove_source_branch $int;
alter table merge_requests add column auto_merge $int not null default 0;
create index merge_requests_by_merge_commit on merge_requests (project_id, merge_commit_sha)
  where merge_commit_sha is not null;
alter table merge_request_versions add column issue_references $text not null default '[]';
`,
  },
  {
    id: "20261123-05-waiting-merge-requests",
    sql: `
create index merge_requests_waiting on merge_requests (project_id, target_branch, id) where auto_merge = 1;
`,
  },
  {
    id: "20261124-02-merging-later",
    sql: `
alter table merge_requests add column auto_merge_user_id $int references users (id) on delete set null;
alter table merge_requests add column merge_params $text;
create index merge_requests_by_auto_merger on merge_requests (auto_merge_user_id)
  where auto_merge_user_id is not null;
`,
  },
  {
    // By the commit with which they arrived in their target branch.
    id: "20261125-11-merged-commits",
    sql: `
create index merge_requests_by_merged_commit
  on merge_requests (project_id, coalesce(merge_commit_sha, squash_commit_sha, sha)) where state = 'merged';
`,
  },
  {
    // Of few rows; the condition is that of drafts in issuables/merge-checks.ts.
    id: "20261126-20-01-drafts",
    sql: `
create index merge_requests_of_drafts on merge_requests (project_id, id)
  where (substr(ltrim(title), 1, 1) in ('[', '(', 'w', 'W', 'd', 'D')
    and (substr(lower(ltrim(title)), 1, 5) = '[wip]' or substr(lower(ltrim(title)), 1, 7) = '[draft]'
      or substr(lower(ltrim(title)), 1, 7) = '(draft)' or substr(lower(ltrim(title)), 1, 4) = 'wip:'
      or substr(lower(ltrim(title)), 1, 6) = 'draft:' or substr(lower(ltrim(title)), 1, 4) = 'wip '));
`,
  },
  {
    // With what totals depend on besides the order: counting reads these alone, and not the texts.
    id: "20261127-01-02-merge-requests-counted",
    sql: `
drop index merge_requests_by_created_at;
create index merge_requests_by_created_at on merge_requests (project_id, created_at, id, milestone_id, target_branch);
`,
  },
  {
    id: "20261129-20-collaboration",
    sql: `
alter table merge_requests add column allow_collaboration $int not null default 0;
`,
  },
  {
    // Commits that reviewers should know, beside those of the merge request.
    id: "20261204-04-context-commits",
    sql: `
create table merge_request_context_commits (
  merge_request_id $int not null references merge_requests (id) on delete cascade,
  sha $text not null,
  primary key (merge_request_id, sha)
);
`,
  },
];
