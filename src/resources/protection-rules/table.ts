import type { Migration } from "../../store/migrate.ts";

/**
 * From which level on packages, and repositories of container images, whose name fits a pattern are pushed and deleted.
 * `package_type` is empty for repositories. A level that is null asks for none but the usual one.
 */
export const migrations: Migration[] = [
  {
    id: "20261212-35-protection-rules",
    sql: `
create table protection_rules (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  kind $text not null,
  pattern $text not null,
  package_type $text not null,
  push_level $text,
  delete_level $text,
  created_at $int not null,
  updated_at $int not null,
  unique (project_id, kind, package_type, pattern)
);
create index protection_rules_of_project on protection_rules (project_id, kind, id);
`,
  },
];
