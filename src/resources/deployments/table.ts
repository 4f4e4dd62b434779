import type { Migration } from "../../store/migrate.ts";

/** Deployments of projects to their environments. */
export const migrations: Migration[] = [
  {
    id: "20261123-08-31-deployments",
    sql: `
create table deployments (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  environment_id $int not null references environments (id) on delete cascade,
  user_id $int references users (id) on delete set null,
  iid $int not null,
  ref $text not null,
  tag $int not null,
  sha $text not null,
  status $text not null,
  created_at $int not null,
  updated_at $int not null,
  finished_at $int
);
create unique index deployments_by_iid on deployments (project_id, iid);
create index deployments_by_age on deployments (project_id, id);
create index deployments_by_creation on deployments (project_id, created_at, id);
create index deployments_by_change on deployments (project_id, updated_at, id);
create index deployments_by_end on deployments (project_id, finished_at, id);
create index deployments_by_ref on deployments (project_id, ref, id);
create index deployments_by_status on deployments (project_id, status, id);
create index deployments_of_environment on deployments (environment_id, id);
create index deployments_of_environment_by_status on deployments (environment_id, status, id);
create index deployments_of_user on deployments (user_id, id);
`,
  },
  {
    // With which deployments merge requests came to environments, and when.
    id: "20261126-20-02-deployed-merge-requests",
    sql: `
create table deployed_merge_requests (
  merge_request_id $int not null references merge_requests (id) on delete cascade,
  deployment_id $int not null references deployments (id) on delete cascade,
  environment_id $int not null references environments (id) on delete cascade,
  deployed_at $int not null,
  primary key (merge_request_id, deployment_id)
);
create index deployed_merge_requests_of_deployment on deployed_merge_requests (deployment_id);
create index deployed_merge_requests_of_environment
  on deployed_merge_requests (environment_id, deployed_at, merge_request_id);
create index deployed_merge_requests_by_time on deployed_merge_requests (deployed_at, merge_request_id);
create index environments_named on environments (name, id);
`,
  },
];
