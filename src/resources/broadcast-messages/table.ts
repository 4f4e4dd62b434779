import type { Migration } from "../../store/migrate.ts";

/** What administrators tell everybody. `target_access_levels` is a JSON array of numbers. */
export const migrations: Migration[] = [
  {
    id: "20261124-06-broadcast-messages",
    sql: `
create table broadcast_messages (
  id $id,
  message $text not null,
  starts_at $int not null,
  ends_at $int not null,
  color $text not null,
  font $text not null,
  target_access_levels $text not null,
  target_path $text,
  broadcast_type $text not null,
  dismissable $int not null,
  theme $text not null,
  created_at $int not null,
  updated_at $int not null
);
`,
  },
];
