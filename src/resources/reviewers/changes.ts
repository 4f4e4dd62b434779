import { queueNotice } from "../../jobs/notices.ts";
import type { Database, Reader } from "../../store/port.ts";
import { mayPlan } from "../issuables/abilities.ts";
import { MERGE_REQUEST } from "../issuables/merge-request.ts";
import { readers } from "../issuables/queries.ts";
import * as todos from "../issuables/todos.ts";
import type { Writing } from "../issuables/type.ts";
import * as notes from "../notes/queries.ts";

/** What a reviewer has said. */
type ReviewState = "unreviewed" | "approved" | "unapproved";

/**
 * Asks users for a review of a merge request, in place of those asked before, if the caller is reporter or above. Those
 * who may not read it are left out. New reviewers get a todo, and a note records who came and went.
 *
 * @param wanted ids; `null` for nobody
 */
export async function assignReviewers(
  writing: Writing,
  requestId: number,
  wanted: readonly number[] | null,
  isNew = false,
): Promise<void> {
  const { db, source, caller, viewer, now } = writing;
  if (!mayPlan(source)) return;
  const before = await reviewersOf(db, requestId);
  const ids = [...new Set(wanted ?? [])].filter((userId) => userId > 0);
  const after = await readers(db, MERGE_REQUEST, { id: requestId }, { ids }, viewer.today);
  const added = after.filter((userId) => !before.includes(userId));
  const removed = before.filter((userId) => !after.includes(userId));
  for (const userId of removed) {
    await db.run("delete from merge_request_reviewers where merge_request_id = ? and user_id = ?", [
      requestId,
      userId,
    ]);
  }
  for (const userId of added) await insertReviewer(db, requestId, userId, now);
  const about = { projectId: source.id, id: requestId };
  await todos.add(db, MERGE_REQUEST, about, added, "review_requested", caller.id, now);
  await record(writing, requestId, { added, removed });
  if (isNew || added.length + removed.length === 0) return;
  const notice = { request: requestId, by: caller.id, at: now };
  if (added.length > 0) {
    await queueNotice(db, { ...notice, notice: "review_requested", about: added }, now);
  }
  const changed = {
    ...notice,
    notice: "reviewers_changed",
    about: removed,
    except: added,
  } as const;
  await queueNotice(db, changed, now);
}

/** Asks a reviewer again, who gets a todo. @returns whether they are a reviewer */
export async function askAgain(
  writing: Writing,
  requestId: number,
  userId: number,
): Promise<boolean> {
  const { db, source, caller, now } = writing;
  if (!(await reviewersOf(db, requestId)).includes(userId)) return false;
  await setReviewState(db, requestId, userId, "unreviewed");
  const about = { projectId: source.id, id: requestId };
  await todos.add(db, MERGE_REQUEST, about, [userId], "review_requested", caller.id, now);
  await record(writing, requestId, { added: [userId], removed: [] });
  const asked = { request: requestId, by: caller.id, at: now, about: [userId] };
  await queueNotice(db, { ...asked, notice: "review_requested" }, now);
  return true;
}

/** Adds a reviewer. */
export async function insertReviewer(
  db: Database,
  requestId: number,
  userId: number,
  now: number,
): Promise<void> {
  await db.run(
    "insert into merge_request_reviewers (merge_request_id, user_id, created_at) values (?, ?, ?)",
    [requestId, userId, now],
  );
}

/** Remembers what a user has said of a merge request, if they are one of its reviewers. */
export async function setReviewState(
  db: Database,
  requestId: number,
  userId: number,
  state: ReviewState,
): Promise<void> {
  await db.run(
    "update merge_request_reviewers set state = ? where merge_request_id = ? and user_id = ?",
    [state, requestId, userId],
  );
}

/** The ids of a merge request's reviewers. */
async function reviewersOf(db: Reader, requestId: number): Promise<number[]> {
  const found = await db.rows(
    "select user_id from merge_request_reviewers where merge_request_id = ?",
    [requestId],
  );
  return found.map(([userId]) => userId as number);
}

/** Writes the note about who was asked, and who is not any more. */
async function record(
  writing: Writing,
  requestId: number,
  { added, removed }: { added: readonly number[]; removed: readonly number[] },
): Promise<void> {
  const { db } = writing;
  const parts = [
    ...(added.length > 0 ? [`requested review from ${await namesOf(db, added)}`] : []),
    ...(removed.length > 0 ? [`removed review request for ${await namesOf(db, removed)}`] : []),
  ];
  if (parts.length === 0) return;
  await notes.recordAction(writing, MERGE_REQUEST, requestId, parts.join(" and "));
}

/** Users as a sentence names them: `@ada, @bob, and @eve`. */
async function namesOf(db: Reader, ids: readonly number[]): Promise<string> {
  const names: string[] = [];
  for (const id of ids) {
    const [row] = await db.rows("select username from users where id = ?", [id]);
    names.push(`@${row?.[0]}`);
  }
  const last = names.pop() as string;
  if (names.length === 0) return last;
  return names.length === 1 ? `${names[0]} and ${last}` : `${names.join(", ")}, and ${last}`;
}
