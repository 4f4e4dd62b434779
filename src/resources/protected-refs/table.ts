import type { Migration } from "../../store/migrate.ts";

/**
 * Rules of projects about branches and tags. A name may have wildcards, and needs no branch or tag that it fits. Levels
 * are access levels; 0 stands for nobody.
 */
export const migrations: Migration[] = [
  {
    id: "20261122-87-protected-refs",
    sql: `
create table protected_branches (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  name $text not null,
  is_wildcard $int not null,
  push_level $int not null,
  merge_level $int not null,
  allow_force_push $int not null default 0,
  created_at $int not null,
  updated_at $int not null
);
create unique index protected_branches_by_name on protected_branches (project_id, name);
create index protected_branches_with_wildcards on protected_branches (project_id, is_wildcard);
create table protected_tags (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  name $text not null,
  is_wildcard $int not null,
  create_level $int not null,
  created_at $int not null,
  updated_at $int not null
);
create unique index protected_tags_by_name on protected_tags (project_id, name);
create index protected_tags_with_wildcards on protected_tags (project_id, is_wildcard);
`,
  },
  {
    // Lists are by id.
    id: "20261128-34-protected-refs-by-id",
    sql: `
create index protected_branches_by_id on protected_branches (project_id, id);
create index protected_tags_by_id on protected_tags (project_id, id);
`,
  },
];
