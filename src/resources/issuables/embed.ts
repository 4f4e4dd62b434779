import type { Caller } from "../../core/access/caller.ts";
import { visibleNotes } from "../../core/access/visibility.ts";
import { notFound } from "../../core/errors.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Value } from "../../store/port.ts";
import { userSummary } from "../users/json.ts";
import { gather } from "./gather.ts";
import { isSubscribed } from "./queries.ts";
import type { IssuableType, Presenting } from "./type.ts";

/**
 * A single issuable as a row of its presenter.
 *
 * @throws ApiError 404 if it does not exist
 */
export async function rowOf(
  context: Presenting & { caller: Caller | undefined },
  type: IssuableType,
  id: number,
): Promise<Value[]> {
  const { db, presenter, caller } = context;
  // Sent together, so that PostgreSQL answers in one round trip.
  const [[row], fillIn, isTheirs] = await Promise.all([
    db.rows(`select ${presenter.columns} from ${type.from} where ${type.alias}.id = ?`, [id]),
    embedded(context, type, [id]),
    caller !== undefined && isSubscribed(db, type, id, caller.id),
  ]);
  if (!row) throw notFound();
  fillIn([row]);
  row[presenter.at("subscribed")] = String(isTheirs);
  return row;
}

/** The issuables with these ids as rows of their presenter, in any order. */
export async function rowsOf(
  context: Presenting,
  type: IssuableType,
  ids: readonly number[],
): Promise<Value[][]> {
  if (ids.length === 0) return [];
  const among = placeholders(ids);
  const rows = await context.db.rows(
    `select ${context.presenter.columns} from ${type.from} where ${type.alias}.id in (${among.sql})`,
    among.values,
  );
  await embed(context, type, rows);
  return rows;
}

/** Fills in {@link embedded}. Does nothing for presenters without labels, which have none of these. */
export async function embed(
  context: Presenting,
  type: IssuableType,
  rows: Value[][],
): Promise<void> {
  const { presenter } = context;
  if (rows.length === 0 || !("labels" in presenter.fields)) return;
  const ids = rows.map((row) => row[presenter.at("id")] as Value);
  const fillIn = await embedded(context, type, ids);
  fillIn(rows);
}

/**
 * Reads labels, assignees, the numbers of notes and votes, and what the type has of its own, in a few queries for all ids.
 *
 * @returns a function that fills them into rows of the presenter, and the type's own fields
 */
async function embedded(
  context: Presenting,
  type: IssuableType,
  ids: readonly Value[],
): Promise<(rows: Value[][]) => void> {
  const { db, presenter, view, viewer } = context;
  const { column, prefix } = type;
  const among = placeholders(ids);
  const readable = visibleNotes(viewer);
  // Sent together, so that PostgreSQL answers in one round trip.
  const [labelled, assigned, counted, fillInOwn] = await Promise.all([
    db.rows(
      `select l.name, x.${column} from ${prefix}_labels x join labels l on l.id = x.label_id
       where x.${column} in (${among.sql}) order by l.name, l.id`,
      among.values,
    ),
    db.rows(
      `select ${userSummary.columns}, x.${column} from ${prefix}_assignees x
       join users u on u.id = x.user_id where x.${column} in (${among.sql}) order by u.id`,
      among.values,
    ),
    db.rows(
      `select ${column}, 'notes', count(*) from notes nt
       where ${column} in (${among.sql}) and system = 0 and ${readable.sql} group by ${column}
       union all
       select ${column}, name, count(*) from award_emoji
       where ${column} in (${among.sql}) and name in ('thumbsup', 'thumbsdown')
       group by ${column}, name`,
      [...among.values, ...readable.values, ...among.values],
    ),
    type.readOwn(ids, context),
  ]);
  const labels = gather(labelled, ([name]) => JSON.stringify(name));
  const assignees = gather(assigned, (found) => userSummary.write(found, view));
  const counts = new Map(counted.map(([id, what, count]) => [`${id} ${what}`, String(count)]));
  const put = (row: Value[], name: string, value: string) => {
    row[presenter.at(name)] = value;
  };
  const idAt = presenter.at("id");
  return (rows) => {
    for (const row of rows) {
      const id = row[idAt] as Value;
      put(row, "labels", `[${(labels.get(id) ?? []).join(",")}]`);
      put(row, "assignees", `[${(assignees.get(id) ?? []).join(",")}]`);
      put(row, "assignee", assignees.get(id)?.[0] ?? "null");
      put(row, "user_notes_count", counts.get(`${id} notes`) ?? "0");
      put(row, "upvotes", counts.get(`${id} thumbsup`) ?? "0");
      put(row, "downvotes", counts.get(`${id} thumbsdown`) ?? "0");
    }
    fillInOwn(rows);
  };
}
