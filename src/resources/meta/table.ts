import type { Migration } from "../../store/migrate.ts";

/**
 * Periodic work that one of several processes does. `due_at` is the time of the next run; during a run, the time after
 * which other processes consider its owner dead.
 */
export const migrations: Migration[] = [
  {
    id: "20261121-45-jobs",
    sql: `
create table jobs (
  name $text primary key,
  due_at $int not null
);
`,
  },
  {
    // Why the last run failed; null if it succeeded.
    id: "20261122-60-jobs-error",
    sql: `
alter table jobs add column error $text;
`,
  },
];
