import type { Migration } from "../../store/migrate.ts";

/** Memberships of groups (`namespace_id`) and of projects (`project_id`): one of the two is set. */
export const migrations: Migration[] = [
  {
    id: "20261121-04-members",
    sql: `
create table members (
  id $id,
  user_id $int not null references users (id) on delete cascade,
  namespace_id $int references namespaces (id) on delete cascade,
  project_id $int references projects (id) on delete cascade,
  access_level $int not null,
  expires_at $text,
  created_by_id $int references users (id) on delete set null,
  created_at $int not null,
  updated_at $int not null,
  check ((namespace_id is null) <> (project_id is null))
);
create unique index members_of_namespace on members (namespace_id, user_id) where namespace_id is not null;
create unique index members_of_project on members (project_id, user_id) where project_id is not null;
create index members_by_user on members (user_id, namespace_id, project_id);
create index members_by_creator on members (created_by_id);
`,
  },
  {
    id: "20261121-40-members-expiry",
    sql: `
create index members_by_expiry on members (expires_at, id) where expires_at is not null;
`,
  },
  {
    id: "20261122-91-member-orders",
    sql: `
create index members_of_namespace_by_id on members (namespace_id, id) where namespace_id is not null;
create index members_of_project_by_id on members (project_id, id) where project_id is not null;
`,
  },
];
