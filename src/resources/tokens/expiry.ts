import { DAY, dayOf } from "../../core/time.ts";
import { recordHookEvent } from "../../hooks/events.ts";
import { among } from "../../store/conditions.ts";
import type { Store } from "../../store/port.ts";

/** So many days before an access token of a group or project expires webhooks are told. */
const DAYS = 7;
/** Tokens of one transaction. */
const BATCH = 100;

/**
 * Tells webhooks of access tokens of groups and projects that expire within a week, of each once.
 *
 * @param now epoch milliseconds
 */
export async function tellExpiring(store: Store, now: number): Promise<void> {
  for (;;) {
    const told = await store.transaction(async (db) => {
      const rows = await db.rows(
        `select t.id, t.user_id, rb.project_id, rb.namespace_id from tokens t
         join resource_bots rb on rb.user_id = t.user_id
         where t.expiry_told = 0 and t.revoked = 0 and t.expires_at > ? and t.expires_at <= ?
         order by t.expires_at, t.id limit ${BATCH}`,
        [dayOf(now), dayOf(now + DAYS * DAY)],
      );
      for (const [id, userId, project, group] of rows as [number, number, number, number][]) {
        const of = project === null ? { group } : { project };
        recordHookEvent({ db, now }, { kind: "access_token", of, userId, id });
      }
      const these = among(
        "id",
        rows.map(([id]) => id as number),
      );
      await db.run(`update tokens set expiry_told = 1 where ${these.sql}`, these.values);
      return rows.length;
    });
    if (told < BATCH) return;
  }
}
