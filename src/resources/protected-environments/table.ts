import type { Migration } from "../../store/migrate.ts";

/**
 * Environments of projects, by their names, and tiers of environments below groups, to which only some may deploy; who that
 * is, and whose approvals deployments need; and these approvals. `grant_id` is the rule that one counts for.
 */
export const migrations: Migration[] = [
  {
    id: "20261206-52-protected-environments",
    sql: `
create table protected_environments (
  id $id,
  namespace_id $int references namespaces (id) on delete cascade,
  project_id $int references projects (id) on delete cascade,
  name $text not null,
  created_at $int not null,
  updated_at $int not null,
  check ((namespace_id is null) <> (project_id is null))
);
create unique index protected_environments_of_project on protected_environments (project_id, name);
create unique index protected_environments_of_namespace on protected_environments (namespace_id, name);
create table environment_grants (
  id $id,
  environment_id $int not null references protected_environments (id) on delete cascade,
  action $text not null,
  access_level $int,
  user_id $int references users (id) on delete cascade,
  group_id $int references namespaces (id) on delete cascade,
  group_inheritance_type $int not null default 0,
  required_approvals $int not null default 0
);
create index environment_grants_of_environment on environment_grants (environment_id, id);
create index environment_grants_by_user on environment_grants (user_id);
create index environment_grants_by_group on environment_grants (group_id);
create table deployment_approvals (
  id $id,
  deployment_id $int not null references deployments (id) on delete cascade,
  user_id $int not null references users (id) on delete cascade,
  grant_id $int references environment_grants (id) on delete set null,
  status $text not null,
  comment $text,
  created_at $int not null
);
create unique index deployment_approvals_of_deployment on deployment_approvals (deployment_id, user_id);
create index deployment_approvals_by_user on deployment_approvals (user_id);
create index deployment_approvals_by_grant on deployment_approvals (grant_id);
`,
  },
];
