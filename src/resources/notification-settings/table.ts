import type { Migration } from "../../store/migrate.ts";

/**
 * Users' notification settings: for everything (`scope` is `global`), for a group or for a project. `flags` has the
 * event flags as a JSON object; they are stored at every level.
 *
 * `mail_outbox` and `mail_cursor` were replaced by the outbox of all workers (src/jobs/table.ts).
 */
export const migrations: Migration[] = [
  {
    id: "20261121-10-notification-settings",
    sql: `
create table notification_settings (
  id $id,
  user_id $int not null references users (id) on delete cascade,
  scope $text not null,
  namespace_id $int references namespaces (id) on delete cascade,
  project_id $int references projects (id) on delete cascade,
  level $text not null,
  notification_email $text,
  flags $text not null default '{}',
  created_at $int not null,
  updated_at $int not null
);
create unique index notification_settings_global on notification_settings (user_id) where scope = 'global';
create unique index notification_settings_of_namespace on notification_settings (namespace_id, user_id) where namespace_id is not null;
create unique index notification_settings_of_project on notification_settings (project_id, user_id) where project_id is not null;
`,
  },
  {
    id: "20261121-15-mail-outbox",
    sql: `
create table mail_outbox (
  id $id,
  event_id $int not null references events (id) on delete cascade,
  user_id $int not null references users (id) on delete cascade,
  reason $text not null,
  email $text not null,
  state $text not null default 'pending',
  attempts $int not null default 0,
  next_attempt_at $int not null,
  error $text,
  created_at $int not null,
  updated_at $int not null
);
create unique index mail_outbox_once on mail_outbox (event_id, user_id);
create index mail_outbox_due on mail_outbox (state, next_attempt_at, id);
create index mail_outbox_by_user on mail_outbox (user_id);
create table mail_cursor (
  id $int primary key,
  event_id $int not null
);
`,
  },
];
