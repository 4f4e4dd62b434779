import { isoInstant } from "../../core/time.ts";
import { type ATTRIBUTES, attributesOf, type IssueType, typeName } from "./attributes.ts";
import type { Differences, IssuableType } from "./type.ts";

/** GitLab's numbers of states. */
export const STATE_IDS: Readonly<Record<string, number>> = {
  opened: 1,
  closed: 2,
  merged: 3,
  locked: 4,
};

const SHARED = [
  "title",
  "description",
  "state",
  "milestone_id",
  "closed_at",
  "time_estimate",
  "total_time_spent",
] as const;
/** The names of attributes whose changes hooks are told. */
const toldOf = <P extends keyof typeof ATTRIBUTES>(prefix: P) =>
  attributesOf(prefix).flatMap(([name, { isUntold }]) =>
    isUntold === true ? [] : [name as keyof (typeof ATTRIBUTES)[P]],
  );
/** The columns whose changes hooks are told, besides labels and people. */
export const TOLD_COLUMNS = {
  issue: [...SHARED, "severity", ...toldOf("issue")],
  merge_request: [...SHARED, "target_branch", ...toldOf("merge_request")],
} as const;
/** What hooks call columns with names of their own. */
const TOLD_AS: Readonly<Record<string, string>> = { state: "state_id", issue_type: "type" };
/** What issuables are linked with: lists of ids. */
export const LINKS = ["labels", "assignees", "reviewers"] as const;

/** A change as hooks are told of it: what an attribute was and is. Labels and people are lists of ids. */
export function toldChanges(
  { prefix }: IssuableType,
  differences: Differences,
): Record<string, { previous: unknown; current: unknown }> {
  const told = [...TOLD_COLUMNS[prefix], ...LINKS].flatMap((name) => {
    const difference = differences[name];
    if (!difference) return [];
    const { previous, current } = difference;
    const shown = {
      previous: shownAs(prefix, name, previous),
      current: shownAs(prefix, name, current),
    };
    return [[TOLD_AS[name] ?? name, shown] as const];
  });
  return Object.fromEntries(told);
}

function shownAs(prefix: IssuableType["prefix"], name: string, value: unknown): unknown {
  if (value === null) return null;
  if (name === "state") return STATE_IDS[value as string];
  if (name === "issue_type") return typeName(value as IssueType);
  if (name === "closed_at") return isoInstant(value as number);
  const isFlag = attributesOf(prefix).some(([own, { kind }]) => own === name && kind === "flag");
  return isFlag ? value === 1 : value;
}
