import type { Migration } from "../../store/migrate.ts";

/**
 * Who wants to hear of what: a user's settings for everything (`scope` is `global`), for a group or for a project.
 * `flags` has the set event flags as a JSON object; they are kept whatever the level is.
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
];
