import { OPERATOR } from "../audit/log.ts";
import * as audit from "../audit/queries.ts";
import type { Progress } from "../core/progress.ts";
import { dayOf } from "../core/time.ts";
import { inBatches } from "../jobs/batches.ts";
import * as events from "../resources/events/record.ts";
import { toldExpired } from "../resources/group-links/changes.ts";
import * as links from "../resources/group-links/queries.ts";
import { changed } from "../resources/members/followers.ts";
import * as members from "../resources/members/queries.ts";
import type { Store } from "../store/port.ts";

/** Options of a purge. */
export interface PurgeOptions {
  /** Removes events older than this: a number and `d`, `w`, `m` or `y`, such as `"2y"`. Default: `eventRetention`. */
  olderThan?: string;
  /** Counts without removing. Default false. */
  dryRun?: boolean;
  onProgress?: Progress;
}

/** The result of a purge. */
export interface Purged {
  /** How many events were removed; with `dryRun`, how many would be. */
  events: number;
  /** The same for security events of the audit log; 0 if `olderThan` was given. */
  audit_events: number;
  /** Events before this ISO 8601 instant are too old. */
  before: string;
  dry_run: boolean;
}

const AGE = /^(\d{1,4})([dwmy])$/;

/** Whether a value is an age, such as {@link PurgeOptions.olderThan}. */
export function isAge(value: unknown): value is string {
  return typeof value === "string" && AGE.test(value);
}

/**
 * The instant before which events are too old.
 *
 * @param age a number and `d`, `w`, `m` or `y`
 * @throws RangeError if it is malformed
 */
export function startOfRetention(age: string, now: number): number {
  const parts = AGE.exec(age);
  if (!parts)
    throw new RangeError(`"${age}" is not an age: give a number and d, w, m or y, such as 2y`);
  const number = Number(parts[1]);
  const date = new Date(now);
  if (parts[2] === "d") date.setUTCDate(date.getUTCDate() - number);
  else if (parts[2] === "w") date.setUTCDate(date.getUTCDate() - 7 * number);
  else if (parts[2] === "m") date.setUTCMonth(date.getUTCMonth() - number);
  else date.setUTCFullYear(date.getUTCFullYear() - number);
  return date.getTime();
}

/**
 * Removes old events, oldest first, in transactions small enough for others to write in between. If it is interrupted,
 * the next call continues.
 *
 * By default it also removes old security events. With `olderThan` it does not: an operator who tidies up activity
 * doesn't mean the audit log.
 */
export async function purgeEvents(
  store: Store,
  before: number,
  { olderThan, dryRun = false, onProgress }: PurgeOptions = {},
): Promise<Purged> {
  const report = (inEvents: number, inAudit: number): Purged => ({
    events: inEvents,
    audit_events: inAudit,
    before: new Date(before).toISOString(),
    dry_run: dryRun,
  });
  const withAudit = olderThan === undefined;
  if (dryRun) {
    const old = await events.countOlder(store, before);
    return report(old, withAudit ? await audit.countOlder(store, before) : 0);
  }
  const total = onProgress ? await events.countOlder(store, before) : 0;
  const removed = await inBatches(store, (db, batch) => events.removeOlder(db, before, batch), {
    onRemoved: (done) => onProgress?.(done, Math.max(total, done)),
  });
  const inAudit = withAudit
    ? await inBatches(store, (db, batch) => audit.removeOlder(db, before, batch))
    : 0;
  return report(removed, inAudit);
}

/**
 * Removes expired memberships and invitations of groups in small transactions, between which others can write, with what
 * follows from that. Returns how many memberships there were.
 */
export async function removeExpiredMembers(store: Store, now: number): Promise<number> {
  await inBatches(store, async (db, batch) => {
    const expired = await links.removeExpired(db, dayOf(now), batch);
    for (const link of expired) await toldExpired({ db, by: OPERATOR, now }, link);
    return expired.length;
  });
  return inBatches(store, async (db, batch) => {
    const expired = await members.removeExpired(db, dayOf(now), batch);
    for (const member of expired) {
      await changed({ db, by: OPERATOR, now, source: members.placeOf(member) }, "expired", member);
    }
    return expired.length;
  });
}
