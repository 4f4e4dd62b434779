import * as v from "valibot";
import {
  type InstantSeed,
  instant,
  oneOf,
  type SeededSource,
  type Seeding,
  seedList,
  type Word,
} from "../../core/seeding.ts";
import * as events from "./queries.ts";

/** A push, as a Git hook reports it. */
export interface PushSeed {
  author: string;
  ref: string;
  ref_type?: Word<"branch" | "tag"> | undefined;
  action?: Word<"created" | "removed" | "pushed"> | undefined;
  commit_count?: number | undefined;
  commit_from?: string | undefined;
  commit_to?: string | undefined;
  commit_title?: string | undefined;
  created_at?: InstantSeed;
}

/** What an event says besides where it happened and who caused it. */
type Happening<E extends events.NewEvent | events.Push> = Omit<E, "project_id" | "author_id">;

/** A project's pushes. */
export const pushesPart = seedList({
  entries: {
    author: v.string(),
    ref: v.string(),
    ref_type: v.optional(oneOf(["branch", "tag"]), "branch"),
    action: v.optional(oneOf(["created", "removed", "pushed"]), "pushed"),
    commit_count: v.optional(v.number(), 1),
    commit_from: v.optional(v.string()),
    commit_to: v.optional(v.string()),
    commit_title: v.optional(v.string()),
    created_at: instant,
  },
  insert(seeding, push, project: SeededSource) {
    const { author, action: push_action, ref, ref_type, commit_count, created_at } = push;
    const pushed = {
      ref,
      ref_type,
      push_action,
      commit_count,
      commit_from: push.commit_from ?? null,
      commit_to: push.commit_to ?? null,
      commit_title: push.commit_title ?? null,
    };
    return recordEvent(seeding, project, author, pushed, created_at ?? seeding.now);
  },
});

/**
 * Queues an event of a project. Events are written in batches, since a history has far more of them than of anything
 * else.
 *
 * @throws SeedError if the seed has no such author
 */
export function recordEvent(
  seeding: Seeding,
  project: SeededSource,
  author: string,
  happening: Happening<events.NewEvent> | Happening<events.Push>,
  at: number,
): Promise<void> {
  project.lastEventAt = Math.max(project.lastEventAt, at);
  seeding.count("events", 1);
  const event = { ...happening, project_id: project.id, author_id: seeding.userId(author), at };
  return seeding.queue(events.insertMany, event);
}
