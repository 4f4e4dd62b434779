import { type Page, paginate, type RowPage } from "../core/pagination.ts";
import type { Presenter } from "../core/presenter.ts";
import type { Awaitable, Database, Reader, Value } from "../store/port.ts";

/** Filters of the audit log; instants in epoch milliseconds. */
export interface AuditFilter {
  /** The author, or the account concerned. */
  userId?: number | undefined;
  /** The account concerned: the author's own, unless another is recorded. */
  entityId?: number | undefined;
  action?: string | undefined;
  before?: number | undefined;
  after?: number | undefined;
}

function conditions(filter: AuditFilter): { where: string; values: Value[] } {
  const where = ["1 = 1"];
  const values: Value[] = [];
  const add = (sql: string, value: Value | undefined, times = 1) => {
    if (value === undefined) return;
    where.push(sql);
    values.push(...Array<Value>(times).fill(value));
  };
  add("(a.author_id = ? or a.user_id = ?)", filter.userId, 2);
  add("(a.user_id = ? or (a.user_id is null and a.author_id = ?))", filter.entityId, 2);
  add("a.action = ?", filter.action);
  add("a.created_at < ?", filter.before);
  add("a.created_at >= ?", filter.after);
  return { where: where.join(" and "), values };
}

const NAMED = "audit_events a left join users u on u.id = a.user_id";

/** Audit events, newest first. */
export function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  filter: AuditFilter,
): Promise<RowPage> {
  const { where, values } = conditions(filter);
  return paginate(db, presenter, page, {
    from: `${NAMED} where ${where}`,
    countFrom: `audit_events a where ${where}`,
    values,
    order: "a.id desc",
  });
}

/** One audit event as a row for its presenter, or `undefined`. */
export async function row(
  db: Reader,
  presenter: Presenter,
  id: number,
): Promise<Value[] | undefined> {
  const [found] = await db.rows(`select ${presenter.columns} from ${NAMED} where a.id = ?`, [id]);
  return found;
}

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

/** The newest audit events. */
export function latest(db: Reader, filter: AuditFilter, most: number): Awaitable<AuditRow[]> {
  const { where, values } = conditions(filter);
  return db.all<AuditRow>(
    `select a.id, a.created_at, a.action, a.author_name, u.username, a.target, a.ip
     from ${NAMED} where ${where} order by a.id desc limit ?`,
    [...values, most],
  );
}

/** How many audit events are older than an instant. */
export async function countOlder(db: Reader, before: number): Promise<number> {
  const [found] = await db.rows("select count(*) from audit_events where created_at < ?", [before]);
  return found?.[0] as number;
}

/** Deletes the oldest audit events before an instant, up to a limit. Returns how many it deleted. */
export async function removeOlder(db: Database, before: number, most: number): Promise<number> {
  return db.run(
    `delete from audit_events where id in
       (select id from audit_events where created_at < ? order by created_at, id limit ?)`,
    [before, most],
  );
}
