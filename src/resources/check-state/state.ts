import { placeholders } from "../../store/placeholders.ts";
import type { Reader, Value } from "../../store/port.ts";
import { fits } from "../protected-refs/wildcards.ts";

/** What services elsewhere say of a merge request's newest commit. */
export const STATUSES = ["passed", "failed", "pending"] as const;

/** A status check of a merge request. */
export interface CheckState {
  /** Of the check: the hook that it is told by. */
  readonly id: number;
  readonly name: string;
  /** What was said of the newest commit; what was said of older ones counts no more. */
  readonly status: (typeof STATUSES)[number];
}

/**
 * The status checks that are asked about merge requests, the oldest check first, in two statements.
 *
 * @returns by the ids of the merge requests
 */
export async function checksOf(
  db: Reader,
  ids: readonly Value[],
): Promise<Map<Value, readonly CheckState[]>> {
  const among = placeholders(ids);
  const rows = await db.rows(
    `select mr.id, h.id, h.check_name, coalesce(r.status, 'pending'), mr.target_branch
     from merge_requests mr join hooks h on h.project_id = mr.project_id and h.check_name is not null
     left join status_check_responses r
       on r.merge_request_id = mr.id and r.hook_id = h.id and r.sha = mr.sha
     where mr.id in (${among.sql}) order by h.id`,
    among.values,
  );
  const applies = await branchTest(
    db,
    rows.map((row) => row[1] as number),
  );
  const checks = new Map<Value, CheckState[]>(ids.map((id) => [id, []]));
  for (const [request, id, name, status, branch] of rows) {
    if (!applies(id as number, branch as string)) continue;
    checks.get(request as Value)?.push({ id, name, status } as CheckState);
  }
  return checks;
}

/** Finds out for which branches some checks are: for all, or for some protected ones. */
export async function branchTest(
  db: Reader,
  checkIds: readonly number[],
): Promise<(checkId: number, branch: string) => boolean> {
  if (checkIds.length === 0) return () => true;
  const among = placeholders([...new Set(checkIds)]);
  const found = await db.rows(
    `select x.hook_id, pr.name from status_check_branches x
     join protected_branches pr on pr.id = x.branch_id where x.hook_id in (${among.sql})`,
    among.values,
  );
  return (checkId, branch) => {
    const own = found.filter(([id]) => id === checkId);
    return own.length === 0 || own.some(([, name]) => fits(name as string, branch));
  };
}
