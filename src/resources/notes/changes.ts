import { badRequest, forbidden } from "../../core/errors.ts";
import { updateRow } from "../../store/update.ts";
import * as events from "../events/record.ts";
import { mayCreateNote, maySetTimes } from "../issuables/abilities.ts";
import { MERGE_REQUEST } from "../issuables/merge-request.ts";
import { type Acting, addNote, type NewNote } from "../issuables/notes.ts";
import type { Writing } from "../issuables/type.ts";
import { mayAdminNote, mayResolveNote } from "./abilities.ts";
import * as discussions from "./discussions.ts";
import { changed, threadsResolved } from "./followers.ts";
import * as notes from "./queries.ts";
import { type Noteable, requireInternal, requireRoom } from "./rules.ts";

/** A note to write. */
export interface Written {
  body: string;
  /** Whether only reporters and above may read it. A reply is what its discussion is. */
  internal?: boolean | undefined;
  /** Where it is, if it is on a changed file. A reply is where its discussion is. */
  place?: notes.Place | undefined;
  /** The commit of a merge request that it is about, in hex. A reply is about that of its discussion. */
  commitId?: string | null | undefined;
  /** When it was written, in epoch milliseconds: for imports, ignored below owner. Default: now. */
  at?: number | undefined;
}

/**
 * Writes a note, and what follows from it: its event, whose recipients get a mail, and todos for mentioned users.
 *
 * @param kind whether it stands alone or begins a thread
 * @returns the note's id
 * @throws ApiError 403, or 400 for an internal note on something that has none
 */
export async function create(
  writing: Writing,
  noteable: Noteable,
  written: Written,
  kind: "individual" | "thread",
): Promise<number> {
  if (!mayCreateNote(noteable, writing)) throw forbidden();
  if (written.internal) requireInternal(writing, noteable);
  const { internal, commitId } = written;
  const id = await insert(writing, noteable, written, { internal, commit_id: commitId });
  if (kind === "thread") await notes.startThread(writing.db, id);
  if (written.place) await notes.place(writing.db, id, written.place);
  await changed({ writing, noteable, note: { id, body: written.body } });
  return id;
}

/**
 * Answers in a discussion. A note that stands alone becomes the first one of a thread. An answer in a resolved
 * discussion is resolved, too, as in GitLab.
 *
 * @returns the note's id
 * @throws ApiError 403; 400 if it is a note that records an action, or the discussion is full
 */
export async function reply(
  writing: Writing,
  noteable: Noteable,
  discussion: discussions.Discussion,
  written: Omit<Written, "internal" | "place" | "commitId">,
): Promise<number> {
  if (!mayCreateNote(noteable, writing)) throw forbidden();
  if (discussion.system === 1) throw badRequest("Discussion can not be replied to.");
  requireRoom(discussion, { replies: 1, characters: lengthOf(written.body) });
  if (discussion.thread_id === null) await notes.startThread(writing.db, discussion.number);
  const isResolved = discussion.resolvable > 0 && discussion.unresolved === 0;
  const id = await insert(writing, noteable, written, {
    internal: discussion.internal === 1,
    thread_id: discussion.number,
    commit_id: discussion.commit_id,
    ...(isResolved && { resolved_at: writing.now, resolved_by_id: writing.caller.id }),
  });
  await notes.placeReply(writing.db, id, discussion.number);
  await changed({ writing, noteable, note: { id, body: written.body } });
  return id;
}

/**
 * Changes the text of a note. Newly mentioned users get a todo.
 *
 * @throws ApiError 403, or 400 if the discussion is full
 */
export async function edit(
  writing: Writing,
  noteable: Noteable,
  note: notes.Note,
  body: string,
): Promise<void> {
  const { db, viewer, now } = writing;
  if (!mayAdminNote({ noteable, note }, writing)) throw forbidden();
  if (note.reply === 1) {
    const discussionId = discussions.idOf(note.thread_id as number);
    const found = await discussions.find(db, noteable.type, noteable.id, discussionId, viewer);
    const characters = lengthOf(body) - lengthOf(note.body);
    requireRoom(found as discussions.Discussion, { replies: 0, characters });
  }
  await updateRow(db, "notes", note.id, { body }, now);
  await changed({ writing, noteable, note: { id: note.id, body }, before: note.body });
}

/**
 * Resolves one note of a discussion, or takes that back.
 *
 * @throws ApiError 403, or 400 if it can't be resolved
 */
export async function resolveNote(
  writing: Writing,
  noteable: Noteable,
  note: notes.Note,
  resolved: boolean,
): Promise<void> {
  if (!mayResolveNote({ noteable, resolved: note }, writing)) throw forbidden();
  if (note.resolvable === 0) throw badRequest("Note is not resolvable");
  await notes.setResolved(writing.db, { id: note.id }, resolved ? by(writing) : null);
}

/**
 * Resolves the notes of a discussion, or takes that back.
 *
 * @throws ApiError 403, also if it can't be resolved
 */
export async function resolveDiscussion(
  writing: Writing,
  noteable: Noteable,
  { number, resolvable }: discussions.Discussion,
  resolved: boolean,
): Promise<void> {
  if (!mayResolveNote({ noteable, resolved: undefined }, writing) || resolvable === 0)
    throw forbidden();
  await setResolved(writing, noteable, number, resolved);
}

/** Resolves the notes of a thread, or takes that back. Who resolves the last one of a merge request is recorded there. */
export async function setResolved(
  writing: Acting,
  noteable: Pick<Noteable, "type" | "id">,
  thread: number,
  resolved: boolean,
): Promise<void> {
  const { db } = writing;
  const { type, id } = noteable;
  const isOpen = async () => type === MERGE_REQUEST && (await notes.haveUnresolved(db, id));
  const wasOpen = resolved && (await isOpen());
  await notes.setResolved(db, { thread_id: thread }, resolved ? by(writing) : null);
  if (!wasOpen || (await isOpen())) return;
  await threadsResolved(writing, id);
}

const by = ({ caller, now }: Acting) => ({ userId: caller.id, now });

/**
 * Deletes a note with its events. Its replies stay.
 *
 * @throws ApiError 403
 */
export async function remove(
  writing: Writing,
  noteable: Noteable,
  note: notes.Note,
): Promise<void> {
  if (!mayAdminNote({ noteable, note }, writing)) throw forbidden();
  await events.forget(writing.db, { type: "note", id: note.id });
  await notes.remove(writing.db, note);
}

function insert(
  { db, source, caller, now }: Writing,
  { type, id }: Noteable,
  { body, at }: Written,
  more: Omit<NewNote, "project_id" | "id" | "author_id" | "body">,
): Promise<number> {
  return addNote(
    db,
    type,
    { project_id: source.id, id, author_id: caller.id, body, ...more },
    at !== undefined && maySetTimes(source) ? at : now,
  );
}

/** The characters of a text, as the database counts them. */
function lengthOf(text: string): number {
  let characters = 0;
  for (const _ of text) characters += 1;
  return characters;
}
