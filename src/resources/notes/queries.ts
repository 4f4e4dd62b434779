import { type Viewer, visibleCode, visibleNotes } from "../../core/access/visibility.ts";
import { type Page, paginate, type RowPage } from "../../core/pagination.ts";
import { type Presenter, rowReader } from "../../core/presenter.ts";
import { all, any, when } from "../../store/conditions.ts";
import { contains } from "../../store/patterns.ts";
import type { Database, Reader } from "../../store/port.ts";
import { statement } from "../../store/texts.ts";
import type { DiscussedType, IssuableType, NoteableType } from "../issuables/type.ts";
import { noteable, RESOLVABLE } from "./json.ts";

const JOINS = `left join users u on u.id = nt.author_id left join users rb on rb.id = nt.resolved_by_id
  left join note_positions np on np.note_id = nt.id ${noteable.joins}`;
/** The tables a note is presented from. */
export const NOTES = `notes nt ${JOINS}`;

/** A note as stored. */
export interface Note {
  id: number;
  author_id: number | null;
  body: string;
  system: number;
  /** The id of the note its thread began with; null if it stands alone. */
  thread_id: number | null;
  /** 0 for the first note of a discussion. */
  reply: number;
  resolvable: number;
  updated_at: number;
}

/** The notes of a record that the caller may read. */
export function list(
  db: Reader,
  { column }: NoteableType,
  presenter: Presenter,
  page: Page,
  id: number,
  viewer: Viewer,
  {
    orderBy,
    sort,
    activity,
  }: { orderBy: "created_at" | "updated_at"; sort: "asc" | "desc"; activity?: unknown },
): Promise<RowPage> {
  const isOnly = { only_comments: 0, only_activity: 1 }[String(activity)];
  const visible = all([visibleNotes(viewer), when("nt.system = ?", isOnly)]);
  const where = statement`where nt.${column} = ? and ${visible.sql}`;
  return paginate(db, presenter, page, {
    from: statement`${NOTES} ${where}`,
    countFrom: statement`notes nt ${where}`,
    values: [id, ...visible.values],
    order: statement`nt.${orderBy} ${sort}, nt.id ${sort}`,
  });
}

/** How many of a project's notes a search looks at: the newest ones. */
const MOST_SEARCHED = 5000;

/** The notes of a project that contain a text, newest first, except those that record actions. */
export function search(
  db: Reader,
  presenter: Presenter,
  page: Page,
  viewer: Viewer,
  projectId: number,
  text: string,
): Promise<RowPage> {
  const { sql, values } = all([
    contains(["nt.body"], text),
    visibleNotes(viewer),
    noteable.visible(viewer),
    any([{ sql: "nt.noted_commit_id is null", values: [] }, visibleCode(viewer)]),
  ]);
  return paginate(db, presenter, page, {
    from: `(select * from notes where project_id = ? and system = 0 order by id desc limit ${MOST_SEARCHED}) nt
      ${JOINS} join projects p on p.id = nt.project_id where ${sql}`,
    values: [projectId, ...values],
    order: "nt.id desc",
  });
}

/** One note as a row of its presenter. */
export const row = rowReader(`${NOTES} where nt.id = ?`);

/** A note of a record, or `undefined` if there is none that the caller may read. */
export async function find(
  db: Reader,
  { column }: DiscussedType,
  id: number,
  noteId: number,
  viewer: Viewer,
): Promise<Note | undefined> {
  const visible = visibleNotes(viewer);
  return db.one<Note>(
    `select nt.id, nt.author_id, nt.body, nt.system, nt.thread_id, nt.reply, nt.updated_at,
       case when ${RESOLVABLE} then 1 else 0 end as resolvable
     from notes nt where nt.id = ? and nt.${column} = ? and ${visible.sql}`,
    [noteId, id, ...visible.values],
  );
}

/** The id by which notes know a commit of a project; 0 if nobody has commented on it. */
export async function findCommit(db: Reader, projectId: number, sha: string): Promise<number> {
  const found = await db.one<{ id: number }>(
    "select id from noted_commits where project_id = ? and sha = ?",
    [projectId, sha],
  );
  return found?.id ?? 0;
}

/** The id by which notes know a commit of a project. */
export async function noteCommit(db: Database, projectId: number, sha: string): Promise<number> {
  await db.run("insert into noted_commits (project_id, sha) values (?, ?) on conflict do nothing", [
    projectId,
    sha,
  ]);
  return findCommit(db, projectId, sha);
}

/** The place of a note on a changed file. */
export interface Place {
  /** The file as it is after the change; of a deleted one, as it was. */
  path: string;
  /** The line after the change or, of a removed one, the line that is there then. */
  line: number | null;
  line_type: "new" | "old" | null;
  line_code?: string | null;
  /** JSON texts, as clients see them. */
  position?: string | null;
  original_position?: string | null;
}

/** Says where a note is. */
export async function place(db: Database, noteId: number, place: Place): Promise<void> {
  const { path, line, line_type } = place;
  const { line_code = null, position = null, original_position = position } = place;
  await db.run(
    `insert into note_positions (note_id, path, line, line_type, line_code, position, original_position)
     values (?, ?, ?, ?, ?, ?, ?)`,
    [noteId, path, line, line_type, line_code, position, original_position],
  );
}

/** Says that a reply is where the other notes of its thread are. */
export async function placeReply(db: Database, noteId: number, threadId: number): Promise<void> {
  await db.run(
    `insert into note_positions (note_id, path, line, line_type, line_code, position, original_position, outdated)
     select cast(? as bigint), np.path, np.line, np.line_type, np.line_code, np.position, np.original_position, np.outdated
     from notes nt join note_positions np on np.note_id = nt.id where nt.thread_id = ? and nt.reply = 0`,
    [noteId, threadId],
  );
}

/** Lets a note that stands alone begin a thread. */
export async function startThread(db: Database, noteId: number): Promise<void> {
  await db.run("update notes set thread_id = id where id = ? and thread_id is null", [noteId]);
}

/** Resolves the unresolved notes among one note, or those of a thread; `by` null: the reverse. */
export async function setResolved(
  db: Database,
  which: { id: number } | { thread_id: number },
  by: { userId: number; now: number } | null,
): Promise<void> {
  const [[column, id]] = Object.entries(which) as [[string, number]];
  await db.run(
    `update notes as nt set resolved_at = ?, resolved_by_id = ?
     where nt.${column} = ? and ${RESOLVABLE} and nt.resolved_at is ${by ? "" : "not"} null`,
    [by?.now ?? null, by?.userId ?? null, id],
  );
}

/** Whether a merge request has notes that can be resolved and are not. */
export async function haveUnresolved(db: Reader, requestId: number): Promise<boolean> {
  const found = await db.rows(
    `select 1 from notes where merge_request_id = ? and thread_id is not null and system = 0
       and resolved_at is null limit 1`,
    [requestId],
  );
  return found.length > 0;
}

/** Copies the notes of an issue to another one, with their threads. */
export async function copy(
  db: Database,
  { column }: IssuableType,
  fromId: number,
  to: { project_id: number; id: number },
): Promise<void> {
  await db.run(
    `insert into notes (project_id, ${column}, author_id, body, system, internal, reply, resolved_at, resolved_by_id,
       created_at, updated_at)
     select cast(? as bigint), cast(? as bigint), author_id, body, system, internal, reply, resolved_at, resolved_by_id,
       created_at, updated_at
     from notes where ${column} = ? order by id`,
    [to.project_id, to.id, fromId],
  );
  // The copies are in the order of the originals. A copied thread is named after the first of its copies.
  await db.run(
    `with originals as (
       select thread_id, row_number() over (order by id) as place from notes where ${column} = ?),
     copies as (
       select id, row_number() over (order by id) as place from notes where ${column} = ?),
     threads as (
       select copies.id, min(copies.id) over (partition by originals.thread_id) as thread_id
       from originals join copies on copies.place = originals.place where originals.thread_id is not null)
     update notes set thread_id = threads.thread_id from threads where threads.id = notes.id`,
    [fromId, to.id],
  );
}

/** Removes a note; its events have to be deleted before. The next one of its thread becomes the first. */
export async function remove(
  db: Database,
  { id, thread_id, reply }: Pick<Note, "id" | "thread_id" | "reply">,
): Promise<void> {
  await db.run("delete from notes where id = ?", [id]);
  if (thread_id === null || reply === 1) return;
  await db.run(
    `update notes set reply = 0 where id =
       (select id from notes where thread_id = ? order by created_at, id limit 1)`,
    [thread_id],
  );
}
