import type { Migration } from "../../store/migrate.ts";

/** What projects want to be scanned for. */
export const migrations: Migration[] = [
  {
    id: "20261212-37-security-settings",
    sql: `
create table project_security_settings (
  project_id $int not null primary key references projects (id) on delete cascade,
  secret_push_protection_enabled $int not null,
  created_at $int not null,
  updated_at $int not null
);
`,
  },
];
