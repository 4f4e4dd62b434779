import type { Migration } from "../../store/migrate.ts";

/**
 * Work that one of several processes does now and then. `due_at` is when it is to be done next; while somebody is at
 * it, when others take them for dead.
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
    // What went wrong the last time; null where nothing did.
    id: "20261122-60-jobs-error",
    sql: `
alter table jobs add column error $text;
`,
  },
];
