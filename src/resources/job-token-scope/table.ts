import type { Migration } from "../../store/migrate.ts";

/** Whose jobs' tokens a project takes besides its own. */
export const migrations: Migration[] = [
  {
    id: "20261129-75-job-token-scope",
    sql: `
alter table projects add column job_token_scope_enabled $int not null default 1;
create table job_token_projects (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  target_project_id $int not null references projects (id) on delete cascade
);
create unique index job_token_projects_of_project on job_token_projects (project_id, target_project_id);
create index job_token_projects_by_target on job_token_projects (target_project_id);
create table job_token_groups (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  target_group_id $int not null references namespaces (id) on delete cascade
);
create unique index job_token_groups_of_project on job_token_groups (project_id, target_group_id);
create index job_token_groups_by_target on job_token_groups (target_group_id);
`,
  },
];
