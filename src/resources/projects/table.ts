import { searchMigration } from "../../core/lists/search-index.ts";
import type { Migration } from "../../store/migrate.ts";
import { PROJECT_SEARCH } from "./search.ts";

/** Projects and their stars. `full_path` includes the namespace's, for look-ups by path. */
export const migrations: Migration[] = [
  {
    id: "20261121-03-projects",
    sql: `
create table projects (
  id $id,
  namespace_id $int not null references namespaces (id) on delete cascade,
  creator_id $int references users (id) on delete set null,
  name $text not null,
  path $text not null,
  full_path $text not null,
  description $text,
  visibility $int not null default 0,
  default_branch $text,
  archived $int not null default 0,
  issues_enabled $int not null default 1,
  merge_requests_enabled $int not null default 1,
  wiki_enabled $int not null default 1,
  jobs_enabled $int not null default 1,
  snippets_enabled $int not null default 1,
  shared_runners_enabled $int not null default 1,
  lfs_enabled $int not null default 1,
  request_access_enabled $int not null default 0,
  public_jobs $int not null default 1,
  only_allow_merge_if_pipeline_succeeds $int not null default 0,
  only_allow_merge_if_all_discussions_are_resolved $int not null default 0,
  merge_method $text not null default 'merge',
  topics $text not null default '[]',
  avatar_url $text,
  star_count $int not null default 0,
  created_at $int not null,
  updated_at $int not null,
  last_activity_at $int not null
);
create unique index projects_full_path on projects (lower(full_path));
create unique index projects_name on projects (namespace_id, lower(name));
create index projects_by_visibility on projects (archived, visibility, namespace_id);
create index projects_by_created_at on projects (created_at, id);
create index projects_by_updated_at on projects (updated_at, id);
create index projects_by_activity on projects (last_activity_at, id);
create index projects_by_name on projects (name, id);
create index projects_by_path on projects (path, id);
create table project_stars (
  project_id $int not null references projects (id) on delete cascade,
  user_id $int not null references users (id) on delete cascade,
  primary key (project_id, user_id)
);
create index project_stars_by_user on project_stars (user_id, project_id);
create index projects_by_creator on projects (creator_id);
`,
  },
  {
    // A fork outlives its source.
    id: "20261121-70-forks",
    sql: `
alter table projects add column forked_from_project_id $int references projects (id) on delete set null;
create index projects_by_fork_source on projects (forked_from_project_id);
`,
  },
  {
    // Stars of deleted users were still counted.
    id: "20261122-70-star-counts",
    sql: `
update projects set star_count = (select count(*) from project_stars s where s.project_id = projects.id)
where star_count <> (select count(*) from project_stars s where s.project_id = projects.id);
`,
  },
  {
    id: "20261122-91-forks-by-age",
    sql: `
create index projects_of_fork_source on projects (forked_from_project_id, created_at, id, visibility)
  where forked_from_project_id is not null;
`,
  },
  {
    id: "20261122-96-merge-settings",
    sql: `
alter table projects add column autoclose_referenced_issues $int not null default 1;
alter table projects add column merge_commit_template $text;
alter table projects add column squash_commit_template $text;
`,
  },
  searchMigration("20261123-03-project-search", PROJECT_SEARCH),
  {
    id: "20261123-05-merge-options",
    sql: `
alter table projects add column resolve_outdated_diff_discussions $int not null default 0;
alter table projects add column squash_option $text not null default 'default_off';
alter table projects add column remove_source_branch_after_merge $int not null default 0;
`,
  },
  {
    id: "20261125-80-project-ci-settings",
    sql: `
alter table projects add column ci_config_path $text;
alter table projects add column build_timeout $int not null default 3600;
alter table projects add column ci_default_git_depth $int not null default 20;
`,
  },
  {
    // Paths that projects had, in lower case: Git's clients find them there still.
    id: "20261124-01-project-redirects",
    sql: `
create table project_redirects (
  id $id,
  path $text not null unique,
  project_id $int not null references projects (id) on delete cascade
);
create index project_redirects_of_project on project_redirects (project_id);
`,
  },
  {
    // Settings that only are kept, and whether nobody is mailed.
    id: "20261127-90-kept-settings",
    sql: `
alter table projects add column kept_settings $text;
alter table projects add column emails_disabled $int not null default 0;
alter table namespaces add column kept_settings $text;
alter table namespaces add column emails_disabled $int not null default 0;
`,
  },
  {
    id: "20261129-51-projects-by-stars",
    sql: "create index projects_by_stars on projects (star_count, id);\n",
  },
  {
    id: "20261129-60-merging-on-skipped-pipelines",
    sql: "alter table projects add column allow_merge_on_skipped_pipeline $int not null default 0;\n",
  },
  {
    // When a project was starred. For earlier stars that is not known: not before the project was there.
    id: "20261202-01-starred-since",
    sql: `
alter table project_stars add column created_at $int not null default 0;
update project_stars set created_at = (select p.created_at from projects p where p.id = project_stars.project_id);
`,
  },
  {
    id: "20261129-64-size-of-projects-artifacts",
    sql: "alter table projects add column max_artifacts_size $int;\n",
  },
  {
    // When projects and groups were marked that are deleted later.
    id: "20261130-12-marked-for-deletion",
    sql: `
alter table projects add column marked_for_deletion_at $int;
alter table namespaces add column marked_for_deletion_at $int;
create index projects_marked on projects (marked_for_deletion_at, id) where marked_for_deletion_at is not null;
create index namespaces_marked on namespaces (marked_for_deletion_at, id) where marked_for_deletion_at is not null;
`,
  },
  {
    // There was no LFS: it is off where nobody knows of having it on. The tables of LFS switch it on.
    id: "20261130-20-no-lfs",
    sql: `
update projects set lfs_enabled = 0 where lfs_enabled = 1;
update namespaces set lfs_enabled = 0 where lfs_enabled = 1;
`,
  },
  {
    // Who uses what else there is, as the columns of the other features say it.
    id: "20270102-01-levels-of-features",
    sql: `
alter table projects add column repository_enabled $int not null default 1;
alter table projects add column releases_enabled $int not null default 1;
alter table projects add column environments_enabled $int not null default 1;
alter table projects add column package_registry_enabled $int not null default 1;
`,
  },
];
