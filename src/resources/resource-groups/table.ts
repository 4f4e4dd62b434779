import type { Migration } from "../../store/migrate.ts";

/**
 * What jobs share of which one at a time may use it. Who has it is not stored: it is the job of the group that is on its
 * way to a runner or has one, so that a group can't be left taken by a job that is gone.
 */
export const migrations: Migration[] = [
  {
    id: "20261212-20-resource-groups",
    sql: `
create table resource_groups (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  key $text not null,
  process_mode $text not null,
  created_at $int not null,
  updated_at $int not null
);
create unique index resource_groups_of_project on resource_groups (project_id, key);
alter table ci_jobs add column resource_group_id $int references resource_groups (id) on delete set null;
create index ci_jobs_of_resource_group on ci_jobs (resource_group_id, status, pipeline_id, id) where resource_group_id is not null;
create index ci_jobs_upcoming on ci_jobs (resource_group_id, pipeline_id, id)
  where resource_group_id is not null and status in ('created', 'scheduled', 'waiting_for_resource') and retried = 0;
`,
  },
];
