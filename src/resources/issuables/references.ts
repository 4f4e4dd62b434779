import type { Viewer } from "../../core/access/visibility.ts";
import { type IssueReference, issuesIn } from "../../core/references.ts";
import type { Database } from "../../store/port.ts";
import { findReferred } from "./referred.ts";

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
