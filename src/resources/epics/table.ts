import type { Migration } from "../../store/migrate.ts";

/**
 * What epics have besides what issues have: a colour, and the days that were set by hand, which are those of the epic
 * unless it is said not to be fixed.
 */
export const migrations: Migration[] = [
  {
    id: "20261209-75-epics",
    sql: `
create table epic_details (
  issue_id $int not null primary key references issues (id) on delete cascade,
  color $text,
  start_date_fixed $text,
  start_date_is_fixed $int not null default 0,
  due_date_fixed $text,
  due_date_is_fixed $int not null default 0
);
`,
  },
];
