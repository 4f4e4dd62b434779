import * as v from "valibot";
import { type InstantSeed, instant, seedList } from "../../core/seeding.ts";
import { durationSeed, type SeededIssuable } from "../issuables/seed.ts";
import * as timeTracking from "./changes.ts";

/** Time spent on an issue or merge request of a seed. */
export interface TimelogSeed {
  /** A user name. */
  user: string;
  /** A duration such as `1d 4h`. */
  time_spent: string;
  summary?: string | undefined;
  /** Default: when the issue or merge request was created. */
  spent_at?: InstantSeed;
}

/** The time spent on an issue or merge request. */
export const timelogsPart = seedList({
  entries: {
    user: v.string(),
    time_spent: durationSeed,
    summary: v.optional(v.string()),
    spent_at: instant,
  },
  counted: "timelogs",
  async insert(seeding, timelog, { kind, id, project, createdAt }: SeededIssuable) {
    const { user, time_spent: seconds, summary, spent_at: spentAt = createdAt } = timelog;
    await seeding.db.run(
      `update ${kind.table} set total_time_spent = total_time_spent + ?, updated_at = ? where id = ?`,
      [seconds, spentAt, id],
    );
    await timeTracking.insert(
      seeding.db,
      kind,
      { id, project_id: project.id },
      { user_id: seeding.userId(user), seconds, summary, spentAt },
      spentAt,
    );
  },
});
