import * as v from "valibot";
import { seedPart } from "../../core/seeding.ts";
import type { SeededIssuable } from "../issuables/seed.ts";
import { insertReviewer } from "./changes.ts";

/** User names of people who were asked to review a merge request. */
export const reviewersPart = seedPart({
  schema: v.optional(v.array(v.string()), []),
  async insert(seeding, usernames, { id, createdAt }: SeededIssuable) {
    for (const username of usernames) {
      await insertReviewer(seeding.db, id, seeding.userId(username), createdAt);
    }
    return usernames.length;
  },
});
