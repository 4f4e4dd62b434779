import type { Migration } from "../store/migrate.ts";

/**
 * `outbox` has what is still to be done because something happened, a row for each worker that does some of it. A row is
 * removed when it is done. `due_at` is when it is to be tried next; while `owner` is at it, when others take that one
 * for dead. `failed_at` is set where it is tried no more.
 *
 * `outbox_workers` has the workers that there are; of one that was not seen for long, nothing is queued. `token` is
 * random and tells this installation from others. `failing_since` is set while what the worker needs can't be reached.
 */
export const outboxMigrations: Migration[] = [
  {
    id: "20261122-40-outbox",
    sql: `
create table outbox (
  id $id,
  worker $text not null,
  payload $text not null,
  attempts $int not null default 0,
  due_at $int not null,
  owner $text,
  error $text,
  failed_at $int,
  created_at $int not null
);
create index outbox_due on outbox (worker, due_at, id) where failed_at is null;
create index outbox_failed on outbox (worker, id) where failed_at is not null;
create table outbox_workers (
  name $text primary key,
  token $text not null,
  seen_at $int not null,
  failing_since $int
);
`,
  },
  {
    // What the first mailer had queued goes on here: events nobody had looked at, and mails that were not sent.
    id: "20261122-41-mail-in-outbox",
    sql: `
insert into outbox (worker, payload, due_at, created_at)
  select 'mail', '{"event":' || e.id || '}', e.created_at, e.created_at
  from mail_cursor c join events e on e.id > c.event_id order by e.id;
insert into outbox (worker, payload, attempts, due_at, error, failed_at, created_at)
  select 'mail', '{"event":' || event_id || ',"user":' || user_id || ',"reason":"' || reason || '"}', attempts,
    next_attempt_at, error, case when state = 'pending' then null else updated_at end, created_at
  from mail_outbox where state <> 'sent' order by id;
drop table mail_outbox;
drop table mail_cursor;
`,
  },
];
