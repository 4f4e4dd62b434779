import type { Source } from "../../core/access/source.ts";
import {
  BEING_DELETED,
  BEING_DELETED_ROWS,
  NOT_DELETED_USER,
} from "../../core/access/visibility.ts";
import { type Page, paginate, type RowPage } from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import type { Database, Reader, Value } from "../../store/port.ts";

/** Whose a service account is: a group's, a project's, or with `undefined` any. */
export type Place = Pick<Source, "kind" | "id" | "column"> | undefined;

const ACCOUNTS = `service_accounts sa join users u on u.id = sa.user_id and ${NOT_DELETED_USER}`;

/** Those of what is being deleted are nobody's any more. */
const LIVING = `not exists (select 1 from projects sp where sp.id = sa.project_id and sp.visibility = ${BEING_DELETED})
  and not exists (select 1 from namespaces sn where sn.id = sa.namespace_id and sn.visibility = ${BEING_DELETED})`;

const within = (place: Place) => ({
  sql: place ? `sa.${place.column} = ?` : LIVING,
  values: place ? [place.id] : [],
});

/** The order of a list. */
export interface Order {
  readonly orderBy: "id" | "username";
  readonly sort: "asc" | "desc";
}

/** The service accounts of a place. */
export function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  place: Place,
  { orderBy, sort }: Order,
): Promise<RowPage> {
  const { sql, values } = within(place);
  return paginate(db, presenter, page, {
    from: `${ACCOUNTS} where ${sql}`,
    countFrom: `service_accounts sa where ${sql} and sa.user_id not in (${BEING_DELETED_ROWS.users})`,
    values,
    order: orderBy === "id" ? `sa.user_id ${sort}` : `u.username ${sort}, sa.user_id ${sort}`,
  });
}

/** Whether a user is a service account of a place. */
export async function isOf(db: Reader, place: Place, userId: number): Promise<boolean> {
  const { sql, values } = within(place);
  const found = await db.rows(`select 1 from ${ACCOUNTS} where ${sql} and sa.user_id = ?`, [
    ...values,
    userId,
  ]);
  return found.length > 0;
}

/** How many service accounts a group or project has. */
export async function count(db: Reader, place: NonNullable<Place>): Promise<number> {
  const sql = `select count(*) from service_accounts where ${place.column} = ?`;
  const [found] = await db.rows(sql, [place.id]);
  return found?.[0] as number;
}

/** Makes a user a service account. @param creatorId who made it, and answers for it */
export async function insert(
  db: Database,
  place: Place,
  userId: number,
  creatorId: number | null,
): Promise<void> {
  const [namespaceId, projectId] = (["namespace_id", "project_id"] as const).map((column) =>
    place?.column === column ? place.id : null,
  );
  await db.run(
    "insert into service_accounts (user_id, namespace_id, project_id, creator_id) values (?, ?, ?, ?)",
    [userId, namespaceId as Value, projectId as Value, creatorId],
  );
}
