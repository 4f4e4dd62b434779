import { mentionsIn } from "../../core/mentions.ts";
import { insertRow } from "../../store/insert.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Database } from "../../store/port.ts";
import { mentionedUsers } from "./mentioned.ts";
import { readers } from "./queries.ts";
import type { IssuableType, Writing } from "./type.ts";

/** Why a todo was created. */
export type Action =
  | "assigned"
  | "mentioned"
  | "marked"
  | "directly_addressed"
  | "review_requested"
  | "approval_required"
  | "build_failed"
  | "unmergeable";

/** The target of a todo: an issuable, and the note that mentions the user, if any. */
export interface About {
  projectId: number;
  id: number;
  noteId?: number | null;
}

/** Adds a todo for each user without a pending one on the same target, and returns the new ids. */
export async function add(
  db: Database,
  { column }: IssuableType,
  { projectId, id, noteId = null }: About,
  userIds: readonly number[],
  action: Action,
  authorId: number,
  now: number,
): Promise<number[]> {
  const added: number[] = [];
  if (userIds.length === 0) return added;
  const among = placeholders(userIds);
  const found = await db.rows(
    `select user_id from todos where ${column} = ? and user_id in (${among.sql}) and state = 'pending'`,
    [id, ...among.values],
  );
  const pending = new Set(found.map(([userId]) => userId));
  for (const userId of new Set(userIds)) {
    if (pending.has(userId)) continue;
    added.push(
      await insertRow(db, "todos", {
        user_id: userId,
        project_id: projectId,
        [column]: id,
        note_id: noteId,
        author_id: authorId,
        action,
        created_at: now,
        updated_at: now,
      }),
    );
  }
  return added;
}

/** Marks a user's todos on a target as done, since they acted on it. */
export function resolve(
  db: Database,
  { column }: IssuableType,
  id: number,
  userId: number,
  now: number,
): void {
  db.send(
    `update todos set state = 'done', updated_at = ?
     where ${column} = ? and user_id = ? and state = 'pending'`,
    [now, id, userId],
  );
}

/** Marks everybody's todos on a target as done that were created for one reason, which is gone. */
export function settle(
  db: Database,
  { column }: IssuableType,
  id: number,
  action: Action,
  now: number,
): void {
  db.send(
    `update todos set state = 'done', updated_at = ?
     where ${column} = ? and action = ? and state = 'pending'`,
    [now, id, action],
  );
}

/**
 * Adds a todo for each newly mentioned user who may read the target, except the caller.
 *
 * @param about.noteId the note with the text, if it is not the issuable's own
 * @param text.after the current texts: title and description, or the body of a note
 * @param text.before the previous texts, whose mentions are not new
 */
export async function mention(
  { db, source, caller, viewer, now }: Writing,
  type: IssuableType,
  about: Omit<About, "projectId">,
  text: { after: Texts; before?: Texts },
): Promise<void> {
  const known = new Set(mentionsIn(text.before ?? []));
  const names = mentionsIn(text.after).filter((name) => !known.has(name));
  if (names.length === 0) return;
  const { sql, values } = mentionedUsers(names, viewer.today);
  const ids = (await db.rows(sql, values)).map(([id]) => id as number);
  if (ids.length === 0) return;
  const able = await readers(db, type, about, { ids }, viewer.today);
  const userIds = able.filter((userId) => userId !== caller.id);
  const action = /^\s*@/.test(text.after.at(-1) ?? "") ? "directly_addressed" : "mentioned";
  await add(db, type, { ...about, projectId: source.id }, userIds, action, caller.id, now);
}

type Texts = Parameters<typeof mentionsIn>[0];
