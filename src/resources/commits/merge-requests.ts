import { visibleProjects } from "../../core/access/visibility.ts";
import { pageOf, type RowPage } from "../../core/pagination.ts";
import type { Context } from "../../core/resource.ts";
import { commitNumber } from "../../git/commits.ts";
import { BRANCHES, listRefsBelow } from "../../git/refs.ts";
import { all } from "../../store/conditions.ts";
import type { Reader } from "../../store/port.ts";
import { rowsOf } from "../issuables/embed.ts";
import { MERGE_REQUEST } from "../issuables/merge-request.ts";
import type { Presenting } from "../issuables/type.ts";
import type { OpenRepository } from "../repositories/open.ts";

/** What decides which commits a merge request has. */
interface Request {
  id: number;
  sha: string | null;
  target_branch: string;
  merge_commit_sha: string | null;
}

/**
 * A page of the merge requests that have a commit: it can be reached from their source branch, but not from their target
 * branch; or they were merged with it.
 */
export async function requestsWith(
  context: Presenting & Pick<Context, "page" | "viewer"> & { db: Reader },
  opened: OpenRepository,
  id: string,
  state: "opened" | "closed" | "locked" | "merged" | undefined,
): Promise<RowPage> {
  const { db, page, viewer } = context;
  const { repository, project, row } = opened;
  const visible = all([visibleProjects(viewer), MERGE_REQUEST.visible(viewer)]);
  const requests = await db.all<Request>(
    `select mr.id as id, mr.sha as sha, mr.target_branch as target_branch,
       mr.merge_commit_sha as merge_commit_sha
     from ${MERGE_REQUEST.from} where mr.project_id = ? and (mr.sha is not null or mr.merge_commit_sha = ?)
       ${state === undefined ? "" : "and mr.state = ?"} and ${visible.sql} order by mr.id desc`,
    [project.id, id, ...(state === undefined ? [] : [state]), ...visible.values],
  );
  const branches = row ? await listRefsBelow(db, row.id, BRANCHES) : [];
  const heads = new Map(branches.map(({ name, oid }) => [name, oid]));
  const reached = repository.graph.descendants(commitNumber(repository, id) as number);
  const reaches = (oid: string | null | undefined) => {
    const number = oid ? commitNumber(repository, oid) : undefined;
    return number !== undefined && reached[number] === 1;
  };
  const ids = requests
    .filter(
      ({ sha, target_branch, merge_commit_sha }) =>
        merge_commit_sha === id || (reaches(sha) && !reaches(heads.get(BRANCHES + target_branch))),
    )
    .map((request) => request.id);
  return pageOf(page, ids.length, async (from, to) => {
    const wanted = ids.slice(from, to);
    const rows = await rowsOf(context, MERGE_REQUEST, wanted);
    const at = context.presenter.at("id");
    return rows.sort((a, b) => Number(b[at]) - Number(a[at]));
  });
}
