import type { Migration } from "../../store/migrate.ts";

/** Feature flags of the instance: `true`, `false` or a percentage. */
export const migrations: Migration[] = [
  {
    id: "20261127-92-features",
    sql: `
create table features (
  id $id,
  name $text not null unique,
  value $text not null,
  created_at $int not null,
  updated_at $int not null
);
`,
  },
];
