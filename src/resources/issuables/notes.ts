import { insertRow } from "../../store/insert.ts";
import type { Database } from "../../store/port.ts";
import type { DiscussedType, Writing } from "./type.ts";

/** The values of a new note. */
export interface NewNote {
  project_id: number;
  /** The id of what it is written on. */
  id: number;
  author_id: number | null;
  body: string;
  system?: boolean | undefined;
  internal?: boolean | undefined;
  /** The thread it answers in. */
  thread_id?: number | null | undefined;
  resolved_at?: number | null | undefined;
  resolved_by_id?: number | null | undefined;
  /** The commit of a merge request that it is about, in hex. */
  commit_id?: string | null | undefined;
}

/** Adds a note and returns its id. */
export async function addNote(
  db: Database,
  type: DiscussedType,
  note: NewNote,
  now: number,
): Promise<number> {
  const id = await insertRow(db, "notes", {
    project_id: note.project_id,
    [type.column]: note.id,
    author_id: note.author_id,
    body: note.body,
    system: note.system ? 1 : 0,
    internal: note.internal ? 1 : 0,
    thread_id: note.thread_id ?? null,
    reply: note.thread_id ? 1 : 0,
    resolved_at: note.resolved_at ?? null,
    resolved_by_id: note.resolved_by_id ?? null,
    commit_id: note.commit_id ?? null,
    created_at: now,
    updated_at: now,
  });
  if (type.table !== "noted_commits") {
    db.send(`update ${type.table} set updated_at = ? where id = ? and updated_at < ?`, [
      now,
      note.id,
      now,
    ]);
  }
  return id;
}

/** Who does something, in which project. */
export interface Acting extends Pick<Writing, "db" | "now"> {
  readonly source: { readonly id: number };
  readonly caller: { readonly id: number };
}

/**
 * Notes what the caller has done to a record, and returns the note's id.
 *
 * @param body a sentence without its subject
 * @param thread the discussion that it belongs to, if it is about one
 */
export function recordAction(
  { db, source, caller, now }: Acting,
  type: DiscussedType,
  id: number,
  body: string,
  thread?: Pick<NewNote, "thread_id" | "internal">,
): Promise<number> {
  const note = { project_id: source.id, id, author_id: caller.id, body, system: true };
  return addNote(db, type, { ...note, ...thread }, now);
}
