import { OPERATOR } from "../../audit/log.ts";
import { dayOf } from "../../core/time.ts";
import type { Reader, Store } from "../../store/port.ts";
import { dormancy } from "../application-settings/dormant.ts";
import { changeState } from "./changes.ts";
import * as users from "./queries.ts";

const DAY = 86_400_000;

/** Users that no person is, who are not deactivated. */
const IS_BOT =
  "(u.id in (select user_id from resource_bots) or u.id in (select user_id from service_accounts))";

/** Whether a user was active on a day or later, or is the user of an access token. @param day `YYYY-MM-DD` */
export async function activityOf(
  db: Reader,
  userId: number,
  day: string,
): Promise<"none" | "active" | "bot"> {
  const [found] = await db.rows(
    `select case when ${IS_BOT} then 'bot' when u.last_activity_on > ? then 'active' else 'none' end
     from users u where u.id = ?`,
    [day, userId],
  );
  return found?.[0] as "none" | "active" | "bot";
}

/** Users of one transaction. */
const BATCH = 100;

/**
 * Deactivates the users who did nothing for as long as the application's settings say. Administrators stay: without one,
 * nobody could activate anybody.
 *
 * @param now epoch milliseconds
 */
export async function deactivateDormant(store: Store, now: number): Promise<void> {
  const { isSwept, days } = await dormancy(store);
  if (!isSwept) return;
  const before = now - days * DAY;
  const rows = await store.rows(
    `select u.id from users u where u.state = 'active' and u.admin = 0 and not ${IS_BOT}
       and u.last_activity_on <= ?
     union all
     select u.id from users u where u.state = 'active' and u.admin = 0 and not ${IS_BOT}
       and u.last_activity_on is null and u.created_at <= ?`,
    [dayOf(before), before],
  );
  for (let at = 0; at < rows.length; at += BATCH) {
    await store.transaction(async (db) => {
      for (const [id] of rows.slice(at, at + BATCH)) {
        const found = await users.find(db, id as number);
        if (found?.state !== "active" || found.admin === 1) continue;
        if ((await activityOf(db, found.id, dayOf(before))) !== "none") continue;
        await changeState(db, OPERATOR, found, "deactivated", now);
      }
    });
  }
}
