import { searchMigration } from "../../core/lists/search-index.ts";
import type { Migration } from "../../store/migrate.ts";
import { USER_SEARCH } from "./search.ts";

/** Users. E-mail addresses and user names are unique, ignoring case. */
export const migrations: Migration[] = [
  {
    id: "20261121-01-users",
    sql: `
create table users (
  id $id,
  username $text not null,
  name $text not null,
  email $text not null,
  password_hash $text,
  state $text not null default 'active',
  admin $int not null default 0,
  external $int not null default 0,
  private_profile $int not null default 0,
  can_create_group $int not null default 1,
  projects_limit $int not null default 100000,
  bio $text,
  location $text,
  public_email $text,
  skype $text,
  linkedin $text,
  twitter $text,
  website_url $text,
  organization $text,
  avatar_url $text,
  created_at $int not null,
  updated_at $int not null,
  last_sign_in_at $int,
  current_sign_in_at $int,
  last_activity_on $text
);
create unique index users_username on users (lower(username));
create unique index users_email on users (lower(email));
`,
  },
  {
    // Content of deleted users belongs to the ghost user, who is created if there is any.
    id: "20261122-70-ghost",
    sql: `
create unique index users_ghost on users (state) where state = 'ghost';
insert into users (username, name, email, state, created_at, updated_at)
with recursive numbers (n) as (
  select 0 union all select n + 1 from numbers where n < 9999
), names (n, free) as (
  select n, case when n = 0 then 'ghost' else 'ghost' || n end from numbers
)
select free, 'Ghost User', free || '@example.invalid', 'ghost',
  coalesce((select max(created_at) from users), 0), coalesce((select max(created_at) from users), 0)
from names
where not exists (select 1 from namespaces t where lower(t.full_path) = free)
  and not exists (select 1 from users u where lower(u.email) = free || '@example.invalid')
  and (exists (select 1 from notes where author_id is null)
    or exists (select 1 from issues where author_id is null or (state = 'closed' and closed_by_id is null))
    or exists (select 1 from merge_requests where author_id is null
      or (state = 'merged' and merged_by_id is null) or (state = 'closed' and closed_by_id is null)))
order by n limit 1;
insert into namespaces (kind, name, path, full_name, full_path, visibility, owner_id, created_at, updated_at)
select 'user', name, username, name, username, 20, id, created_at, updated_at from users where state = 'ghost';
insert into namespace_ancestors (namespace_id, ancestor_id, depth)
select n.id, n.id, 0 from namespaces n join users u on u.id = n.owner_id where u.state = 'ghost';
update issues set author_id = (select id from users where state = 'ghost') where author_id is null;
update issues set closed_by_id = (select id from users where state = 'ghost')
where state = 'closed' and closed_by_id is null;
update merge_requests set author_id = (select id from users where state = 'ghost') where author_id is null;
update merge_requests set merged_by_id = (select id from users where state = 'ghost')
where state = 'merged' and merged_by_id is null;
update merge_requests set closed_by_id = (select id from users where state = 'ghost')
where state = 'closed' and closed_by_id is null;
update notes set author_id = (select id from users where state = 'ghost') where author_id is null;
`,
  },
  {
    id: "20261122-91-user-orders",
    sql: `
create index users_by_age on users (created_at, id);
create index users_by_change on users (updated_at, id);
create index users_by_name on users (name, id);
create index users_by_username on users (username, id);
`,
  },
  {
    id: "20261123-03-users-removed",
    sql: "create index users_removed on users (id) where state = 'removed';\n",
  },
  {
    id: "20261123-03-users-by-public-email",
    sql: "create index users_by_public_email on users (lower(public_email)) where public_email is not null;\n",
  },
  searchMigration("20261123-03-user-search", USER_SEARCH),
  {
    // Further addresses. One is a user's only once it is confirmed: until then anybody may have added it. Of the secret in
    // the mail only the SHA-256 is stored.
    id: "20261124-06-user-emails",
    sql: `
create table user_emails (
  id $id,
  user_id $int not null references users (id) on delete cascade,
  email $text not null,
  confirmed_at $int,
  digest $text,
  expires_at $int,
  created_at $int not null,
  updated_at $int not null
);
create unique index user_emails_by_user on user_emails (user_id, lower(email));
create index user_emails_of_user on user_emails (user_id, id);
create unique index user_emails_confirmed on user_emails (lower(email)) where confirmed_at is not null;
create unique index user_emails_by_digest on user_emails (digest) where digest is not null;
alter table users add column commit_email $text;
`,
  },
  {
    id: "20261125-86-user-activity",
    sql: "create index users_by_activity on users (last_activity_on, id) where last_activity_on is not null;\n",
  },
  {
    id: "20261127-91-more-of-profiles",
    sql: `
alter table users add column job_title $text;
alter table users add column pronouns $text;
alter table users add column discord $text;
alter table users add column github $text;
`,
  },
  {
    // Links that run what they are, such as `javascript:`, could be stored before.
    id: "20261128-35-websites-are-on-the-web",
    sql: `
update users set website_url = null where website_url like '%:%'
  and lower(website_url) not like 'http://%' and lower(website_url) not like 'https://%';
`,
  },
  {
    // What administrators write down about a user.
    id: "20261129-80-notes-about-users",
    sql: "alter table users add column note $text;\n",
  },
  {
    // For finding who did nothing for long, and whose contributions are hidden.
    id: "20261206-30-moderated-users",
    sql: `
create index users_active on users (last_activity_on, created_at, id) where state = 'active';
create index users_banned on users (id) where state = 'banned';
`,
  },
  {
    // Who people are at other providers of identities, by which they sign in; `checked_at`: when an LDAP server has said last
    // that they are there.
    id: "20261226-02-identities",
    sql: `
create table identities (
  id $id,
  user_id $int not null references users (id) on delete cascade,
  provider $text not null,
  extern_uid $text not null,
  checked_at $int,
  created_at $int not null,
  updated_at $int not null
);
create unique index identities_by_uid on identities (provider, extern_uid);
create unique index identities_by_user on identities (user_id, provider);
`,
  },
  {
    // Who has signed up, until their address is confirmed. Of the secret in the link only a digest is stored.
    id: "20261231-01-sign-ups",
    sql: `
create table sign_ups (
  id $id,
  username $text not null,
  name $text not null,
  email $text not null,
  password_hash $text not null,
  digest $text,
  expires_at $int not null,
  created_at $int not null
);
create unique index sign_ups_by_username on sign_ups (lower(username));
create unique index sign_ups_by_digest on sign_ups (digest);
create index sign_ups_by_expiry on sign_ups (expires_at);
`,
  },
  {
    id: "20261231-04-private-contributions",
    sql: "alter table users add column include_private_contributions $int not null default 0;\n",
  },
];
