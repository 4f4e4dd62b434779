import {
  compositeStatus,
  coverageOf,
  type JobState,
  type PlannedJob,
  startable,
} from "../../ci/index.ts";
import { recordHookEvent } from "../../hooks/events.ts";
import { recordJobs } from "../../hooks/records.ts";
import { queueNotification } from "../../jobs/notifications.ts";
import * as outbox from "../../jobs/outbox.ts";
import { among } from "../../store/conditions.ts";
import { insertRow } from "../../store/insert.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Database, Reader, Value } from "../../store/port.ts";
import { copyDeployment, deploy } from "./deploying.ts";
import { environmentGates, PROTECTED, REJECTED } from "./environment-rights.ts";
import { OUTDATED, outdatedAmong } from "./outdated.ts";
import { nextOf } from "./resource-groups.ts";
import { CANCELABLE, FINISHED, STATUS_NAMES, type Status, TRANSITIONS } from "./statuses.ts";
import { endOf } from "./traces.ts";

/** The worker that does what follows from pipelines: it starts them after pushes, and acts on their ends. */
export const PIPELINE_WORKER = "pipelines";

/** What the worker has to do. */
export type PipelineTask =
  /** A pipeline has ended. */
  | { readonly finished: number }
  /** A pipeline has ended that jobs of others stand for. */
  | { readonly mirrored: number }
  /** A deployment has succeeded. */
  | { readonly deployed: number }
  /** A job is to start another pipeline. */
  | { readonly bridge: number }
  /** Something of a merge request has changed that it may have waited for to be merged. */
  | { readonly ready: number }
  /** A job is to publish a site, which a status of its pipeline is about. */
  | { readonly site: number; readonly status: number }
  /** A merge request was opened by a user. */
  | { readonly opened: number; readonly user: number }
  /** A merge request was merged or closed by a user. */
  | { readonly ended: number; readonly user: number }
  /** A branch of a project was deleted by a user. */
  | { readonly deleted: string; readonly project: number; readonly user: number }
  | {
      /** A branch or tag of a project that was pushed, in full. */
      readonly pushed: string;
      readonly project: number;
      readonly user: number;
      readonly before: string | null;
      readonly sha: string;
      readonly options: readonly string[];
      /** The open merge requests from the branch. */
      readonly requests: readonly number[];
    };

/** Queues a task of {@link PIPELINE_WORKER}; see {@link queueTasks}. */
export function queueTask(
  db: Database,
  task: PipelineTask,
  now: number,
  afterOthersOf?: number,
): Promise<void> {
  return queueTasks(db, [task], now, afterOthersOf);
}

/** Queues tasks of {@link PIPELINE_WORKER}. @param afterOthersOf the id of a project: these tasks are done in order */
export function queueTasks(
  db: Database,
  tasks: readonly PipelineTask[],
  now: number,
  afterOthersOf?: number,
): Promise<void> {
  const keyOf = afterOthersOf === undefined ? undefined : () => afterOthersOf;
  return outbox.add(db, PIPELINE_WORKER, tasks, now, keyOf);
}

/** Lets a merge request be merged that waits for it, if something of it has changed that it may have waited for. */
export async function queueReady(db: Database, requestId: number, now: number): Promise<void> {
  const waiting = await db.rows(
    "select 1 from merge_requests where id = ? and state = 'opened' and auto_merge = 1",
    [requestId],
  );
  if (waiting.length > 0) await queueTask(db, { ready: requestId }, now);
}

/** Lets the environments of a merge request be stopped that a user has merged or closed, if it has had pipelines. */
export async function queueEnd(
  db: Database,
  requestId: number,
  user: number,
  now: number,
): Promise<void> {
  const ran = await db.rows("select 1 from pipelines where merge_request_id = ? limit 1", [
    requestId,
  ]);
  if (ran.length > 0) await queueTask(db, { ended: requestId, user }, now);
}

/** Branches that one statement looks up. */
const TOGETHER = 500;

/**
 * Lets the environments be stopped that were deployed to from branches that a user has deleted, if there are any.
 *
 * @param of the ids of the project and the user
 */
export async function queueDeleted(
  db: Database,
  branches: readonly string[],
  of: { readonly project: number; readonly user: number },
  now: number,
): Promise<void> {
  for (let start = 0; start < branches.length; start += TOGETHER) {
    const some = placeholders(branches.slice(start, start + TOGETHER));
    const deployed = await db.rows(
      `select distinct ref from deployments where project_id = ? and ref in (${some.sql})`,
      [of.project, ...some.values],
    );
    const tasks = deployed.map(([ref]) => ({ ...of, deleted: String(ref) }));
    if (tasks.length > 0) await queueTasks(db, tasks, now);
  }
}

/** What only the runner of a job, and its next attempts, need of it. */
export type JobSpec = Pick<
  PlannedJob,
  | "options"
  | "variables"
  | "environment"
  | "retry"
  | "startIn"
  | "coverage"
  | "allowFailureExitCodes"
  | "trigger"
  | "mirrors"
  | "interruptible"
  | "needs"
  | "needsElsewhere"
>;

/** Reads the spec of a job; a status that somebody reported has none. */
export async function specOf(db: Reader, jobId: number): Promise<JobSpec> {
  const [row] = await db.rows("select spec from ci_job_specs where job_id = ?", [jobId]);
  return row ? (JSON.parse(row[0] as string) as JobSpec) : { options: {}, variables: [] };
}

/** A job as its pipeline needs it. */
interface PipelineJob extends JobState {
  readonly id: number;
  readonly coverage: string | null;
  readonly hasEnvironment: boolean;
  readonly resourceGroup: number | null;
}

/** The jobs of a pipeline, without those that were retried. */
async function jobsOf(db: Reader, pipelineId: number): Promise<PipelineJob[]> {
  const rows = await db.rows(
    `select id, name, stage_index, status, run_when, allow_failure, needs, coverage, environment, resource_group_id from ci_jobs
     where pipeline_id = ? and retried = 0 order by id`,
    [pipelineId],
  );
  return rows.map(
    ([id, name, stageIndex, status, when, allowFailure, needs, coverage, environment, group]) => ({
      id: id as number,
      name: name as string,
      stageIndex: stageIndex as number,
      status: status as Status,
      when: when as JobState["when"],
      allowFailure: allowFailure === 1,
      needs: needs === null ? undefined : (JSON.parse(needs as string) as string[]),
      coverage: coverage as string | null,
      hasEnvironment: environment !== null,
      resourceGroup: group as number | null,
    }),
  );
}

/** The columns that a status sets besides. */
export function timesOf(status: Status, now: number): Readonly<Record<string, number | null>> {
  if (status === "pending") return { queued_at: now, scheduled_at: null, finished_at: null };
  if (status === "running") return { started_at: now };
  if (FINISHED.includes(status)) return { finished_at: now, scheduled_at: null };
  return {};
}

/** The statuses, as a list of SQL, of jobs that may get one. */
const FROM = Object.fromEntries(
  STATUS_NAMES.map((status) => {
    const from = STATUS_NAMES.filter((before) => TRANSITIONS[before].includes(status));
    return [status, from.map((before) => `'${before}'`).join(", ")];
  }),
) as Readonly<Record<Status, string>>;

/**
 * Sets the status of jobs of a project, and the times that it stands for, which webhooks are told. Tokens of jobs that
 * end are deleted; jobs that start other pipelines do so once they are pending. What follows from it for their own
 * pipelines is left to {@link settle}.
 *
 * @throws Error if {@link TRANSITIONS} lets one of them not get it, which no caller may ask for
 */
export async function setStatus(
  db: Database,
  ids: readonly number[],
  status: Status,
  now: number,
): Promise<void> {
  for (let from = 0; from < ids.length; from += AT_ONCE) {
    await setStatusOfSome(db, ids.slice(from, from + AT_ONCE), status, now);
  }
}

/** Jobs that one statement changes: others read between two of them. */
const AT_ONCE = 250;

async function setStatusOfSome(
  db: Database,
  ids: readonly number[],
  status: Status,
  now: number,
): Promise<void> {
  const columns = { status, ...timesOf(status, now), updated_at: now };
  const these = among("id", ids);
  const changed = await db.rows(
    `update ci_jobs set ${Object.keys(columns)
      .map((column) => `${column} = ?`)
      .join(", ")} where ${these.sql} and status in (${FROM[status]})
     returning id, project_id, kind, environment`,
    [...Object.values(columns), ...these.values],
  );
  if (changed.length < ids.length) throw new Error(`a job among ${ids} can't become ${status}`);
  const builds = changed.filter(([, , kind]) => kind === "build").map(([id]) => id as number);
  await recordJobs(
    { db, now },
    changed[0]?.[1] as number,
    builds.sort((a, b) => a - b),
    status,
  );
  if (status === "pending") {
    const bridges = changed.filter(([, , kind]) => kind === "bridge");
    for (const [id] of bridges) await queueTask(db, { bridge: id as number }, now);
  }
  const deploying = changed.filter(([, , , environment]) => environment !== null);
  if (deploying.length > 0) {
    const jobs = deploying.map(([id]) => id as number);
    for (const id of await deploy(db, jobs, status, now))
      await queueTask(db, { deployed: id }, now);
  }
  if (FINISHED.includes(status)) {
    const tokens = among("job_id", ids);
    await db.run(`delete from job_tokens where ${tokens.sql}`, tokens.values);
  }
}

/**
 * Does what follows from changes of a pipeline's jobs: starts and skips other jobs, and sets the pipeline's status. It is
 * the only place that decides so. Nobody else may change the pipeline meanwhile: the transaction locks its project. Resources
 * that have become free are given to the next jobs, also of other pipelines.
 */
export async function settle(db: Database, pipelineId: number, now: number): Promise<void> {
  await giveResources(db, await settleAlone(db, pipelineId, now), now);
}

/** Gives free resources of groups to the jobs whose turn it is; see {@link settle}. */
export async function giveResources(
  db: Database,
  groupIds: Iterable<number>,
  now: number,
): Promise<void> {
  const freed = new Set(groupIds);
  while (freed.size > 0) {
    const next = await nextOf(db, [...freed]);
    freed.clear();
    const gates = await gatesOf(
      db,
      next.map(({ id }) => id),
      undefined,
      now,
    );
    for (const { id, pipeline_id } of next) {
      if (gates.failures.has(id)) await failGated(db, gates, [id], now);
      else await setStatus(db, [id], "pending", now);
      for (const group of await settleAlone(db, pipeline_id, now)) freed.add(group);
    }
  }
}

/** @returns the resource groups of the pipeline's jobs */
async function settleAlone(db: Database, pipelineId: number, now: number): Promise<Set<number>> {
  let jobs = await jobsOf(db, pipelineId);
  for (let next = startable(jobs); next.length > 0; next = startable(jobs)) {
    const deploying = next.filter(({ job, status }) => status === "pending" && job.hasEnvironment);
    const gates = await gatesOf(
      db,
      deploying.map(({ job }) => job.id),
      undefined,
      now,
    );
    const statuses = new Map<number, Status>(
      next.map(({ job, status }) => [job.id, gates.statusOf(job.id) ?? queuedAs(job, status)]),
    );
    for (const status of new Set(statuses.values())) {
      const ids = [...statuses].flatMap(([id, own]) => (own === status ? [id] : []));
      if (status === "failed") await failGated(db, gates, ids, now);
      else await setStatus(db, ids, status, now);
      if (status === "scheduled") await schedule(db, ids, now);
    }
    await block(db, gates, now);
    jobs = jobs.map((job) => ({ ...job, status: statuses.get(job.id) ?? job.status }));
  }
  await setPipelineStatus(db, pipelineId, jobs, now);
  return new Set(jobs.flatMap(({ resourceGroup }) => resourceGroup ?? []));
}

/** A job with a resource group waits for the resource before it waits for a runner. */
const queuedAs = ({ resourceGroup }: Pick<PipelineJob, "resourceGroup">, status: Status): Status =>
  status === "pending" && resourceGroup !== null ? "waiting_for_resource" : status;

/** What keeps jobs from starting that deploy: why they fail, or that they wait for approvals. */
interface Gates {
  readonly failures: ReadonlyMap<number, string>;
  readonly blocked: readonly number[];
  /** The status that a job gets in place of `pending`. */
  readonly statusOf: (jobId: number) => Status | undefined;
}

/** @param userId for whom they are to start; `undefined` for whom they were made */
async function gatesOf(
  db: Reader,
  jobIds: readonly number[],
  userId: number | undefined,
  now: number,
): Promise<Gates> {
  const outdated = await outdatedAmong(db, jobIds);
  const environments = await environmentGates(db, jobIds, userId, now);
  const failures = new Map<number, string>();
  const blocked: number[] = [];
  for (const id of jobIds) {
    if (outdated.has(id)) failures.set(id, OUTDATED);
    else if (environments.get(id) === "refused") failures.set(id, PROTECTED);
    else if (environments.get(id) === "blocked") blocked.push(id);
  }
  const statusOf = (id: number) =>
    failures.has(id) ? "failed" : blocked.includes(id) ? "manual" : undefined;
  return { failures, blocked, statusOf };
}

/** Ends jobs that have not started, since they may not deploy. They are not tried again by themselves. */
async function failGated(
  db: Database,
  { failures }: Gates,
  ids: readonly number[],
  now: number,
): Promise<void> {
  await setStatus(db, ids, "failed", now);
  for (const id of ids) {
    await db.run("update ci_jobs set failure_reason = ?, started_at = null where id = ?", [
      failures.get(id) ?? null,
      id,
    ]);
  }
}

/** Notes that deployments wait for approvals, whose jobs are `manual`. */
async function block(db: Database, { blocked }: Gates, now: number): Promise<void> {
  if (blocked.length === 0) return;
  const these = among("job_id", blocked);
  await db.run(`update deployments set status = 'blocked', updated_at = ? where ${these.sql}`, [
    now,
    ...these.values,
  ]);
}

/** Lets jobs that are `created` or wait start, as far as they may. @param userId for whom */
async function enqueue(
  db: Database,
  jobId: number,
  userId: number | undefined,
  now: number,
): Promise<void> {
  const gates = await gatesOf(db, [jobId], userId, now);
  const [row] = await db.rows("select status, resource_group_id from ci_jobs where id = ?", [
    jobId,
  ]);
  const [before, resourceGroup] = row as [Status, number | null];
  const status = gates.statusOf(jobId) ?? queuedAs({ resourceGroup }, "pending");
  if (status === "failed") await failGated(db, gates, [jobId], now);
  else if (status !== before) await setStatus(db, [jobId], status, now);
  await block(db, gates, now);
}

/** Ends a job instead of starting it, if it may not deploy. @returns whether it has done so */
export async function refuseGated(db: Database, job: EndableJob, now: number): Promise<boolean> {
  const gates = await gatesOf(db, [job.id], undefined, now);
  if (gates.failures.size === 0) return false;
  await failGated(db, gates, [job.id], now);
  await settle(db, job.pipeline_id, now);
  return true;
}

/** Ends a job whose deployment somebody has rejected. */
export async function reject(db: Database, job: EndableJob, now: number): Promise<void> {
  const failures = new Map([[job.id, REJECTED]]);
  await failGated(db, { failures, blocked: [], statusOf: () => "failed" }, [job.id], now);
  await settle(db, job.pipeline_id, now);
}

/** Notes that a job of a pipeline runs, from which nothing follows but that the pipeline does. */
export async function noteRun(db: Database, pipelineId: number, now: number): Promise<void> {
  const [row] = await db.rows("select status from pipelines where id = ?", [pipelineId]);
  if (row?.[0] !== "running") await settle(db, pipelineId, now);
}

/** Notes when delayed jobs start. */
async function schedule(db: Database, ids: readonly number[], now: number): Promise<void> {
  for (const id of ids) {
    const { startIn = 0 } = await specOf(db, id);
    await db.run("update ci_jobs set scheduled_at = ? where id = ?", [now + startIn * 1000, id]);
  }
}

async function setPipelineStatus(
  db: Database,
  pipelineId: number,
  jobs: readonly PipelineJob[],
  now: number,
): Promise<void> {
  const status = compositeStatus(jobs);
  if (status === undefined) return;
  const [row] = await db.rows(
    "select status, coverage, has_warnings, project_id from pipelines where id = ?",
    [pipelineId],
  );
  const hasWarnings = jobs.some(({ status, allowFailure }) => allowFailure && status === "failed");
  const coverage = averageOf(jobs.flatMap(({ coverage }) => coverage ?? []));
  const facts: Value[] = [status, coverage, Number(hasWarnings)];
  if (!row || facts.every((fact, at) => fact === row[at])) return;
  const isEnd = FINISHED.includes(status);
  await db.run(
    `update pipelines set status = ?, coverage = ?, has_warnings = ?, updated_at = ?,
       started_at = case when ? = 1 then coalesce(started_at, ?) else started_at end, finished_at = ?
     where id = ?`,
    [...facts, now, Number(status === "running" || isEnd), now, isEnd ? now : null, pipelineId],
  );
  if (status === row[0]) return;
  const of = { project: row[3] as number };
  recordHookEvent(
    { db, now },
    { kind: "pipeline", of, userId: null, id: pipelineId, data: { status } },
  );
  if (isEnd) await queueTask(db, { finished: pipelineId }, now);
  if (status === "success" || status === "failed") {
    await queueNotification(db, { notice: "pipeline", pipeline: pipelineId, status }, now);
  }
}

/** The coverage of a pipeline: the average of its jobs', with two digits. */
function averageOf(values: readonly string[]): string | null {
  if (values.length === 0) return null;
  const sum = values.reduce((total, value) => total + Number(value), 0);
  return (sum / values.length).toFixed(2);
}

/** How a job ended, as its runner says. */
export interface JobOutcome {
  readonly status: "success" | "failed";
  readonly failureReason?: string | undefined;
  readonly exitCode?: number | undefined;
}

/** A job that can be ended. */
export interface EndableJob {
  readonly id: number;
  readonly pipeline_id: number;
}

/**
 * Ends a job that runs. One that failed is tried again if its configuration says so; one that is being canceled is canceled
 * whatever its runner says.
 */
export async function finish(
  db: Database,
  job: EndableJob & { readonly status: string },
  { status: said, failureReason = "unknown_failure", exitCode }: JobOutcome,
  now: number,
): Promise<void> {
  const status = job.status === "canceling" ? "canceled" : said;
  await setStatus(db, [job.id], status, now);
  const spec = await specOf(db, job.id);
  await noteCoverage(db, job.id, spec);
  if (status === "success" && spec.options.pages) await announceSite(db, job.id, now);
  if (status === "failed") {
    const isAllowed = exitCode !== undefined && spec.allowFailureExitCodes?.includes(exitCode);
    await db.run(
      `update ci_jobs set failure_reason = ?, allow_failure = case when ? = 1 then 1 else allow_failure end
       where id = ?`,
      [failureReason, isAllowed ? 1 : 0, job.id],
    );
    if (await mayTryAgain(db, job, spec, failureReason, exitCode)) {
      await enqueue(db, await copy(db, job.id, undefined, now), undefined, now);
    } else if (await endsAll(db, job.id)) {
      await settle(db, job.pipeline_id, now);
      await cancel(db, job.pipeline_id, {}, now);
      return;
    }
  }
  await settle(db, job.pipeline_id, now);
}

/** The status that says whether a site was published, which a job of the pipeline has made, as GitLab calls it. */
const SITE_STATUS = "pages:deploy";

/** The stage of what others than runners report: after all of a configuration. */
export const EXTERNAL = { kind: "external", stage: "external", stage_index: 1_000_000 } as const;

/**
 * Adds the status of the site of a job that has succeeded, and lets it be published: sites of a project one after another.
 * A job that no runner did, and that has no artifacts, publishes nothing.
 */
async function announceSite(db: Database, jobId: number, now: number): Promise<void> {
  const found = await db.one<{
    project_id: number;
    pipeline_id: number;
    user_id: number;
    ref: string;
    name: string;
  }>(
    `select project_id, pipeline_id, user_id, ref, name from ci_jobs where id = ? and (runner_id is not null
       or exists (select 1 from job_artifacts a where a.job_id = ci_jobs.id and a.file_type = 'archive'))`,
    [jobId],
  );
  if (!found) return;
  const { name, ...job } = found;
  // A job that is tried again gets another status in the place of that of its last attempt.
  const needs = JSON.stringify([name]);
  await db.run(
    `update ci_jobs set retried = 1
     where pipeline_id = ? and kind = 'external' and name = ? and retried = 0 and needs = ?`,
    [job.pipeline_id, SITE_STATUS, needs],
  );
  const status = await insertRow(db, "ci_jobs", {
    ...job,
    ...EXTERNAL,
    name: SITE_STATUS,
    needs,
    status: "running",
    created_at: now,
    updated_at: now,
    queued_at: now,
    started_at: now,
  });
  await queueTask(db, { site: jobId, status }, now, job.project_id);
}

/** Ends the status of a site. @param problem why it was not published */
export async function concludeSite(
  db: Database,
  statusId: number,
  problem: string | undefined,
  now: number,
): Promise<void> {
  const [ended] = await db.rows(
    `update ci_jobs set status = ?, description = ?, failure_reason = ?, finished_at = ?, updated_at = ?
     where id = ? and status = 'running' returning pipeline_id`,
    [
      problem === undefined ? "success" : "failed",
      problem ?? null,
      problem === undefined ? null : "script_failure",
      now,
      now,
      statusId,
    ],
  );
  if (ended) await settle(db, ended[0] as number, now);
}

/** Whether the pipeline of a job that has failed is canceled then: `workflow:auto_cancel:on_job_failure`. */
async function endsAll(db: Reader, jobId: number): Promise<boolean> {
  const found = await db.rows(
    `select 1 from ci_jobs cj join pipelines pl on pl.id = cj.pipeline_id
     where cj.id = ? and cj.allow_failure = 0 and pl.on_job_failure = 'all'`,
    [jobId],
  );
  return found.length > 0;
}

/** Notes the coverage that a job's log speaks of, if its configuration says how. */
async function noteCoverage(db: Database, jobId: number, { coverage }: JobSpec): Promise<void> {
  if (coverage === undefined) return;
  const found = await coverageOf(await endOf(db, jobId), coverage);
  if (found === undefined) return;
  await db.run("update ci_jobs set coverage = ? where id = ?", [String(found), jobId]);
}

/** Whether the configuration of a job wants it to be tried again after this failure. */
async function mayTryAgain(
  db: Reader,
  { id, pipeline_id }: EndableJob,
  { retry }: JobSpec,
  reason: string,
  exitCode: number | undefined,
): Promise<boolean> {
  if (!retry || retry.max === 0) return false;
  const isMeant =
    retry.when.includes("always") ||
    retry.when.includes(reason) ||
    (exitCode !== undefined && retry.exitCodes?.includes(exitCode) === true);
  if (!isMeant || (await outdatedAmong(db, [id])).size > 0) return false;
  const attempts = await db.rows(
    `select 1 from ci_jobs where pipeline_id = ? and retried = 1
     and name = (select name from ci_jobs where id = ?) limit ?`,
    [pipeline_id, id, retry.max],
  );
  return attempts.length < retry.max;
}

const COPIED = `project_id, pipeline_id, kind, name, stage, stage_index, ref, protected, run_when, allow_failure, needs, tag_list,
  target_url, description, timeout, environment, resource_group_id`;

/**
 * Replaces a job by a new one that does the same; the old one counts no more.
 *
 * @param userId who wants it; `undefined` for who wanted the old one
 * @returns the id of the new one, which is `created`
 */
async function copy(
  db: Database,
  id: number,
  userId: number | undefined,
  now: number,
): Promise<number> {
  await db.run("update ci_jobs set retried = 1, updated_at = ? where id = ?", [now, id]);
  const [made] = await db.rows(
    `insert into ci_jobs (${COPIED}, user_id, status, created_at, updated_at)
     select ${COPIED}, coalesce(cast(? as bigint), user_id), 'created', cast(? as bigint), cast(? as bigint)
     from ci_jobs where id = ? returning id, project_id`,
    [userId ?? null, now, now, id],
  );
  const [copied, projectId] = made as [number, number];
  await recordJobs({ db, now }, projectId, [copied], "created");
  await db.run(
    "insert into ci_job_specs (job_id, spec) select cast(? as bigint), spec from ci_job_specs where job_id = ?",
    [copied, id],
  );
  await db.run(
    "insert into ci_job_tags (job_id, tag) select cast(? as bigint), tag from ci_job_tags where job_id = ?",
    [copied, id],
  );
  await copyDeployment(db, id, copied, now);
  return copied;
}

/** Lets jobs run after all that were skipped since they come after some that are tried again. */
async function revive(
  db: Database,
  pipelineId: number,
  retried: readonly Pick<PipelineJob, "name" | "stageIndex">[],
  now: number,
): Promise<void> {
  const names = new Set(retried.map(({ name }) => name));
  const first = Math.min(...retried.map(({ stageIndex }) => stageIndex));
  const skipped = (await jobsOf(db, pipelineId)).filter(({ status }) => status === "skipped");
  const revived = skipped.filter(
    ({ stageIndex, needs }) => stageIndex > first || needs?.some((name) => names.has(name)),
  );
  await setStatus(
    db,
    revived.map(({ id }) => id),
    "created",
    now,
  );
}

/** Tries a job again, for a user, or for who wanted the old one. @returns the id of the new job */
export async function retryJob(
  db: Database,
  job: EndableJob & { readonly name: string; readonly stage_index: number },
  userId: number | undefined,
  now: number,
): Promise<number> {
  const copied = await copy(db, job.id, userId, now);
  await enqueue(db, copied, undefined, now);
  await revive(db, job.pipeline_id, [{ name: job.name, stageIndex: job.stage_index }], now);
  await settle(db, job.pipeline_id, now);
  return copied;
}

/** Tries all jobs of a pipeline again that failed or were canceled. */
export async function retryPipeline(
  db: Database,
  pipelineId: number,
  userId: number,
  now: number,
): Promise<void> {
  const kinds = await db.rows(
    `select id from ci_jobs where pipeline_id = ? and retried = 0 and kind <> 'external'
     and status in ('failed', 'canceled')`,
    [pipelineId],
  );
  const ended = new Set(kinds.map(([id]) => id as number));
  const { failures } = await gatesOf(db, [...ended], userId, now);
  const retried = (await jobsOf(db, pipelineId)).filter(
    ({ id }) => ended.has(id) && !failures.has(id),
  );
  if (retried.length === 0) return;
  for (const { id } of retried) await copy(db, id, userId, now);
  await revive(db, pipelineId, retried, now);
  await settle(db, pipelineId, now);
}

/** Jobs that are canceled, and how. */
interface Canceling {
  /** Only this one; otherwise all of the pipeline, and of those that it has started. */
  readonly jobId?: number | undefined;
  /** Whether runners get no time to clean up. */
  readonly isForced?: boolean | undefined;
}

/**
 * Cancels jobs of a pipeline that have not ended. Jobs whose runners can clean up are `canceling` until these say that they
 * are done.
 */
export async function cancel(
  db: Database,
  pipelineId: number,
  { jobId, isForced = false }: Canceling,
  now: number,
): Promise<void> {
  const jobs = (await jobsOf(db, pipelineId)).filter(({ id }) => (jobId ?? id) === id);
  const graceful = isForced ? new Set<number>() : await gracefulOf(db, jobs);
  const ended = jobs
    .filter(({ status }) => CANCELABLE.includes(status) || (isForced && status === "canceling"))
    .flatMap(({ id }) => (graceful.has(id) ? [] : [id]));
  await setStatus(db, [...graceful], "canceling", now);
  await setStatus(db, ended, "canceled", now);
  if (graceful.size + ended.length > 0) await settle(db, pipelineId, now);
  if (jobId !== undefined) return;
  for (const id of await childrenOf(db, pipelineId)) await cancel(db, id, { isForced }, now);
}

/** The jobs among some that run, and whose runners clean up when they are canceled. */
async function gracefulOf(db: Reader, jobs: readonly PipelineJob[]): Promise<Set<number>> {
  const running = jobs.filter(({ status }) => status === "running").map(({ id }) => id);
  if (running.length === 0) return new Set();
  const these = among("id", running);
  const found = await db.rows(
    `select id from ci_jobs where ${these.sql} and cancels_gracefully = 1`,
    these.values,
  );
  return new Set(found.map(([id]) => id as number));
}

/** The child pipelines of a pipeline: those that its jobs have started in the same project. */
export async function childrenOf(db: Reader, pipelineId: number): Promise<number[]> {
  const found = await db.rows(
    `select d.pipeline_id from ci_jobs b join downstream_pipelines d on d.job_id = b.id
     join pipelines c on c.id = d.pipeline_id
     where b.pipeline_id = ? and b.kind = 'bridge' and c.source = 'parent_pipeline' order by 1`,
    [pipelineId],
  );
  return found.map(([id]) => id as number);
}

/**
 * Gives a job that has started a pipeline the status with which that one has ended. If it succeeds after all, jobs that
 * were skipped wait again.
 */
export async function inherit(
  db: Database,
  { id, pipeline_id, status: before }: EndableJob & { readonly status: string },
  status: Status,
  now: number,
): Promise<void> {
  if (before === status) return;
  await setStatus(db, [id], status, now);
  if (before === "failed" || before === "canceled") {
    const jobs = (await jobsOf(db, pipeline_id)).filter((job) => job.id === id);
    await revive(db, pipeline_id, jobs, now);
  }
  await settle(db, pipeline_id, now);
}

/** Starts a job that waits for somebody, for its time or for approvals; one that may not deploy fails. */
export async function play(
  db: Database,
  job: EndableJob,
  userId: number | undefined,
  now: number,
): Promise<void> {
  if (userId !== undefined) {
    await db.run("update ci_jobs set user_id = ? where id = ?", [userId, job.id]);
    await db.run("update deployments set user_id = ? where job_id = ?", [userId, job.id]);
  }
  await enqueue(db, job.id, undefined, now);
  await settle(db, job.pipeline_id, now);
}
