import type { Migration } from "../../store/migrate.ts";

/**
 * Feature flags, lists of users that they are on for, and the tokens of the programs that ask for them. `strategies` is
 * JSON: see `Strategy` (strategies.ts); `next_id` is that of the next strategy or scope of the flag.
 */
export const migrations: Migration[] = [
  {
    id: "20261206-71-feature-flags",
    sql: `
create table feature_flags (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  name $text not null,
  description $text,
  active $int not null,
  strategies $text not null,
  next_id $int not null,
  created_at $int not null,
  updated_at $int not null,
  unique (project_id, name)
);
create table feature_flag_user_lists (
  id $id,
  iid $int not null,
  project_id $int not null references projects (id) on delete cascade,
  name $text not null,
  user_xids $text not null,
  created_at $int not null,
  updated_at $int not null,
  unique (project_id, iid),
  unique (project_id, name)
);
create table feature_flag_clients (
  project_id $int not null primary key references projects (id) on delete cascade,
  digest $text not null
);
`,
  },
];
