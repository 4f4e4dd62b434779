import type { SealedColumn } from "../../core/sealed.ts";
import type { Migration } from "../../store/migrate.ts";

/** What the token of an import is encrypted for. */
export const purposeOf = (importId: number) => `bulk import ${importId}`;

/** Where these tokens are, until their import has ended. */
export const IMPORT_TOKENS: SealedColumn = {
  table: "bulk_imports",
  id: "id",
  column: "token",
  purpose: "'bulk import ' || id",
};

/**
 * Imports from other GitLab servers, the groups and projects they bring, what could not be brought, and by its key there
 * each record that is here: so an import goes on after an interruption, and a later one takes what is new.
 */
export const migrations: Migration[] = [
  {
    id: "20261227-01-bulk-imports",
    sql: `
create table bulk_imports (
  id $id,
  user_id $int references users (id) on delete set null,
  status $text not null,
  source_url $text not null,
  source_user_id $int not null,
  token $text,
  created_at $int not null,
  updated_at $int not null
);
create index bulk_imports_by_user on bulk_imports (user_id, created_at);
create table bulk_import_entities (
  id $id,
  bulk_import_id $int not null references bulk_imports (id) on delete cascade,
  parent_id $int references bulk_import_entities (id) on delete cascade,
  entity_type $text not null,
  source_full_path $text not null,
  source_id $int,
  destination_slug $text not null,
  destination_namespace $text not null,
  migrate_projects $int not null,
  migrate_memberships $int not null,
  namespace_id $int references namespaces (id) on delete set null,
  project_id $int references projects (id) on delete set null,
  status $text not null,
  progress $text not null,
  created_at $int not null,
  updated_at $int not null
);
create unique index bulk_import_entities_of_import on bulk_import_entities (bulk_import_id, entity_type, source_full_path);
create index bulk_import_entities_by_parent on bulk_import_entities (parent_id);
create index bulk_import_entities_by_namespace on bulk_import_entities (namespace_id);
create index bulk_import_entities_by_project on bulk_import_entities (project_id);
create table bulk_import_failures (
  id $id,
  entity_id $int not null references bulk_import_entities (id) on delete cascade,
  relation $text not null,
  source_title $text,
  source_url $text,
  message $text not null,
  created_at $int not null
);
create index bulk_import_failures_by_entity on bulk_import_failures (entity_id);
create table bulk_import_records (
  id $id,
  namespace_id $int references namespaces (id) on delete cascade,
  project_id $int references projects (id) on delete cascade,
  kind $text not null,
  source_key $text not null,
  local_id $int,
  check ((namespace_id is null) <> (project_id is null))
);
create unique index bulk_import_records_of_namespace on bulk_import_records (namespace_id, kind, source_key)
  where namespace_id is not null;
create unique index bulk_import_records_of_project on bulk_import_records (project_id, kind, source_key)
  where project_id is not null;
`,
  },
  {
    // What kind of server it is that is imported from.
    id: "20270101-01-imports-from-github",
    sql: `
alter table bulk_imports add column source_type $text not null default 'gitlab';
alter table project_imports add column kind $text;
`,
  },
];
