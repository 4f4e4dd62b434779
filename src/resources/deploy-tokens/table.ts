import type { Migration } from "../../store/migrate.ts";

/**
 * Deploy tokens of groups (`namespace_id`) and projects (`project_id`). Only the SHA-256 of the secret is stored; `scopes`
 * are separated by spaces. Tokens without a user name of their own have one made of their id.
 */
export const migrations: Migration[] = [
  {
    id: "20261124-06-deploy-tokens",
    sql: `
create table deploy_tokens (
  id $id,
  namespace_id $int references namespaces (id) on delete cascade,
  project_id $int references projects (id) on delete cascade,
  name $text not null,
  username $text,
  digest $text not null,
  scopes $text not null,
  expires_at $int,
  created_at $int not null,
  updated_at $int not null,
  check ((namespace_id is null) <> (project_id is null))
);
create unique index deploy_tokens_digest on deploy_tokens (digest);
create index deploy_tokens_of_namespace on deploy_tokens (namespace_id, id);
create index deploy_tokens_of_project on deploy_tokens (project_id, id);
`,
  },
];
