import type { Migration } from "../../store/migrate.ts";

/** What pushes to a project have to fit; those of groups are copied to projects that are created in them. */
export const migrations: Migration[] = [
  {
    id: "20261206-50-push-rules",
    sql: `
create table push_rules (
  id $id,
  namespace_id $int references namespaces (id) on delete cascade,
  project_id $int references projects (id) on delete cascade,
  commit_message_regex $text,
  commit_message_negative_regex $text,
  branch_name_regex $text,
  author_email_regex $text,
  file_name_regex $text,
  deny_delete_tag $int not null default 0,
  member_check $int not null default 0,
  prevent_secrets $int not null default 0,
  max_file_size $int not null default 0,
  commit_committer_check $int not null default 0,
  commit_committer_name_check $int not null default 0,
  reject_unsigned_commits $int not null default 0,
  reject_non_dco_commits $int not null default 0,
  created_at $int not null,
  updated_at $int not null,
  check ((namespace_id is null) <> (project_id is null))
);
create unique index push_rules_of_namespace on push_rules (namespace_id);
create unique index push_rules_of_project on push_rules (project_id);
`,
  },
];
