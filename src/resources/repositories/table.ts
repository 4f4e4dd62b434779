import type { Migration } from "../../store/migrate.ts";

/** How often the code of projects was fetched, by days. */
export const migrations: Migration[] = [
  {
    id: "20261204-03-fetches-of-projects",
    sql: `
create table project_fetches (
  project_id $int not null references projects (id) on delete cascade,
  day $text not null,
  count $int not null,
  primary key (project_id, day)
);
create index project_fetches_by_age on project_fetches (day, project_id);
`,
  },
];
