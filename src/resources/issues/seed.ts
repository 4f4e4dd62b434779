import * as v from "valibot";
import {
  type InsertNested,
  oneOf,
  SeedError,
  type SeededSource,
  type SeedParts,
  seedList,
  type Word,
} from "../../core/seeding.ts";
import type { Database } from "../../store/port.ts";
import * as hierarchy from "../hierarchy/queries.ts";
import { childTypesOf } from "../hierarchy/types.ts";
import {
  columnsOf,
  type IssueType,
  type Seeded,
  seedEntriesOf,
  typeName,
} from "../issuables/attributes.ts";
import { ISSUE, SEVERITIES } from "../issuables/issue.ts";
import {
  complete,
  type IssuableSeed,
  issuableEntries,
  lookUpLabels,
  type SeededIssuable,
} from "../issuables/seed.ts";
import { iterationIdOf } from "../iterations/seed.ts";
import { milestoneIdOf } from "../milestones/seed.ts";
import * as issues from "./queries.ts";

/** An issue of a seed. */
export interface IssueSeed extends IssuableSeed, Seeded<"issue"> {
  state?: Word<"opened" | "closed"> | undefined;
  /** The number of an issue or incident that a task is below, which comes before it. */
  parent?: number | undefined;
  /** The title of an iteration of the project's group or one above it. */
  iteration?: string | undefined;
  /** Of an incident. Default `"unknown"`. */
  severity?: Word<(typeof SEVERITIES)[number]> | undefined;
}

/** @throws SeedError if there is no such issue, or none that can be above this one */
async function putBelow(
  db: Database,
  project: SeededSource,
  child: { readonly id: number; readonly type: IssueType; readonly isConfidential: boolean },
  parent: number,
): Promise<void> {
  const [row] = await db.rows(
    "select id, issue_type, confidential from issues where project_id = ? and iid = ?",
    [project.id, parent],
  );
  const [id, type, confidential] = row ?? [];
  const isFitting = childTypesOf(type as IssueType).includes(child.type);
  if (!isFitting || (confidential === 1 && !child.isConfidential)) {
    const words = typeName(child.type).toLowerCase();
    throw new SeedError(`a ${words} can't be below issue ${parent} of ${project.fullPath}`);
  }
  await hierarchy.put(db, child.id, id as number);
}

/** A project's issues. @param nested what each of them has */
export const issuesPart = <Nested extends SeedParts<SeededIssuable>>(nested: Nested) =>
  seedList({
    entries: {
      ...issuableEntries,
      state: v.optional(oneOf(["opened", "closed"]), "opened"),
      parent: v.optional(v.number()),
      iteration: v.optional(v.string()),
      severity: v.optional(oneOf(SEVERITIES), "unknown"),
      ...seedEntriesOf("issue"),
    },
    nested,
    counted: "issues",
    before: lookUpLabels,
    async insert(
      seeding,
      issue,
      project: SeededSource,
      insertNested: InsertNested<SeededIssuable>,
    ) {
      const { title, description } = issue;
      const inserted = await issues.insert(
        seeding.db,
        {
          project_id: project.id,
          author_id: seeding.userId(issue.author),
          title,
          description,
          milestone_id: await milestoneIdOf(seeding, project, issue.milestone),
          iteration_id: await iterationIdOf(seeding, project, issue.iteration),
          columns: { ...columnsOf("issue", issue), severity: issue.severity },
        },
        issue.created_at ?? seeding.now,
      );
      if (issue.parent !== undefined) {
        const { issue_type: type = "issue", confidential: isConfidential = false } = issue;
        const child = { id: inserted.id, type, isConfidential };
        await putBelow(seeding.db, project, child, issue.parent);
      }
      await complete(seeding, ISSUE, issue, inserted, project, insertNested);
    },
  });
