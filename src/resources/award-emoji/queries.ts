import { type Page, paginate, type RowPage } from "../../core/pagination.ts";
import { type Presenter, rowReader } from "../../core/presenter.ts";
import type { Database, Reader } from "../../store/port.ts";
import type { NoteableType } from "../issuables/type.ts";

/** The issue, merge request, snippet or note an emoji was given to. */
export interface Awardable {
  column: NoteableType["column"] | "note_id";
  id: number;
}

const AWARDS = "award_emoji ae join users u on u.id = ae.user_id";

/** The emoji given to one of these, oldest first. */
export function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  to: Awardable,
): Promise<RowPage> {
  return paginate(db, presenter, page, {
    from: `${AWARDS} where ae.${to.column} = ?`,
    values: [to.id],
    order: "ae.id",
  });
}

/** One award as a row of its presenter. */
export const row = rowReader(`${AWARDS} where ae.id = ?`);

/** An award given to `to`, or `undefined`. */
export async function find(
  db: Reader,
  to: Awardable,
  awardId: number,
): Promise<{ id: number; user_id: number; updated_at: number } | undefined> {
  return db.one<{ id: number; user_id: number; updated_at: number }>(
    `select id, user_id, updated_at from award_emoji where id = ? and ${to.column} = ?`,
    [awardId, to.id],
  );
}

/** What a user gave to `to` by this name, or `undefined`. */
export async function findNamed(
  db: Reader,
  to: Awardable,
  { name, user_id }: { name: string; user_id: number },
): Promise<{ id: number } | undefined> {
  return db.one<{ id: number }>(
    `select id from award_emoji where ${to.column} = ? and name = ? and user_id = ?`,
    [to.id, name, user_id],
  );
}

/** Gives an emoji and returns the award's id, or `undefined` if the user already gave the same one. */
export async function insert(
  db: Database,
  to: Awardable,
  award: { name: string; user_id: number },
  now: number,
): Promise<number | undefined> {
  const [inserted] = await db.all<{ id: number }>(
    `insert into award_emoji (name, user_id, ${to.column}, created_at, updated_at)
     values (?, ?, ?, ?, ?) on conflict do nothing returning id`,
    [award.name, award.user_id, to.id, now, now],
  );
  return inserted?.id;
}

/** Removes an award. */
export async function remove(db: Database, awardId: number): Promise<void> {
  await db.run("delete from award_emoji where id = ?", [awardId]);
}
