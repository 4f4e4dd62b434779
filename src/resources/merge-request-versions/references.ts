import { type Viewer, visibleIssues, visibleProjects } from "../../core/access/visibility.ts";
import { type IssueReference, issuesIn } from "../../core/references.ts";
import { all } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Database, Reader } from "../../store/port.ts";
import type { Writing } from "../issuables/type.ts";
import { closeIssues } from "../issues/closing.ts";
import { findReferred } from "../issues/referred.ts";

/** Merge requests close issues only when merged into the default branch; projects may have none yet. */
const INTO_DEFAULT = "(q.default_branch is null or q.default_branch = r.target_branch)";
/** SQL that says whether a row `x` of `merge_request_issues` is of an issue that merging closes. */
export const CLOSES = `x.closes = 1 and exists (select 1 from merge_requests r join projects q on q.id = r.project_id
  where r.id = x.merge_request_id and ${INTO_DEFAULT})`;

/**
 * Stores which issues a merge request refers to, in place of those stored before: in its title, its description and the
 * messages of its commits.
 *
 * @param viewer whose issues count: those they may read; `undefined` for all
 * @param base the public address: texts may refer to pages below it
 */
export async function storeReferences(
  db: Database,
  id: number,
  viewer: Viewer | undefined,
  base?: string,
): Promise<void> {
  const [found] = await db.rows(
    `select mr.title, mr.description, p.full_path, v.issue_references
     from merge_requests mr join projects p on p.id = mr.project_id
     left join merge_request_versions v on v.id =
       (select max(w.id) from merge_request_versions w where w.merge_request_id = mr.id)
     where mr.id = ?`,
    [id],
  );
  const [title, description, fullPath, ofCommits] = found as [
    string,
    string | null,
    string,
    string | null,
  ];
  const references: IssueReference[] = [
    ...issuesIn([title, description], base),
    ...(JSON.parse(ofCommits ?? "[]") as IssueReference[]),
  ];
  await db.run("delete from merge_request_issues where merge_request_id = ?", [id]);
  const referred = await findReferred(db, { fullPath }, references, viewer);
  if (referred.length === 0) return;
  await db.run(
    `insert into merge_request_issues (issue_id, merge_request_id, closes)
     values ${referred.map(() => "(?, ?, ?)").join(", ")}`,
    referred.flatMap((issue) => [issue.id, id, Number(issue.reference.closes)]),
  );
}

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
