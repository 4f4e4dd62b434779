import * as v from "valibot";
import {
  day,
  type InsertNested,
  oneOf,
  type SeededSource,
  type SeedParts,
  seedList,
  type Word,
} from "../../core/seeding.ts";
import { ISSUE } from "../issuables/issue.ts";
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
export interface IssueSeed extends IssuableSeed {
  state?: Word<"opened" | "closed"> | undefined;
  confidential?: boolean | undefined;
  /** A day. */
  due_date?: string | undefined;
  weight?: number | undefined;
}

/** A project's issues. @param nested what each of them has */
export const issuesPart = <Nested extends SeedParts<SeededIssuable>>(nested: Nested) =>
  seedList({
    entries: {
      ...issuableEntries,
      state: v.optional(oneOf(["opened", "closed"]), "opened"),
      confidential: v.optional(v.boolean(), false),
      due_date: v.optional(day),
      weight: v.optional(v.number()),
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
      const { title, description, confidential, due_date, weight } = issue;
      const inserted = await issues.insert(
        seeding.db,
        {
          project_id: project.id,
          author_id: seeding.userId(issue.author),
          title,
          description,
          confidential,
          due_date,
          weight,
          milestone_id: await milestoneIdOf(seeding, project, issue.milestone),
        },
        issue.created_at ?? seeding.now,
      );
      await complete(seeding, ISSUE, issue, inserted, project, insertNested);
    },
  });
