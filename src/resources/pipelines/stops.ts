import type { Source } from "../../core/access/source.ts";
import type { Database, Reader } from "../../store/port.ts";
import { findEnvironment } from "../ci/environments.ts";
import { HEAD } from "../ci/heads.ts";
import type { PipelineTask } from "../ci/progress.ts";
import { stopEnvironment, stopJobOf } from "../ci/stopping.ts";
import { mayRunJobsOf, projectFor } from "./rules.ts";

/** What ends environments: a merge request that was merged or closed, or a branch that was deleted. */
type End = Extract<PipelineTask, { readonly ended: number } | { readonly deleted: string }>;

/** Environments that are stopped by one end, at most. */
const MOST = 1000;

/** SQL for the newest deployment to an environment `e` that succeeded. */
const LAST =
  "(select max(s.id) from deployments s where s.environment_id = e.id and s.status = 'success')";

/**
 * Finds the environments that a merge request or a branch leaves behind, for the user who has ended it.
 *
 * @returns what stops them, each by its job if it has one
 */
export async function planStops(
  db: Reader,
  end: End,
  now: () => number,
): Promise<((db: Database) => Promise<void>)[]> {
  const left = "ended" in end ? await ofRequest(db, end.ended) : await ofBranch(db, end);
  if (!left || left.ids.length === 0) return [];
  const project = await projectFor(db, left.projectId, end.user, now());
  if (!project) return [];
  return left.ids.map((id) => (writing) => stop(writing, project, id, end.user, now()));
}

/** Environments of a project. */
interface Left {
  readonly projectId: number;
  readonly ids: readonly number[];
}

/** The environments whose last deployment came from a branch. */
async function ofBranch(
  db: Reader,
  { deleted, project }: Extract<End, { readonly deleted: string }>,
): Promise<Left> {
  const found = await db.rows(
    `select e.id from environments e join deployments d on d.id = ${LAST}
     where e.id in (select environment_id from deployments where project_id = ? and ref = ?)
       and e.state = 'available' and d.ref = ? and d.tag = 0 order by e.id limit ${MOST}`,
    [project, deleted, deleted],
  );
  return { projectId: project, ids: found.map(([id]) => id as number) };
}

/**
 * The environments that pipelines of a merge request have added or, if there are none, those that its newest pipeline has
 * deployed to. None if that one is of its branch only.
 */
async function ofRequest(db: Reader, requestId: number): Promise<Left | undefined> {
  const [head] = await db.rows(
    `select h.id, h.project_id from merge_requests mr join pipelines h on h.id = ${HEAD}
     where mr.id = ? and h.merge_request_id = mr.id`,
    [requestId],
  );
  if (!head) return undefined;
  const [pipelineId, projectId] = head as [number, number];
  const added = await db.rows(
    `select id from environments where merge_request_id = ? and project_id = ? order by id limit ${MOST}`,
    [requestId, projectId],
  );
  const found =
    added.length > 0
      ? added
      : await db.rows(
          `select distinct d.environment_id from ci_jobs cj join deployments d on d.job_id = cj.id
           where cj.pipeline_id = ? and d.status = 'success' order by 1 limit ${MOST}`,
          [pipelineId],
        );
  return { projectId, ids: found.map(([id]) => id as number) };
}

/** Stops an environment, unless that was done meanwhile, or the user may not run its job. */
async function stop(
  db: Database,
  project: Source,
  id: number,
  userId: number,
  now: number,
): Promise<void> {
  db.lock(project.id);
  const environment = await findEnvironment(db, project.id, { id });
  if (environment?.state !== "available") return;
  const job = await stopJobOf(db, environment);
  if (job && !(await mayRunJobsOf(db, project, job))) return;
  await stopEnvironment(db, environment, job, userId, now);
}
