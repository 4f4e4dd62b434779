import * as v from "valibot";
import {
  type CheckedRecord,
  type InsertNested,
  type InstantSeed,
  instant,
  type SeededSource,
  type Seeding,
} from "../../core/seeding.ts";
import { updateRow } from "../../store/update.ts";
import { recordEvent } from "../events/seed.ts";
import { labelIdsOf } from "../labels/seed.ts";
import { parseDuration } from "./duration.ts";
import { recordState } from "./history.ts";
import * as issuables from "./queries.ts";
import type { IssuableType } from "./type.ts";

/** What issues and merge requests of a seed have in common. */
export interface IssuableSeed {
  title: string;
  description?: string | undefined;
  /** A user name. */
  author: string;
  /** User names. */
  assignees?: string[] | undefined;
  /** Names; missing labels are created in the project. */
  labels?: string[] | undefined;
  /** The title of a milestone of the project or of a group above it. */
  milestone?: string | undefined;
  /** A duration such as `1d 4h`. */
  time_estimate?: string | undefined;
  created_at?: InstantSeed;
  /** The user who closed or merged it. Default: its author. */
  ended_by?: string | undefined;
  /** When it was closed or merged. Default: when it was created. */
  ended_at?: InstantSeed;
}

/** The schema of a duration; its output is seconds. */
export const durationSeed = v.pipe(
  v.string(),
  v.transform(parseDuration),
  v.number("Invalid duration"),
);

/** The schemas of {@link IssuableSeed}. */
export const issuableEntries = {
  title: v.string(),
  description: v.optional(v.string()),
  author: v.string(),
  assignees: v.optional(v.array(v.string()), []),
  labels: v.optional(v.array(v.string()), []),
  milestone: v.optional(v.string()),
  time_estimate: v.optional(durationSeed, "0"),
  created_at: instant,
  ended_by: v.optional(v.string()),
  ended_at: instant,
};

/** A checked {@link IssuableSeed}. */
type Issuable = CheckedRecord<typeof issuableEntries>;

/** A seeded issue or merge request, as its notes, awards and todos need it. */
export interface SeededIssuable extends Pick<Issuable, "title" | "author" | "assignees"> {
  readonly kind: IssuableType;
  /** The column that refers to it. */
  readonly column: IssuableType["column"];
  readonly id: number;
  readonly iid: number;
  readonly project: SeededSource;
  readonly createdAt: number;
  /** When it was closed or merged, if it is no longer open. */
  readonly endedAt: number | undefined;
}

/** Looks up the labels of all of a project's issues or merge requests, in one query. */
export async function lookUpLabels(
  seeding: Seeding,
  all: readonly Issuable[],
  project: SeededSource,
): Promise<void> {
  await labelIdsOf(
    seeding,
    project,
    all.flatMap(({ labels }) => labels),
  );
}

/**
 * Adds everything that issues and merge requests have in common to a new one: labels, assignees, nested parts, its end
 * and the events.
 */
export async function complete(
  seeding: Seeding,
  kind: IssuableType,
  given: Issuable & { state: "opened" | "closed" | "merged" },
  { id, iid }: { id: number; iid: number },
  project: SeededSource,
  insertNested: InsertNested<SeededIssuable>,
): Promise<void> {
  const { db } = seeding;
  const { title, author, state, time_estimate, created_at: createdAt = seeding.now } = given;
  const { ended_by = author, ended_at = createdAt } = given;
  const target = { type: kind.prefix, id, iid, title };
  await recordEvent(seeding, project, author, { action: "created", target }, createdAt);
  await issuables.replaceLabels(db, kind, id, await labelIdsOf(seeding, project, given.labels));
  if (time_estimate !== 0) await updateRow(db, kind.table, id, { time_estimate }, createdAt);
  const assignees = given.assignees.map((username) => seeding.userId(username));
  const people = { previous: [], current: assignees };
  await issuables.replacePeople(db, kind, "assignees", id, people, createdAt);
  await insertNested({
    kind,
    column: kind.column,
    id,
    iid,
    project,
    title,
    author,
    assignees: given.assignees,
    createdAt,
    endedAt: state === "opened" ? undefined : ended_at,
  });
  if (state === "opened") return;
  const endedById = seeding.userId(ended_by);
  const end =
    state === "merged"
      ? { merged_at: ended_at, merged_by_id: endedById }
      : { closed_at: ended_at, closed_by_id: endedById };
  await updateRow(db, kind.table, id, { state, ...end }, ended_at);
  recordState({ db, caller: { id: endedById }, now: ended_at }, kind, id, state);
  kind.place?.(db, [id]);
  await recordEvent(seeding, project, ended_by, { action: state, target }, ended_at);
}
