import type { Migration } from "../store/migrate.ts";

/**
 * `outbox` has the pending tasks, for each event one row per worker. A row is removed when its task is done. `due_at`
 * is when the task is tried next or, while `owner` works on it, when others consider that owner dead. `failed_at` is
 * set if it is not tried any more.
 *
 * `outbox_workers` has the known workers; tasks are not queued for workers not seen for a long time. `token` is random
 * and identifies this installation. `failing_since` is set while the worker can't reach the service it needs.
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
    // Takes over the queue of the first mailer: events it had not processed, and unsent mails.
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
