import * as v from "valibot";
import { seedPart } from "../../core/seeding.ts";
import { recordEvent } from "../events/seed.ts";
import type { SeededIssuable } from "../issuables/seed.ts";
import { setReviewState } from "../reviewers/queries.ts";
import * as approvals from "./queries.ts";

/** User names of people who have approved a merge request, before it was merged or closed. */
export const approvedByPart = seedPart({
  schema: v.optional(v.array(v.string()), []),
  async insert(seeding, usernames, request: SeededIssuable) {
    const { db } = seeding;
    const { kind, id, iid, title, project, createdAt, endedAt: at = createdAt } = request;
    const target = { type: kind.prefix, id, iid, title };
    for (const username of usernames) {
      const userId = seeding.userId(username);
      await approvals.approve(db, id, userId, at);
      await setReviewState(db, id, userId, "approved");
      await recordEvent(seeding, project, username, { action: "approved", target }, at);
    }
    return usernames.length;
  },
});
