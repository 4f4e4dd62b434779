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
];
