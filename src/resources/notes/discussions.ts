import { type Viewer, visibleNotes } from "../../core/access/visibility.ts";
import * as field from "../../core/field.ts";
import { MAX_READ_CHARACTERS, type Page, paginate, type RowPage } from "../../core/pagination.ts";
import { presenter } from "../../core/presenter.ts";
import type { Context } from "../../core/resource.ts";
import type { Condition } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader, Value } from "../../store/port.ts";
import type { DiscussedType } from "../issuables/type.ts";
import { note, RESOLVABLE } from "./json.ts";
import { NOTES } from "./queries.ts";

/** The number of the discussion that a row `nt` of notes is in: the id of the note it began with. */
export const NUMBER = "coalesce(nt.thread_id, nt.id)";

/** The 40 hexadecimal digits by which clients know a discussion (docs/decisions/0022). */
export function idOf(number: number): string {
  return number.toString(16).padStart(40, "0");
}

/** The number of a discussion, or `undefined` if no discussion can have this id. */
export function numberOf(id: string): number | undefined {
  const number = /^[0-9a-f]{40}$/.test(id) ? Number.parseInt(id, 16) : 0;
  return number > 0 && Number.isSafeInteger(number) ? number : undefined;
}

/** A discussion: a note that stands alone, or a thread. */
export const discussion = presenter({
  id: field.derived([NUMBER], "string", ([number]) => idOf(Number(number))),
  individual_note: field.flag("case when nt.thread_id is null then 1 else 0 end"),
  notes: field.embedded("notes", "array of Note", "[]", { items: note.fields }),
});

/** A discussion as stored. */
export interface Discussion {
  number: number;
  /** Null if it is a note that stands alone. */
  thread_id: number | null;
  replies: number;
  /** The length of the replies together. */
  characters: number;
  internal: number;
  /** 1 if it is a note that records an action. Such notes can be in others, too. */
  system: number;
  /** The commit of a merge request that it is about, in hex. */
  commit_id: string | null;
  /** How many of its notes can be resolved, and how many of these are not. */
  resolvable: number;
  unresolved: number;
}

/** A discussion of a record by the id clients know, or `undefined` if there is none that the caller may read. */
export async function find(
  db: Reader,
  type: DiscussedType,
  id: number,
  discussionId: string,
  viewer: Viewer,
): Promise<Discussion | undefined> {
  const number = numberOf(discussionId);
  if (number === undefined) return undefined;
  const { sql, values } = notesOf(type, id, number, viewer);
  return db.one<Discussion>(
    `select ${NUMBER} as number, max(nt.thread_id) as thread_id, cast(sum(nt.reply) as bigint) as replies,
       cast(sum(case when nt.reply = 1 then length(nt.body) else 0 end) as bigint) as characters, max(nt.internal) as internal, max(nt.commit_id) as commit_id,
       max(case when nt.reply = 0 then nt.system else 0 end) as system,
       cast(sum(case when ${RESOLVABLE} then 1 else 0 end) as bigint) as resolvable,
       cast(sum(case when ${RESOLVABLE} and nt.resolved_at is null then 1 else 0 end) as bigint) as unresolved
     from notes nt where ${sql} group by ${NUMBER}`,
    values,
  );
}

/** The condition for the notes `nt` of one discussion that the caller may read. */
function notesOf({ column }: DiscussedType, id: number, number: number, viewer: Viewer): Condition {
  const visible = visibleNotes(viewer);
  return {
    sql: `nt.${column} = ? and (nt.thread_id = ? or (nt.id = ? and nt.thread_id is null)) and ${visible.sql}`,
    values: [id, number, number, ...visible.values],
  };
}

/** The first note of a discussion comes first, whatever its date. */
const WITHIN = "nt.reply, nt.created_at, nt.id";

/** The notes of one discussion, by the index that has them in their order. */
export function listNotes(
  { db, page, viewer }: Reading & { page: Page },
  { type, id }: On,
  { number, thread_id }: Pick<Discussion, "number" | "thread_id">,
): Promise<RowPage> {
  const visible = visibleNotes(viewer);
  const column = thread_id === null ? "id" : "thread_id";
  const sql = `nt.${column} = ? and nt.${type.column} + 0 = ? and ${visible.sql}`;
  const values = [number, id, ...visible.values];
  return paginate(db, note, page, {
    from: `${NOTES} where ${sql}`,
    countFrom: `notes nt where ${sql}`,
    values,
    order: WITHIN,
  });
}

/** The record that is discussed. */
interface On {
  readonly type: DiscussedType;
  readonly id: number;
}

/** What reading discussions depends on. */
interface Reading extends Pick<Context, "view" | "viewer"> {
  readonly db: Reader;
}

/** What a query selects of each note: its columns, then those of its discussion. */
const COLUMNS = `${note.columns}, ${discussion.columns}`;
const ADDED = Object.keys(discussion.fields).length;

/** The number of the discussion in a row of {@link COLUMNS}. */
function numberIn(row: readonly Value[]): number {
  return row[row.length - ADDED + discussion.at("id")] as number;
}

/** Makes a row of {@link discussion} of the rows of its notes. */
function joined(notes: readonly Value[][], view: field.View): Value[] {
  const row = (notes[0] as Value[]).slice(-ADDED);
  row[discussion.at("notes")] = `[${notes.map((one) => note.write(one, view)).join(",")}]`;
  return row;
}

/** One discussion as a row of {@link discussion}. */
export async function row(
  { db, view, viewer }: Reading,
  { type, id }: On,
  number: number,
): Promise<Value[]> {
  const { sql, values } = notesOf(type, id, number, viewer);
  const notes = await db.rows(
    `select ${COLUMNS} from ${NOTES} where ${sql} order by ${WITHIN}`,
    values,
  );
  return joined(notes, view);
}

/**
 * A page of the discussions of a record, the oldest first, in two statements: their first notes, and the replies. A
 * page too long to read at once ends after a complete discussion.
 */
export async function list(
  { db, page, view, viewer }: Reading & { page: Page },
  { column }: DiscussedType,
  id: number,
): Promise<RowPage> {
  const visible = visibleNotes(viewer);
  const where = `where nt.${column} = ? and nt.reply = 0 and ${visible.sql}`;
  const listed = await paginate(db, { ...discussion, columns: COLUMNS }, page, {
    from: `${NOTES} ${where}`,
    countFrom: `notes nt ${where}`,
    values: [id, ...visible.values],
    order: "nt.created_at, nt.id",
  });
  const { rows, replies } = await withReplies(db, listed.rows, visible);
  const discussions = rows.map((first) =>
    joined([first, ...(replies.get(numberIn(first)) ?? [])], view),
  );
  const isCut = rows.length < listed.rows.length;
  return { ...listed, rows: discussions, ...(isCut && { read: page.skip + rows.length }) };
}

/** The replies to as many of these first notes as can be read at once, by their discussions' numbers. */
async function withReplies(
  db: Reader,
  rows: Value[][],
  visible: Condition,
): Promise<{ rows: Value[][]; replies: Map<number, Value[][]> }> {
  if (rows.length === 0) return { rows, replies: new Map() };
  const { replies, more } = await repliesIn(db, rows.map(numberIn), visible);
  if (!more) return { rows, replies };
  // The last thread and those after it, in the order of their numbers, are not complete.
  const cut = Math.max(...replies.keys());
  const complete = rows.slice(
    0,
    rows.findIndex((first) => numberIn(first) >= cut),
  );
  if (complete.length > 0) return { rows: complete, replies };
  const [first] = rows as [Value[]];
  const all = await repliesIn(db, [numberIn(first)], visible, Number.MAX_SAFE_INTEGER);
  return { rows: [first], replies: all.replies };
}

async function repliesIn(
  db: Reader,
  numbers: readonly number[],
  visible: Condition,
  most = MAX_READ_CHARACTERS,
): Promise<{ replies: Map<number, Value[][]>; more: boolean }> {
  const among = placeholders(numbers);
  const { rows, more } = await db.slice(
    `select ${COLUMNS} from ${NOTES} where nt.thread_id in (${among.sql}) and nt.reply = 1 and ${visible.sql}
     order by nt.thread_id, nt.created_at, nt.id`,
    [...among.values, ...visible.values],
    most,
  );
  const replies = new Map<number, Value[][]>();
  for (const found of rows) {
    const known = replies.get(numberIn(found));
    if (known) known.push(found);
    else replies.set(numberIn(found), [found]);
  }
  return { replies, more };
}
