import * as v from "valibot";
import { compositeStatus, PIPELINE_SOURCES, type PipelineSource } from "../../ci/index.ts";
import { optionsOf } from "../../core/options.ts";
import {
  type InstantSeed,
  instant,
  oneOf,
  type SeededSource,
  seedList,
  type Word,
} from "../../core/seeding.ts";
import { insertMany, insertRow } from "../../store/insert.ts";
import { NO_SHA, nextNumber } from "../ci/records.ts";
import { FINISHED, STATUS_NAMES, type Status } from "../ci/statuses.ts";
import { tipOf } from "../repositories/seed.ts";

/** A pipeline of a seed. Its status follows from its jobs. */
export interface PipelineSeed {
  /** A user name. */
  user: string;
  /** A branch, or a tag with `tag`. */
  ref: string;
  tag?: boolean | undefined;
  /** The name of a commit. Default: the one that the branch or tag is for. */
  sha?: string | undefined;
  source?: Word<PipelineSource> | undefined;
  name?: string | undefined;
  /** In the order of their stages. */
  jobs: PipelineJobSeed[];
  created_at?: InstantSeed;
}

/** A job of a pipeline of a seed. */
interface PipelineJobSeed {
  name: string;
  stage?: string | undefined;
  status?: Word<Status> | undefined;
  allow_failure?: boolean | undefined;
  tags?: string[] | undefined;
  /** In percent. */
  coverage?: number | undefined;
  /** In seconds. */
  duration?: number | undefined;
}

const SECOND = 1000;
/** How long a job waits for its runner. */
const QUEUED = 2 * SECOND;
/** Statuses of jobs that have not started. */
const WAITING: readonly Status[] = ["created", "pending", "skipped", "manual", "scheduled"];

/** The pipelines of a project. */
export const pipelinesPart = seedList({
  entries: {
    user: v.string(),
    ref: v.string(),
    tag: v.optional(v.boolean(), false),
    sha: v.optional(v.string()),
    source: v.optional(oneOf(PIPELINE_SOURCES), "push"),
    name: v.optional(v.string()),
    jobs: v.pipe(
      v.array(
        optionsOf({
          name: v.string(),
          stage: v.optional(v.string(), "test"),
          status: v.optional(oneOf(STATUS_NAMES), "success"),
          allow_failure: v.optional(v.boolean(), false),
          tags: v.optional(v.array(v.string()), []),
          coverage: v.optional(v.number()),
          duration: v.optional(v.pipe(v.number(), v.minValue(0)), 60),
        }),
      ),
      v.minLength(1),
    ),
    created_at: instant,
  },
  counted: "pipelines",
  async insert(seeding, pipeline, project: SeededSource) {
    const { db } = seeding;
    const { ref, tag, source, name = null, created_at: at = project.createdAt } = pipeline;
    const userId = seeding.userId(pipeline.user);
    const sha = pipeline.sha ?? (await tipOf(seeding, project.id, ref, tag));
    const { jobs, end } = timed(pipeline.jobs, at);
    const status = compositeStatus(
      jobs.map((job) => ({ ...job, when: "on_success", needs: undefined })),
    ) as Status;
    const isEnd = FINISHED.includes(status);
    const id = await insertRow(db, "pipelines", {
      project_id: project.id,
      iid: await nextNumber(db, project.id),
      user_id: userId,
      ref,
      tag: Number(tag),
      sha,
      before_sha: NO_SHA,
      source,
      status,
      has_warnings: Number(jobs.some((job) => job.allowFailure && job.status === "failed")),
      name,
      created_at: at,
      updated_at: isEnd ? end : at,
      started_at: isEnd || status === "running" ? at + QUEUED : null,
      finished_at: isEnd ? end : null,
    });
    await insertMany(
      db,
      "ci_jobs",
      Object.keys(columnsOf(jobs[0] as TimedJob)).concat(...COMMON),
      jobs.map((job) => [...Object.values(columnsOf(job)), project.id, id, userId, ref, at, end]),
    );
    seeding.count("jobs", jobs.length);
  },
});

const COMMON = ["project_id", "pipeline_id", "user_id", "ref", "created_at", "updated_at"];

interface TimedJob {
  readonly name: string;
  readonly stage: string;
  readonly stageIndex: number;
  readonly status: Status;
  readonly allowFailure: boolean;
  readonly tags: readonly string[];
  readonly coverage?: number | undefined;
  readonly queuedAt: number;
  readonly endedAt: number;
}

const columnsOf = (job: TimedJob) => {
  const hasStarted = !WAITING.includes(job.status);
  return {
    kind: "build",
    name: job.name,
    stage: job.stage,
    stage_index: job.stageIndex,
    status: job.status,
    allow_failure: Number(job.allowFailure),
    tag_list: JSON.stringify(job.tags),
    coverage: job.coverage === undefined ? null : String(job.coverage),
    failure_reason: job.status === "failed" ? "script_failure" : null,
    queued_at: hasStarted || job.status === "pending" ? job.queuedAt : null,
    started_at: hasStarted ? job.queuedAt + QUEUED : null,
    finished_at: FINISHED.includes(job.status) ? job.endedAt : null,
  };
};

interface GivenJob extends Omit<TimedJob, "stageIndex" | "allowFailure" | "queuedAt" | "endedAt"> {
  readonly allow_failure: boolean;
  readonly duration: number;
}

/** Gives jobs their times: those of a stage run at once, after all of the stage before. */
function timed(given: readonly GivenJob[], start: number): { jobs: TimedJob[]; end: number } {
  const stages = [...new Set(given.map(({ stage }) => stage))];
  const jobs: TimedJob[] = [];
  let end = start;
  for (const [stageIndex, stage] of stages.entries()) {
    const queuedAt = end;
    for (const job of given) {
      if (job.stage !== stage) continue;
      const endedAt = queuedAt + QUEUED + job.duration * SECOND;
      jobs.push({ ...job, stageIndex, allowFailure: job.allow_failure, queuedAt, endedAt });
      if (!WAITING.includes(job.status)) end = Math.max(end, endedAt);
    }
  }
  return { jobs, end };
}
