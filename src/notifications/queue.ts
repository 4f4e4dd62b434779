import { dayOf } from "../core/time.ts";
import { isLetter, type Letter, MAIL } from "../jobs/mails.ts";
import { isNotification, type QueuedNotification } from "../jobs/notifications.ts";
import { add, queued, type Task, type TaskState } from "../jobs/outbox.ts";
import { placeholders } from "../store/placeholders.ts";
import type { Awaitable, Database, Reader } from "../store/port.ts";
import type { Outcome } from "./mail-reasons.ts";
import { findPipelineMail, type PipelineMail, pipelineRecipient } from "./pipelines.ts";
import {
  findEvent,
  findNoticed,
  findNotification,
  type Notification,
  type Recipient,
  recipients,
  recipientsOfNotice,
} from "./recipients.ts";

/** A mail that was not sent yet, or an event or notice whose recipients were not determined yet. */
export interface QueuedMail {
  id: number;
  /** `waiting` for its next attempt, `running` while it is sent, or `failed` for good. */
  state: TaskState;
  /** The event it is about; `null` for what is no event, such as the end of a pipeline or an invitation. */
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
interface EventPayload {
  event: number;
  user?: number;
  reason?: Recipient["reason"];
  request?: number;
}

/** An unprocessed notice or, with a user, a mail. */
type NotificationPayload = QueuedNotification & {
  user?: number;
  reason?: Recipient["reason"];
  /** Of a mail about a pipeline. */
  outcome?: Outcome;
};

type Payload = EventPayload | NotificationPayload;

/** The next step of a task: queue the mails of an event or notice, send a mail, or nothing. */
export type Step =
  | { fanOut: (db: Database) => Awaitable<void> }
  | { send: Notification }
  | { pipeline: PipelineMail }
  | { letter: Letter }
  | undefined;

/**
 * Determines the next step of a task. It only reads, so that many recipients do not delay other writers.
 *
 * @returns for an event or notice, a function that queues a mail for each recipient; for a mail, its content, or
 *   `undefined` if the recipient should no longer get it
 */
export async function stepOf(db: Reader, task: Task, now: number): Promise<Step> {
  const payload: Payload | Letter = JSON.parse(task.payload);
  if (isLetter(payload)) return { letter: payload };
  const mails = isNotification(payload)
    ? await stepOfNotice(db, task.id, payload, dayOf(now))
    : await stepOfEvent(db, payload, dayOf(now));
  if (!Array.isArray(mails)) return mails;
  return { fanOut: (write) => add<Payload>(write, MAIL, mails, now) };
}

/** Of an event the mails to queue, or of a mail the next step. */
async function stepOfEvent(
  db: Reader,
  { event: eventId, user, reason, ...about }: EventPayload,
  today: string,
): Promise<Step | EventPayload[]> {
  if (user !== undefined && reason !== undefined) {
    const send = await findNotification(db, { event: eventId, user, reason, ...about }, today);
    return send && { send };
  }
  const event = await findEvent(db, eventId);
  const notified = event ? await recipients(db, event, today) : [];
  return notified.map(({ id, reason, request }) => ({
    event: eventId,
    user: id,
    reason,
    ...(request !== undefined && { request }),
  }));
}

/** Of a notice the mails to queue, or of a mail the next step. */
async function stepOfNotice(
  db: Reader,
  taskId: number,
  notice: NotificationPayload,
  today: string,
): Promise<Step | NotificationPayload[]> {
  const { user, reason, outcome } = notice;
  // Every attempt to send a mail has the same task.
  const key = `notice-${taskId}`;
  if (notice.notice === "pipeline") {
    if (user !== undefined && reason !== undefined && outcome !== undefined) {
      const mail = { key, user, reason, outcome };
      const pipeline = await findPipelineMail(db, notice, mail, today);
      return pipeline && { pipeline };
    }
    const told = await pipelineRecipient(db, notice, today);
    if (!told) return [];
    return [{ ...notice, user: told.id, reason: told.reason, outcome: told.outcome }];
  }
  if (user !== undefined && reason !== undefined) {
    const send = await findNoticed(db, notice, { key, user, reason }, today);
    return send && { send };
  }
  const notified = await recipientsOfNotice(db, notice, today);
  const { about, except, ...told } = notice;
  return notified.map(({ id, reason }) => ({ ...told, user: id, reason }));
}

/** The mails that were not sent, those that failed for good first. */
export async function queuedMails(db: Reader, most: number, now: number): Promise<QueuedMail[]> {
  const tasks = (await queued(db, { worker: MAIL }, most, now)).map(({ payload, ...task }) => ({
    ...task,
    mail: JSON.parse(payload) as Partial<EventPayload>,
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
