import { type Viewer, visibleIssues, visibleProjects } from "../../core/access/visibility.ts";
import { paginate, type RowPage } from "../../core/pagination.ts";
import { type IssueReference, issuesIn } from "../../core/references.ts";
import type { Context } from "../../core/resource.ts";
import { all, type Condition } from "../../store/conditions.ts";
import type { Database, Reader } from "../../store/port.ts";
import { embed } from "../issuables/embed.ts";
import { ISSUE } from "../issuables/issue.ts";
import { MERGE_REQUEST } from "../issuables/merge-request.ts";
import { issuableJoins, type Presenting } from "../issuables/type.ts";
import { findReferred } from "../issues/referred.ts";

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
  readonly iid: number;
  readonly projectId: number;
  /** The full path of its project. */
  readonly path: string;
}

/** The issues that a merge request closes, which the caller may read. */
export async function closingIssues(
  db: Reader,
  requestId: number,
  viewer: Viewer,
): Promise<ClosingIssue[]> {
  const readable = all([visibleProjects(viewer), visibleIssues(viewer)]);
  const rows = await db.rows(
    `select i.iid, i.project_id, p.full_path from merge_request_issues x
     join issues i on i.id = x.issue_id join projects p on p.id = i.project_id
     where x.merge_request_id = ? and ${CLOSES} and ${readable.sql} order by x.issue_id`,
    [requestId, ...readable.values],
  );
  return (rows as [number, number, string][]).map(([iid, projectId, path]) => ({
    iid,
    projectId,
    path,
  }));
}

/** Merge requests close issues only when merged into the default branch; projects may have none yet. */
const INTO_DEFAULT = "(q.default_branch is null or q.default_branch = r.target_branch)";
const CLOSES = `x.closes = 1 and exists (select 1 from merge_requests r join projects q on q.id = r.project_id
  where r.id = x.merge_request_id and ${INTO_DEFAULT})`;

type Listing = Presenting & Pick<Context, "page" | "viewer"> & { db: Reader };

/** A page of the issues that a merge request closes, which the caller may read. */
export async function closedIssues(context: Listing, requestId: number): Promise<RowPage> {
  const { db, presenter, page, viewer } = context;
  const readable = all([visibleProjects(viewer), visibleIssues(viewer)]);
  const from = `merge_request_issues x join issues i on i.id = x.issue_id
    join projects p on p.id = i.project_id`;
  const where = `x.merge_request_id = ? and ${CLOSES} and ${readable.sql}`;
  const listed = await paginate(db, presenter, page, {
    from: `${from} ${issuableJoins("i")} where ${where}`,
    countFrom: `${from} where ${where}`,
    values: [requestId, ...readable.values],
    order: "x.issue_id",
  });
  await embed(context, ISSUE, listed.rows);
  return listed;
}

/**
 * A page of the merge requests that refer to an issue, which the caller may read.
 *
 * @param which `"closing"`: only those that close it
 */
export async function referringRequests(
  context: Listing,
  issueId: number,
  which: "all" | "closing",
): Promise<RowPage> {
  const { db, presenter, page, viewer } = context;
  const closing: Condition | undefined =
    which === "closing" ? { sql: CLOSES, values: [] } : undefined;
  const conditions = all([closing, visibleProjects(viewer), MERGE_REQUEST.visible(viewer)]);
  const listed = await paginate(db, presenter, page, {
    from: `${MERGE_REQUEST.from} join merge_request_issues x on x.merge_request_id = mr.id
      where x.issue_id = ? and ${conditions.sql}`,
    values: [issueId, ...conditions.values],
    order: "x.merge_request_id",
  });
  await embed(context, MERGE_REQUEST, listed.rows);
  return listed;
}
