import { visibleIssues, visibleProjects } from "../../core/access/visibility.ts";
import { paginate, type RowPage } from "../../core/pagination.ts";
import type { Context } from "../../core/resource.ts";
import { all, type Condition } from "../../store/conditions.ts";
import type { Reader } from "../../store/port.ts";
import { embed } from "../issuables/embed.ts";
import { ISSUE, issueJoins } from "../issuables/issue.ts";
import { MERGE_REQUEST } from "../issuables/merge-request.ts";
import type { Presenting } from "../issuables/type.ts";
import { CLOSES } from "../merge-request-versions/references.ts";

type Listing = Presenting & Pick<Context, "page" | "viewer"> & { db: Reader };

/** A page of the issues that a merge request closes, which the caller may read. */
export async function referredIssues(
  context: Listing,
  requestId: number,
  which: "all" | "closing",
): Promise<RowPage> {
  const { db, presenter, page, viewer } = context;
  const readable = all([visibleProjects(viewer), visibleIssues(viewer)]);
  const from = `merge_request_issues x join issues i on i.id = x.issue_id
    join projects p on p.id = i.project_id`;
  const closes = which === "closing" ? `${CLOSES} and ` : "";
  const where = `x.merge_request_id = ? and ${closes}${readable.sql}`;
  const listed = await paginate(db, presenter, page, {
    from: `${from} ${issueJoins} where ${where}`,
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
