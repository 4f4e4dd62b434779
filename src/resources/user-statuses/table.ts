import type { Migration } from "../../store/migrate.ts";

/** What users say about what they are doing. */
export const migrations: Migration[] = [
  {
    id: "20261123-11-user-statuses",
    sql: `
create table user_statuses (
  user_id $int primary key references users (id) on delete cascade,
  emoji $text not null,
  message $text not null,
  availability $text not null,
  clear_at $int
);
`,
  },
];
