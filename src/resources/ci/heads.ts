import type { Source } from "../../core/access/source.ts";
import { type Viewer, visibleJobs } from "../../core/access/visibility.ts";
import type { Reader, Value } from "../../store/port.ts";
import { mayReadJobs } from "./abilities.ts";
import { listedPipeline, PIPELINES, pipeline } from "./json.ts";

/** SQL for the id of the newest pipeline of the commit that a merge request `mr` would merge. */
export const HEAD = `(select max(o.id) from pipelines o where o.project_id = mr.source_project_id and o.sha = mr.sha
  and (o.ref = mr.source_branch or o.merge_request_id = mr.id) and o.source <> 'parent_pipeline')`;

/** SQL for the status of that pipeline. */
export const HEAD_STATUS = `(select h.status from pipelines h where h.id = ${HEAD})`;

/** Statuses of pipelines that may still succeed by themselves, as SQL. */
export const ACTIVE =
  "('created', 'waiting_for_resource', 'preparing', 'waiting_for_callback', 'pending', 'running', 'scheduled')";

/** Whether the newest pipeline of what a merge request would merge may still succeed by itself. */
export function isHeadActive(db: Reader, requestId: number): Promise<boolean> {
  return isHeadIn(db, requestId, ACTIVE);
}

/**
 * Whether the newest pipeline of what a merge request would merge has succeeded, if there is one. A skipped one counts where
 * the project says so.
 */
export function hasHeadSucceeded(db: Reader, requestId: number): Promise<boolean> {
  const skipped = "case when p.allow_merge_on_skipped_pipeline = 1 then 'skipped' else 'none' end";
  return isHeadIn(db, requestId, `('none', 'success', ${skipped})`);
}

async function isHeadIn(db: Reader, requestId: number, statuses: string): Promise<boolean> {
  const found = await db.rows(
    `select 1 from merge_requests mr join projects p on p.id = mr.project_id
     where mr.id = ? and coalesce(${HEAD_STATUS}, 'none') in ${statuses}`,
    [requestId],
  );
  return found.length > 0;
}

/** A merge request, and the status of its newest pipeline. */
export interface Headed {
  readonly id: number;
  readonly project_id: number;
  readonly author_id: number | null;
  readonly auto_merge: number;
  readonly auto_merge_user_id: number | null;
  readonly status: string;
}

/** The open merge requests whose newest pipeline is this one, with its status. */
export async function requestsHeadedBy(db: Reader, pipelineId: number): Promise<Headed[]> {
  return db.all<Headed>(
    `select mr.id, mr.project_id, mr.author_id, mr.auto_merge, mr.auto_merge_user_id, pl.status
     from merge_requests mr join pipelines pl on pl.id = ?
     where mr.state = 'opened' and ${HEAD} = pl.id and mr.id in (
       select o.id from merge_requests o join pipelines q
         on o.source_project_id = q.project_id and o.source_branch = q.ref
       where q.id = ? and o.state = 'opened'
       union select q.merge_request_id from pipelines q where q.id = ?)
     order by mr.id`,
    [pipelineId, pipelineId, pipelineId],
  );
}

/**
 * The newest pipeline of what a merge request would merge, if the viewer may see it.
 *
 * @returns a row of `pipeline` in json.ts, and of `listedPipeline`, whose columns are the first ones
 */
export async function headPipeline(
  db: Reader,
  requestId: Value,
  viewer: Viewer,
): Promise<Value[] | undefined> {
  const visible = visibleJobs(viewer);
  const [row] = await db.rows(
    `select ${pipeline.columns} from ${PIPELINES}
     where pl.id = (select ${HEAD} from merge_requests mr where mr.id = ?) and ${visible.sql}`,
    [requestId, ...visible.values],
  );
  return row;
}

/** The newest pipeline of a commit, as a row of `listedPipeline`, if the caller may see it. */
export async function lastPipeline(
  db: Reader,
  source: Source,
  sha: string,
): Promise<Value[] | undefined> {
  if (!mayReadJobs(source)) return undefined;
  const [row] = await db.rows(
    `select ${listedPipeline.columns} from pipelines pl join projects p on p.id = pl.project_id
     where pl.project_id = ? and pl.sha = ? and pl.source <> 'parent_pipeline' order by pl.id desc limit 1`,
    [source.id, sha],
  );
  return row;
}
