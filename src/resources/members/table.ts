import type { Migration } from "../../store/migrate.ts";

/** Memberships of groups (`namespace_id`) and of projects (`project_id`): one of the two is set; and requests for them. */
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
  {
    id: "20261123-11-access-requests",
    sql: `
create table access_requests (
  id $id,
  user_id $int not null references users (id) on delete cascade,
  namespace_id $int references namespaces (id) on delete cascade,
  project_id $int references projects (id) on delete cascade,
  created_at $int not null,
  check ((namespace_id is null) <> (project_id is null))
);
create unique index access_requests_of_namespace on access_requests (namespace_id, user_id) where namespace_id is not null;
create unique index access_requests_of_project on access_requests (project_id, user_id) where project_id is not null;
create index access_requests_by_user on access_requests (user_id);
`,
  },
  {
    // Addresses that become members once they are confirmed to be a user's.
    id: "20261124-06-member-invitations",
    sql: `
create table member_invitations (
  id $id,
  namespace_id $int references namespaces (id) on delete cascade,
  project_id $int references projects (id) on delete cascade,
  email $text not null,
  access_level $int not null,
  expires_at $text,
  created_by_id $int references users (id) on delete set null,
  created_at $int not null,
  updated_at $int not null,
  check ((namespace_id is null) <> (project_id is null))
);
create unique index member_invitations_of_namespace on member_invitations (namespace_id, lower(email)) where namespace_id is not null;
create unique index member_invitations_of_project on member_invitations (project_id, lower(email)) where project_id is not null;
create index member_invitations_of_namespace_by_id on member_invitations (namespace_id, id);
create index member_invitations_of_project_by_id on member_invitations (project_id, id);
create index member_invitations_by_email on member_invitations (lower(email));
create index member_invitations_by_creator on member_invitations (created_by_id);
`,
  },
  {
    // As in GitLab since 15.0; they had its rights before.
    id: "20261129-71-owners-of-personal-projects",
    sql: `
update members set access_level = 50 where access_level = 40 and project_id in (
  select p.id from projects p join namespaces n on n.id = p.namespace_id where n.owner_id = members.user_id);
`,
  },
  {
    id: "20261129-90-memberships-of-users",
    sql: `
create index members_by_user_and_id on members (user_id, id);
`,
  },
  {
    // By which new members are counted.
    id: "20261213-50-members-by-creation",
    sql: `
create index members_of_namespace_by_creation on members (namespace_id, created_at) where namespace_id is not null;
`,
  },
  {
    // The secret in the mail of an invitation, as a digest.
    id: "20261231-03-links-of-invitations",
    sql: `
alter table member_invitations add column digest $text;
create unique index member_invitations_by_digest on member_invitations (digest);
`,
  },
  {
    id: "20270204-03-access-requests-in-order",
    sql: `
create index access_requests_of_namespace_in_order on access_requests (namespace_id, id) where namespace_id is not null;
create index access_requests_of_project_in_order on access_requests (project_id, id) where project_id is not null;
`,
  },
];
