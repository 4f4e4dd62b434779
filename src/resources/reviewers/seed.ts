import * as v from "valibot";
import { seedPart } from "../../core/seeding.ts";
import { replacePeople } from "../issuables/queries.ts";
import type { SeededIssuable } from "../issuables/seed.ts";

/** User names of people who were asked to review a merge request. */
export const reviewersPart = seedPart({
  schema: v.optional(v.array(v.string()), []),
  async insert(seeding, usernames, { kind, id, createdAt }: SeededIssuable) {
    const current = usernames.map((username) => seeding.userId(username));
    const people = { previous: [], current };
    await replacePeople(seeding.db, kind, "reviewers", id, people, createdAt);
    return usernames.length;
  },
});
