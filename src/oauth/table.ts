import type { Migration } from "../store/migrate.ts";

/** The OAuth2 provider's tables. Secrets are stored as SHA-256 only. */
export const migrations: Migration[] = [
  {
    // Public applications have no secret. Redirect URIs are one per line, scopes separated by spaces. Applications that
    // an administrator registered through the API have no owner.
    id: "20261121-55-oauth-applications",
    sql: `
create table oauth_applications (
  id $id,
  user_id $int references users (id) on delete cascade,
  uid $text not null,
  secret_digest $text,
  name $text not null,
  redirect_uris $text not null,
  scopes $text not null,
  confidential $int not null,
  trusted $int not null,
  created_at $int not null,
  updated_at $int not null
);
create unique index oauth_applications_uid on oauth_applications (uid);
create index oauth_applications_by_user on oauth_applications (user_id, id);
`,
  },
  {
    // One consent: its authorization code, and the head of a family of tokens. It ends with its code if that is never
    // redeemed, otherwise with the last of its tokens.
    id: "20261121-56-oauth-grants",
    sql: `
create table oauth_grants (
  id $id,
  application_id $int references oauth_applications (id) on delete cascade,
  user_id $int not null references users (id) on delete cascade,
  scopes $text not null,
  code_digest $text,
  code_used $int not null,
  redirect_uri $text,
  code_challenge $text,
  code_challenge_method $text,
  created_at $int not null,
  ends_at $int not null
);
create unique index oauth_grants_code on oauth_grants (code_digest);
create index oauth_grants_by_user on oauth_grants (user_id, application_id);
create index oauth_grants_by_application on oauth_grants (application_id, user_id);
create index oauth_grants_by_end on oauth_grants (ends_at);
`,
  },
  {
    // Replaced and revoked tokens are kept, so that reuse is noticed.
    id: "20261121-57-oauth-tokens",
    sql: `
create table oauth_tokens (
  id $id,
  grant_id $int not null references oauth_grants (id) on delete cascade,
  digest $text not null,
  refresh_digest $text,
  scopes $text not null,
  replaced $int not null,
  created_at $int not null,
  expires_at $int not null
);
create unique index oauth_tokens_digest on oauth_tokens (digest);
create unique index oauth_tokens_refresh on oauth_tokens (refresh_digest);
create index oauth_tokens_by_grant on oauth_tokens (grant_id, id);
create index oauth_tokens_by_time on oauth_tokens (created_at);
`,
  },
  {
    // What an id_token says of the authorization: the application's nonce, and when the user had signed in.
    id: "20261220-02-openid-grants",
    sql: `
alter table oauth_grants add column nonce $text;
alter table oauth_grants add column auth_time $int;
`,
  },
  {
    // Devices that wait for somebody to let them in, by the SHA-256 of their own code and of the one that people enter.
    id: "20261220-03-oauth-devices",
    sql: `
create table oauth_devices (
  id $id,
  application_id $int not null references oauth_applications (id) on delete cascade,
  scopes $text not null,
  digest $text not null,
  user_digest $text not null,
  user_id $int references users (id) on delete cascade,
  denied $int not null default 0,
  auth_time $int,
  ip $text not null,
  polled_at $int,
  created_at $int not null,
  expires_at $int not null
);
create unique index oauth_devices_digest on oauth_devices (digest);
create unique index oauth_devices_user_digest on oauth_devices (user_digest);
create index oauth_devices_by_application on oauth_devices (application_id);
create index oauth_devices_by_user on oauth_devices (user_id);
create index oauth_devices_by_end on oauth_devices (expires_at);
`,
  },
];
