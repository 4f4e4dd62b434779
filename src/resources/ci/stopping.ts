import type { Database, Reader } from "../../store/port.ts";
import { type Environment, setState } from "./environments.ts";
import { type JobSpec, play, retryJob } from "./progress.ts";
import { FINISHED, type Status } from "./statuses.ts";

/** A job that stops an environment. */
export interface StopJob {
  readonly id: number;
  readonly pipeline_id: number;
  readonly name: string;
  readonly stage_index: number;
  readonly ref: string;
  /** Whether its pipeline is of a tag: 0 or 1. */
  readonly tag: number;
  readonly status: Status;
}

/** The job that stops an environment, as the one says that has last deployed to it; `undefined` if there is none. */
export async function stopJobOf(
  db: Reader,
  { id }: Pick<Environment, "id">,
): Promise<StopJob | undefined> {
  const [deployed] = await db.rows(
    `select cj.pipeline_id, s.spec from deployments d join ci_jobs cj on cj.id = d.job_id
     join ci_job_specs s on s.job_id = cj.id
     where d.environment_id = ? and d.status = 'success' order by d.id desc limit 1`,
    [id],
  );
  const spec = deployed && (JSON.parse(deployed[1] as string) as JobSpec);
  const name = spec?.environment?.onStop;
  if (!deployed || name === undefined) return undefined;
  const found = await db.one<StopJob>(
    `select cj.id, cj.pipeline_id, cj.name, cj.stage_index, cj.ref, pl.tag, cj.status from ci_jobs cj
     join pipelines pl on pl.id = cj.pipeline_id
     where cj.pipeline_id = ? and cj.name = ? and cj.retried = 0`,
    [deployed[0] as number, name],
  );
  // One that waits for others would not run.
  return found && !["created", "skipped"].includes(found.status) ? found : undefined;
}

/**
 * Stops an environment: it is `stopping` while its job runs.
 *
 * @param job what stops it; otherwise it is stopped at once
 * @param userId for whom; `undefined` for who has deployed
 */
export async function stopEnvironment(
  db: Database,
  { id }: Pick<Environment, "id">,
  job: StopJob | undefined,
  userId: number | undefined,
  now: number,
): Promise<void> {
  await setState(db, id, job ? "stopping" : "stopped", now);
  if (!job) return;
  if (job.status === "manual" || job.status === "scheduled") await play(db, job, userId, now);
  else if (FINISHED.includes(job.status)) await retryJob(db, job, userId, now);
}
