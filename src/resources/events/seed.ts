import type { SeededSource, Seeding } from "../../core/seeding.ts";
import * as events from "./record.ts";

/** What an event says besides where it happened and who caused it. */
type SeededEvent<E extends events.NewEvent | events.Push> = Omit<E, "project_id" | "author_id">;

/**
 * Queues an event of a project; of epics there are none. Events are written in batches, since a history has far more of them than of anything
 * else.
 *
 * @throws SeedError if the seed has no such author
 */
export function recordEvent(
  seeding: Seeding,
  project: SeededSource,
  author: string,
  seeded: SeededEvent<events.NewEvent> | SeededEvent<events.Push>,
  at: number,
): Promise<void> {
  if (project.isHome) return Promise.resolve();
  project.lastEventAt = Math.max(project.lastEventAt, at);
  seeding.count("events", 1);
  const event = { ...seeded, project_id: project.id, author_id: seeding.userId(author), at };
  return seeding.queue(events.insertMany, event);
}
