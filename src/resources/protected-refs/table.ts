import type { Migration } from "../../store/migrate.ts";

/**
 * Rules of projects about branches and tags. A name may have wildcards, and needs no branch or tag that it fits. Each grant
 * of a rule lets somebody do something: those with an access level (0 stands for nobody), a user, a group or a deploy key.
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
  {
    // A rule had one access level for each right.
    id: "20261129-72-protection-grants",
    sql: `
create table protection_grants (
  id $id,
  branch_id $int references protected_branches (id) on delete cascade,
  tag_id $int references protected_tags (id) on delete cascade,
  action $text not null,
  access_level $int,
  user_id $int references users (id) on delete cascade,
  group_id $int references namespaces (id) on delete cascade,
  deploy_key_id $int references ssh_keys (id) on delete cascade
);
create index protection_grants_of_branch on protection_grants (branch_id, action, access_level, user_id, group_id);
create index protection_grants_of_tag on protection_grants (tag_id, action, access_level, user_id, group_id);
create index protection_grants_by_user on protection_grants (user_id);
create index protection_grants_by_group on protection_grants (group_id);
create index protection_grants_by_key on protection_grants (deploy_key_id);
insert into protection_grants (branch_id, action, access_level)
  select id, 'push', push_level from protected_branches order by id;
insert into protection_grants (branch_id, action, access_level)
  select id, 'merge', merge_level from protected_branches order by id;
insert into protection_grants (branch_id, action, access_level)
  select id, 'unprotect', 40 from protected_branches order by id;
insert into protection_grants (tag_id, action, access_level)
  select id, 'create', create_level from protected_tags order by id;
alter table protected_branches drop column push_level;
alter table protected_branches drop column merge_level;
alter table protected_tags drop column create_level;
`,
  },
  {
    // Rules of groups are in their hidden projects, which are found for each project below them.
    id: "20261212-10-hidden-projects-by-namespace",
    sql: "create index projects_hidden on projects (namespace_id) where visibility = -2;",
  },
];
