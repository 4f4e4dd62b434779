import { JOB_LOGIN } from "../../auth/authenticators/basic.ts";
import {
  type ArtifactAccess,
  groupNameOf,
  type JobOptions,
  RUNNER_FAILURES,
  type Variable,
} from "../../ci/index.ts";
import type { Source } from "../../core/access/source.ts";
import type { Secrets } from "../../core/secrets.ts";
import { isoInstant } from "../../core/time.ts";
import type { Edition } from "../../core/version.ts";
import { BRANCHES, findRefs, pipelineNameOf, TAGS } from "../../git/refs.ts";
import type { Reader, Store } from "../../store/port.ts";
import { urlOf } from "../ci/deploying.ts";
import { type Depending, dotenvFor, earlierThan } from "../ci/dotenv.ts";
import { slugOf, tierOf } from "../ci/environment-names.ts";
import { findEnvironment } from "../ci/environments.ts";
import { type JobSpec, specOf } from "../ci/progress.ts";
import { givenVariables, NO_SHA } from "../ci/records.ts";
import {
  findRequestOf,
  hostSlugOf,
  predefinedVariables,
  type Upstream,
} from "../pipelines/circumstances.ts";
import { type OpenRepository, openRepository } from "../repositories/open.ts";
import { variablesFor } from "../variables/effective.ts";
import type { ClaimedJob } from "./claim.ts";
import { type Dependency, dependenciesElsewhere } from "./elsewhere.ts";
import { idTokensOf } from "./id-tokens.ts";
import { releaseCommand } from "./release-step.ts";
import { secretsOf } from "./secrets.ts";

/** What payloads are made with. */
export interface Making {
  readonly db: Reader;
  readonly store: Store;
  readonly secrets: Secrets;
  /** The public address, without a trailing slash. */
  readonly base: string;
  readonly edition: Edition;
  /** The instant, in epoch milliseconds. */
  readonly at: number;
  /** What the runner says that it can. */
  readonly features: Readonly<Record<string, unknown>>;
}

interface JobFacts {
  readonly name: string;
  readonly stage: string;
  readonly stage_index: number;
  readonly run_when: string;
  readonly protected: number;
  readonly started_at: number;
  readonly iid: number;
  readonly pipeline_name: string | null;
  readonly trigger_short_token: string | null;
  readonly runner_id: number;
  readonly runner_description: string | null;
  readonly ref: string;
  readonly tag: number;
  readonly sha: string;
  readonly before_sha: string;
  readonly source: string;
  readonly created_at: number;
  readonly merge_request_id: number | null;
  readonly schedule_id: number | null;
  /** The project of the merge request, which may be another one. */
  readonly target_project_id: number | null;
  readonly project_name: string;
  readonly full_path: string;
  readonly visibility: number;
  readonly namespace_id: number;
  readonly ci_default_git_depth: number;
  /** The job of another pipeline that has started this one, its pipeline and project. */
  readonly upstream_job_id: number | null;
  readonly upstream_pipeline_id: number | null;
  readonly upstream_project_id: number | null;
}

const FACTS = `select cj.name, cj.stage, cj.stage_index, cj.run_when, cj.protected, cj.started_at, pl.iid, pl.name as pipeline_name,
    pl.trigger_short_token,    cj.runner_id, r.description as runner_description, pl.ref, pl.tag, pl.sha, pl.before_sha,
    pl.source, pl.created_at, pl.merge_request_id, ru.schedule_id, mr.project_id as target_project_id, p.name as project_name, p.full_path, p.visibility, p.namespace_id,
    p.ci_default_git_depth, b.id as upstream_job_id, b.pipeline_id as upstream_pipeline_id,
    b.project_id as upstream_project_id
  from ci_jobs cj join pipelines pl on pl.id = cj.pipeline_id join projects p on p.id = cj.project_id
  left join pipeline_schedule_runs ru on ru.pipeline_id = pl.id
  left join merge_requests mr on mr.id = pl.merge_request_id
  left join downstream_pipelines d on d.pipeline_id = pl.id left join ci_jobs b on b.id = d.job_id
  left join runners r on r.id = cj.runner_id where cj.id = ?`;

function upstreamOf(facts: JobFacts): Upstream | undefined {
  const {
    upstream_job_id: job,
    upstream_pipeline_id: pipeline,
    upstream_project_id: project,
  } = facts;
  return job === null || pipeline === null || project === null
    ? undefined
    : { job, pipeline, project };
}

/** A variable as runners get it. */
interface RunnerVariable extends Variable {
  readonly public: boolean;
  readonly masked: boolean;
  readonly file: boolean;
  readonly raw: boolean;
}

const open = ({ key, value }: Variable): RunnerVariable => ({
  key,
  value,
  public: true,
  masked: false,
  file: false,
  raw: false,
});
const secret = (key: string, value: string): RunnerVariable => ({
  ...open({ key, value }),
  public: false,
  masked: true,
});

/**
 * Everything that a runner needs to do a job, in the form that GitLab's runners expect.
 *
 * @throws JobRefusal if the job can't be done by it
 */
export async function payloadOf(making: Making, job: ClaimedJob): Promise<object> {
  const { db, store, secrets, base, edition, at } = making;
  const facts = (await db.one<JobFacts>(FACTS, [job.id])) as JobFacts;
  const spec = await specOf(db, job.id);
  const source = projectOf(job.project_id, facts);
  const request = await findRequestOf(db, facts.merge_request_id);
  const ref = request?.source_branch ?? facts.ref;
  const opened = await openRepository({ db, store, source });
  const predefined = await predefinedVariables(
    { db, opened, base, edition, userId: job.user_id, at },
    {
      ref,
      tag: facts.tag === 1,
      isProtected: facts.protected === 1,
      sha: facts.sha,
      before: facts.before_sha,
      source: facts.source as Parameters<typeof predefinedVariables>[1]["source"],
      request,
      scheduleId: facts.schedule_id,
      upstream: upstreamOf(facts),
    },
  );
  const given = await givenVariables(db, secrets, job.pipeline_id, job.id);
  const environment = spec.environment?.name;
  const place = { ...job, stage_index: facts.stage_index };
  const earlier = await dependenciesOf(db, place, spec);
  const needed = await dependenciesElsewhere(db, job, spec.needsElsewhere ?? [], at);
  const elsewhere = needed.filter((one) => one !== undefined);
  const isProtected = facts.protected === 1;
  const own = await variablesFor(db, secrets, source, { isProtected, environment });
  const handedOn = await dotenvFor(db, place, spec);
  const address = new URL(`${base}/${facts.full_path}.git`);
  address.username = JOB_LOGIN;
  address.password = job.token;
  const { options } = spec;
  const first: RunnerVariable[] = [
    ...predefined.map(open),
    ...ofJob(base, job, facts, options).map(open),
    ...(await ofRunner(db, facts)).map(open),
    ...(await ofEnvironment(db, job.project_id, spec.environment)).map(open),
    secret("CI_JOB_TOKEN", job.token),
    open({ key: "CI_REGISTRY_USER", value: JOB_LOGIN }),
    secret("CI_REGISTRY_PASSWORD", job.token),
    secret("CI_REPOSITORY_URL", address.href),
  ];
  const later: RunnerVariable[] = [
    ...spec.variables.map((one) => ({ ...open(one), raw: !one.expand })),
    ...handedOn.map((one) => ({ ...open(one), public: false })),
    ...own.map(({ key, value, masked, raw, variable_type }) => ({
      ...open({ key, value }),
      public: false,
      masked,
      raw,
      file: variable_type === "file",
    })),
    ...given.map(({ key, value, variable_type }) => ({
      ...open({ key, value }),
      public: false,
      file: variable_type === "file",
    })),
  ];
  const known = [...first, ...later];
  const tokens = await idTokensOf(making, job, spec, facts, ref, known);
  const variables = [...first, ...tokens.map(({ key, value }) => secret(key, value)), ...later];
  const fetched = secretsOf(options, variables, making.features);
  const depth = depthOf(variables, facts);
  const after = options.after_script ?? [];
  const step = (name: string, script: readonly string[], isAfter = false) => ({
    name,
    script,
    timeout: job.timeout,
    when: isAfter ? "always" : "on_success",
    allow_failure: isAfter,
  });
  return {
    id: job.id,
    token: job.token,
    allow_git_fetch: true,
    job_info: {
      id: job.id,
      name: facts.name,
      stage: facts.stage,
      project_id: job.project_id,
      project_name: facts.project_name,
      project_full_path: facts.full_path,
    },
    git_info: {
      repo_url: address.href,
      ref,
      sha: facts.sha,
      before_sha: facts.before_sha === NO_SHA ? facts.sha : facts.before_sha,
      ref_type: facts.tag === 1 ? "tag" : "branch",
      refspecs: await refspecsOf(db, opened, job, facts, { ref, isWhole: depth === 0 }),
      depth,
      repo_object_format: "sha1",
    },
    runner_info: { timeout: job.timeout, runner_session_url: "" },
    variables,
    ...(fetched && { secrets: fetched }),
    steps: [
      step("script", [...(options.before_script ?? []), ...(options.script ?? [])]),
      ...(options.release ? [step("release", [releaseCommand(options.release)])] : []),
      ...(after.length > 0 ? [step("after_script", after, true)] : []),
    ],
    image: options.image ?? null,
    services: options.services ?? [],
    artifacts: (options.artifacts ?? []).map(
      ({ access: _, expose_as: __, ...artifact }) => artifact,
    ),
    cache: options.cache ?? [],
    credentials: [
      {
        type: "registry",
        url: new URL(base).host,
        username: JOB_LOGIN,
        password: job.token,
      },
    ],
    dependencies: [...earlier, ...elsewhere].flatMap(({ id, name, archive }) =>
      archive ? [{ id, name, token: job.token, artifacts_file: archive }] : [],
    ),
    features: {
      trace_sections: true,
      token_mask_prefixes: ["glpat-", "pmat-", "glcbt-"],
      failure_reasons: RUNNER_FAILURES,
    },
    hooks: Object.entries(options.hooks ?? {}).map(([name, script]) => ({ name, script })),
  };
}

/**
 * The jobs whose artifacts a job gets: those it names or needs, otherwise all of earlier stages. An index leads to them, so
 * that a large pipeline's other jobs cost nothing.
 */
async function dependenciesOf(
  db: Reader,
  job: Depending,
  spec: JobSpec,
): Promise<readonly Dependency[]> {
  const which = earlierThan(job, spec);
  const rows = await db.rows(
    `select d.id, d.name, a.file_name, f.size from ci_jobs d
     left join job_artifacts a on a.job_id = d.id and a.file_type = 'archive'
     left join stored_files f on f.id = a.file_id
     where ${which.sql} order by d.id`,
    which.values,
  );
  return rows.map(([id, name, filename, size]) => ({
    id: id as number,
    name: name as string,
    archive: filename === null ? undefined : { filename: filename as string, size: size as number },
  }));
}

/** Who may download what a job uploads of a type. */
export async function accessTo(db: Reader, jobId: number, type: string): Promise<ArtifactAccess> {
  const { options } = await specOf(db, jobId);
  const artifact = options.artifacts?.find(({ artifact_type }) => artifact_type === type);
  return (artifact?.["access"] as ArtifactAccess | undefined) ?? "all";
}

/** The texts that must not be readable in a job's log. */
export async function maskedIn(
  { db, secrets }: { readonly db: Reader; readonly secrets: Pick<Secrets, "open"> },
  job: { readonly id: number; readonly token: string; readonly protected: number },
  project: { readonly id: number; readonly namespaceId: number },
): Promise<string[]> {
  const { environment } = await specOf(db, job.id);
  const use = { isProtected: job.protected === 1, environment: environment?.name };
  const own = await variablesFor(db, secrets, project, use);
  return [job.token, ...own.filter(({ masked }) => masked).map(({ value }) => value)];
}

function projectOf(id: number, facts: JobFacts): Source {
  return {
    // Of nobody: a runner has no role.
    viewer: { caller: undefined, today: "" },
    kind: "project",
    id,
    fullPath: facts.full_path,
    visibility: facts.visibility,
    column: "project_id",
    namespaceId: facts.namespace_id,
    level: 0,
    memberships: { own: null, inherited: null },
    features: [],
    archived: false,
    hasPublicJobs: false,
  };
}

/**
 * What a runner fetches: the commit, which may be far below its branch by now, or kept since that was deleted or replaced;
 * and the branch, the tag or the merge request, if it is still there.
 *
 * @param ref the branch or tag
 */
async function refspecsOf(
  db: Reader,
  { row }: OpenRepository,
  { project_id, pipeline_id }: ClaimedJob,
  facts: JobFacts,
  { ref, isWhole }: { readonly ref: string; readonly isWhole: boolean },
): Promise<string[]> {
  const isOfRequest = facts.ref.startsWith("refs/") && facts.target_project_id === project_id;
  const name = isOfRequest ? facts.ref : (facts.tag === 1 ? TAGS : BRANCHES) + ref;
  const local = facts.tag === 1 || isOfRequest ? name : `refs/remotes/origin/${ref}`;
  const isThere = row !== undefined && (await findRefs(db, row.id, [name])).length > 0;
  const own = isThere ? [`+${name}:${local}`] : [];
  return [
    `+${facts.sha}:${pipelineNameOf(pipeline_id)}`,
    ...(isWhole ? [...(isOfRequest ? own : []), ...EVERYTHING] : own),
  ];
}

/** All branches and tags. */
const EVERYTHING = [`+${BRANCHES}*:refs/remotes/origin/*`, `+${TAGS}*:${TAGS}*`];

/** How many commits are fetched, as the variable `GIT_DEPTH` or the project says; 0 for all. */
function depthOf(variables: readonly Variable[], facts: JobFacts): number {
  const given = variables.findLast(({ key }) => key === "GIT_DEPTH")?.value;
  const depth = /^\s*(\d{1,9})/.exec(given ?? "")?.[1];
  return given === undefined ? facts.ci_default_git_depth : Number(depth ?? 0);
}

/** The variables that say which runner does a job. */
async function ofRunner(db: Reader, facts: JobFacts): Promise<Variable[]> {
  const sql = "select tag from runner_tags where runner_id = ? order by tag";
  const tags = (await db.rows(sql, [facts.runner_id])).map(([tag]) => JSON.stringify(tag));
  return [
    { key: "CI_RUNNER_ID", value: String(facts.runner_id) },
    { key: "CI_RUNNER_DESCRIPTION", value: facts.runner_description ?? "" },
    { key: "CI_RUNNER_TAGS", value: `[${tags.join(", ")}]` },
  ];
}

/** The variables that say where a job deploys to. */
async function ofEnvironment(
  db: Reader,
  projectId: number,
  environment: JobSpec["environment"],
): Promise<Variable[]> {
  if (!environment) return [];
  const { name, action, deploymentTier } = environment;
  const slug = slugOf(name);
  const url = urlOf(environment, slug);
  const stored = await findEnvironment(db, projectId, { name });
  return [
    ...(stored ? [{ key: "CI_ENVIRONMENT_ID", value: String(stored.id) }] : []),
    { key: "CI_ENVIRONMENT_NAME", value: name },
    { key: "CI_ENVIRONMENT_SLUG", value: slug },
    { key: "CI_ENVIRONMENT_ACTION", value: action },
    { key: "CI_ENVIRONMENT_TIER", value: deploymentTier ?? tierOf(name) },
    ...(url === undefined ? [] : [{ key: "CI_ENVIRONMENT_URL", value: url }]),
  ];
}

/** The variables that say which job it is. */
function ofJob(base: string, job: ClaimedJob, facts: JobFacts, options: JobOptions): Variable[] {
  const { number: index, total } = options.parallel ?? {};
  const page = `${base}/${facts.full_path}/-`;
  const values: Record<string, string | undefined> = {
    CI_PIPELINE_ID: String(job.pipeline_id),
    CI_PIPELINE_IID: String(facts.iid),
    CI_PIPELINE_NAME: facts.pipeline_name ?? "",
    CI_PIPELINE_TRIGGERED: facts.source === "trigger" ? "true" : undefined,
    CI_TRIGGER_SHORT_TOKEN: facts.trigger_short_token ?? undefined,
    CI_PIPELINE_URL: `${page}/pipelines/${job.pipeline_id}`,
    CI_PIPELINE_CREATED_AT: isoInstant(facts.created_at),
    CI_JOB_ID: String(job.id),
    CI_JOB_URL: `${page}/jobs/${job.id}`,
    CI_JOB_NAME: facts.name,
    CI_JOB_NAME_SLUG: hostSlugOf(facts.name),
    CI_JOB_GROUP_NAME: groupNameOf(facts.name),
    CI_JOB_STAGE: facts.stage,
    CI_JOB_IMAGE: options.image === undefined ? undefined : String(options.image["name"]),
    CI_JOB_MANUAL: ["manual", "delayed"].includes(facts.run_when) ? "true" : undefined,
    CI_JOB_STARTED_AT: isoInstant(facts.started_at),
    CI_JOB_STARTED_AT_SLUG: hostSlugOf(isoInstant(facts.started_at)),
    CI_JOB_TIMEOUT: String(job.timeout),
    CI_NODE_TOTAL: String(total ?? 1),
    CI_NODE_INDEX: index === undefined ? undefined : String(index),
  };
  return Object.entries(values).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value }],
  );
}
