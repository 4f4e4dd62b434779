import type { Migration } from "../../store/migrate.ts";

/** Which issues are below others: each below one at most, in the order of `position`. */
export const migrations: Migration[] = [
  {
    id: "20261206-11-work-item-parents",
    sql: `
create table work_item_parents (
  issue_id $int not null primary key references issues (id) on delete cascade,
  parent_id $int not null references issues (id) on delete cascade,
  position $int not null
);
create index work_item_parents_by_parent on work_item_parents (parent_id, position, issue_id);
`,
  },
];
