import { expandVariables, type PipelineSource, type Trigger } from "../../ci/index.ts";
import { findVisible, type Source } from "../../core/access/source.ts";
import { BRANCHES, TAGS } from "../../git/refs.ts";
import type { Database, Reader } from "../../store/port.ts";
import { mayReadJobs } from "../ci/abilities.ts";
import { inherit, type JobSpec, queueTask, setStatus, settle, specOf } from "../ci/progress.ts";
import { type GivenVariable, givenVariables } from "../ci/records.ts";
import { FINISHED, type Status } from "../ci/statuses.ts";
import { limitOf } from "../plan-limits/limits.ts";
import { openRepository } from "../repositories/open.ts";
import { findRequestOf, type OfMergeRequest, predefinedVariables } from "./circumstances.ts";
import {
  type Creation,
  PipelineRefusal,
  type Place,
  planCreation,
  storePipeline,
} from "./create.ts";
import { projectFor, viewerOf } from "./rules.ts";

/** Where pipelines are started that jobs start, but for the project and the user. */
export type Starting = Omit<Place, "project" | "userId" | "secrets" | "at"> & {
  readonly secrets: Parameters<typeof storePipeline>[1];
  readonly now: () => number;
};

/** A job that starts another pipeline, with its own. */
interface Bridge {
  readonly id: number;
  readonly project_id: number;
  readonly pipeline_id: number;
  readonly iid: number;
  readonly user_id: number | null;
  readonly status: Status;
  readonly protected: number;
  readonly ref: string;
  readonly tag: number;
  readonly sha: string;
  readonly before_sha: string;
  readonly source: PipelineSource;
  readonly merge_request_id: number | null;
  readonly schedule_id: number | null;
}

const BRIDGE = `select b.id, b.project_id, b.pipeline_id, pl.iid, b.user_id, b.status, b.protected, pl.ref, pl.tag, pl.sha,
    pl.before_sha, pl.source, pl.merge_request_id, ru.schedule_id
  from ci_jobs b join pipelines pl on pl.id = b.pipeline_id
  left join pipeline_schedule_runs ru on ru.pipeline_id = pl.id`;

/** Why a job can't start a pipeline, in the words of `failure_reason`. */
class Failure extends Error {}

/** Levels of child pipelines below a pipeline that is none. */
const MOST_LEVELS = 2;
/** Pipelines above one. */
const MOST_ANCESTORS = 20;

/**
 * Plans the pipeline that a job starts.
 *
 * @returns what stores it, and sets the job's status: it may have been canceled until then
 */
export async function startDownstream(
  starting: Starting,
  jobId: number,
): Promise<((db: Database) => Promise<void>)[]> {
  const { db, now } = starting;
  const bridge = await db.one<Bridge>(`${BRIDGE} where b.id = ? and b.status = 'pending'`, [jobId]);
  if (!bridge) return [];
  const { trigger, mirrors, ...spec } = await specOf(db, jobId);
  try {
    if (mirrors !== undefined) return await planMirror(starting, bridge, mirrors, spec);
    if (!trigger) throw new Failure("invalid_bridge_trigger");
    const creation = await planDownstream(starting, bridge, trigger, spec);
    return [(writing) => store(writing, starting, bridge, trigger, creation)];
  } catch (error) {
    const reason =
      error instanceof Failure
        ? error.message
        : error instanceof PipelineRefusal
          ? "downstream_pipeline_creation_failed"
          : undefined;
    if (reason === undefined) throw error;
    return [(writing) => fail(writing, bridge, reason, now())];
  }
}

async function planDownstream(
  starting: Starting,
  bridge: Bridge,
  trigger: Trigger,
  spec: Omit<JobSpec, "trigger">,
): Promise<Creation> {
  const { db, now, secrets } = starting;
  const own = await projectOf(db, bridge.project_id, bridge.user_id, now());
  if (!own) throw new Failure("insufficient_bridge_permissions");
  const request = await findRequestOf(db, bridge.merge_request_id);
  const values = await valuesOf(starting, bridge, own, request, spec);
  const variables: GivenVariable[] = [
    ...(trigger.forward.pipelineVariables
      ? await givenVariables(db, secrets, bridge.pipeline_id, bridge.id)
      : []),
    ...(trigger.forward.yamlVariables ? spec.variables : []).map(({ key, value, expand }) => ({
      key,
      value: expand ? expandVariables(value, values) : value,
      variable_type: "env_var" as const,
    })),
  ];
  if (variables.length > 0 && !secrets.mayEncrypt) {
    throw new Failure("downstream_pipeline_creation_failed");
  }
  const place = { ...starting, userId: bridge.user_id, at: starting.now() };
  const { id: job, pipeline_id: pipeline, project_id } = bridge;
  const upstream = { job, pipeline, project: project_id };
  if (trigger.project === undefined) {
    await requireRoom(db, bridge, undefined);
    return planCreation(
      { ...place, project: own },
      {
        ref: request ? BRANCHES + request.source_branch : fullRef(bridge),
        sha: bridge.sha,
        before: bridge.before_sha,
        source: "parent_pipeline",
        request,
        variables,
        content: JSON.stringify({ include: trigger.include }),
        parent: bridge.pipeline_id,
        upstream,
      },
    );
  }
  const path = expandVariables(trigger.project, values);
  const [found] = await db.rows(
    "select id, default_branch from projects where lower(full_path) = lower(?)",
    [path],
  );
  const [id, defaultBranch] = (found ?? []) as [number?, (string | null)?];
  const project = id === undefined ? undefined : await projectOf(db, id, bridge.user_id, now());
  if (!project) throw new Failure("downstream_bridge_project_not_found");
  const ref = expandVariables(trigger.branch ?? defaultBranch ?? "", values);
  await requireRoom(db, bridge, { project: project.id, ref });
  const { inputs } = trigger;
  return planCreation(
    { ...place, project },
    { ref, source: "pipeline", variables, inputs, upstream },
  );
}

const projectOf = (db: Reader, id: number, userId: number | null, now: number) =>
  userId === null ? undefined : projectFor(db, id, userId, now);

const fullRef = ({ ref, tag }: Pick<Bridge, "ref" | "tag">) => (tag === 1 ? TAGS : BRANCHES) + ref;

/** The values that names in a job's `trigger` and variables stand for. */
async function valuesOf(
  { db, store, base, edition, secrets, now }: Starting,
  bridge: Bridge,
  project: Source,
  request: OfMergeRequest | undefined,
  { variables }: Pick<JobSpec, "variables">,
): Promise<Map<string, string>> {
  const opened = await openRepository({ db, store, source: project });
  const predefined = await predefinedVariables(
    { db, opened, base, edition, userId: bridge.user_id, at: now() },
    {
      ref: request?.source_branch ?? bridge.ref,
      tag: bridge.tag === 1,
      isProtected: bridge.protected === 1,
      sha: bridge.sha,
      before: bridge.before_sha,
      source: bridge.source,
      request,
      scheduleId: bridge.schedule_id,
    },
  );
  const given = await givenVariables(db, secrets, bridge.pipeline_id, bridge.id);
  const own = {
    CI_PIPELINE_ID: String(bridge.pipeline_id),
    CI_PIPELINE_IID: String(bridge.iid),
    CI_PIPELINE_URL: `${base}/${project.fullPath}/-/pipelines/${bridge.pipeline_id}`,
  };
  const all = [...predefined, ...variables, ...given].map(
    ({ key, value }) => [key, value] as const,
  );
  return new Map([...Object.entries(own), ...all]);
}

/** A pipeline, or one above it. */
interface Ancestor {
  readonly project_id: number;
  readonly ref: string;
  readonly source: PipelineSource;
}

/**
 * Checks that pipelines do not start each other for ever.
 *
 * @param wanted of what the pipeline of another project would be; `undefined` for a child pipeline
 * @throws Failure
 */
async function requireRoom(
  db: Reader,
  { pipeline_id }: Bridge,
  wanted: { readonly project: number; readonly ref: string } | undefined,
): Promise<void> {
  const above = await db.all<Ancestor>(
    `with recursive up (id, level) as (
       select cast(? as bigint), 0
       union all
       select b.pipeline_id, up.level + 1 from up join downstream_pipelines d on d.pipeline_id = up.id
       join ci_jobs b on b.id = d.job_id where up.level <= ${MOST_ANCESTORS}
     ) select pl.project_id, pl.ref, pl.source from up join pipelines pl on pl.id = up.id order by up.level`,
    [pipeline_id],
  );
  const level = above.findIndex(({ source }) => source !== "parent_pipeline");
  if (!wanted && level >= MOST_LEVELS) {
    throw new Failure("reached_max_descendant_pipelines_depth");
  }
  if (wanted && above.some((one) => one.project_id === wanted.project && one.ref === wanted.ref)) {
    throw new Failure("pipeline_loop_detected");
  }
  if (above.length > MOST_ANCESTORS || (await isTreeFull(db, pipeline_id))) {
    throw new Failure("reached_max_pipeline_hierarchy_size");
  }
}

/** Whether the pipelines that started each other, up to this one, are so many that there may be no more. */
export async function isTreeFull(db: Reader, pipelineId: number): Promise<boolean> {
  const most = await limitOf(db, "pipeline_hierarchy_size");
  const started = await db.rows(
    `select 1 from downstream_pipelines where root_id = (${ROOT}) limit ?`,
    [pipelineId, pipelineId, most],
  );
  return started.length >= most;
}

/** Notes that a job has started a pipeline. @param above the job's own pipeline */
export async function noteDownstream(
  db: Database,
  pipelineId: number,
  jobId: number,
  above: number,
): Promise<void> {
  await db.run(
    `insert into downstream_pipelines (pipeline_id, job_id, root_id) values (?, ?, (${ROOT}))`,
    [pipelineId, jobId, above, above],
  );
}

/** SQL for the pipeline that no other one has started, above one. */
const ROOT =
  "select coalesce((select root_id from downstream_pipelines where pipeline_id = ?), cast(? as bigint))";

/** Locks projects, always in the same order. */
async function lockAll(db: Database, ids: readonly number[]): Promise<void> {
  for (const id of [...new Set(ids)].sort((a, b) => a - b)) db.lock(id);
}

async function store(
  db: Database,
  { secrets, now }: Pick<Starting, "secrets" | "now">,
  bridge: Bridge,
  { depends }: Trigger,
  creation: Creation,
): Promise<void> {
  await lockAll(db, [bridge.project_id, creation.project.id]);
  if (!(await isPending(db, bridge))) return;
  const at = now();
  const id = await storePipeline(db, secrets, creation, at);
  await noteDownstream(db, id, bridge.id, bridge.pipeline_id);
  await setStatus(db, [bridge.id], "running", at);
  if (!depends) await setStatus(db, [bridge.id], "success", at);
  await settle(db, bridge.pipeline_id, at);
}

/** Whether a job still waits to start its pipeline. */
async function isPending(db: Reader, { id }: Bridge): Promise<boolean> {
  const rows = await db.rows("select 1 from ci_jobs where id = ? and status = 'pending'", [id]);
  return rows.length > 0;
}

async function fail(db: Database, bridge: Bridge, reason: string, now: number): Promise<void> {
  db.lock(bridge.project_id);
  if (!(await isPending(db, bridge))) return;
  await setStatus(db, [bridge.id], "failed", now);
  await db.run("update ci_jobs set failure_reason = ? where id = ?", [reason, bridge.id]);
  await settle(db, bridge.pipeline_id, now);
}

/** Finds the pipeline that a job stands for: the newest of the default branch of a project that its user may see. */
async function planMirror(
  starting: Starting,
  bridge: Bridge,
  mirrors: string,
  spec: Omit<JobSpec, "trigger" | "mirrors">,
): Promise<((db: Database) => Promise<void>)[]> {
  const { db, now } = starting;
  const own = await projectOf(db, bridge.project_id, bridge.user_id, now());
  if (!own || bridge.user_id === null) throw new Failure("insufficient_bridge_permissions");
  const request = await findRequestOf(db, bridge.merge_request_id);
  const path = expandVariables(mirrors, await valuesOf(starting, bridge, own, request, spec));
  const viewer = await viewerOf(db, bridge.user_id, now());
  const project = path.includes("/") && viewer && (await findVisible(db, "project", path, viewer));
  if (!project || !mayReadJobs(project)) throw new Failure("upstream_bridge_project_not_found");
  const [found] = await db.rows(
    `select pl.id from pipelines pl join projects p on p.id = pl.project_id
     where pl.project_id = ? and pl.ref = p.default_branch and pl.tag = 0 order by pl.id desc limit 1`,
    [project.id],
  );
  if (!found) throw new Failure("upstream_bridge_project_not_found");
  return [(writing) => mirror(writing, bridge, project.id, found[0] as number, now())];
}

async function mirror(
  db: Database,
  bridge: Bridge,
  projectId: number,
  pipelineId: number,
  at: number,
): Promise<void> {
  await lockAll(db, [bridge.project_id, projectId]);
  const [found] = await db.rows("select status from pipelines where id = ?", [pipelineId]);
  if (!found || !(await isPending(db, bridge))) return;
  const status = found[0] as Status;
  await setStatus(db, [bridge.id], "running", at);
  if (FINISHED.includes(status)) await setStatus(db, [bridge.id], status, at);
  else if (status === "skipped") await setStatus(db, [bridge.id], "failed", at);
  else {
    const sql = "insert into mirrored_pipelines (job_id, pipeline_id) values (?, ?)";
    await db.run(sql, [bridge.id, pipelineId]);
  }
  await settle(db, bridge.pipeline_id, at);
}

/** Jobs that one pipeline gives its status in one transaction, at most; others follow in later ones. */
const MOST_MIRRORS = 100;

/** Whether jobs stand for a pipeline. */
export async function isMirrored(db: Reader, pipelineId: number): Promise<boolean> {
  const sql = "select 1 from mirrored_pipelines where pipeline_id = ? limit 1";
  return (await db.rows(sql, [pipelineId])).length > 0;
}

/**
 * Finds the jobs of one project that stand for a pipeline which has ended.
 *
 * @returns what gives them that pipeline's status, and lets those of other projects follow
 */
export async function endMirrors(
  db: Reader,
  pipelineId: number,
  now: () => number,
): Promise<((db: Database) => Promise<void>)[]> {
  const [first] = await db.rows(
    `select b.project_id from mirrored_pipelines m join ci_jobs b on b.id = m.job_id
     where m.pipeline_id = ? order by m.job_id limit 1`,
    [pipelineId],
  );
  if (!first) return [];
  return [
    async (writing) => {
      writing.lock(first[0] as number);
      const waiting = await writing.all<Waiting>(
        `select b.id, b.project_id, b.pipeline_id, b.status, pl.status as ended from mirrored_pipelines m
         join pipelines pl on pl.id = m.pipeline_id join ci_jobs b on b.id = m.job_id
         where m.pipeline_id = ? and b.project_id = ? order by b.id limit ${MOST_MIRRORS}`,
        [pipelineId, first[0] as number],
      );
      for (const { ended, ...bridge } of waiting) {
        // It may have been tried again.
        if (!FINISHED.includes(ended)) return;
        await writing.run("delete from mirrored_pipelines where job_id = ?", [bridge.id]);
        if (bridge.status === "running") await inherit(writing, bridge, ended, now());
      }
      if (await isMirrored(writing, pipelineId)) {
        await queueTask(writing, { mirrored: pipelineId }, now());
      }
    },
  ];
}

/** A job that waits for a pipeline, and that pipeline's status. */
type Waiting = Pick<Bridge, "id" | "project_id" | "pipeline_id" | "status"> & {
  readonly ended: Status;
};

/**
 * Finds the job that waits for a pipeline which has ended.
 *
 * @returns what gives the job that pipeline's status
 */
export async function endUpstream(
  db: Reader,
  pipelineId: number,
  now: () => number,
): Promise<((db: Database) => Promise<void>)[]> {
  const waiting = (from: Reader) =>
    from.one<Waiting>(
      `select b.id, b.project_id, b.pipeline_id, b.status, pl.status as ended from pipelines pl
       join downstream_pipelines d on d.pipeline_id = pl.id join ci_jobs b on b.id = d.job_id
       where pl.id = ? and b.retried = 0`,
      [pipelineId],
    );
  const found = await waiting(db);
  if (!found || !(await specOf(db, found.id)).trigger?.depends) return [];
  return [
    async (writing) => {
      writing.lock(found.project_id);
      const bridge = await waiting(writing);
      if (!bridge || !FINISHED.includes(bridge.ended)) return;
      await inherit(writing, bridge, bridge.ended, now());
    },
  ];
}
