import type { Migration } from "../store/migrate.ts";

/** Tables of sign-in, for all mounts. */
export const migrations: Migration[] = [
  {
    // Only the SHA-256 of the cookie's value is stored.
    id: "20261121-50-sessions",
    sql: `
create table sessions (
  id $id,
  user_id $int not null references users (id) on delete cascade,
  digest $text not null,
  ip $text not null,
  user_agent $text not null,
  created_at $int not null,
  last_seen_at $int not null,
  expires_at $int not null
);
create unique index sessions_digest on sessions (digest);
create index sessions_by_user on sessions (user_id, id);
create index sessions_by_expiry on sessions (expires_at);
`,
  },
  {
    // Attempts in the current window of a key, such as an account or an address.
    id: "20261121-51-attempts",
    sql: `
create table attempts (
  key $text primary key,
  count $int not null,
  ends_at $int not null
);
create index attempts_by_end on attempts (ends_at);
`,
  },
  {
    // Checking a code takes the secret itself, so it can't be a digest. `last_step` is the last period whose code was
    // used.
    id: "20261121-60-two-factor",
    sql: `
create table two_factor (
  id $id,
  user_id $int not null references users (id) on delete cascade,
  secret $text not null,
  enabled_at $int,
  last_step $int not null
);
create unique index two_factor_by_user on two_factor (user_id);
`,
  },
  {
    id: "20261121-61-recovery-codes",
    sql: `
create table recovery_codes (
  id $id,
  user_id $int not null references users (id) on delete cascade,
  digest $text not null
);
create unique index recovery_codes_digest on recovery_codes (user_id, digest);
`,
  },
  {
    // Sign-ins waiting for their second step, by the SHA-256 of the cookie's value.
    id: "20261121-62-half-sign-ins",
    sql: `
create table half_sign_ins (
  digest $text not null primary key,
  user_id $int not null references users (id) on delete cascade,
  expires_at $int not null
);
create index half_sign_ins_by_user on half_sign_ins (user_id);
create index half_sign_ins_by_expiry on half_sign_ins (expires_at);
`,
  },
  {
    // The links by which users set their password, by the SHA-256 of the secret in them.
    id: "20261122-50-invitations",
    sql: `
create table invitations (
  digest $text not null primary key,
  user_id $int not null references users (id) on delete cascade,
  expires_at $int not null
);
create index invitations_by_user on invitations (user_id);
create index invitations_by_expiry on invitations (expires_at);
`,
  },
  {
    // The ids of the keys that encrypt secrets in this database: whoever encrypts another one must have them.
    id: "20261123-08-10-secret-keys",
    sql: `
create table secret_keys (id $text not null primary key);
insert into secret_keys (id)
  select distinct substr(secret, 4, 8) from two_factor where substr(secret, 1, 3) = '$1$';
`,
  },
  {
    // The tokens with which readers of feeds sign in: the SHA-256 of each, and itself, encrypted.
    id: "20261218-01-feed-tokens",
    sql: `
create table feed_tokens (
  user_id $int not null primary key references users (id) on delete cascade,
  digest $text not null,
  secret $text not null
);
create unique index feed_tokens_digest on feed_tokens (digest);
`,
  },
  {
    // The keys that sign the tokens of OpenID Connect: each is published before it signs, and after the next one does.
    id: "20261220-01-signing-keys",
    sql: `
create table signing_keys (
  id $id,
  kid $text not null,
  public_key $text not null,
  private_key $text not null,
  signs_from $int not null,
  created_at $int not null
);
create unique index signing_keys_kid on signing_keys (kid);
`,
  },
  {
    // Sign-ins at other providers, by the SHA-256 of their state; `browser` is that of the cookie they were begun with. Nonce
    // and verifier follow from state and cookie, so they are not here. `user_id`: who links an identity.
    id: "20261226-01-provider-sign-ins",
    sql: `
create table provider_sign_ins (
  digest $text not null primary key,
  provider $text not null,
  browser $text not null,
  user_id $int references users (id) on delete cascade,
  return_to $text,
  expires_at $int not null
);
create index provider_sign_ins_by_user on provider_sign_ins (user_id) where user_id is not null;
create index provider_sign_ins_by_expiry on provider_sign_ins (expires_at);
`,
  },
];
