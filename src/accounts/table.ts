import type { Migration } from "../store/migrate.ts";

/** What signing in needs, whichever door it is done by. */
export const migrations: Migration[] = [
  {
    // Of the cookie's value only its SHA-256 is kept.
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
    // How often something was tried in the running window of a key, such as an account or an address.
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
    // Names are kept beside ids: the record outlives the account.
    id: "20261121-52-audit-events",
    sql: `
create table audit_events (
  id $id,
  created_at $int not null,
  action $text not null,
  author_id $int,
  author_name $text not null,
  user_id $int,
  target $text not null,
  ip $text not null
);
create index audit_events_by_author on audit_events (author_id, id);
create index audit_events_by_user on audit_events (user_id, id);
create index audit_events_by_time on audit_events (created_at, id);
`,
  },
  {
    id: "20261121-67-audit-events-by-action",
    sql: `
create index audit_events_by_action on audit_events (action, id);
`,
  },
];
