import type { Owner } from "../../core/access/owner.ts";
import type { View } from "../../core/field.ts";
import { type Page, paginate, type RowPage } from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import { MOST_FAILURES } from "../../hooks/events.ts";
import { all, type Condition, when } from "../../store/conditions.ts";
import { insertRow } from "../../store/insert.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Awaitable, Database, Reader, Value } from "../../store/port.ts";

/** Whose hooks: a group's or project's; without an owner, those of the instance. */
export type HookOwner = Owner | undefined;

/** The hooks `h` of an owner, without those of status checks and integrations. */
function ownHooks(owner: HookOwner): Condition {
  return owner
    ? {
        sql: `h.${owner.column} = ? and h.check_name is null and h.integration_id is null`,
        values: [owner.id],
      }
    : { sql: "h.project_id is null and h.namespace_id is null", values: [] };
}

/** The hooks of an owner, oldest first. */
export async function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  owner: HookOwner,
  view: View,
): Promise<RowPage> {
  const { sql, values } = ownHooks(owner);
  const found = await paginate(db, presenter, page, {
    from: `hooks h where ${sql}`,
    values,
    order: "h.id",
  });
  await fillInSecrets(db, presenter, found.rows, view);
  return found;
}

/** A hook of an owner as a row of its presenter, or `undefined`. */
export async function row(
  db: Reader,
  presenter: Presenter,
  owner: HookOwner,
  hookId: number,
  view: View,
): Promise<Value[] | undefined> {
  const { sql, values } = ownHooks(owner);
  const rows = await db.rows(`select ${presenter.columns} from hooks h where ${sql} and h.id = ?`, [
    ...values,
    hookId,
  ]);
  await fillInSecrets(db, presenter, rows, view);
  return rows[0];
}

/** What a secret of a hook belongs to, as `HOOK_SECRETS` (table.ts) says it in SQL. */
export const purposeOf = (hookId: number, kind: SecretKind, name: string) =>
  `hook ${hookId} ${kind} ${name}`;

/** What a secret of a hook is. A `url` is one that may have secrets in it. */
export type SecretKind = "token" | "header" | "variable" | "url";

const SHOWN = { header: "custom_headers", variable: "url_variables" } as const;

/** Fills in the URLs that are encrypted, and which headers and variables hooks have, without their values. */
async function fillInSecrets(
  db: Reader,
  presenter: Presenter,
  rows: Value[][],
  { open }: View,
): Promise<void> {
  if (rows.length === 0) return;
  const among = placeholders(rows.map((one) => one[presenter.at("id")] as Value));
  const found = await db.rows(
    `select hook_id, kind, name, case when kind = 'url' then value end from hook_secrets
     where hook_id in (${among.sql}) and kind <> 'token' order by hook_id, kind, name`,
    among.values,
  );
  for (const one of rows) {
    const id = one[presenter.at("id")] as number;
    const url = found.find(([of, kind]) => of === id && kind === "url")?.[3];
    if (url) one[presenter.at("url")] = open(String(url), purposeOf(id, "url", ""));
    for (const [kind, field] of Object.entries(SHOWN)) {
      const own = found.filter(([hook, of]) => hook === id && of === kind);
      one[presenter.at(field)] = JSON.stringify(own.map(([, , key]) => ({ key })));
    }
  }
}

/** A hook as handlers and the worker need it. */
export interface Hook {
  readonly id: number;
  readonly project_id: number | null;
  readonly namespace_id: number | null;
  /** `""` if it is encrypted, see {@link SecretKind}. */
  readonly url: string;
  readonly events: number;
  readonly enable_ssl_verification: number;
  readonly push_events_branch_filter: string | null;
  readonly branch_filter_strategy: string;
  readonly custom_webhook_template: string | null;
  readonly base: string;
  /** Failures in a row. */
  readonly failures: number;
  readonly disabled_until: number | null;
  readonly updated_at: number;
  /** Of a status check: then it is told of merge requests that have to pass it. */
  readonly check_name: string | null;
  /** Of an integration: then it is told what that is told. */
  readonly integration_id: number | null;
}

const COLUMNS = `h.id, h.project_id, h.namespace_id, h.url, h.events, h.enable_ssl_verification,
  h.push_events_branch_filter, h.branch_filter_strategy, h.custom_webhook_template, h.base, h.failures,
  h.disabled_until, h.updated_at, h.check_name, h.integration_id`;

/** A hook of an owner, or `undefined`. */
export function find(
  db: Reader,
  owner: HookOwner,
  hookId: number,
): Awaitable<Readonly<Hook> | undefined> {
  const { sql, values } = ownHooks(owner);
  return db.one<Hook>(`select ${COLUMNS} from hooks h where ${sql} and h.id = ?`, [
    ...values,
    hookId,
  ]);
}

/** A status check of a project, or `undefined`. */
export function findCheck(
  db: Reader,
  projectId: number,
  hookId: number,
): Awaitable<Readonly<Hook> | undefined> {
  return db.one<Hook>(
    `select ${COLUMNS} from hooks h where h.project_id = ? and h.check_name is not null and h.id = ?`,
    [projectId, hookId],
  );
}

/** The hook with this id, whoever owns it, or `undefined`. */
export function findAny(db: Reader, hookId: number): Awaitable<Readonly<Hook> | undefined> {
  return db.one<Hook>(`select ${COLUMNS} from hooks h where h.id = ?`, [hookId]);
}

/** Adds a hook, and returns its id. */
export function insert(
  db: Database,
  owner: HookOwner,
  columns: Readonly<Record<string, Value | undefined>>,
  now: number,
): Promise<number> {
  const given = Object.entries(columns).filter(
    (entry): entry is [string, Value] => entry[1] !== undefined,
  );
  return insertRow(db, "hooks", {
    ...(owner && { [owner.column]: owner.id }),
    ...Object.fromEntries(given),
    created_at: now,
    updated_at: now,
  });
}

/** How many hooks an owner has. */
export async function count(db: Reader, owner: HookOwner): Promise<number> {
  const { sql, values } = ownHooks(owner);
  const [counted] = await db.rows(`select count(*) from hooks h where ${sql}`, values);
  return (counted as [number])[0];
}

/** Deletes a hook. What it was told stays until the daily sweep. */
export async function remove(db: Database, hookId: number): Promise<void> {
  await db.run("delete from hooks where id = ?", [hookId]);
}

/** Whose answers a log can be filtered by, with the statuses. */
const STATUSES = {
  successful: [200, 299],
  client_failure: [400, 499],
  server_failure: [500, 599],
} as const;
export type LogStatus = keyof typeof STATUSES;
export const LOG_STATUSES = Object.keys(STATUSES) as LogStatus[];

/** What a hook was sent, newest first. */
export function log(
  db: Reader,
  presenter: Presenter,
  page: Page,
  hookId: number,
  status: LogStatus | undefined,
): Promise<RowPage> {
  const where = all([
    { sql: "hd.hook_id = ? and hd.attempted_at is not null", values: [hookId] },
    status && when("hd.response_status between ? and ?", ...STATUSES[status]),
  ]);
  return paginate(db, presenter, page, {
    from: `hook_deliveries hd where ${where.sql}`,
    values: where.values,
    order: "hd.id desc",
  });
}

/** Records that a delivery is not tried again, since its hook is switched off. */
export async function giveUp(db: Database, deliveryId: number): Promise<void> {
  await db.run("update hook_deliveries set pending = 0 where id = ?", [deliveryId]);
}

/** Removes a delivery that is not for its hook. */
export async function forget(db: Database, deliveryId: number): Promise<void> {
  await db.run("delete from hook_deliveries where id = ?", [deliveryId]);
}

/** Records that a hook answered, or that it failed once more. */
export async function setFailures(
  db: Database,
  hookId: number,
  failures: number,
  disabledUntil: number | null,
): Promise<void> {
  await db.run("update hooks set failures = ?, disabled_until = ? where id = ?", [
    Math.min(failures, MOST_FAILURES),
    disabledUntil,
    hookId,
  ]);
}
