import type { Migration } from "../../store/migrate.ts";

/** The texts of `scim_users` that a filter may compare; few users have all of them. */
const TEXTS = [
  ...["name_formatted", "family_name", "given_name", "middle_name", "honorific_prefix"],
  ...["honorific_suffix", "display_name", "nick_name", "profile_url", "title", "user_type"],
  ...["preferred_language", "locale", "timezone", "employee_number", "cost_center"],
  ...["organization", "division", "department", "manager_id", "manager_name"],
];

/** The texts of `scim_values` that a filter may compare. */
const PARTS = [
  ...["value", "display", "formatted", "street_address", "locality", "region"],
  ...["postal_code", "country"],
];

/**
 * SCIM tokens of groups, of whose secrets only the SHA-256 is stored; what their identity providers say about people;
 * and the values of multi-valued attributes. An equality filter is answered from an index, whatever the attribute.
 */
export const migrations: Migration[] = [
  {
    id: "20261122-81-scim",
    sql: `
create table scim_tokens (
  id $id,
  namespace_id $int not null references namespaces (id) on delete cascade,
  name $text not null,
  digest $text not null,
  access_level $int not null,
  revoked $int not null default 0,
  expires_at $text,
  last_used_at $int,
  created_at $int not null,
  updated_at $int not null
);
create unique index scim_tokens_digest on scim_tokens (digest);
create index scim_tokens_by_namespace on scim_tokens (namespace_id, id);
create table scim_users (
  id $id,
  uid $text not null,
  namespace_id $int not null references namespaces (id) on delete cascade,
  user_id $int not null references users (id) on delete cascade,
  provisioned $int not null,
  version $int not null default 1,
  external_id $text,
  user_name $text not null,
  active $int not null,
${TEXTS.map((column) => `  ${column} $text,\n`).join("")}  created_at $int not null,
  updated_at $int not null
);
create unique index scim_users_uid on scim_users (namespace_id, uid);
create unique index scim_users_user on scim_users (namespace_id, user_id);
create unique index scim_users_user_name on scim_users (namespace_id, lower(user_name));
create unique index scim_users_external_id on scim_users (namespace_id, external_id) where external_id is not null;
create index scim_users_by_user on scim_users (user_id);
create index scim_users_by_namespace on scim_users (namespace_id, id);
create index scim_users_by_active on scim_users (namespace_id, active, id);
create index scim_users_by_creation on scim_users (namespace_id, created_at, id);
create index scim_users_by_change on scim_users (namespace_id, updated_at, id);
${TEXTS.map((column) => `create index scim_users_${column} on scim_users (namespace_id, lower(${column})) where ${column} is not null;`).join("\n")}
create table scim_values (
  id $id,
  scim_user_id $int not null references scim_users (id) on delete cascade,
  namespace_id $int not null references namespaces (id) on delete cascade,
  attribute $text not null,
  position $int not null,
  type $text,
  is_primary $int,
${PARTS.map((column) => `  ${column} $text`).join(",\n")}
);
create index scim_values_of_user on scim_values (scim_user_id, attribute, position);
create index scim_values_by_namespace on scim_values (namespace_id);
${PARTS.map((column) => `create index scim_values_${column} on scim_values (namespace_id, attribute, lower(${column})) where ${column} is not null;`).join("\n")}
`,
  },
  {
    id: "20261213-51-provisioned-users",
    sql: `
create index scim_users_provisioned on scim_users (namespace_id, id) where provisioned = 1;
`,
  },
];
