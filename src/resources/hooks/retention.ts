import { inBatches } from "../../jobs/batches.ts";
import type { Store } from "../../store/port.ts";

/** How long what a hook was sent stays in its log, in milliseconds. */
const KEPT = 7 * 86_400_000;

/** Removes from the logs of hooks what is older than a week, and the logs of deleted hooks. */
export async function sweepLogs(store: Store, now: number): Promise<void> {
  const old = "select id from hook_deliveries where pending = 0 and created_at < ? limit ?";
  const orphans = `select d.id from hook_deliveries d left join hooks h on h.id = d.hook_id
    where h.id is null limit ?`;
  const remove = (which: string) => `delete from hook_deliveries where id in (${which})`;
  await inBatches(store, (db, batch) => db.run(remove(old), [now - KEPT, batch]));
  await inBatches(store, (db, batch) => db.run(remove(orphans), [batch]));
}
