import { NOT_DELETED_USER } from "../core/access/visibility.ts";
import { type Page, paginate, type RowPage } from "../core/pagination.ts";
import type { Presenter } from "../core/presenter.ts";
import { all, type Condition, when } from "../store/conditions.ts";
import type { Awaitable, Database, Reader, Value } from "../store/port.ts";
import type { AuditedPlace } from "./log.ts";

/** Filters of the audit log; instants in epoch milliseconds. */
export interface AuditFilter {
  /** The author, or the account concerned. */
  userId?: number | undefined;
  /** What it is about: a group, a project or an account, or all of a kind. */
  entity?: { kind: AuditedPlace["kind"] | "user"; id: number | undefined } | undefined;
  authorId?: number | undefined;
  action?: string | undefined;
  before?: number | undefined;
  after?: number | undefined;
}

function conditionOf(filter: AuditFilter): Condition {
  const { userId, entity, authorId, action, before, after } = filter;
  const of = entity?.id;
  return all([
    when("(a.author_id = ? or a.user_id = ?)", userId, userId),
    entity?.kind === "user"
      ? all([
          when("a.place_kind is null"),
          when("(a.user_id = ? or (a.user_id is null and a.author_id = ?))", of, of),
        ])
      : all([when("a.place_kind = ?", entity?.kind), when("a.place_id = ?", of)]),
    when("a.author_id = ?", authorId),
    when("a.action = ?", action),
    when("a.created_at < ?", before),
    when("a.created_at >= ?", after),
  ]);
}

const EVENTS = `audit_events a left join users u on u.id = a.user_id and ${NOT_DELETED_USER}`;

/** Audit events, newest first. */
export function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  filter: AuditFilter,
): Promise<RowPage> {
  const where = conditionOf(filter);
  return paginate(db, presenter, page, {
    from: `${EVENTS} where ${where.sql}`,
    countFrom: `audit_events a where ${where.sql}`,
    values: where.values,
    // The newest of a place are found in an index, also between two instants.
    order: filter.entity?.id === undefined ? "a.id desc" : "a.created_at desc, a.id desc",
  });
}

/** One audit event of those that fit as a row for its presenter, or `undefined`. */
export async function row(
  db: Reader,
  presenter: Presenter,
  id: number,
  filter: AuditFilter = {},
): Promise<Value[] | undefined> {
  const where = all([when("a.id = ?", id), conditionOf(filter)]);
  const [found] = await db.rows(
    `select ${presenter.columns} from ${EVENTS} where ${where.sql}`,
    where.values,
  );
  return found;
}

/** The user name of the account concerned: today's, or the last one of a deleted account. */
export const USER_NAME = "coalesce(u.username, a.user_name)";

/** An audit event as stored, with the user name of the account concerned. */
export interface AuditRow {
  id: number;
  created_at: number;
  action: string;
  author_name: string;
  username: string | null;
  target: string;
  ip: string;
}

/** The newest audit events. @param limit the maximum number */
export function latest(db: Reader, filter: AuditFilter, limit: number): Awaitable<AuditRow[]> {
  const where = conditionOf(filter);
  return db.all<AuditRow>(
    `select a.id, a.created_at, a.action, a.author_name, ${USER_NAME} as username, a.target, a.ip
     from ${EVENTS} where ${where.sql} order by a.id desc limit ?`,
    [...where.values, limit],
  );
}

/** How many audit events are older than an instant. */
export async function countOlder(db: Reader, before: number): Promise<number> {
  const [found] = await db.rows("select count(*) from audit_events where created_at < ?", [before]);
  return found?.[0] as number;
}

/** Deletes the oldest audit events before an instant, up to a limit. Returns how many it deleted. */
export async function removeOlder(db: Database, before: number, limit: number): Promise<number> {
  return db.run(
    `delete from audit_events where id in
       (select id from audit_events where created_at < ? order by created_at, id limit ?)`,
    [before, limit],
  );
}
