import type { SealedColumn } from "../../core/sealed.ts";
import type { Migration } from "../../store/migrate.ts";

/** The secrets of hooks: a change of the key reaches them by it. */
export const HOOK_SECRETS: SealedColumn = {
  table: "hook_secrets",
  id: "id",
  column: "value",
  purpose: "'hook ' || hook_id || ' ' || kind || ' ' || name",
  wasPlain: true,
};

/** Moves URLs that may have secrets to what is encrypted. @param isSecret a condition: no literal may have a `?` */
const secretUrls = (isSecret: string) => `
insert into hook_secrets (hook_id, kind, name, value)
  select id, 'url', '', url from hooks where ${isSecret};
update hooks set url = '' where ${isSecret};
`;

/**
 * Webhooks of projects, of groups, and (without either) of the instance. `events` is a number with a bit per event, see
 * `HOOK_TRIGGERS` (src/hooks/events.ts). `base` is the address at which the hook was created: links in payloads begin with it
 * if the application has no address of its own. `failures` are those in a row.
 *
 * `hook_secrets` has what is encrypted: a hook's token, the values of its headers and of the variables of its URL, and the
 * URL itself if it may have secrets in it; then `url` is empty.
 *
 * A row of `hook_deliveries` is what one hook is told of one moment: queued with its `data`, and later what was sent and
 * answered, by the last attempt; `execution_duration` is in milliseconds, and the status is 0 without an answer. Hooks that
 * are told of the same moment, or of what follows from it, share its `event_uuid`. Rows of deleted hooks stay until the
 * daily sweep, since there can be very many.
 */
export const migrations: Migration[] = [
  {
    id: "20261123-09-hooks",
    sql: `
create table hooks (
  id $id,
  project_id $int references projects (id) on delete cascade,
  namespace_id $int references namespaces (id) on delete cascade,
  url $text not null,
  name $text,
  description $text,
  events $int not null,
  enable_ssl_verification $int not null default 1,
  push_events_branch_filter $text,
  branch_filter_strategy $text not null default 'wildcard',
  custom_webhook_template $text,
  base $text not null,
  failures $int not null default 0,
  disabled_until $int,
  created_at $int not null,
  updated_at $int not null,
  check (project_id is null or namespace_id is null)
);
create index hooks_of_project on hooks (project_id, id) where project_id is not null;
create index hooks_of_group on hooks (namespace_id, id) where namespace_id is not null;
create index hooks_of_instance on hooks (id) where project_id is null and namespace_id is null;
create table hook_secrets (
  id $id,
  hook_id $int not null references hooks (id) on delete cascade,
  kind $text not null,
  name $text not null,
  value $text not null,
  unique (hook_id, kind, name)
);
create table hook_deliveries (
  id $id,
  hook_id $int not null,
  moment $text not null,
  event_uuid $text not null,
  kind $text not null,
  user_id $int,
  data $text not null,
  created_at $int not null,
  pending $int not null default 1,
  trigger_name $text,
  url $text,
  request_headers $text,
  request_data $text,
  response_headers $text,
  response_body $text,
  response_status $int,
  execution_duration $int,
  attempted_at $int
);
create index hook_deliveries_of_hook on hook_deliveries (hook_id, id) where attempted_at is not null;
create index hook_deliveries_by_status on hook_deliveries (hook_id, response_status, id) where attempted_at is not null;
create index hook_deliveries_of_event on hook_deliveries (event_uuid, hook_id);
create index hook_deliveries_by_age on hook_deliveries (created_at, id) where pending = 0;
`,
  },
  {
    // They are encrypted when the application starts.
    id: "20261129-01-secret-urls-of-hooks",
    sql: {
      sqlite: secretUrls("instr(url, char(63)) + instr(url, '@') > 0"),
      postgres: secretUrls("strpos(url, chr(63)) + strpos(url, '@') > 0"),
    },
  },
];
