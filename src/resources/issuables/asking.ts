import { approvers } from "../approval-state/approvers.ts";
import { approvalState, HAS_RULES } from "../approval-state/state.ts";
import { isDraft, MERGE_REQUEST } from "./merge-request.ts";
import { readers } from "./queries.ts";
import * as todos from "./todos.ts";
import type { Writing } from "./type.ts";

/** Approvers who get a todo at most: they are added one by one. */
const MOST_ASKED = 100;

/**
 * Gives a todo to those whose approval a rule of a merge request asks for and lacks, unless it is a draft: not to code
 * owners, the caller, or anybody whose approval would not count. People who have a to-do item about it already get no other.
 */
export async function askApprovers(
  { db, source, caller, viewer, tier, now }: Writing,
  { id, title }: { id: number; title: string },
): Promise<void> {
  if (isDraft(title) || !tier) return;
  const ruled = await db.rows(
    `select 1 from merge_requests mr where mr.id = ? and mr.state = 'opened' and ${HAS_RULES}`,
    [id],
  );
  if (ruled.length === 0) return;
  const { rules, excluded, approvals } = await approvalState(db, id, tier, viewer.today);
  const lacking = rules.filter(({ rule_type, left }) => rule_type === "regular" && left > 0);
  if (lacking.length === 0) return;
  const named = approvers(
    lacking.map((rule) => rule.id),
    viewer.today,
  );
  const done = [...excluded, ...approvals.map(({ userId }) => userId), caller.id];
  const found = await db.rows(
    `select distinct x.user_id from (${named.sql}) x where x.user_id not in (${done.map(() => "?").join(", ")})
     order by x.user_id limit ${MOST_ASKED}`,
    [...named.values, ...done],
  );
  const ids = found.map(([userId]) => userId as number);
  const able = await readers(db, MERGE_REQUEST, { id }, { ids }, viewer.today);
  const about = { projectId: source.id, id };
  await todos.add(db, MERGE_REQUEST, about, able, "approval_required", caller.id, now);
}
