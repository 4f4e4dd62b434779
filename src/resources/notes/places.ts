import { type GlobalId, notAvailable } from "../../graphql/declare.ts";
import type { Reader } from "../../store/port.ts";
import { EPIC } from "../issuables/epic.ts";
import type { NoteableType } from "../issuables/type.ts";
import { numberOf } from "./discussions.ts";
import { noteable } from "./json.ts";
import { NOTEABLE_TYPES } from "./noteables.ts";

/** Where routes find a record with notes. Whether the caller may see it is for them to check. */
export interface Place {
  readonly type: NoteableType;
  /** Path parameters: its project, or the group of an epic, and its number there. */
  readonly at: { readonly id: number; readonly noteable_id: number };
}

/** The names that records with notes have in global ids. */
export const NOTEABLE_CLASSES = [
  ...NOTEABLE_TYPES.map(({ className }) => className),
  "ProjectSnippet",
];

/** The names that notes have in global ids. */
export const NOTE_CLASSES = ["Note", "DiscussionNote", "DiffNote"];

const typeOf = (className: unknown) =>
  NOTEABLE_TYPES.find((type) => type.className === className) as NoteableType;

interface Found {
  readonly project_id: number;
  readonly namespace_id: number;
  readonly number: number;
  readonly issue_type: string | null;
}

/** Epics are issues, whose routes are below those of their group. */
function placeAt(type: NoteableType, { issue_type, ...found }: Found): Place {
  return issue_type === "epic"
    ? { type: EPIC, at: { id: found.namespace_id, noteable_id: found.number } }
    : { type, at: { id: found.project_id, noteable_id: found.number } };
}

/**
 * The place of a record with notes.
 *
 * @throws GraphError if there is none
 */
export async function placeOfNoteable(db: Reader, { type: name, id }: GlobalId): Promise<Place> {
  const type = typeOf(name === "ProjectSnippet" ? "Snippet" : name);
  const found = await db.one<Found>(
    `select t.project_id, t.${type.number} as number, p.namespace_id,
       ${type.table === "issues" ? "t.issue_type" : "null"} as issue_type
     from ${type.table} t left join projects p on p.id = t.project_id where t.id = ?`,
    [id],
  );
  if (!found) throw notAvailable();
  return placeAt(type, found);
}

/**
 * The place of what a note is written on.
 *
 * @throws GraphError if there is none
 */
export async function placeOfNote(db: Reader, noteId: number): Promise<Place> {
  const found = await db.one<Found & { name: string | null }>(
    `select nt.project_id, ${noteable.className} as name, ${noteable.number} as number, i.issue_type,
       p.namespace_id
     from notes nt ${noteable.joins} left join projects p on p.id = nt.project_id where nt.id = ?`,
    [noteId],
  );
  // Comments on commits have no types in GraphQL.
  if (!found?.name) throw notAvailable();
  return placeAt(typeOf(found.name), found);
}

/**
 * The first note of the discussion that clients know by this id.
 *
 * @throws GraphError if there is none
 */
export async function firstNoteOf(db: Reader, discussionId: string): Promise<number> {
  const number = numberOf(discussionId) ?? 0;
  const found = await db.one<{ id: number }>(
    `select id from notes where thread_id = ? and reply = 0
     union all select id from notes where id = ? and thread_id is null`,
    [number, number],
  );
  if (!found) throw notAvailable();
  return found.id;
}
