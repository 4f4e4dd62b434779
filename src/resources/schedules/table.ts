import type { SealedColumn } from "../../core/sealed.ts";
import type { Migration } from "../../store/migrate.ts";

/** Schedules of pipelines, with the variables that they give them, and the pipelines that they have started. */
export const migrations: Migration[] = [
  {
    id: "20261123-08-50-pipeline-schedules",
    sql: `
create table pipeline_schedules (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  owner_id $int references users (id) on delete set null,
  description $text not null,
  ref $text not null,
  cron $text not null,
  cron_timezone $text not null,
  active $int not null,
  next_run_at $int,
  created_at $int not null,
  updated_at $int not null
);
create index pipeline_schedules_of_project on pipeline_schedules (project_id, id);
create index pipeline_schedules_of_project_by_state on pipeline_schedules (project_id, active, id);
create index pipeline_schedules_of_owner on pipeline_schedules (owner_id, id);
create index pipeline_schedules_due on pipeline_schedules (next_run_at) where active = 1;
create table pipeline_schedule_variables (
  id $id,
  schedule_id $int not null references pipeline_schedules (id) on delete cascade,
  key $text not null,
  value $text not null,
  variable_type $text not null
);
create unique index pipeline_schedule_variables_by_key on pipeline_schedule_variables (schedule_id, key);
create table pipeline_schedule_runs (
  pipeline_id $int not null primary key references pipelines (id) on delete cascade,
  schedule_id $int not null references pipeline_schedules (id) on delete cascade
);
create index pipeline_schedule_runs_of_schedule on pipeline_schedule_runs (schedule_id, pipeline_id);
`,
  },
  {
    // Values of the configuration's inputs by name, as JSON.
    id: "20261221-01-schedule-inputs",
    sql: "alter table pipeline_schedules add column inputs $text;",
  },
];

/** What the value of a variable is encrypted for. */
export const purposeOf = (scheduleId: number, key: string) =>
  `variable of schedule ${scheduleId} ${key}`;

/** Where the values of variables are. */
export const SCHEDULE_VARIABLES: SealedColumn = {
  table: "pipeline_schedule_variables",
  id: "id",
  column: "value",
  purpose: "'variable of schedule ' || schedule_id || ' ' || key",
};
