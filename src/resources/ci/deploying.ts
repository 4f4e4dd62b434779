import {
  durationOf,
  expandVariables,
  type JobEnvironment,
  type PlannedJob,
  type Variable,
} from "../../ci/index.ts";
import { among } from "../../store/conditions.ts";
import type { Database } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { dotenvFor, dotenvOf } from "./dotenv.ts";
import { nameErrors } from "./environment-names.ts";
import {
  type DeploymentStatus,
  type EnvironmentState,
  findEnvironment,
  insertDeployment,
  insertEnvironment,
  setDeploymentStatus,
  setState,
  tellOfDeployment,
} from "./environments.ts";
import type { Status } from "./statuses.ts";

/** Of what a job deploys, and for whom. */
interface Deploying {
  readonly project_id: number;
  readonly user_id: number | null;
  readonly ref: string;
  readonly tag: boolean;
  readonly sha: string;
  readonly merge_request_id?: number | undefined;
}

/** Notes the deployment of a new job to its environment, which is added if its name is new. */
export async function announceDeployment(
  db: Database,
  { project_id, user_id, ref, tag, sha, merge_request_id }: Deploying,
  jobId: number,
  { name, action, deploymentTier: tier }: JobEnvironment,
  now: number,
): Promise<void> {
  if (action !== "start" || nameErrors(name).length > 0) return;
  const found = await findEnvironment(db, project_id, { name });
  const environment_id =
    found?.id ?? (await insertEnvironment(db, project_id, { name, tier, merge_request_id }, now));
  const place = { project_id, environment_id, user_id, ref, tag, sha };
  await insertDeployment(db, { ...place, status: "created", job_id: jobId }, now);
}

/** Notes the deployment of a job that replaces another one. */
export async function copyDeployment(
  db: Database,
  jobId: number,
  copied: number,
  now: number,
): Promise<void> {
  const found = await db.one<Deploying & { environment_id: number; user_id: number | null }>(
    `select d.project_id, d.environment_id, cj.user_id, d.ref, d.tag, d.sha from deployments d
     join ci_jobs cj on cj.id = ? where d.job_id = ?`,
    [copied, jobId],
  );
  if (!found) return;
  const { tag } = found as unknown as { tag: number };
  await insertDeployment(db, { ...found, tag: tag === 1, status: "created", job_id: copied }, now);
}

/** What becomes of a deployment when its job gets a status; with others, it waits. */
const DEPLOYED: Partial<Record<Status, DeploymentStatus>> = {
  running: "running",
  success: "success",
  failed: "failed",
  canceled: "canceled",
  skipped: "skipped",
};

/** What a job that deploys says. */
type DeployingSpec = Pick<PlannedJob, "needs" | "options"> & {
  readonly environment: JobEnvironment;
};

/** A job with its environment. */
interface Acting {
  readonly id: number;
  readonly pipeline_id: number;
  readonly stage_index: number;
  readonly spec: string;
  readonly project_id: number;
  readonly user_id: number | null;
  readonly environment_id: number;
  readonly state: EnvironmentState;
  readonly slug: string;
  readonly deployment_id: number | null;
  readonly deployment_status: DeploymentStatus | null;
}

/**
 * Does what follows for deployments and environments when jobs with environments have got a status.
 *
 * @returns the ids of the deployments that have succeeded by it
 */
export async function deploy(
  db: Database,
  jobIds: readonly number[],
  status: Status,
  now: number,
): Promise<number[]> {
  const succeeded: number[] = [];
  const these = among("cj.id", jobIds);
  const jobs = await db.all<Acting>(
    `select cj.id, cj.pipeline_id, cj.stage_index, s.spec, cj.project_id, cj.user_id, e.id as environment_id, e.state, e.slug, d.id as deployment_id, d.status as deployment_status
     from ci_jobs cj join ci_job_specs s on s.job_id = cj.id
     join environments e on e.project_id = cj.project_id and e.name = cj.environment
     left join deployments d on d.job_id = cj.id where ${these.sql} order by cj.id`,
    these.values,
  );
  for (const job of jobs) {
    const spec = JSON.parse(job.spec) as DeployingSpec;
    const { environment } = spec;
    const { deployment_id: id, environment_id } = job;
    const deployed = DEPLOYED[status] ?? "created";
    if (id !== null && job.deployment_status !== deployed) {
      await setDeploymentStatus(db, { id, environment_id }, deployed, now);
      const { project_id: projectId, user_id: userId } = job;
      tellOfDeployment({ db, now }, { id, projectId, userId }, deployed);
      if (deployed === "success") succeeded.push(id);
    }
    if (environment.action === "stop") await noteStop(db, job, status, now);
    else if (status === "success") await noteStart(db, job, spec, now);
  }
  return succeeded;
}

/** An environment that can't be stopped by its job is still there. */
async function noteStop(
  db: Database,
  { environment_id, state }: Acting,
  status: Status,
  now: number,
): Promise<void> {
  if (status === "success") await setState(db, environment_id, "stopped", now);
  const hasFailed = status === "failed" || status === "canceled";
  if (hasFailed && state === "stopping") await setState(db, environment_id, "available", now);
}

async function noteStart(
  db: Database,
  job: Acting,
  spec: DeployingSpec,
  now: number,
): Promise<void> {
  const { environment_id, slug } = job;
  const { environment } = spec;
  const { autoStopIn } = environment;
  const seconds = autoStopIn === undefined ? undefined : durationOf(autoStopIn);
  // Most addresses name no variables any more; a pipeline may have thousands of earlier jobs.
  const handedOn = environment.url?.includes("$")
    ? [...(await dotenvFor(db, job, spec)), ...(await dotenvOf(db, job.id))]
    : [];
  const changes = {
    external_url: urlOf(environment, slug, handedOn),
    tier: environment.deploymentTier,
    auto_stop_at:
      autoStopIn === undefined ? undefined : seconds === undefined ? null : now + seconds * 1000,
  };
  if (Object.values(changes).some((value) => value !== undefined)) {
    await updateRow(db, "environments", environment_id, changes, now);
  }
}

/** The address of a job's environment, which may contain its slug, and variables that jobs have handed on. */
export function urlOf(
  { name, url }: JobEnvironment,
  slug: string,
  handedOn: readonly Variable[] = [],
): string | undefined {
  if (url === undefined) return undefined;
  const values = new Map([
    ...handedOn.map(({ key, value }) => [key, value] as const),
    ["CI_ENVIRONMENT_NAME", name],
    ["CI_ENVIRONMENT_SLUG", slug],
  ]);
  const expanded = expandVariables(url, values, { keepUnknown: true });
  return /^https?:/i.test(expanded) && URL.canParse(expanded) ? expanded : undefined;
}
