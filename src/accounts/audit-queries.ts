import { type Listed, type Page, paginate } from "../core/pagination.ts";
import type { Shape } from "../core/present.ts";
import type { Awaitable, Database, Reader, Value } from "../store/port.ts";

/** What a list of security events can be narrowed by; instants in epoch milliseconds. */
export interface AuditFilter {
  /** Who did it, or whom it concerns. */
  userId?: number | undefined;
  /** Whose account it concerns: that of who did it, unless it is another's. */
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

/** Security events, the newest first. */
export function list(db: Reader, shape: Shape, page: Page, filter: AuditFilter): Promise<Listed> {
  const { where, values } = conditions(filter);
  return paginate(db, shape, page, {
    from: `${NAMED} where ${where}`,
    countFrom: `audit_events a where ${where}`,
    values,
    order: "a.id desc",
  });
}

/** One security event as a row of its shape, or `undefined`. */
export async function row(db: Reader, shape: Shape, id: number): Promise<Value[] | undefined> {
  const [found] = await db.rows(`select ${shape.columns} from ${NAMED} where a.id = ?`, [id]);
  return found;
}

/** A security event as it is kept, with the user name of whom it concerns. */
export interface AuditRow {
  id: number;
  created_at: number;
  action: string;
  author_name: string;
  username: string | null;
  target: string;
  ip: string;
}

/** The newest security events. */
export function latest(db: Reader, filter: AuditFilter, most: number): Awaitable<AuditRow[]> {
  const { where, values } = conditions(filter);
  return db.all<AuditRow>(
    `select a.id, a.created_at, a.action, a.author_name, u.username, a.target, a.ip
     from ${NAMED} where ${where} order by a.id desc limit ?`,
    [...values, most],
  );
}

/** How many security events are older than an instant. */
export async function countOlder(db: Reader, before: number): Promise<number> {
  const [found] = await db.rows("select count(*) from audit_events where created_at < ?", [before]);
  return found?.[0] as number;
}

/** Removes the oldest security events before an instant, at most so many, and gives how many they were. */
export async function removeOlder(db: Database, before: number, most: number): Promise<number> {
  return db.run(
    `delete from audit_events where id in
       (select id from audit_events where created_at < ? order by created_at, id limit ?)`,
    [before, most],
  );
}
