import type { AutoCancel, PipelineSource, PlannedJob } from "../../ci/index.ts";
import { type SealedColumn, sealerFor } from "../../core/sealed.ts";
import type { Secrets } from "../../core/secrets.ts";
import { recordHookEvent } from "../../hooks/events.ts";
import { recordJobs } from "../../hooks/records.ts";
import { insertMany, insertRow } from "../../store/insert.ts";
import type { Database, Reader } from "../../store/port.ts";
import { announceDeployment } from "./deploying.ts";
import type { JobSpec } from "./progress.ts";
import { groupsNamed } from "./resource-groups.ts";
import type { CiSettings } from "./settings.ts";
import type { Status } from "./statuses.ts";

/** A commit that no commit is before. */
export const NO_SHA = "0".repeat(40);

/** A pipeline that is about to be made. */
export interface NewPipeline {
  readonly project_id: number;
  readonly user_id: number | null;
  readonly ref: string;
  readonly tag: boolean;
  readonly sha: string;
  readonly before_sha?: string | undefined;
  readonly source: PipelineSource;
  readonly status: Status;
  readonly merge_request_id?: number | undefined;
  readonly name?: string | undefined;
  /** What jobs are told of the token of the trigger that starts it. */
  readonly trigger_short_token?: string | undefined;
  readonly yaml_errors?: string | undefined;
  /** When it is canceled. Default: as GitLab does it where the configuration says nothing. */
  readonly autoCancel?: AutoCancel | undefined;
}

/**
 * Adds a pipeline without jobs, in a transaction that has locked its project. Webhooks are told of one that does not
 * start.
 *
 * @returns its id
 */
export async function insertPipeline(
  db: Database,
  pipeline: NewPipeline,
  now: number,
): Promise<number> {
  const { project_id, status } = pipeline;
  const id = await insertRow(db, "pipelines", {
    project_id,
    iid: await nextNumber(db, project_id),
    user_id: pipeline.user_id,
    merge_request_id: pipeline.merge_request_id ?? null,
    ref: pipeline.ref,
    tag: Number(pipeline.tag),
    sha: pipeline.sha,
    before_sha: pipeline.before_sha ?? NO_SHA,
    source: pipeline.source,
    status,
    name: pipeline.name ?? null,
    trigger_short_token: pipeline.trigger_short_token ?? null,
    yaml_errors: pipeline.yaml_errors ?? null,
    on_new_commit: pipeline.autoCancel?.onNewCommit ?? null,
    on_job_failure: pipeline.autoCancel?.onJobFailure ?? null,
    created_at: now,
    updated_at: now,
    finished_at: status === "failed" ? now : null,
  });
  if (status !== "created") {
    const of = { project: project_id };
    recordHookEvent({ db, now }, { kind: "pipeline", of, userId: null, id, data: { status } });
  }
  return id;
}

/** The `iid` of the next pipeline of a project. */
export async function nextNumber(db: Reader, projectId: number): Promise<number> {
  const [row] = await db.rows(
    "select iid from pipelines where project_id = ? order by iid desc limit 1",
    [projectId],
  );
  return ((row?.[0] as number | undefined) ?? 0) + 1;
}

/** Adds the jobs of a new pipeline, none of which has started. */
export async function insertJobs(
  db: Database,
  pipeline: Pick<
    NewPipeline,
    "project_id" | "user_id" | "ref" | "tag" | "sha" | "merge_request_id"
  > & {
    readonly id: number;
    /** Whether its branch or tag is protected. */
    readonly isProtected: boolean;
  } & Pick<CiSettings, "timeout">,
  jobs: readonly PlannedJob[],
  now: number,
): Promise<void> {
  const keys = jobs.map(({ resourceGroup }) => resourceGroup);
  const groups = await groupsNamed(db, pipeline.project_id, keys, now);
  await insertMany(
    db,
    "ci_jobs",
    [
      "project_id",
      "pipeline_id",
      "user_id",
      "kind",
      "name",
      "stage",
      "stage_index",
      "ref",
      "protected",
      "status",
      "run_when",
      "allow_failure",
      "needs",
      "tag_list",
      "timeout",
      "environment",
      "resource_group_id",
      "created_at",
      "updated_at",
    ],
    jobs.map((job) => [
      pipeline.project_id,
      pipeline.id,
      pipeline.user_id,
      isBridge(job) ? "bridge" : "build",
      job.name,
      job.stage,
      job.stageIndex,
      pipeline.ref,
      Number(pipeline.isProtected),
      "created",
      job.when,
      Number(job.allowFailure),
      job.needs ? JSON.stringify(job.needs.map((need) => need.job)) : null,
      JSON.stringify(job.tags),
      job.timeout ?? pipeline.timeout,
      job.environment?.name ?? null,
      groups.get(job.resourceGroup ?? "") ?? null,
      now,
      now,
    ]),
  );
  const made = await db.rows("select name, id from ci_jobs where pipeline_id = ?", [pipeline.id]);
  const ids = new Map(made.map(([name, id]) => [name as string, id as number]));
  const idOf = ({ name }: PlannedJob) => ids.get(name) as number;
  const builds = jobs.filter((job) => !isBridge(job)).map(idOf);
  await recordJobs({ db, now }, pipeline.project_id, builds, "created");
  await insertMany(
    db,
    "ci_job_specs",
    ["job_id", "spec"],
    jobs.map((job) => [idOf(job), JSON.stringify(specFrom(job))]),
  );
  await insertMany(
    db,
    "ci_job_tags",
    ["job_id", "tag"],
    jobs.flatMap((job) => [...new Set(job.tags)].map((tag) => [idOf(job), tag])),
  );
  for (const job of jobs) {
    if (job.environment) await announceDeployment(db, pipeline, idOf(job), job.environment, now);
  }
}

/** Whether no runner does a job: it starts another pipeline, or stands for one. */
const isBridge = ({ trigger, mirrors }: PlannedJob) =>
  trigger !== undefined || mirrors !== undefined;

function specFrom(job: PlannedJob): JobSpec {
  const { options, variables, environment, needs, retry, startIn, coverage } = job;
  const { allowFailureExitCodes, trigger, mirrors, interruptible, needsElsewhere } = job;
  return {
    options,
    variables,
    ...(environment && { environment }),
    ...(needs && { needs }),
    ...(needsElsewhere && { needsElsewhere }),
    ...(retry && { retry }),
    ...(startIn !== undefined && { startIn }),
    ...(coverage !== undefined && { coverage }),
    ...(allowFailureExitCodes && { allowFailureExitCodes }),
    ...(trigger && { trigger }),
    ...(mirrors !== undefined && { mirrors }),
    ...(interruptible !== undefined && { interruptible }),
  };
}

/** A variable that somebody gave a pipeline, or a job when they started it. */
export interface GivenVariable {
  readonly key: string;
  readonly value: string;
  readonly variable_type: "env_var" | "file";
}

/** Where the values of such variables are. */
export const PIPELINE_VARIABLES: SealedColumn = {
  table: "pipeline_variables",
  id: "id",
  column: "value",
  purpose: "'variable of pipeline ' || pipeline_id",
};

const purposeOf = (pipelineId: number) => `variable of pipeline ${pipelineId}`;

/** Stores variables of a pipeline, or of one of its jobs, encrypted. @throws SecretKeyError if they can't be */
export async function insertVariables(
  db: Database,
  secrets: Secrets,
  { pipelineId, jobId = null }: { pipelineId: number; jobId?: number | null },
  variables: readonly GivenVariable[],
): Promise<void> {
  if (variables.length === 0) return;
  const seal = await sealerFor(db, secrets);
  await insertMany(
    db,
    "pipeline_variables",
    ["pipeline_id", "job_id", "key", "value", "variable_type"],
    variables.map(({ key, value, variable_type }) => [
      pipelineId,
      jobId,
      key,
      seal(value, purposeOf(pipelineId)),
      variable_type,
    ]),
  );
}

/** The variables that a pipeline was given and, if it is named, one of its jobs. */
export async function givenVariables(
  db: Reader,
  secrets: Pick<Secrets, "open">,
  pipelineId: number,
  jobId?: number,
): Promise<GivenVariable[]> {
  const rows = await db.rows(
    `select key, value, variable_type from pipeline_variables
     where pipeline_id = ? and (job_id is null or job_id = ?) order by id`,
    [pipelineId, jobId ?? 0],
  );
  return rows.map(([key, value, type]) => ({
    key: key as string,
    value: secrets.open(value as string, purposeOf(pipelineId)),
    variable_type: type as GivenVariable["variable_type"],
  }));
}
