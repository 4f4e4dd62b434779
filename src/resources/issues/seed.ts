import * as v from "valibot";
import {
  type InsertNested,
  oneOf,
  type SeededSource,
  type SeedParts,
  seedList,
  type Word,
} from "../../core/seeding.ts";
import { columnsOf, type Seeded, seedEntriesOf } from "../issuables/attributes.ts";
import { ISSUE, SEVERITIES } from "../issuables/issue.ts";
import {
  complete,
  type IssuableSeed,
  issuableEntries,
  lookUpLabels,
  type SeededIssuable,
} from "../issuables/seed.ts";
import { milestoneIdOf } from "../milestones/seed.ts";
import * as issues from "./queries.ts";

/** An issue of a seed. */
export interface IssueSeed extends IssuableSeed, Seeded<"issue"> {
  state?: Word<"opened" | "closed"> | undefined;
  /** Of an incident. Default `"unknown"`. */
  severity?: Word<(typeof SEVERITIES)[number]> | undefined;
}

/** A project's issues. @param nested what each of them has */
export const issuesPart = <Nested extends SeedParts<SeededIssuable>>(nested: Nested) =>
  seedList({
    entries: {
      ...issuableEntries,
      state: v.optional(oneOf(["opened", "closed"]), "opened"),
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
          columns: { ...columnsOf("issue", issue), severity: issue.severity },
        },
        issue.created_at ?? seeding.now,
      );
      await complete(seeding, ISSUE, issue, inserted, project, insertNested);
    },
  });
