import type { Migration } from "../../store/migrate.ts";

/** With which program, and from which address, issues and snippets were created over the API. */
export const migrations: Migration[] = [
  {
    id: "20261212-36-user-agents",
    sql: `
create table user_agents (
  id $id,
  issue_id $int unique references issues (id) on delete cascade,
  snippet_id $int unique references snippets (id) on delete cascade,
  user_agent $text not null,
  ip_address $text not null
);
`,
  },
];
