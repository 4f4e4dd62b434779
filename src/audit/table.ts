import type { Migration } from "../store/migrate.ts";

/** The audit log. */
export const migrations: Migration[] = [
  {
    // Names are stored beside ids, since the record outlives the account.
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
  {
    // The account's name at that time, which outlives the account, too.
    id: "20261128-31-audit-names-of-users",
    sql: `
alter table audit_events add column user_name $text;
update audit_events set user_name = (select u.username from users u where u.id = audit_events.user_id)
  where user_id is not null;
`,
  },
  {
    // The group or project that an event is about, with its path at that time. Events without one are about accounts.
    id: "20261204-02-places-of-audit-events",
    sql: `
alter table audit_events add column place_kind $text;
alter table audit_events add column place_id $int;
alter table audit_events add column place_path $text;
create index audit_events_of_places on audit_events (place_kind, place_id, created_at, id)
  where place_id is not null;
create index audit_events_by_place_kind on audit_events (place_kind, id);
create index audit_events_of_places_by_author
  on audit_events (place_kind, place_id, author_id, created_at, id) where place_id is not null;
`,
  },
];
