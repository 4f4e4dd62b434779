import type { Migration } from "../../store/migrate.ts";

const OWNERS = ["user", "namespace", "project"];

/** Texts that administrators give to users, groups and projects, by keys. */
export const migrations: Migration[] = [
  {
    id: "20261206-32-custom-attributes",
    sql: `
create table custom_attributes (
  id $id,
  user_id $int references users (id) on delete cascade,
  namespace_id $int references namespaces (id) on delete cascade,
  project_id $int references projects (id) on delete cascade,
  key $text not null,
  value $text not null,
  created_at $int not null,
  updated_at $int not null
);
${OWNERS.map(
  (
    owner,
  ) => `create unique index custom_attributes_of_${owner} on custom_attributes (${owner}_id, key)
  where ${owner}_id is not null;
create index custom_attributes_by_value_of_${owner} on custom_attributes (key, value, ${owner}_id)
  where ${owner}_id is not null;`,
).join("\n")}
`,
  },
];
