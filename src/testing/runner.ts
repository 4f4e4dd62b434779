import * as v from "valibot";
import { type ChangedJob, endJob } from "../admin/pipelines.ts";
import type { Controls } from "../app.ts";
import { ApiError, conflict, notFound } from "../core/errors.ts";
import { type OptionSchemas, optionsOf, readOptions, wholeOption } from "../core/options.ts";
import { cancel } from "../resources/ci/progress.ts";
import { CANCELABLE, FINISHED, type Status } from "../resources/ci/statuses.ts";
import { WAITING } from "../resources/runners/claim.ts";
import type { Database } from "../store/port.ts";
import { either } from "./either.ts";
import { fitsPattern } from "./paths.ts";

/** What becomes of a job. */
export interface JobFate {
  /** `running`: it begins, and ends later. */
  status: "success" | "failed" | "running" | "canceled";
  /** Text that is added to its log. */
  trace?: string | undefined;
  /** Why it failed. Default `"script_failure"`. */
  failure_reason?: string | undefined;
  /** Default 1 if it failed. */
  exit_code?: number | undefined;
}

/** What becomes of a job, or of each attempt at it; the last entry also of those after. */
export type JobScript = JobFate["status"] | JobFate | readonly (JobFate["status"] | JobFate)[];

/** What a scripted runner does. */
export interface RunnerScript {
  /** What becomes of jobs by their names, in which `*` stands for any text. The first name that fits counts. */
  jobs?: Record<string, JobScript> | undefined;
  /** What becomes of all others. Default: they wait. */
  default?: JobScript | undefined;
}

const STATUSES = ["success", "failed", "running", "canceled"] as const;
const statusOption = v.picklist(
  STATUSES,
  `must be one of ${STATUSES.map((status) => `"${status}"`).join(", ")}`,
);
const text = v.optional(v.string("must be a text"));

/** The schema of {@link JobFate}. */
export const fateOption = optionsOf({
  status: statusOption,
  trace: text,
  failure_reason: text,
  exit_code: v.optional(wholeOption(0, 255)),
} satisfies OptionSchemas<JobFate>);

const oneFate = either(
  (given) => typeof given === "object",
  fateOption as v.GenericSchema<unknown, JobFate>,
  statusOption as v.GenericSchema<unknown, JobFate["status"]>,
);
const scriptOption: v.GenericSchema<unknown, JobScript> = either(
  Array.isArray,
  v.pipe(v.array(oneFate), v.nonEmpty("must have an entry for the first attempt")),
  oneFate,
);

/** The schema of {@link RunnerScript}. */
export const runnerOption = optionsOf({
  jobs: v.optional(v.record(v.string(), scriptOption, "must be an object of jobs by name")),
  default: v.optional(scriptOption),
} satisfies OptionSchemas<RunnerScript>);

/** The schema of how a pipeline ends. */
export const pipelineEndOption = optionsOf({
  status: v.picklist(
    ["success", "failed", "canceled"],
    'must be "success", "failed" or "canceled"',
  ),
});

/** A pipeline that was ended. */
export interface EndedPipeline {
  readonly id: number;
  readonly status: string;
  /** How many of its jobs ended. */
  readonly jobs: number;
}

/** The scripted runner of a test server. */
export interface TestRunner {
  /** What it does; `undefined` if there is none. */
  readonly script: RunnerScript | undefined;
  /**
   * Lets it end jobs as soon as they are pending, oldest first.
   *
   * @throws OptionError if the script is wrong or misspelt
   */
  run(script: RunnerScript): Promise<void>;
  /** Lets jobs wait again. */
  stop(): void;
  /**
   * Ends one job that is pending or runs, or lets it run.
   *
   * @throws ApiError 404 for an unknown job, 409 for one that waits for others or has ended; OptionError
   */
  endJob(id: number, fate: JobFate): Promise<ChangedJob>;
  /**
   * Ends all jobs of a pipeline that do not wait for a person, one after the other as they become pending.
   *
   * @throws ApiError 404 for an unknown pipeline, 409 for one that has ended; OptionError
   */
  endPipeline(id: number, status: "success" | "failed" | "canceled"): Promise<EndedPipeline>;
}

/** A job that waits. */
interface WaitingJob {
  readonly id: number;
  readonly name: string;
  /** How often it was tried before. */
  readonly earlier: number;
}

/** Runs the jobs of a world as a script has it. */
export class ScriptedRunner {
  readonly #controls: () => Controls;
  readonly #runPipelines: () => Promise<unknown>;
  readonly #first: RunnerScript | undefined;
  #script: RunnerScript | undefined;
  #working: Promise<void> = Promise.resolve();

  /**
   * @param runPipelines does what pushes and ended pipelines have asked for
   * @param first what it does after the start and each reset
   */
  constructor(
    controls: () => Controls,
    runPipelines: () => Promise<unknown>,
    first: RunnerScript | undefined,
  ) {
    this.#controls = controls;
    this.#runPipelines = runPipelines;
    this.#first = first;
    this.#script = first;
  }

  readonly runner: TestRunner = ((runner: ScriptedRunner) => ({
    get script() {
      return runner.#script;
    },
    run: async (script: RunnerScript) => {
      runner.#script = readOptions("runner.run", runnerOption, script);
      await runner.work();
    },
    stop: () => {
      runner.#script = undefined;
    },
    endJob: async (id: number, fate: JobFate) => {
      const read = readOptions("runner.endJob", fateOption, fate);
      const changed = await runner.#write((db, now) => end(db, id, read, now));
      await runner.work();
      return changed;
    },
    endPipeline: async (id: number, status: "success" | "failed" | "canceled") => {
      readOptions("runner.endPipeline", pipelineEndOption, { status });
      const jobs = await runner.#write((db, now) => endAll(db, id, status, now));
      await runner.work();
      const [[now] = []] = await runner
        .#controls()
        .working.store.reader()
        .rows("select status from pipelines where id = ?", [id]);
      return { id, status: String(now), jobs };
    },
  }))(this);

  /** Ends the jobs that are pending, and those that are so because of that. One call after the other. */
  work(): Promise<void> {
    const done = this.#working.then(() => this.#work());
    this.#working = done.catch(() => undefined);
    return done;
  }

  reset(): void {
    this.#script = this.#first;
  }

  async #work(): Promise<void> {
    await this.#runPipelines();
    if (!this.#script) return;
    while (await this.#runNext()) await this.#runPipelines();
  }

  /** Ends the oldest job that has a fate. @returns whether there was one */
  async #runNext(): Promise<boolean> {
    const script = this.#script;
    if (!script) return false;
    const found = await this.#controls()
      .working.store.reader()
      .all<WaitingJob>(
        `select cj.id, cj.name, (select count(*) from ci_jobs o where o.pipeline_id = cj.pipeline_id
         and o.name = cj.name and o.id < cj.id and o.retried = 1) as earlier
       from ci_jobs cj join projects p on p.id = cj.project_id where ${WAITING} order by cj.id`,
        [],
      );
    for (const job of found) {
      const fate = fateOf(script, job);
      if (!fate) continue;
      try {
        await this.#write((db, now) => end(db, job.id, fate, now));
      } catch (error) {
        // Somebody else has ended it meanwhile.
        if (!(error instanceof ApiError)) throw error;
      }
      return true;
    }
    return false;
  }

  #write<T>(work: (db: Database, now: number) => Promise<T>): Promise<T> {
    const { store, now } = this.#controls().working;
    return store.transaction((db) => work(db, now()));
  }
}

/** What becomes of a job by a script. */
function fateOf(
  { jobs = {}, default: others }: RunnerScript,
  job: WaitingJob,
): JobFate | undefined {
  const found = Object.entries(jobs).find(([name]) => fitsPattern(name, job.name));
  const script = found ? found[1] : others;
  const all = [script].flat() as (JobFate["status"] | JobFate | undefined)[];
  const fate = all[Math.min(job.earlier, all.length - 1)];
  return typeof fate === "string" ? { status: fate } : fate;
}

async function end(
  db: Database,
  id: number,
  { status, trace, failure_reason, exit_code }: JobFate,
  now: number,
): Promise<ChangedJob> {
  if (status === "canceled") return cancelJob(db, id, now);
  const hasFailed = status === "failed";
  return endJob(
    db,
    id,
    {
      status,
      log: trace,
      failure_reason: failure_reason ?? (hasFailed ? "script_failure" : undefined),
      exit_code: exit_code ?? (hasFailed && failure_reason === undefined ? 1 : undefined),
    },
    now,
  );
}

async function cancelJob(db: Database, jobId: number, now: number): Promise<ChangedJob> {
  const [job] = await db.rows("select pipeline_id, status from ci_jobs where id = ?", [jobId]);
  if (!job) throw notFound("Job");
  const [pipelineId, status] = job as [number, Status];
  if (!CANCELABLE.includes(status)) throw conflict(`409 Conflict - The job is ${status}`);
  await cancel(db, pipelineId, { jobId, isForced: true }, now);
  const [pipeline] = await db.rows("select status from pipelines where id = ?", [pipelineId]);
  return { id: jobId, pipeline_id: pipelineId, pipeline_status: String(pipeline?.[0]) };
}

/** Ends all jobs of a pipeline. @returns how many */
async function endAll(
  db: Database,
  id: number,
  status: "success" | "failed" | "canceled",
  now: number,
): Promise<number> {
  const [pipeline] = await db.rows("select status from pipelines where id = ?", [id]);
  if (!pipeline) throw notFound("Pipeline");
  const before = pipeline[0] as Status;
  if (FINISHED.includes(before) || before === "skipped") {
    throw conflict(`409 Conflict - The pipeline is ${before}`);
  }
  if (status === "canceled") {
    const left = await db.rows(
      "select 1 from ci_jobs where pipeline_id = ? and retried = 0 and status not in ('success', 'failed', 'canceled', 'skipped')",
      [id],
    );
    await cancel(db, id, { isForced: true }, now);
    return left.length;
  }
  for (let ended = 0; ; ended += 1) {
    const [next] = await db.rows(
      `select id from ci_jobs where pipeline_id = ? and kind = 'build' and status in ('pending', 'running')
       order by id limit 1`,
      [id],
    );
    if (!next) return ended;
    await end(db, next[0] as number, { status }, now);
  }
}
