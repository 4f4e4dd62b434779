import { type Page, paginate, type RowPage } from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import { insertRow } from "../../store/insert.ts";
import type { Database, Reader, Value } from "../../store/port.ts";
import type { IssuableType } from "../issuables/type.ts";
import { targetOf } from "../issuables/types.ts";

const NOTES = `notes nt left join users u on u.id = nt.author_id ${targetOf("nt").joins}`;

/** A note as stored. */
export interface Note {
  id: number;
  author_id: number | null;
  body: string;
  system: number;
  updated_at: number;
}

/** The notes of an issuable. */
export function list(
  db: Reader,
  { column }: IssuableType,
  presenter: Presenter,
  page: Page,
  id: number,
  { orderBy, sort }: { orderBy: "created_at" | "updated_at"; sort: "asc" | "desc" },
): Promise<RowPage> {
  return paginate(db, presenter, page, {
    from: `${NOTES} where nt.${column} = ?`,
    countFrom: `notes nt where nt.${column} = ?`,
    values: [id],
    order: `nt.${orderBy} ${sort}, nt.id ${sort}`,
  });
}

/** One note as a row of its presenter. */
export async function row(db: Reader, presenter: Presenter, noteId: number): Promise<Value[]> {
  const [found] = await db.rows(`select ${presenter.columns} from ${NOTES} where nt.id = ?`, [
    noteId,
  ]);
  return found as Value[];
}

/** A note of an issuable, or `undefined`. */
export async function find(
  db: Reader,
  { column }: IssuableType,
  id: number,
  noteId: number,
): Promise<Note | undefined> {
  return db.one<Note>(
    `select id, author_id, body, system, updated_at from notes where id = ? and ${column} = ?`,
    [noteId, id],
  );
}

/** The values of a new note. */
export interface NewNote {
  project_id: number;
  /** The id of the issuable. */
  id: number;
  author_id: number | null;
  body: string;
}

/** Adds a note and returns its id. */
export async function insert(
  db: Database,
  { table, column }: IssuableType,
  note: NewNote,
  now: number,
): Promise<number> {
  const id = await insertRow(db, "notes", {
    project_id: note.project_id,
    [column]: note.id,
    author_id: note.author_id,
    body: note.body,
    created_at: now,
    updated_at: now,
  });
  await db.run(`update ${table} set updated_at = ? where id = ? and updated_at < ?`, [
    now,
    note.id,
    now,
  ]);
  return id;
}

/** Copies the notes of an issue to another one. */
export async function copy(
  db: Database,
  { column }: IssuableType,
  fromId: number,
  to: { project_id: number; id: number },
): Promise<void> {
  await db.run(
    `insert into notes (project_id, ${column}, author_id, body, system, created_at, updated_at)
     select cast(? as bigint), cast(? as bigint), author_id, body, system, created_at, updated_at
     from notes where ${column} = ? order by id`,
    [to.project_id, to.id, fromId],
  );
}

/** Removes a note; its events have to be deleted before. */
export async function remove(db: Database, noteId: number): Promise<void> {
  await db.run("delete from notes where id = ?", [noteId]);
}
