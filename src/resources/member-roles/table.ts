import type { Migration } from "../../store/migrate.ts";

/** Roles beside the base ones, of a group at the top or of the instance, and members who have them. */
export const migrations: Migration[] = [
  {
    id: "20261212-33-member-roles",
    sql: `
create table member_roles (
  id $id,
  namespace_id $int references namespaces (id) on delete cascade,
  name $text not null,
  description $text,
  base_access_level $int not null,
  kept_settings $text,
  created_at $int not null,
  updated_at $int not null
);
create index member_roles_of_namespace on member_roles (namespace_id, id);
alter table members add column member_role_id $int references member_roles (id) on delete set null;
create index members_by_role on members (member_role_id) where member_role_id is not null;
`,
  },
];
