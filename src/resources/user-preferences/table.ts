import type { Migration } from "../../store/migrate.ts";

/** How users want to see things. Who never said so has no row. */
export const migrations: Migration[] = [
  {
    id: "20270204-02-user-preferences",
    sql: `
create table user_preferences (
  user_id $int primary key references users (id) on delete cascade,
  view_diffs_file_by_file $int not null default 0,
  show_whitespace_in_diffs $int not null default 1,
  pass_user_identities_to_ci_jwt $int not null default 0
);
`,
  },
];
