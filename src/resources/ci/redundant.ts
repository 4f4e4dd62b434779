import type { AutoCancel } from "../../ci/index.ts";
import { BRANCHES } from "../../git/refs.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Database, Reader } from "../../store/port.ts";
import { cancel, type JobSpec } from "./progress.ts";
import type { NewPipeline } from "./records.ts";
import { cancelsPendingIn } from "./settings.ts";
import { CANCELABLE, type Status } from "./statuses.ts";

/** How old pipelines may be that a newer one cancels, in milliseconds. */
const MOST_AGE = 7 * 24 * 60 * 60 * 1000;
/** The most pipelines that one cancels. */
const MOST = 3000;

/** Statuses of pipelines that have something left to do by themselves. */
const ACTIVE = CANCELABLE.filter((status) => status !== "manual");

/**
 * Cancels what a new pipeline makes needless: the older ones of its branch, or merge request, whose configuration lets them be,
 * unless the project keeps them. Those of the branch's newest commit stay.
 */
export async function cancelRedundant(
  db: Database,
  { id, project_id, ref, tag, sha, source }: NewPipeline & { readonly id: number },
  now: number,
): Promise<void> {
  if (source === "parent_pipeline") return;
  const active = placeholders(ACTIVE);
  // Few pipelines are active, however many a branch has had: see `pipelines_by_status`.
  const older = await db.rows(
    `select pl.id, pl.on_new_commit, p.kept_settings from pipelines pl join projects p on p.id = pl.project_id
     where pl.project_id = ? and pl.status in (${active.sql}) and pl.ref || '' = ? and pl.id + 0 < ? and pl.tag = ?
       and pl.sha || '' <> ? and pl.source || '' <> 'parent_pipeline' and pl.created_at + 0 > ?
       and not exists (select 1 from git_refs r join git_repositories g on g.id = r.repository_id
         where g.project_id = pl.project_id and g.kind = 'code' and r.name = ? and r.oid = pl.sha)
     order by pl.id + 0 desc limit ${MOST}`,
    [project_id, ...active.values, ref, id, Number(tag), sha, now - MOST_AGE, BRANCHES + ref],
  );
  if (older.length === 0 || !cancelsPendingIn(older[0]?.[2])) return;
  for (const [pipeline, stored] of older) {
    const how = (stored ?? "conservative") as NonNullable<AutoCancel["onNewCommit"]>;
    if (how !== "none") await cancelOne(db, pipeline as number, how, now);
  }
}

/** Cancels an older pipeline as a whole, if it may be stopped where it is, or its jobs that may be. */
async function cancelOne(
  db: Database,
  pipelineId: number,
  how: "conservative" | "interruptible",
  now: number,
): Promise<void> {
  const jobs = await jobsOf(db, pipelineId);
  if (how === "conservative") {
    if (!jobs.some(({ hasStarted, isInterruptible }) => hasStarted && !isInterruptible)) {
      await cancel(db, pipelineId, {}, now);
    }
    return;
  }
  for (const { id, status, isInterruptible } of jobs) {
    if (isInterruptible && CANCELABLE.includes(status)) {
      await cancel(db, pipelineId, { jobId: id }, now);
    }
  }
}

async function jobsOf(db: Reader, pipelineId: number) {
  const rows = await db.rows(
    `select cj.id, cj.status, cj.started_at, s.spec from ci_jobs cj left join ci_job_specs s on s.job_id = cj.id
     where cj.pipeline_id = ? and cj.retried = 0 order by cj.id`,
    [pipelineId],
  );
  return (rows as [number, Status, number | null, string | null][]).map(
    ([id, status, startedAt, spec]) => {
      const { interruptible = false }: Partial<JobSpec> = spec === null ? {} : JSON.parse(spec);
      const hasStarted = startedAt !== null || STARTED.includes(status);
      return { id, status, hasStarted, isInterruptible: interruptible };
    },
  );
}

/** Statuses of what has begun, also of jobs that only start other pipelines. */
const STARTED: readonly Status[] = ["running", "success", "failed", "canceling"];
