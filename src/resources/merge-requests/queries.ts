import { insertRow } from "../../store/insert.ts";
import type { Database, Reader } from "../../store/port.ts";
import { MERGE_REQUEST } from "../issuables/merge-request.ts";
import { nextNumber } from "../issuables/queries.ts";

/** The values of a new merge request. */
export interface NewMergeRequest {
  project_id: number;
  source_project_id: number;
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
    source_project_id: request.source_project_id,
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
  /** `null` if it is deleted. */
  source_project_id: number | null;
  source_branch: string;
  target_branch: string;
  sha: string | null;
  /** Whether its commits become one when it is merged. */
  squash: number;
  /** Whether its source branch is deleted when it is merged. */
  remove_source_branch: number;
}

/** The branches of a merge request that exists. */
export async function branchesOf(db: Reader, id: number): Promise<Branches> {
  const found = await db.one<Branches>(
    `select source_project_id, source_branch, target_branch, sha, squash, remove_source_branch
     from merge_requests where id = ?`,
    [id],
  );
  return found as Branches;
}

/** How a merge request is to be merged: what its project says, and who takes part. */
interface MergeFacts {
  merge_method: "merge" | "rebase_merge" | "ff";
  merge_commit_template: string | null;
  squash_commit_template: string | null;
  author_name: string | null;
  author_email: string | null;
  merger_name: string;
  merger_email: string;
}

/** How a merge request is to be merged by a user. */
export async function mergeFactsOf(db: Reader, id: number, mergerId: number): Promise<MergeFacts> {
  const found = await db.one<MergeFacts>(
    `select p.merge_method, p.merge_commit_template, p.squash_commit_template,
       u.name as author_name, u.email as author_email, m.name as merger_name, m.email as merger_email
     from merge_requests mr join projects p on p.id = mr.project_id join users m on m.id = ?
     left join users u on u.id = mr.author_id where mr.id = ?`,
    [mergerId, id],
  );
  return found as MergeFacts;
}

/** The number of another open merge request of a project between these branches, or `undefined`. */
export async function findOpen(
  db: Reader,
  projectId: number,
  branches: { source_project_id: number; source_branch: string; target_branch: string },
  exceptId = 0,
): Promise<number | undefined> {
  const { source_project_id, source_branch, target_branch } = branches;
  const found = await db.one<{ iid: number }>(
    `select iid from merge_requests
     where project_id = ? and source_branch = ? and target_branch = ? and source_project_id = ?
       and state = 'opened' and id <> ?`,
    [projectId, source_branch, target_branch, source_project_id, exceptId],
  );
  return found?.iid;
}

/** Whether two projects are forks of the same one, or one of them is a fork of the other. */
export async function areRelated(db: Reader, one: number, other: number): Promise<boolean> {
  const root = (start: string) => `
    with recursive line (id, source_id, depth) as (
      select id, forked_from_project_id, 0 from projects where id = ${start}
      union all
      select p.id, p.forked_from_project_id, depth + 1 from line join projects p on p.id = line.source_id
      where depth < 1000)
    select id from line order by depth desc limit 1`;
  const [found] = await db.rows(`select (${root("?")}) = (${root("?")})`, [one, other]);
  return Boolean(found?.[0]);
}
