import type { Database } from "../../store/port.ts";

/** What a reviewer has said. */
type ReviewState = "unreviewed" | "approved" | "unapproved";

/** Remembers what a user has said of a merge request, if they are one of its reviewers. */
export async function setReviewState(
  db: Database,
  requestId: number,
  userId: number,
  state: ReviewState,
): Promise<void> {
  await db.run(
    "update merge_request_reviewers set state = ? where merge_request_id = ? and user_id = ?",
    [state, requestId, userId],
  );
}
