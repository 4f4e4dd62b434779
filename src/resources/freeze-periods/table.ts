import type { Migration } from "../../store/migrate.ts";

/** When a project is not to be deployed: from each time of one expression of cron to the next one of another. */
export const migrations: Migration[] = [
  {
    id: "20261206-53-freeze-periods",
    sql: `
create table freeze_periods (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  freeze_start $text not null,
  freeze_end $text not null,
  cron_timezone $text not null,
  created_at $int not null,
  updated_at $int not null
);
create index freeze_periods_of_project on freeze_periods (project_id, created_at, id);
`,
  },
];
