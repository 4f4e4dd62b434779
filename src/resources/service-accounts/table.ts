import { BEING_DELETED } from "../../core/access/visibility.ts";
import type { Migration } from "../../store/migrate.ts";

const TABLE = `
create table service_accounts (
  user_id $int primary key references users (id) on delete cascade,
  namespace_id $int references namespaces (id) on delete cascade,
  project_id $int references projects (id) on delete cascade,
  creator_id $int references users (id) on delete set null,
  check (namespace_id is null or project_id is null)
);
create index service_accounts_of_namespace on service_accounts (namespace_id, user_id) where namespace_id is not null;
create index service_accounts_of_project on service_accounts (project_id, user_id) where project_id is not null;
create index service_accounts_by_creator on service_accounts (creator_id) where creator_id is not null;`;

const block = (ids: string) =>
  `update users set state = 'blocked' where id in (${ids}) and state = 'active'`;

/** They are blocked as soon as their group or project is hidden, which is before it is deleted, as the bots of tokens are. */
const BLOCKING = [
  ["service_accounts_removed", "after delete on service_accounts", "", "old.user_id"],
  ...(["project", "namespace"] as const).map((kind) => [
    `service_accounts_of_hidden_${kind}s`,
    `after update of visibility on ${kind}s`,
    `when (new.visibility = ${BEING_DELETED})`,
    `select user_id from service_accounts where ${kind}_id = new.id`,
  ]),
] as [name: string, event: string, when: string, ids: string][];

/** Users that programs are, of the instance, a group (`namespace_id`) or a project (`project_id`). */
export const migrations: Migration[] = [
  {
    id: "20261206-33-service-accounts",
    sql: {
      sqlite: `${TABLE}
${BLOCKING.map(([name, event, when, ids]) => `create trigger ${name} ${event} ${when} begin ${block(ids)}; end;`).join("\n")}
`,
      postgres: `${TABLE}
${BLOCKING.map(([name, event, when, ids]) => `create function ${name}() returns trigger language plpgsql as $do$ begin ${block(ids)}; return null; end $do$;\ncreate trigger ${name} ${event} for each row ${when} execute function ${name}();`).join("\n")}
`,
    },
  },
];
