import type { Migration } from "../../store/migrate.ts";

/** The limits of plans. What was never changed has its default. */
export const migrations: Migration[] = [
  {
    id: "20261212-31-plan-limits",
    sql: `
create table plan_limits (
  id $id,
  plan_name $text not null unique,
  kept_settings $text,
  updated_at $int not null
);
`,
  },
];
