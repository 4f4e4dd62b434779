import type { Database, Reader } from "../../store/port.ts";
import { findEvent, recipients } from "./recipients.ts";

/** A mail that is to be sent, with what it tells of. */
export interface OutgoingMail {
  id: number;
  event_id: number;
  attempts: number;
  email: string;
  reason: string;
  action: string;
  author: string;
  project: string;
  /** `Issue` or `MergeRequest`; what a note was written on. */
  subject_type: string;
  iid: number;
  title: string;
  /** The comment, where the event is one. */
  body: string | null;
}

/**
 * Begins with the events that are still to come, where mail was never sent from this database: nobody wants to hear of
 * two years at once.
 */
export async function begin(db: Database): Promise<void> {
  await db.run(
    `insert into mail_cursor (id, event_id) select 1, coalesce(max(id), 0) from events where true
     on conflict (id) do nothing`,
  );
}

/** Whether there are events whose recipients nobody worked out. Every process asks each second: it only reads. */
export async function hasNews(db: Reader, settled: number): Promise<boolean> {
  const found = await db.rows(
    `select 1 from events e where e.id > (select event_id from mail_cursor where id = 1)
       and e.created_at <= ? limit 1`,
    [settled],
  );
  return found.length > 0;
}

/** Whether a mail is said to be sent since before an instant, in epoch milliseconds. */
export async function hasStuck(db: Reader, since: number): Promise<boolean> {
  const found = await db.rows(
    "select 1 from mail_outbox where state = 'sending' and updated_at < ? limit 1",
    [since],
  );
  return found.length > 0;
}

/**
 * Works out the recipients of the next events and puts their mails into the outbox.
 *
 * @param settled only events until this instant, in epoch milliseconds: an id can become visible after a higher one,
 *   where its transaction took longer
 * @returns how many events were looked at
 */
export async function enqueue(
  db: Database,
  { now, today, settled, most }: { now: number; today: string; settled: number; most: number },
): Promise<number> {
  const next = await db.rows(
    `select e.id from events e where e.id > (select event_id from mail_cursor where id = 1)
       and e.created_at <= ? order by e.id limit ?`,
    [settled, most],
  );
  for (const [id] of next as [number][]) {
    const event = await findEvent(db, id);
    if (!event) continue;
    for (const { id: userId, email, reason } of await recipients(db, event, today)) {
      await db.run(
        `insert into mail_outbox (event_id, user_id, reason, email, next_attempt_at, created_at, updated_at)
         values (?, ?, ?, ?, ?, ?, ?) on conflict (event_id, user_id) do nothing`,
        [id, userId, reason, email, now, now, now],
      );
    }
  }
  const last = next.at(-1)?.[0];
  if (last !== undefined) await db.run("update mail_cursor set event_id = ? where id = 1", [last]);
  return next.length;
}

/** The ids of mails that are due, the oldest first. */
export async function due(db: Reader, now: number, most: number): Promise<number[]> {
  const found = await db.rows(
    `select id from mail_outbox where state = 'pending' and next_attempt_at <= ?
     order by next_attempt_at, id limit ?`,
    [now, most],
  );
  return found.map(([id]) => id as number);
}

/**
 * Takes a mail for sending, so that no other process does.
 *
 * @returns the mail, or `undefined` where somebody else took it or what it tells of is gone
 */
export async function claim(
  db: Database,
  id: number,
  now: number,
): Promise<OutgoingMail | undefined> {
  const claimed = await db.run(
    `update mail_outbox set state = 'sending', attempts = attempts + 1, updated_at = ?
     where id = ? and state = 'pending'`,
    [now, id],
  );
  if (claimed === 0) return undefined;
  const mail = await db.one<OutgoingMail>(
    `select o.id, o.event_id, o.attempts, o.email, o.reason, e.action, u.name as author, p.full_path as project,
       case when i.id is null then 'MergeRequest' else 'Issue' end as subject_type,
       coalesce(i.iid, mr.iid) as iid, coalesce(i.title, mr.title) as title, nt.body
     from mail_outbox o join events e on e.id = o.event_id join users u on u.id = e.author_id
     join projects p on p.id = e.project_id
     left join notes nt on e.target_type = 'Note' and nt.id = e.target_id
     left join issues i on i.id = case when e.target_type = 'Issue' then e.target_id else nt.issue_id end
     left join merge_requests mr
       on mr.id = case when e.target_type = 'MergeRequest' then e.target_id else nt.merge_request_id end
     where o.id = ?`,
    [id],
  );
  if (mail?.title) return mail;
  await settle(db, id, { state: "failed", error: "what it tells of is gone" }, now);
  return undefined;
}

/** Keeps how the sending of a mail ended. */
export async function settle(
  db: Database,
  id: number,
  end:
    | { state: "sent" }
    | { state: "failed"; error: string }
    | { state: "pending"; error: string; nextAttemptAt: number },
  now: number,
): Promise<void> {
  await db.run(
    `update mail_outbox set state = ?, error = ?, next_attempt_at = ?, updated_at = ? where id = ?`,
    [
      end.state,
      end.state === "sent" ? null : end.error,
      end.state === "pending" ? end.nextAttemptAt : now,
      now,
      id,
    ],
  );
}

/**
 * Gives up what was being sent when a process ended: whether it arrived can't be known, and nothing is sent twice.
 *
 * @param since those claimed before this instant, in epoch milliseconds
 * @returns how many
 */
export function interrupt(db: Database, since: number, now: number) {
  return db.run(
    `update mail_outbox set state = 'interrupted', updated_at = ? where state = 'sending' and updated_at < ?`,
    [now, since],
  );
}
