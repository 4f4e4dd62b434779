import { visibleProjects } from "../../core/access/visibility.ts";
import { pageOf, type RowPage } from "../../core/pagination.ts";
import type { Context } from "../../core/resource.ts";
import { commitNumber } from "../../git/commits.ts";
import { all } from "../../store/conditions.ts";
import type { Reader } from "../../store/port.ts";
import { rowsOf } from "../issuables/embed.ts";
import { MERGE_REQUEST } from "../issuables/merge-request.ts";
import type { Presenting } from "../issuables/type.ts";
import type { OpenRepository } from "../repositories/open.ts";

/** What decides which commits a merge request has. */
interface Request {
  id: number;
  /** Their latest version: the commit that it ends with, and the target branch at that time. */
  head_sha: string | null;
  start_sha: string | null;
  /** Whether they were merged with the commit. */
  is_result: number;
}

/**
 * A page of the merge requests that have a commit: their latest version brings it to their target branch; or they were
 * merged with it.
 */
export async function requestsWith(
  context: Presenting & Pick<Context, "page" | "viewer"> & { db: Reader },
  opened: OpenRepository,
  id: string,
  state: "opened" | "closed" | "locked" | "merged" | undefined,
): Promise<RowPage> {
  const { db, page, viewer } = context;
  const { repository, project } = opened;
  const visible = all([visibleProjects(viewer), MERGE_REQUEST.visible(viewer)]);
  const requests = await db.all<Request>(
    `select mr.id as id, v.head_sha as head_sha, v.start_sha as start_sha,
       case when ? in (mr.merge_commit_sha, mr.squash_commit_sha) then 1 else 0 end as is_result
     from ${MERGE_REQUEST.from} left join merge_request_versions v on v.id =
       (select max(id) from merge_request_versions n where n.merge_request_id = mr.id)
     where mr.project_id = ? ${state === undefined ? "" : "and mr.state = ?"} and ${visible.sql}
     order by mr.id desc`,
    [id, project.id, ...(state === undefined ? [] : [state]), ...visible.values],
  );
  const reached = repository.graph.descendants(commitNumber(repository, id) as number);
  const reaches = (oid: string | null | undefined) => {
    const number = oid ? commitNumber(repository, oid) : undefined;
    return number !== undefined && reached[number] === 1;
  };
  const ids = requests
    .filter(
      ({ head_sha, start_sha, is_result }) =>
        is_result === 1 || (reaches(head_sha) && !reaches(start_sha)),
    )
    .map((request) => request.id);
  return pageOf(page, ids.length, async (from, to) => {
    const wanted = ids.slice(from, to);
    const rows = await rowsOf(context, MERGE_REQUEST, wanted);
    const at = context.presenter.at("id");
    return rows.sort((a, b) => Number(b[at]) - Number(a[at]));
  });
}
