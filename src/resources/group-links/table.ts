import type { Migration } from "../../store/migrate.ts";

/**
 * Groups that are invited to other groups (`namespace_id`) or to projects (`project_id`): one of the two is set. The members
 * of `group_link_sources` belong to it by the link: the invited group and those above it, as `namespace_ancestors` has them.
 */
export const migrations: Migration[] = [
  {
    id: "20261203-01-group-links",
    sql: `
create table group_links (
  id $id,
  namespace_id $int references namespaces (id) on delete cascade,
  project_id $int references projects (id) on delete cascade,
  group_id $int not null references namespaces (id) on delete cascade,
  access_level $int not null,
  expires_at $text,
  created_at $int not null,
  updated_at $int not null,
  check ((namespace_id is null) <> (project_id is null))
);
create unique index group_links_of_namespace on group_links (namespace_id, group_id) where namespace_id is not null;
create unique index group_links_of_project on group_links (project_id, group_id) where project_id is not null;
create index group_links_by_group on group_links (group_id, project_id, namespace_id);
create index group_links_by_expiry on group_links (expires_at, id) where expires_at is not null;
create table group_link_sources (
  link_id $int not null references group_links (id) on delete cascade,
  namespace_id $int not null references namespaces (id) on delete cascade,
  primary key (link_id, namespace_id)
);
create index group_link_sources_by_namespace on group_link_sources (namespace_id, link_id);
`,
  },
];
