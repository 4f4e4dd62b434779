import { dayOf } from "../core/time.ts";
import { isLetter, type Letter, MAIL } from "../jobs/letters.ts";
import { add, queued, type Task, type TaskState } from "../jobs/outbox.ts";
import { placeholders } from "../store/placeholders.ts";
import type { Awaitable, Database, Reader } from "../store/port.ts";
import {
  findEvent,
  findNotification,
  type Notification,
  type Recipient,
  recipients,
} from "./recipients.ts";

/** A mail that was not sent yet, or an event whose recipients were not determined yet. */
export interface QueuedMail {
  id: number;
  /** `waiting` for its next attempt, `running` while it is sent, or `failed` for good. */
  state: TaskState;
  /** The event it is about; `null` for an invitation, or the confirmation of an address. */
  event_id: number | null;
  /** The recipient's user name; `null` if the recipients were not determined yet. */
  user: string | null;
  reason: Recipient["reason"] | null;
  attempts: number;
  /** As an ISO 8601 instant; `null` for never. */
  next_attempt_at: string | null;
  /** Why the last attempt failed. */
  error: string | null;
  /** As an ISO 8601 instant. */
  created_at: string;
}

/** An unprocessed event or, with a user, a mail. */
interface Payload {
  event: number;
  user?: number;
  reason?: Recipient["reason"];
  request?: number;
}

/** The next step of a task: queue an event's mails, send a mail, or nothing. */
export type Step =
  | { fanOut: (db: Database) => Awaitable<void> }
  | { send: Notification }
  | { letter: Letter }
  | undefined;

/**
 * Determines the next step of a task. It only reads, so that many recipients do not delay other writers.
 *
 * @returns for an event, a function that queues a mail for each recipient; for a mail, its content, or `undefined` if
 *   the recipient should no longer get it
 */
export async function stepOf(db: Reader, task: Task, now: number): Promise<Step> {
  const payload: Payload | Letter = JSON.parse(task.payload);
  if (isLetter(payload)) return { letter: payload };
  const { event: eventId, user, reason, ...about } = payload;
  if (user !== undefined && reason !== undefined) {
    const send = await findNotification(db, { event: eventId, user, reason, ...about }, dayOf(now));
    return send && { send };
  }
  const event = await findEvent(db, eventId);
  const notified = event ? await recipients(db, event, dayOf(now)) : [];
  const mails = notified.map(
    ({ id, reason, request }): Payload => ({
      event: eventId,
      user: id,
      reason,
      ...(request !== undefined && { request }),
    }),
  );
  return { fanOut: (write) => add(write, MAIL, mails, now) };
}

/** The mails that were not sent, those that failed for good first. */
export async function queuedMails(db: Reader, most: number): Promise<QueuedMail[]> {
  const tasks = (await queued(db, { worker: MAIL }, most)).map(({ payload, ...task }) => ({
    ...task,
    mail: JSON.parse(payload) as Partial<Payload>,
  }));
  const ids = tasks.flatMap(({ mail }) => mail.user ?? []);
  const names = new Map<number, string>();
  if (ids.length > 0) {
    const among = placeholders([...new Set(ids)]);
    for (const [id, username] of await db.rows(
      `select id, username from users where id in (${among.sql})`,
      among.values,
    )) {
      names.set(id as number, username as string);
    }
  }
  return tasks.map(({ mail, ...task }) => ({
    id: task.id,
    state: task.state,
    event_id: mail.event ?? null,
    user: names.get(mail.user ?? 0) ?? null,
    reason: mail.reason ?? null,
    attempts: task.attempts,
    next_attempt_at: task.dueAt === null ? null : new Date(task.dueAt).toISOString(),
    error: task.error,
    created_at: new Date(task.createdAt).toISOString(),
  }));
}
