import { dayOf } from "../../core/time.ts";
import { inBatches } from "../../jobs/batches.ts";
import { among } from "../../store/conditions.ts";
import type { Database, Store } from "../../store/port.ts";
import { schedule } from "./changes.ts";
import * as iterations from "./queries.ts";

/** Cadences that are read at once. */
const PAGE = 100;

/**
 * Makes the iterations that cadences with automation are to have today; and takes open issues of iterations that are over
 * to the next one, where the cadence wants that.
 *
 * @param now epoch milliseconds
 */
export async function turnIterations(store: Store, now: number): Promise<void> {
  for (let after = 0; ; ) {
    const cadences = await iterations.automaticCadences(store, after, PAGE);
    for (const cadence of cadences) await store.transaction((db) => schedule(db, cadence, now));
    after = cadences.at(-1)?.id ?? 0;
    if (cadences.length < PAGE) break;
  }
  const today = dayOf(now);
  for (;;) {
    const ended = await iterations.firstEnded(store, today);
    if (!ended) return;
    const next = ended.rolls ? await iterations.nextOf(store, ended, today) : undefined;
    if (next !== undefined) {
      await inBatches(store, (db, batch) => rollOver(db, ended.id, next, batch, now));
    }
    await store.transaction((db) =>
      db.run("update iterations set ended = 1 where id = ?", [ended.id]),
    );
  }
}

/** Takes open issues from one iteration to another, as nobody; their history tells. @returns how many there were */
async function rollOver(
  db: Database,
  from: number,
  to: number,
  most: number,
  now: number,
): Promise<number> {
  const rows = await db.rows(
    "select id from issues where iteration_id = ? and state = 'opened' order by created_at, id limit ?",
    [from, most],
  );
  const these = among(
    "id",
    rows.map(([id]) => id as number),
  );
  for (const [iteration, action] of [
    [from, "remove"],
    [to, "add"],
  ] as const) {
    await db.run(
      `insert into resource_iteration_events (issue_id, iteration_id, action, created_at)
       select id, cast(? as bigint), '${action}', cast(? as bigint) from issues where ${these.sql}`,
      [iteration, now, ...these.values],
    );
  }
  await db.run(`update issues set iteration_id = ?, updated_at = ? where ${these.sql}`, [
    to,
    now,
    ...these.values,
  ]);
  return rows.length;
}
