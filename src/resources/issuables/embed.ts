import type { Caller } from "../../core/access/caller.ts";
import {
  countedNotes,
  inProject,
  NOT_DELETED_LABEL,
  NOT_DELETED_USER,
} from "../../core/access/visibility.ts";
import { notFound } from "../../core/errors.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Value } from "../../store/port.ts";
import { statement } from "../../store/texts.ts";
import { labelDetails } from "../labels/json.ts";
import { userSummary } from "../users/json.ts";
import { HIDDEN, lackingIn } from "./attributes.ts";
import { detailedLabels } from "./fields.ts";
import { gather, gatherShared, idsOf } from "./gather.ts";
import { isSubscribed } from "./queries.ts";
import type { IssuableType, Presenting } from "./type.ts";

/**
 * A single issuable as a row of its presenter.
 *
 * @param given.source its project, if it has been found for the caller
 * @throws ApiError 404 if it does not exist
 */
export async function rowOf(
  given: Presenting & { caller: Caller | undefined },
  type: IssuableType,
  id: number,
): Promise<Value[]> {
  const { db, presenter, caller, source } = given;
  const context = source ? { ...given, viewer: inProject(given.viewer, source) } : given;
  // Sent together, so that PostgreSQL answers in one round trip.
  const [[row], fill, isTheirs] = await Promise.all([
    db.rows(statement`select ${presenter.columns} from ${type.from} where ${type.alias}.id = ?`, [
      id,
    ]),
    embedded(context, type, [id]),
    caller !== undefined && isSubscribed(db, type, id, caller.id),
  ]);
  if (!row) throw notFound();
  fill([row]);
  row[presenter.at("subscribed")] = String(isTheirs);
  return row;
}

/**
 * An issuable that the caller has just created, without labels or assignees, as a row of its presenter: nothing else
 * refers to it yet.
 */
export async function newRowOf(
  context: Presenting,
  type: IssuableType,
  id: number,
): Promise<Value[]> {
  const { db, presenter } = context;
  const rows = await db.rows(
    statement`select ${presenter.columns} from ${type.from} where ${type.alias}.id = ?`,
    [id],
  );
  const [row] = rows as [Value[]];
  const fillInOwn = await type.readOwn([], context);
  fillIn(rows, context, type, { labelled: [], assigned: [], counted: [] });
  fillInOwn(rows);
  row[presenter.at("subscribed")] = "true";
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
    statement`select ${context.presenter.columns} from ${type.from} where ${type.alias}.id in (${among.sql})`,
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
  const fill = await embedded(context, type, ids);
  fill(rows);
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
  const { db, viewer } = context;
  const { column, prefix } = type;
  const among = placeholders(ids);
  const readable = countedNotes(viewer);
  // Sent together, so that PostgreSQL answers in one round trip.
  const [labelled, assigned, counted, fillInOwn] = await Promise.all([
    db.rows(
      statement`select ${hasDetails(context) ? labelDetails.columns : "l.name"}, ${idsOf(`x.${column}`)} from ${prefix}_labels x join labels l on l.id = x.label_id
       where x.${column} in (${among.sql}) and ${NOT_DELETED_LABEL} group by l.id order by l.name, l.id`,
      among.values,
    ),
    db.rows(
      statement`select ${userSummary.columns}, ${idsOf(`x.${column}`)} from ${prefix}_assignees x
       join users u on u.id = x.user_id
       where x.${column} in (${among.sql}) and ${NOT_DELETED_USER} group by u.id order by u.id`,
      among.values,
    ),
    db.rows(
      statement`select 'notes', count(*), ${column} from notes nt
       where ${column} in (${among.sql}) and system = 0 and ${readable.sql} group by ${column}
       union all
       select name, count(*), ${column} from award_emoji
       where ${column} in (${among.sql}) and name in ('thumbsup', 'thumbsdown')
       group by ${column}, name`,
      [...among.values, ...readable.values, ...among.values],
    ),
    type.readOwn(ids, context),
  ]);
  return (rows) => {
    fillIn(rows, context, type, { labelled, assigned, counted });
    fillInOwn(rows);
  };
}

/** Whether labels are shown with their details. */
const hasDetails = ({ presenter }: Presenting) => presenter.fields["labels"] === detailedLabels;

/** What {@link embedded} has read: rows that end with the ids of issuables. */
interface Read {
  labelled: Value[][];
  assigned: Value[][];
  counted: Value[][];
}

function fillIn(
  rows: Value[][],
  context: Presenting,
  { prefix }: IssuableType,
  { labelled, assigned, counted }: Read,
): void {
  const { presenter, view, tier } = context;
  const labels = gatherShared(labelled, (found) =>
    hasDetails(context) ? labelDetails.write(found, view) : JSON.stringify(found[0]),
  );
  const assignees = gatherShared(assigned, (found) => userSummary.write(found, view));
  const counts = gather(counted, ([what, count]) => ({
    what: COUNTED[what as keyof typeof COUNTED],
    count: String(count),
  }));
  // Epics show fewer fields.
  const isShown = (name: string) => name in presenter.fields;
  const at = Object.fromEntries(
    FILLED.map((name) => [name, isShown(name) ? presenter.at(name) : undefined]),
  ) as Places;
  const lacking = lackingIn(prefix, tier)
    .filter(isShown)
    .map((name) => presenter.at(name));
  for (const row of rows) {
    const id = row[presenter.at("id")] as Value;
    for (const place of lacking) row[place] = HIDDEN;
    const [own = [], assigned = []] = [labels.get(id), assignees.get(id)];
    const put = (name: (typeof FILLED)[number], text: string) => {
      const place = at[name];
      if (place !== undefined) row[place] = text;
    };
    put("labels", `[${own.join(",")}]`);
    put("assignees", `[${assigned.join(",")}]`);
    put("assignee", assigned[0] ?? "null");
    for (const name of Object.values(COUNTED)) put(name, "0");
    for (const { what, count } of counts.get(id) ?? []) put(what, count);
  }
}

/** The columns in which counts are shown. */
const COUNTED = {
  notes: "user_notes_count",
  thumbsup: "upvotes",
  thumbsdown: "downvotes",
} as const;
const FILLED = ["labels", "assignees", "assignee", ...Object.values(COUNTED)] as const;
type Places = Record<(typeof FILLED)[number], number | undefined>;
