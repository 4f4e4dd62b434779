import { searchMigration } from "../../core/lists/search-index.ts";
import type { Migration } from "../../store/migrate.ts";
import { NAMESPACE_SEARCH } from "../namespaces/search.ts";

/**
 * Namespaces: groups, and one per user for personal projects. As in GitLab, both share paths and ids.
 * `namespace_ancestors` holds each namespace's ancestors and itself, so that inherited roles and everything below a
 * group are found with one index lookup.
 */
export const migrations: Migration[] = [
  {
    id: "20261121-02-namespaces",
    sql: `
create table namespaces (
  id $id,
  kind $text not null,
  name $text not null,
  path $text not null,
  full_name $text not null,
  full_path $text not null,
  description $text not null default '',
  visibility $int not null default 0,
  parent_id $int references namespaces (id) on delete cascade,
  owner_id $int references users (id) on delete cascade,
  lfs_enabled $int not null default 1,
  request_access_enabled $int not null default 0,
  avatar_url $text,
  created_at $int not null,
  updated_at $int not null
);
create unique index namespaces_full_path on namespaces (lower(full_path));
create index namespaces_by_parent on namespaces (parent_id);
create index namespaces_by_owner on namespaces (owner_id);
create index namespaces_by_name on namespaces (kind, name, id);
create table namespace_ancestors (
  namespace_id $int not null references namespaces (id) on delete cascade,
  ancestor_id $int not null references namespaces (id) on delete cascade,
  depth $int not null,
  primary key (namespace_id, ancestor_id)
);
create index namespace_descendants on namespace_ancestors (ancestor_id, namespace_id);
`,
  },
  {
    id: "20261122-91-subgroups-by-name",
    sql: `
create index namespaces_of_parent_by_name on namespaces (parent_id, name, id) where parent_id is not null;
`,
  },
  searchMigration("20261123-03-namespace-search", NAMESPACE_SEARCH),
  {
    id: "20261212-11-archived-groups",
    sql: `
alter table namespaces add column archived $int not null default 0;
create index namespaces_archived on namespaces (id) where archived = 1;
`,
  },
];
