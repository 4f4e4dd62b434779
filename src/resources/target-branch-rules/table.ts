import type { Migration } from "../../store/migrate.ts";

/** Which branch new merge requests of some branches lead into, unless they say it. */
export const migrations: Migration[] = [
  {
    id: "20270105-01-target-branch-rules",
    sql: `
create table target_branch_rules (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  name $text not null,
  target_branch $text not null,
  created_at $int not null
);
create unique index target_branch_rules_of_project on target_branch_rules (project_id, name);
`,
  },
];
