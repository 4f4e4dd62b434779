import * as v from "valibot";
import {
  type InsertNested,
  oneOf,
  type SeededSource,
  type SeedParts,
  seedList,
  type Word,
} from "../../core/seeding.ts";
import * as events from "../events/record.ts";
import { columnsOf, type Seeded, seedEntriesOf } from "../issuables/attributes.ts";
import { MERGE_REQUEST } from "../issuables/merge-request.ts";
import { storeReferences } from "../issuables/references.ts";
import {
  complete,
  type IssuableSeed,
  issuableEntries,
  lookUpLabels,
  type SeededIssuable,
} from "../issuables/seed.ts";
import { SeededVersions } from "../merge-request-versions/seeded.ts";
import { milestoneIdOf } from "../milestones/seed.ts";
import * as mergeRequests from "./queries.ts";

/** A merge request of a seed. */
export interface MergeRequestSeed extends IssuableSeed, Seeded<"merge_request"> {
  state?: Word<"opened" | "closed" | "merged"> | undefined;
  source_branch: string;
  /** Default `"main"`. */
  target_branch?: string | undefined;
}

const codes = new WeakMap<SeededSource, SeededVersions>();

/** A project's merge requests, after its pushes. @param nested what each of them has */
export const mergeRequestsPart = <Nested extends SeedParts<SeededIssuable>>(nested: Nested) =>
  seedList({
    entries: {
      ...issuableEntries,
      state: v.optional(oneOf(["opened", "closed", "merged"]), "opened"),
      source_branch: v.string(),
      target_branch: v.optional(v.string(), "main"),
      ...seedEntriesOf("merge_request"),
    },
    nested,
    counted: "merge_requests",
    async before(seeding, requests, project: SeededSource) {
      // The head of each branch is read from the events of pushes.
      await seeding.flush();
      await lookUpLabels(seeding, requests, project);
      codes.set(project, await SeededVersions.of(seeding, project));
    },
    async insert(
      seeding,
      request,
      project: SeededSource,
      insertNested: InsertNested<SeededIssuable>,
    ) {
      const { db } = seeding;
      const { title, description, source_branch, target_branch } = request;
      const inserted = await mergeRequests.insert(
        db,
        {
          project_id: project.id,
          source_project_id: project.id,
          author_id: seeding.userId(request.author),
          title,
          description,
          source_branch,
          target_branch,
          sha: await events.headOf(db, project.id, source_branch),
          milestone_id: await milestoneIdOf(seeding, project, request.milestone),
          columns: columnsOf("merge_request", request),
        },
        request.created_at ?? seeding.now,
      );
      const code = codes.get(project) as SeededVersions;
      await code.add(inserted, request, request.created_at ?? seeding.now);
      await storeReferences(db, inserted.id, undefined);
      const kind = MERGE_REQUEST;
      await complete(seeding, kind, request, inserted, project, insertNested);
    },
  });
