import type { Source } from "../../core/access/source.ts";
import { inProject, type Viewer } from "../../core/access/visibility.ts";
import { badRequest, forbidden, notFound } from "../../core/errors.ts";
import { all, when } from "../../store/conditions.ts";
import type { Reader } from "../../store/port.ts";
import { mayMarkAsInternal } from "../issuables/abilities.ts";
import { findIssuable } from "../issuables/rules.ts";
import type { DiscussedType, NoteableType, Writing } from "../issuables/type.ts";
import { isIssuable } from "../issuables/types.ts";
import * as snippets from "../snippets/queries.ts";
import * as discussions from "./discussions.ts";
import { COMMIT } from "./noteables.ts";
import * as notes from "./queries.ts";

/** What is discussed, as its notes need it. */
export interface Noteable<Type extends DiscussedType = DiscussedType> {
  type: Type;
  id: number;
  author_id: number | null;
  /** 1 if only members of the project may write; snippets and commits can't be locked. */
  discussion_locked: number;
}

/** What finding notes depends on. */
interface Finding {
  readonly db: Reader;
  readonly source: Source;
  readonly viewer: Viewer;
}

/**
 * Finds what notes are written on, by its number in the path's project or, for a snippet, its id.
 *
 * @throws ApiError 404 if there is none or the caller may not read it
 */
export async function findNoteable(
  context: Finding,
  type: NoteableType,
  number: number,
): Promise<Noteable<NoteableType>> {
  if (isIssuable(type)) {
    const { id, author_id, discussion_locked } = await findIssuable(context, type, number);
    return { type, id, author_id, discussion_locked };
  }
  const { db, source, viewer } = context;
  const readable = all([when("s.project_id = ?", source.id), type.visible(viewer)]);
  const found = await snippets.find(db, number, readable);
  if (!found) throw notFound(type.className);
  return { type, id: found.id, author_id: found.author_id, discussion_locked: 0 };
}

/**
 * Finds a note of a discussion.
 *
 * @throws ApiError 404 if there is none or the caller may not read it
 */
export async function findNoteOf(
  context: Finding,
  noteable: Noteable,
  { discussion_id, note_id }: { discussion_id: string; note_id: number },
): Promise<notes.Note> {
  const { number } = await findDiscussion(context, noteable, discussion_id);
  const note = await findNote(context, noteable, note_id);
  if ((note.thread_id ?? note.id) !== number) throw notFound();
  return note;
}

/** A commit of the path's project that somebody comments on. */
export async function commitToNote(
  { db, source }: Pick<Writing, "db" | "source">,
  sha: string,
): Promise<Noteable> {
  const id = await notes.noteCommit(db, source.id, sha);
  return { type: COMMIT, id, author_id: null, discussion_locked: 0 };
}

/** A commit of the path's project whose discussions somebody reads. */
export async function commitWithNotes(
  { db, source }: Pick<Finding, "db" | "source">,
  sha: string,
): Promise<Noteable> {
  const id = await notes.findCommit(db, source.id, sha);
  return { type: COMMIT, id, author_id: null, discussion_locked: 0 };
}

/**
 * Finds a note.
 *
 * @throws ApiError 404 if there is none or the caller may not read it
 */
export async function findNote(
  { db, source, viewer }: Finding,
  { type, id }: Noteable,
  noteId: number,
): Promise<notes.Note> {
  const found = await notes.find(db, type, id, noteId, inProject(viewer, source));
  if (!found) throw notFound();
  return found;
}

/**
 * Finds a discussion by the id clients know.
 *
 * @throws ApiError 404 if there is none or the caller may not read it
 */
export async function findDiscussion(
  { db, source, viewer }: Finding,
  { type, id }: Noteable,
  discussionId: string,
): Promise<discussions.Discussion> {
  const found = await discussions.find(db, type, id, discussionId, inProject(viewer, source));
  if (!found) throw notFound("Discussion");
  return found;
}

/**
 * Checks that the caller may write internal notes here. GitLab publishes the note instead, which nobody can take back.
 *
 * @throws ApiError 400 for snippets and commits, which have none; 403 below reporter
 */
export function requireInternal({ source }: Pick<Writing, "source">, { type }: Noteable): void {
  if (!isIssuable(type)) throw badRequest(`Internal notes can not be written on ${type.one}`);
  if (!mayMarkAsInternal(source)) throw forbidden();
}

/** The most replies to the first note of a discussion, and their characters together (docs/decisions/0022). */
export const MAX_REPLIES = { count: 1000, characters: 1_000_000 };

/**
 * Checks that a discussion can take a reply, or a longer one.
 *
 * @throws ApiError 400 naming the limit
 */
export function requireRoom(
  { replies, characters }: discussions.Discussion,
  more: { replies: number; characters: number },
): void {
  if (replies + more.replies > MAX_REPLIES.count) {
    throw badRequest(`A discussion has at most ${MAX_REPLIES.count} replies`);
  }
  if (more.characters > 0 && characters + more.characters > MAX_REPLIES.characters) {
    throw badRequest(
      `The replies of a discussion have at most ${MAX_REPLIES.characters} characters together`,
    );
  }
}
