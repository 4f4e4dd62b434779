import type { Migration } from "../../store/migrate.ts";

/** Personal and impersonation tokens. Of the secret only its SHA-256 is kept; `scopes` are separated by spaces. */
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
];
