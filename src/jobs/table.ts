import type { Migration } from "../store/migrate.ts";

/**
 * `outbox` has the pending tasks, for each event one row per worker. A row is removed when its task is done. `owner` is
 * the token of the running attempt's lease, which belongs to a row of `processes` and began at `leased_at`. `due_at` is
 * when a free task is tried next; 0 is at once. Tasks of a worker with the same `order_key` are done one after another,
 * in the order of their ids. `failed_at` is set if a task is not tried any more.
 *
 * `outbox_workers` has the known workers; tasks are not queued for workers not seen for a long time. `token` is random
 * and identifies this installation. `ordered` is 1 if announced tasks get their key. `failing_since` is set while the
 * worker can't reach the service it needs.
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
  {
    id: "20261122-80-outbox-order",
    sql: `
alter table outbox add column order_key $int;
alter table outbox_workers add column ordered $int not null default 0;
drop index outbox_due;
create index outbox_due on outbox (worker, due_at, id)
  where failed_at is null and owner is null and order_key is null;
create index outbox_order on outbox (worker, order_key, id) where failed_at is null and order_key is not null;
create index outbox_leased on outbox (worker, id) where owner is not null;
`,
  },
];

/**
 * `jobs` has the periodic jobs that one of several processes runs. `due_at` is the time of the next run. `owner` and
 * `process` are the lease of the running one, as in `outbox`. `error` is why the last run failed; null if it succeeded.
 */
export const periodicMigrations: Migration[] = [
  {
    id: "20261121-45-jobs",
    sql: `
create table jobs (
  name $text primary key,
  due_at $int not null
);
`,
  },
  {
    // Why the last run failed; null if it succeeded.
    id: "20261122-60-jobs-error",
    sql: `
alter table jobs add column error $text;
`,
  },
];

/**
 * `processes` has those that hold leases. `beat` grows while one lives: others tell by it whether it does, and by
 * `machine`, `pid` and `started` if they are on the same machine. `seen_at` is for people.
 */
export const leaseMigrations: Migration[] = [
  {
    id: "20261128-30-leases",
    sql: `
create table processes (
  id $id,
  machine $text not null,
  pid $int not null,
  started $text not null,
  beat $int not null,
  seen_at $int not null
);
alter table outbox add column process $int;
alter table outbox add column leased_at $int;
alter table jobs add column owner $text;
alter table jobs add column process $int;
`,
  },
  {
    // The queues of the outbox that processes listen to: only these get tasks.
    id: "20261201-40-listeners",
    sql: `
create table listeners (
  queue $text not null,
  process $int not null references processes (id) on delete cascade,
  primary key (queue, process)
);
create index listeners_process on listeners (process);
`,
  },
];
