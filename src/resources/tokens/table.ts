import { BEING_DELETED } from "../../core/access/visibility.ts";
import type { Migration } from "../../store/migrate.ts";

const RESOURCE_BOTS = `
create table resource_bots (
  user_id $int primary key references users (id) on delete cascade,
  namespace_id $int references namespaces (id) on delete cascade,
  project_id $int references projects (id) on delete cascade,
  check ((namespace_id is null) <> (project_id is null))
);
create index resource_bots_of_namespace on resource_bots (namespace_id, user_id) where namespace_id is not null;
create index resource_bots_of_project on resource_bots (project_id, user_id) where project_id is not null;`;

const blockBots = (ids: string) =>
  `update users set state = 'blocked' where id in (${ids}) and state = 'active'`;

/** Bots are blocked as soon as their group or project is hidden, which is before it is deleted. */
const BLOCKING = [
  ["resource_bots_removed", "after delete on resource_bots", "", "old.user_id"],
  ...(["project", "namespace"] as const).map((kind) => [
    `bots_of_hidden_${kind}s`,
    `after update of visibility on ${kind}s`,
    `when (new.visibility = ${BEING_DELETED})`,
    `select user_id from resource_bots where ${kind}_id = new.id`,
  ]),
] as [name: string, event: string, when: string, ids: string][];

/** Personal and impersonation tokens. Only the SHA-256 of the secret is stored; `scopes` are separated by spaces. */
export const migrations: Migration[] = [
  {
    id: "20261121-05-tokens",
    sql: `
create table tokens (
  id $id,
  user_id $int not null references users (id) on delete cascade,
  name $text not null,
  digest $text not null,
  scopes $text not null,
  impersonation $int not null default 0,
  revoked $int not null default 0,
  expires_at $text,
  created_at $int not null,
  updated_at $int not null
);
create unique index tokens_digest on tokens (digest);
create index tokens_by_user on tokens (user_id, id);
`,
  },
  {
    // A family is a token and all tokens rotated from it; `family_id` is the first one's id, null for that one itself.
    id: "20261121-65-token-use",
    sql: `
alter table tokens add column description $text;
alter table tokens add column last_used_at $int;
alter table tokens add column family_id $int;
create index tokens_by_family on tokens (family_id);
create index tokens_by_creation on tokens (created_at, id);
create index tokens_by_use on tokens ((coalesce(last_used_at, 0)), id);
create index tokens_by_expiry on tokens ((coalesce(expires_at, '9999-12-31')), id);
create index tokens_by_name on tokens (name, id);
`,
  },
  {
    // Tokens of CI jobs, each limited to one project.
    id: "20261121-66-job-tokens",
    sql: `
create table job_tokens (
  id $id,
  user_id $int not null references users (id) on delete cascade,
  project_id $int not null references projects (id) on delete cascade,
  digest $text not null,
  created_at $int not null,
  expires_at $int not null
);
create unique index job_tokens_digest on job_tokens (digest);
create index job_tokens_by_user on job_tokens (user_id);
create index job_tokens_by_project on job_tokens (project_id);
create index job_tokens_by_expiry on job_tokens (expires_at);
`,
  },
  {
    // Users who rotate their tokens daily have mostly revoked ones.
    id: "20261121-80-own-tokens",
    sql: `
create index tokens_own on tokens (user_id, id) where impersonation = 0 and revoked = 0;
`,
  },
  {
    // Users that stand for access tokens of groups (`namespace_id`) and projects (`project_id`), one for each family of
    // tokens. Those of deleted groups and projects are blocked.
    id: "20261123-11-resource-bots",
    sql: {
      sqlite: `${RESOURCE_BOTS}
${BLOCKING.map(([name, event, when, ids]) => `create trigger ${name} ${event} ${when} begin ${blockBots(ids)}; end;`).join("\n")}
`,
      postgres: `${RESOURCE_BOTS}
${BLOCKING.map(([name, event, when, ids]) => `create function ${name}() returns trigger language plpgsql as $do$ begin ${blockBots(ids)}; return null; end $do$;\ncreate trigger ${name} ${event} for each row ${when} execute function ${name}();`).join("\n")}
`,
    },
  },
  {
    // Whether webhooks were told that a token expires soon.
    id: "20261124-04-told-tokens",
    sql: `
alter table tokens add column expiry_told $int not null default 0;
create index tokens_untold on tokens (expires_at, id) where expiry_told = 0 and revoked = 0;
`,
  },
  {
    // Who created a bot, and answers for it: never another bot. `null` of those from before, and of operators' ones.
    id: "20261128-33-creators-of-bots",
    sql: `
alter table resource_bots add column creator_id $int references users (id) on delete set null;
create index resource_bots_by_creator on resource_bots (creator_id) where creator_id is not null;
`,
  },
];
