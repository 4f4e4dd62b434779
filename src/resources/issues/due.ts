import { dayOf } from "../../core/time.ts";
import { queueNotification } from "../../jobs/notifications.ts";
import { among } from "../../store/conditions.ts";
import type { Store } from "../../store/port.ts";

const DAY = 86_400_000;
/** Issues of one transaction. */
const BATCH = 100;

/**
 * Queues mails about the open issues that are due tomorrow, once for each due date; and about those that are due today,
 * if their date was set after the last sweep, or that was longer ago than a day.
 *
 * @param now epoch milliseconds
 */
export async function tellDue(store: Store, now: number): Promise<void> {
  for (;;) {
    const told = await store.transaction(async (db) => {
      const rows = await db.rows(
        `select id from issues
         where state = 'opened' and due_date >= ? and due_date <= ? and (due_told is null or due_told <> due_date)
         order by due_date, id limit ${BATCH}`,
        [dayOf(now), dayOf(now + DAY)],
      );
      const ids = rows.map(([id]) => id as number);
      for (const issue of ids) {
        await queueNotification(db, { notice: "issue_due", issue, by: null, at: now }, now);
      }
      const these = among("id", ids);
      await db.run(`update issues set due_told = due_date where ${these.sql}`, these.values);
      return ids.length;
    });
    if (told < BATCH) return;
  }
}
