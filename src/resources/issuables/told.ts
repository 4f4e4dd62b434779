import { isoInstant } from "../../core/time.ts";
import type { Differences, IssuableType } from "./type.ts";

/** GitLab's numbers of states. */
export const STATE_IDS: Readonly<Record<string, number>> = {
  opened: 1,
  closed: 2,
  merged: 3,
  locked: 4,
};

const SHARED = [
  ...(["title", "description", "state", "milestone_id", "discussion_locked", "closed_at"] as const),
  ...(["time_estimate", "total_time_spent"] as const),
];
/** The columns whose changes hooks are told, besides labels and people. */
export const TOLD_COLUMNS = {
  issue: [...SHARED, "confidential", "due_date", "weight"],
  merge_request: [...SHARED, "target_branch"],
} as const;
/** What issuables are linked with: lists of ids. */
export const LINKS = ["labels", "assignees", "reviewers"] as const;
const FLAGS = ["discussion_locked", "confidential"];
const INSTANTS = ["closed_at"];

/** A change as hooks are told of it: what an attribute was and is. Labels and people are lists of ids. */
export function toldChanges(
  { prefix }: IssuableType,
  of: Differences,
): Record<string, { previous: unknown; current: unknown }> {
  const told = [...TOLD_COLUMNS[prefix], ...LINKS].flatMap((name) => {
    const difference = of[name];
    if (!difference) return [];
    const { previous, current } = difference;
    const shown = { previous: shownAs(name, previous), current: shownAs(name, current) };
    return [[name === "state" ? "state_id" : name, shown] as const];
  });
  return Object.fromEntries(told);
}

function shownAs(name: string, value: unknown): unknown {
  if (value === null) return null;
  if (name === "state") return STATE_IDS[value as string];
  if (FLAGS.includes(name)) return value === 1;
  return INSTANTS.includes(name) ? isoInstant(value as number) : value;
}
