import { type Viewer, visibleIssues, visibleProjects } from "../../core/access/visibility.ts";
import { all } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader } from "../../store/port.ts";
import type { Writing } from "../issuables/type.ts";
import { closeIssues } from "../issues/closing.ts";

/** Merge requests close issues only when merged into the default branch; projects may have none yet. */
const INTO_DEFAULT = "(q.default_branch is null or q.default_branch = r.target_branch)";
/** SQL that says whether a row `x` of `merge_request_issues` is of an issue that merging closes. */
export const CLOSES = `x.closes = 1 and exists (select 1 from merge_requests r join projects q on q.id = r.project_id
  where r.id = x.merge_request_id and ${INTO_DEFAULT})`;

/** An issue that a merge request closes. */
interface ClosingIssue {
  /** The merge request that closes it. */
  readonly requestId: number;
  readonly iid: number;
  readonly projectId: number;
  /** The full path of its project. */
  readonly path: string;
}

/** The issues that merge requests close, which the caller may read. @param requestIds at least one */
export async function closingIssues(
  db: Reader,
  requestIds: readonly number[],
  viewer: Viewer,
): Promise<ClosingIssue[]> {
  const readable = all([visibleProjects(viewer), visibleIssues(viewer)]);
  const among = placeholders(requestIds);
  const rows = await db.rows(
    `select x.merge_request_id, i.iid, i.project_id, p.full_path from merge_request_issues x
     join issues i on i.id = x.issue_id join projects p on p.id = i.project_id
     where x.merge_request_id in (${among.sql}) and ${CLOSES} and ${readable.sql} order by x.issue_id`,
    [...among.values, ...readable.values],
  );
  return (rows as [number, number, number, string][]).map(([requestId, iid, projectId, path]) => ({
    requestId,
    iid,
    projectId,
    path,
  }));
}

/** Closes the issues that a merge request closes, which was merged. */
export async function closeReferred(writing: Writing, requestId: number): Promise<void> {
  const { source: project, viewer } = writing;
  const issues = await closingIssues(writing.db, [requestId], viewer);
  const closed = issues.map(({ projectId, iid }) => ({
    projectId,
    iid,
    mergeRequestId: requestId,
  }));
  await closeIssues({ ...writing, project }, closed);
}
