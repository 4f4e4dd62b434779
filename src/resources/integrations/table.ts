import type { SealedColumn } from "../../core/sealed.ts";
import type { Migration } from "../../store/migrate.ts";

/** The secrets of integrations: a change of the key reaches them by it. */
export const INTEGRATION_SECRETS: SealedColumn = {
  table: "integrations",
  id: "id",
  column: "secrets",
  purpose: "'integration ' || id",
};

/**
 * Integrations of projects and groups with other programs. `events` is a number with a bit per event, see
 * `INTEGRATION_EVENTS` (src/hooks/integrations/catalogue.ts). `properties` has the settings that were given, as JSON;
 * `secrets` those that are encrypted, as JSON, too. One that sends on what happens has a hook, by which it is told.
 */
export const migrations: Migration[] = [
  {
    id: "20261210-76-integrations",
    sql: `
create table integrations (
  id $id,
  project_id $int references projects (id) on delete cascade,
  namespace_id $int references namespaces (id) on delete cascade,
  slug $text not null,
  active $int not null,
  events $int not null,
  properties $text not null,
  secrets $text,
  created_at $int not null,
  updated_at $int not null,
  check ((namespace_id is null) <> (project_id is null))
);
create unique index integrations_of_project on integrations (project_id, slug) where project_id is not null;
create unique index integrations_of_group on integrations (namespace_id, slug) where namespace_id is not null;
alter table hooks add column integration_id $int references integrations (id) on delete cascade;
create unique index hooks_by_integration on hooks (integration_id) where integration_id is not null;
`,
  },
];
