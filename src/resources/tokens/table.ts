import type { Migration } from "../../store/migrate.ts";

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
];
