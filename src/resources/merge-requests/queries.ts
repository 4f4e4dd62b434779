import { insertRow } from "../../store/insert.ts";
import type { Database, Reader } from "../../store/port.ts";
import { MERGE_REQUEST } from "../issuables/merge-request.ts";
import { nextNumber } from "../issuables/queries.ts";

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

/** Adds a merge request with its project's next number. */
export async function insert(
  db: Database,
  request: NewMergeRequest,
  now: number,
): Promise<{ id: number; iid: number }> {
  const iid = await nextNumber(db, MERGE_REQUEST, request.project_id);
  const id = await insertRow(db, "merge_requests", {
    iid,
    project_id: request.project_id,
    source_project_id: request.project_id,
    author_id: request.author_id,
    title: request.title,
    description: request.description ?? null,
    source_branch: request.source_branch,
    target_branch: request.target_branch,
    sha: request.sha ?? null,
    squash: request.squash ? 1 : 0,
    remove_source_branch: request.remove_source_branch ? 1 : 0,
    discussion_locked: request.discussion_locked ?? 0,
    milestone_id: request.milestone_id ?? null,
    created_at: now,
    updated_at: now,
  });
  return { id, iid };
}

/** The branches and head of a merge request. */
export interface Branches {
  source_branch: string;
  target_branch: string;
  sha: string | null;
}

/** The branches of a merge request that exists. */
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
  const found = await db.one<{ iid: number }>(
    `select iid from merge_requests
     where project_id = ? and source_branch = ? and target_branch = ? and state = 'opened' and id <> ?`,
    [projectId, branches.source_branch, branches.target_branch, exceptId],
  );
  return found?.iid;
}
