import { areFew, handPart, type Part, removeLater, removePart } from "../../jobs/removal.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Database, Store } from "../../store/port.ts";

/** What is in iterations that are deleted at once: each issue is told of. */
const MOST_AT_ONCE = 200;

/** What has an iteration, and stays without it. */
export const ITERATION_REFERENCES: readonly Part[] = [
  ["issues", "iteration_id", "id"],
  ["resource_iteration_events", "iteration_id", "id"],
];

/** What an iteration has, and is deleted with it. */
export const ITERATION_PARTS: readonly Part[] = [["board_lists", "iteration_id", "id"]];

/**
 * Deletes iterations, and the lists of boards for them: at once if few issues are in them. Otherwise nobody sees them any more, and a worker takes the issues
 * out.
 *
 * @param take takes the issues out of one
 */
export async function remove(
  db: Database,
  ids: readonly number[],
  now: number,
  take: (id: number) => Promise<void>,
): Promise<void> {
  if (ids.length === 0) return;
  const these = placeholders(ids);
  if (await areFew(db, [...ITERATION_REFERENCES, ...ITERATION_PARTS], these, MOST_AT_ONCE)) {
    for (const id of ids) await take(id);
    await db.run(`delete from iterations where id in (${these.sql})`, these.values);
    return;
  }
  await db.run(
    `update iterations set removed = 1, ended = 1, cadence_id = null where id in (${these.sql})`,
    these.values,
  );
  await db.run(`delete from board_lists where iteration_id in (${these.sql})`, these.values);
  for (const iteration of ids) await removeLater(db, { iteration }, now);
}

/** Deletes a hidden iteration, in batches. @throws what the signal was aborted with */
export async function removeIteration(
  store: Store,
  id: number,
  signal?: AbortSignal,
): Promise<void> {
  for (const part of ITERATION_REFERENCES) await handPart(store, part, [id], null, { signal });
  for (const part of [...ITERATION_PARTS, ["iterations", "id", "id"] as const]) {
    await removePart(store, part, placeholders([id]), signal);
  }
}
