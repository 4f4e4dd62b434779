import { insertRow } from "../../store/insert.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Awaitable, Database, Reader, Value } from "../../store/port.ts";
import { KINDS, ofEach } from "../issuables/attributes.ts";
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
  allow_collaboration?: boolean | undefined;
  milestone_id?: number | null | undefined;
  /** The columns of its attributes. Default: they are empty. */
  columns?: Readonly<Record<string, Value>> | undefined;
}

const EMPTY = ofEach("merge_request", ({ kind }) => KINDS[kind].empty);

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
    allow_collaboration: request.allow_collaboration ? 1 : 0,
    milestone_id: request.milestone_id ?? null,
    ...EMPTY,
    ...request.columns,
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

/** Whether a merge request waits to be merged as soon as it is ready. */
export async function isWaiting(db: Reader, id: number): Promise<boolean> {
  const found = await db.rows(
    "select 1 from merge_requests where id = ? and state = 'opened' and auto_merge = 1",
    [id],
  );
  return found.length > 0;
}

/** What a project says about squashing: it decides, or only suggests. */
export type SquashOption = "never" | "always" | "default_on" | "default_off";

/** The columns of new merge requests, as far as whoever opens them does not say. */
export async function defaultsOf(
  db: Reader,
  sourceId: number,
  targetId: number,
): Promise<Record<string, Value>> {
  const found = await db.all<Record<string, Value>>(
    `select case when t.squash_option in ('always', 'default_on') then 1 else 0 end as squash,
       s.remove_source_branch_after_merge as remove_source_branch
     from projects s, projects t where s.id = ? and t.id = ?`,
    [sourceId, targetId],
  );
  return { ...found[0] };
}

/** How a merge request is to be merged: what it is, what its project says, and who takes part. */
export interface MergeFacts {
  id: number;
  iid: number;
  title: string;
  description: string | null;
  source_branch: string;
  target_branch: string;
  source_project_id: number | null;
  project_id: number;
  /** The full path of its project. */
  project: string;
  merge_method: "merge" | "rebase_merge" | "ff";
  squash_option: SquashOption;
  merge_commit_template: string | null;
  squash_commit_template: string | null;
  author_name: string | null;
  author_email: string | null;
  merger_name: string;
  merger_email: string;
}

/** How merge requests are to be merged by a user. @param ids at least one */
export function mergeFactsOf(
  db: Reader,
  ids: readonly Value[],
  mergerId: number,
): Awaitable<MergeFacts[]> {
  const among = placeholders(ids);
  return db.all<MergeFacts>(
    `select mr.id, mr.iid, mr.title, mr.description, mr.source_branch, mr.target_branch, mr.source_project_id,
       mr.project_id, p.full_path as project, p.merge_method, p.squash_option, p.merge_commit_template, p.squash_commit_template,
       u.name as author_name, coalesce(u.commit_email, u.email) as author_email,
       m.name as merger_name, coalesce(m.commit_email, m.email) as merger_email
     from merge_requests mr join projects p on p.id = mr.project_id join users m on m.id = ?
     left join users u on u.id = mr.author_id
     where mr.id in (${among.sql})`,
    [mergerId, ...among.values],
  );
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
