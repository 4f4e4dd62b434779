import type { IssueType } from "../issuables/attributes.ts";

/** Which types may be below one: tasks below issues and incidents; issues and epics below epics. */
const CHILD_TYPES: Readonly<Partial<Record<IssueType, readonly IssueType[]>>> = {
  issue: ["task"],
  incident: ["task"],
  epic: ["issue", "epic"],
};

/** The types that may be below one. */
export const childTypesOf = (type: IssueType | undefined): readonly IssueType[] =>
  (type && CHILD_TYPES[type]) ?? [];
