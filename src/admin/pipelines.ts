import { conflict, notFound } from "../core/errors.ts";
import * as param from "../core/input.ts";
import { inputOf, readArgument, readOptions } from "../core/options.ts";
import { finish, noteRun, refuseGated, setStatus } from "../resources/ci/progress.ts";
import { appendTrace } from "../resources/ci/traces.ts";
import type { Database } from "../store/port.ts";
import type { AdminContext } from "./context.ts";

/** How a job ends. */
interface JobEnd {
  /** Default `"success"`. */
  status?: "success" | "failed";
  /** Why it failed, such as `"script_failure"`. */
  failure_reason?: string;
  exit_code?: number;
  /** Text that is added to its log. */
  log?: string;
}

/** Jobs of pipelines. */
export interface PipelineAdmin {
  /**
   * Ends a job that is pending or runs, as its runner would, and does what follows from that: jobs after it start. One
   * that would deploy what is outdated fails, as it does when a runner asks for it.
   *
   * @returns its id, and its pipeline's id and status
   * @throws ApiError 404 for an unknown job, 409 for one that waits for others or has ended; OptionError
   */
  finish(id: number, end?: JobEnd): Promise<ChangedJob>;
}

const END = inputOf({
  status: param.optional(param.choice(["success", "failed"])),
  failure_reason: param.optional(param.text()),
  exit_code: param.optional(param.integer()),
  log: param.optional(param.anyText({ max: param.LONG_TEXT })),
});

/** A job that was changed, and its pipeline. */
export interface ChangedJob {
  readonly id: number;
  readonly pipeline_id: number;
  readonly pipeline_status: string;
}

interface FoundJob {
  readonly id: number;
  readonly project_id: number;
  readonly pipeline_id: number;
  readonly status: string;
  readonly trace_bytes: number;
}

/**
 * Ends a job, or lets it run, as its runner would.
 *
 * @param end `status`: default `"success"`
 * @throws ApiError 404 for an unknown job, 409 for one that waits for others or has ended
 */
export async function endJob(
  db: Database,
  jobId: number,
  end: {
    readonly status?: "success" | "failed" | "running" | undefined;
    readonly failure_reason?: string | undefined;
    readonly exit_code?: number | undefined;
    readonly log?: string | undefined;
  },
  at: number,
): Promise<ChangedJob> {
  const { status = "success", failure_reason, exit_code, log = "" } = end;
  const job = await db.one<FoundJob>(
    "select id, project_id, pipeline_id, status, trace_bytes from ci_jobs where id = ? and kind = 'build'",
    [jobId],
  );
  if (!job) throw notFound("Job");
  if (job.status !== "pending" && job.status !== "running") {
    throw conflict(`409 Conflict - The job is ${job.status}`);
  }
  if (!(job.status === "pending" && (await refuseGated(db, job, at)))) {
    if (job.status === "pending") await setStatus(db, [job.id], "running", at);
    const text = Buffer.from(log);
    await appendTrace(db, job, job.trace_bytes, text, []);
    const length = job.trace_bytes + text.length;
    await db.run("update ci_jobs set trace_bytes = ? where id = ?", [length, job.id]);
    if (status === "running") await noteRun(db, job.pipeline_id, at);
    else {
      await finish(db, job, { status, failureReason: failure_reason, exitCode: exit_code }, at);
    }
  }
  const [pipeline] = await db.rows("select status from pipelines where id = ?", [job.pipeline_id]);
  return {
    id: job.id,
    pipeline_id: job.pipeline_id,
    pipeline_status: pipeline?.[0] as string,
  };
}

/** Creates {@link PipelineAdmin}. */
export function pipelineAdmin({ store, now }: AdminContext): PipelineAdmin {
  return {
    async finish(given, options = {}) {
      const jobId = readArgument("jobs.finish", "id", param.integer(), given);
      const read = readOptions("jobs.finish", END, options);
      return store.transaction((db) => endJob(db, jobId, read, now()));
    },
  };
}
