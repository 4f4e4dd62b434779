import { areFew, handPart, type Part, removeLater, removePart } from "../../jobs/removal.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Database, Store } from "../../store/port.ts";

/** What belongs to a milestone that is deleted at once: each issue is told of, some 0.15 ms, and nobody else is served. */
const MOST_AT_ONCE = 200;

/** What has a milestone, and stays without it. */
export const MILESTONE_REFERENCES: readonly Part[] = [
  ["issues", "milestone_id", "id"],
  ["merge_requests", "milestone_id", "id"],
  ["boards", "milestone_id", "id"],
  ["resource_milestone_events", "milestone_id", "id"],
];

/** What a milestone is in, and is taken out of. */
export const MILESTONE_PARTS: readonly Part[] = [
  ["release_milestones", "milestone_id", "release_id"],
  ["board_lists", "milestone_id", "id"],
];

/**
 * Deletes a milestone, also from the boards limited to it, and the lists for it: at once if few issues and merge requests have it. Otherwise
 * nobody sees it any more, its title is free, and a worker takes it from them.
 *
 * @param take takes it from those few
 */
export async function remove(
  db: Database,
  milestoneId: number,
  now: number,
  take: () => Promise<void>,
): Promise<void> {
  const milestone = placeholders([milestoneId]);
  if (await areFew(db, [...MILESTONE_REFERENCES, ...MILESTONE_PARTS], milestone, MOST_AT_ONCE)) {
    await take();
    await db.run("delete from milestones where id = ?", [milestoneId]);
    return;
  }
  await db.run("update boards set milestone_id = null where milestone_id = ?", [milestoneId]);
  await db.run("delete from board_lists where milestone_id = ?", [milestoneId]);
  // Titles are trimmed and not empty.
  await db.run("update milestones set removed = 1, title = ? where id = ?", [
    ` ${milestoneId}`,
    milestoneId,
  ]);
  await removeLater(db, { milestone: milestoneId }, now);
}

/** Deletes a hidden milestone, in batches. @throws what the signal was aborted with */
export async function removeMilestone(
  store: Store,
  milestoneId: number,
  signal?: AbortSignal,
): Promise<void> {
  for (const part of MILESTONE_REFERENCES) {
    await handPart(store, part, [milestoneId], null, { signal });
  }
  for (const part of MILESTONE_PARTS) {
    await removePart(store, part, placeholders([milestoneId]), signal);
  }
  await removePart(store, ["milestones", "id", "id"], placeholders([milestoneId]), signal);
}
