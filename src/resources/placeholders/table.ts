import type { Migration } from "../../store/migrate.ts";

/**
 * Contributors to what was imported into a group at the top who have no account here: by the server that they are from and
 * their id there, with their placeholder and the user to whom they are reassigned. Their memberships wait until then.
 */
export const migrations: Migration[] = [
  {
    id: "20270203-01-placeholders",
    sql: `
create table import_source_users (
  id $id,
  namespace_id $int not null references namespaces (id) on delete cascade,
  import_type $text not null,
  source_hostname $text not null,
  source_user_identifier $text not null,
  source_name $text not null,
  source_username $text not null,
  status $text not null,
  placeholder_user_id $int references users (id) on delete set null,
  reassign_to_user_id $int references users (id) on delete set null,
  reassigned_by_user_id $int references users (id) on delete set null,
  reassignment_error $text,
  created_at $int not null,
  updated_at $int not null
);
create unique index import_source_users_of_source
  on import_source_users (namespace_id, source_hostname, import_type, source_user_identifier);
create unique index import_source_users_by_claim
  on import_source_users (namespace_id, source_hostname, import_type, reassign_to_user_id) where reassign_to_user_id is not null;
create index import_source_users_of_namespace on import_source_users (namespace_id, id);
create index import_source_users_by_placeholder on import_source_users (placeholder_user_id);
create index import_source_users_by_claimant on import_source_users (reassign_to_user_id, id);
create index import_source_users_by_reassigner on import_source_users (reassigned_by_user_id);
create index import_source_users_in_progress on import_source_users (id) where status = 'reassignment_in_progress';
create table placeholder_members (
  id $id,
  source_user_id $int not null references import_source_users (id) on delete cascade,
  namespace_id $int references namespaces (id) on delete cascade,
  project_id $int references projects (id) on delete cascade,
  access_level $int not null,
  expires_at $text,
  created_at $int not null,
  check ((namespace_id is null) <> (project_id is null))
);
create unique index placeholder_members_of_namespace on placeholder_members (source_user_id, namespace_id)
  where namespace_id is not null;
create unique index placeholder_members_of_project on placeholder_members (source_user_id, project_id)
  where project_id is not null;
create index placeholder_members_by_namespace on placeholder_members (namespace_id);
create index placeholder_members_by_project on placeholder_members (project_id);
create index users_placeholders on users (id) where state = 'placeholder';
`,
  },
];
