import type { Owner } from "../../core/access/owner.ts";
import { NOT_DELETED_USER } from "../../core/access/visibility.ts";
import { type Page, paginate, type RowPage } from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import type { Database, Reader, Value } from "../../store/port.ts";

const REQUESTS = `access_requests ar join users u on u.id = ar.user_id and ${NOT_DELETED_USER}`;

/** The requests for access to a group or project, oldest first. */
export function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  { column, id }: Owner,
): Promise<RowPage> {
  return paginate(db, presenter, page, {
    from: `${REQUESTS} where ar.${column} = ?`,
    values: [id],
    order: "ar.id",
  });
}

/** A user's request as a row of its presenter, or `undefined`. */
export async function row(
  db: Reader,
  presenter: Presenter,
  { column, id }: Owner,
  userId: number,
): Promise<Value[] | undefined> {
  const [found] = await db.rows(
    `select ${presenter.columns} from ${REQUESTS} where ar.${column} = ? and ar.user_id = ?`,
    [id, userId],
  );
  return found;
}

/** Whether a group or project lets users ask for access. */
export async function isEnabled(db: Reader, { column, id }: Owner): Promise<boolean> {
  const table = column === "project_id" ? "projects" : "namespaces";
  const found = await db.rows(`select request_access_enabled from ${table} where id = ?`, [id]);
  return found[0]?.[0] === 1;
}

/** Adds a user's request; returns whether there was none. */
export async function insert(
  db: Database,
  { column, id }: Owner,
  userId: number,
  now: number,
): Promise<boolean> {
  const added = await db.run(
    `insert into access_requests (${column}, user_id, created_at) values (?, ?, ?) on conflict do nothing`,
    [id, userId, now],
  );
  return added > 0;
}

/** Removes a user's request, if there is one; returns whether there was. */
export async function remove(
  db: Database,
  { column, id }: Owner,
  userId: number,
): Promise<boolean> {
  const removed = await db.run(`delete from access_requests where ${column} = ? and user_id = ?`, [
    id,
    userId,
  ]);
  return removed > 0;
}
