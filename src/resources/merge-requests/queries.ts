import { visibleMergeRequests } from "../../core/access/visibility.ts";
import type { Database, Reader } from "../../store/port.ts";
import { type Kind, people } from "../issues/queries.ts";

/** Merge requests as a {@link Kind}. */
export const MERGE_REQUEST: Kind = {
  table: "merge_requests",
  alias: "mr",
  column: "merge_request_id",
  prefix: "merge_request",
  type: "MergeRequest",
  path: "merge_requests",
  whenDisabled: "refuse",
  from: `merge_requests mr join projects p on p.id = mr.project_id ${people("mr")}
    left join users mb on mb.id = mr.merged_by_id`,
  visible: visibleMergeRequests,
};

/** The values of a new merge request. */
export interface NewMergeRequest {
  project_id: number;
  author_id: number | null;
  title: string;
  description?: string | null | undefined;
  source_branch: string;
  target_branch: string;
  sha?: string | null | undefined;
  squash?: boolean | undefined;
  remove_source_branch?: boolean | undefined;
  discussion_locked?: number | undefined;
  milestone_id?: number | null | undefined;
}

/** Adds a merge request under its project's next number. */
export async function insert(
  db: Database,
  request: NewMergeRequest,
  now: number,
): Promise<{ id: number; iid: number }> {
  const [counted] = await db.rows(
    "update projects set merge_request_count = merge_request_count + 1 where id = ? returning merge_request_count",
    [request.project_id],
  );
  const iid = counted?.[0] as number;
  const [inserted] = await db.rows(
    `insert into merge_requests (iid, project_id, source_project_id, author_id, title, description, source_branch,
       target_branch, sha, squash, remove_source_branch, discussion_locked, milestone_id, created_at, updated_at)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) returning id`,
    [
      iid,
      request.project_id,
      request.project_id,
      request.author_id,
      request.title,
      request.description ?? null,
      request.source_branch,
      request.target_branch,
      request.sha ?? null,
      request.squash ? 1 : 0,
      request.remove_source_branch ? 1 : 0,
      request.discussion_locked ?? 0,
      request.milestone_id ?? null,
      now,
      now,
    ],
  );
  return { id: inserted?.[0] as number, iid };
}

/** The branches and head of a merge request. */
export interface Branches {
  source_branch: string;
  target_branch: string;
  sha: string | null;
}

/** The branches of a merge request. */
export async function branchesOf(db: Reader, id: number): Promise<Branches> {
  const found = await db.one<Branches>(
    "select source_branch, target_branch, sha from merge_requests where id = ?",
    [id],
  );
  return found as Branches;
}

/** The number of another open merge request between these branches of a project, or `undefined`. */
export async function findOpen(
  db: Reader,
  projectId: number,
  branches: { source_branch: string; target_branch: string },
  exceptId = 0,
): Promise<number | undefined> {
  const [found] = await db.rows(
    `select iid from merge_requests
     where project_id = ? and source_branch = ? and target_branch = ? and state = 'opened' and id <> ?`,
    [projectId, branches.source_branch, branches.target_branch, exceptId],
  );
  return found?.[0] as number | undefined;
}
