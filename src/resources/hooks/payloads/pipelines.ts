import * as field from "../../../core/field.ts";
import { presenter } from "../../../core/presenter.ts";
import { BRANCHES, TAGS } from "../../../git/refs.ts";
import { detailedStatusOf, PIPELINES, pipeline, runnerFields } from "../../ci/json.ts";
import { givenVariables } from "../../ci/records.ts";
import { FINISHED, type Status } from "../../ci/statuses.ts";
import { MERGE_REQUEST } from "../../issuables/merge-request.ts";
import { rulesOf } from "../../protected-refs/queries.ts";
import { maskedValues } from "../../variables/effective.ts";
import { type Block, blockOf, blocksOf, projectOf, repositoryOf, usersById } from "./blocks.ts";
import { commitBlock, openCode } from "./commits.ts";
import { issuableOf } from "./issuables.ts";
import type { HookPayload, Making, ToldHookEvent } from "./making.ts";

const toldPipeline = presenter({
  ...pipeline.fields,
  has_warnings: field.flag("pl.has_warnings"),
  user_id: field.integer("pl.user_id"),
  merge_request_id: field.integer("pl.merge_request_id"),
  namespace_id: field.integer("p.namespace_id"),
});

const job = presenter({
  id: field.integer("cj.id"),
  stage: field.text("cj.stage"),
  name: field.text("cj.name"),
  status: field.text("cj.status"),
  created_at: field.instant("cj.created_at"),
  queued_at: field.instant("cj.queued_at"),
  started_at: field.instant("cj.started_at"),
  finished_at: field.instant("cj.finished_at"),
  failure_reason: field.text("cj.failure_reason"),
  when: field.text("cj.run_when"),
  allow_failure: field.flag("cj.allow_failure"),
  user_id: field.integer("cj.user_id"),
  pipeline_id: field.integer("cj.pipeline_id"),
  runner: field.nested({
    id: runnerFields.id,
    runner_type: runnerFields.runner_type,
    description: runnerFields.description,
    active: runnerFields.active,
    is_shared: runnerFields.is_shared,
    tags: field.constant([]),
  }),
  file_name: field.text("ja.file_name"),
  file_size: field.integer("sf.size"),
  // Most jobs have no environment, and all have a long specification.
  spec: field.json(
    `coalesce(case when js.spec like '%"environment":{%' then js.spec end, '{}')`,
    "object",
  ),
  retries_count: field.integer(`(select count(*) from ci_jobs o
    where o.pipeline_id = cj.pipeline_id and o.name = cj.name and o.retried = 1 and o.id < cj.id)`),
});

const JOBS = `ci_jobs cj left join runners rn on rn.id = cj.runner_id left join ci_job_specs js on js.job_id = cj.id
  left join job_artifacts ja on ja.job_id = cj.id and ja.file_type = 'archive'
  left join stored_files sf on sf.id = ja.file_id`;

const tags = presenter({ runner_id: field.integer("rt.runner_id"), tag: field.text("rt.tag") });

/** Statuses before a job or pipeline has started. */
const UNSTARTED: readonly Status[] = [
  "created",
  "waiting_for_resource",
  "preparing",
  "waiting_for_callback",
  "pending",
  "manual",
  "scheduled",
];

/** What it has as long as it has a status, whatever it has by now. */
function asOf(status: Status, found: Block): Block {
  return {
    ...found,
    status,
    ...(UNSTARTED.includes(status) && { started_at: null }),
    ...(!FINISHED.includes(status) && { finished_at: null }),
    ...(status !== "failed" && { failure_reason: null }),
  };
}

const statusOf = ({ data }: ToldHookEvent, { status }: Block): Status =>
  (data["status"] ?? status) as Status;

const seconds = (from: unknown, to: unknown): number | null =>
  typeof from === "string" && typeof to === "string"
    ? Math.max(0, Date.parse(to) - Date.parse(from)) / 1000
    : null;

const whole = (value: number | null) => (value === null ? null : Math.floor(value));

/** The project without addresses under other names, which these payloads do not have. */
function plain({ homepage, url, ssh_url, http_url, ...project }: Block): Block {
  return project;
}

/** The payload about a status of a pipeline. */
export async function pipelineEvent(
  making: Making,
  moment: ToldHookEvent,
): Promise<HookPayload | undefined> {
  const stored = await blockOf(making, toldPipeline, `${PIPELINES} where pl.id = ?`, [
    moment.data.id,
  ]);
  if (!stored) return undefined;
  const projectId = stored["project_id"] as number;
  const project = await projectOf(making, projectId);
  if (!project) return undefined;
  const status = statusOf(moment, stored);
  const found = asOf(status, stored);
  const { id, created_at, started_at, finished_at, merge_request_id: requestId } = found;
  const where = `${JOBS} where cj.pipeline_id = ? and cj.kind = 'build' and cj.retried = 0`;
  const jobs = await blocksOf(making, job, `${where} order by cj.stage_index, cj.id`, [
    id as number,
  ]);
  const users = await usersById(making, [found["user_id"], ...jobs.map((one) => one["user_id"])]);
  const runnerTags = await tagsOf(making, jobs);
  const sha = found["sha"] as string;
  const request = requestId === null ? null : await requestOf(making, requestId as number);
  return {
    event: "pipeline",
    title: "Pipeline Hook",
    ...(found["tag"] === false && { branch: found["ref"] as string }),
    body: {
      object_kind: "pipeline",
      object_attributes: {
        id,
        iid: found["iid"],
        name: found["name"],
        ref: request?.["source_branch"] ?? found["ref"],
        tag: found["tag"],
        sha,
        before_sha: found["before_sha"],
        source: found["source"],
        status,
        detailed_status: detailedStatusOf(status, found["has_warnings"] === true),
        stages: [...new Set(jobs.map(({ stage }) => stage))],
        created_at,
        finished_at,
        duration: whole(seconds(started_at, finished_at)),
        queued_duration: whole(seconds(created_at, started_at)),
        protected_ref: await isProtected(making, found),
        variables: await variablesOf(making, found),
        url: found["web_url"],
      },
      merge_request: request,
      user: users.get(found["user_id"]) ?? null,
      project: plain(project),
      commit: await commitBlock(await openCode(making, projectId), sha),
      builds: jobs.map((one) => ({
        id: one["id"],
        stage: one["stage"],
        name: one["name"],
        status: one["status"],
        created_at: one["created_at"],
        started_at: one["started_at"],
        finished_at: one["finished_at"],
        duration: seconds(one["started_at"], one["finished_at"]),
        queued_duration: seconds(one["queued_at"], one["started_at"]),
        failure_reason: one["status"] === "failed" ? one["failure_reason"] : null,
        when: one["when"],
        manual: one["when"] === "manual",
        allow_failure: one["allow_failure"],
        user: users.get(one["user_id"]) ?? null,
        runner: runnerOf(one, runnerTags),
        artifacts_file: { filename: one["file_name"], size: one["file_size"] },
        environment: environmentOf(one),
      })),
    },
  };
}

/** The payload about a status of a job. */
export async function jobEvent(
  making: Making,
  moment: ToldHookEvent,
): Promise<HookPayload | undefined> {
  const stored = await blockOf(making, job, `${JOBS} where cj.id = ?`, [moment.data.id]);
  if (!stored) return undefined;
  const from = `${PIPELINES} where pl.id = ?`;
  const pipelineId = stored["pipeline_id"] as number;
  const of = await blockOf(making, toldPipeline, from, [pipelineId]);
  const projectId = of?.["project_id"] as number;
  const project = of && (await projectOf(making, projectId));
  if (!project) return undefined;
  const found = asOf(statusOf(moment, stored), stored);
  const { created_at, queued_at, started_at, finished_at, status } = found;
  const [{ full_name } = {}] = await making.store.all<{ full_name: string }>(
    "select n.full_name from projects p join namespaces n on n.id = p.namespace_id where p.id = ?",
    [projectId],
  );
  const users = await usersById(making, [found["user_id"]]);
  const { git_ssh_url, git_http_url, visibility_level } = project;
  return {
    event: "job",
    title: "Job Hook",
    body: {
      object_kind: "build",
      ref: of["ref"],
      tag: of["tag"],
      before_sha: of["before_sha"],
      sha: of["sha"],
      retries_count: found["retries_count"],
      build_id: found["id"],
      build_name: found["name"],
      build_stage: found["stage"],
      build_status: status,
      build_created_at: inWords(created_at),
      build_created_at_iso: created_at,
      build_started_at: inWords(started_at),
      build_started_at_iso: started_at,
      build_finished_at: inWords(finished_at),
      build_finished_at_iso: finished_at,
      build_duration: seconds(started_at, finished_at),
      build_queued_duration: seconds(queued_at, started_at),
      build_allow_failure: found["allow_failure"],
      build_failure_reason: found["failure_reason"] ?? "unknown_failure",
      pipeline_id: pipelineId,
      runner: runnerOf(found, await tagsOf(making, [found])),
      project_id: projectId,
      project_name: `${full_name} / ${project["name"]}`,
      user: users.get(found["user_id"]) ?? null,
      commit: await commitOf(making, projectId, of),
      repository: { ...repositoryOf(project), git_http_url, git_ssh_url, visibility_level },
      project: plain(project),
      environment: environmentOf(found),
    },
  };
}

/** An instant as `2026-11-22 12:00:00 UTC`. */
const inWords = (instant: unknown): string | null =>
  typeof instant === "string" ? `${instant.slice(0, 19).replace("T", " ")} UTC` : null;

/** The commit of a job, which has its pipeline's id. */
async function commitOf(making: Making, projectId: number, of: Block): Promise<Block> {
  const commit = await commitBlock(await openCode(making, projectId), of["sha"] as string);
  const author = commit?.["author"] as { name: string; email: string } | undefined;
  return {
    id: of["id"],
    name: of["name"],
    sha: of["sha"],
    message: commit?.["message"] ?? null,
    author_name: author?.name ?? null,
    author_email: author?.email ?? null,
    author_url: author ? `mailto:${author.email}` : null,
    status: of["status"],
    duration: of["duration"],
    started_at: of["started_at"],
    finished_at: of["finished_at"],
  };
}

/** The tags of the runners of some jobs, by the runners' ids. */
async function tagsOf(making: Making, jobs: readonly Block[]): Promise<Map<unknown, string[]>> {
  const ids = jobs.map(({ runner }) => (runner as Block | null)?.["id"]);
  const found = new Map<unknown, string[]>();
  for (const id of new Set(ids)) {
    if (typeof id !== "number") continue;
    const from = "runner_tags rt where rt.runner_id = ? order by rt.tag";
    const rows = await blocksOf(making, tags, from, [id]);
    found.set(
      id,
      rows.map(({ tag }) => tag as string),
    );
  }
  return found;
}

function runnerOf({ runner }: Block, tags: Map<unknown, string[]>): Block | null {
  const shown = runner as Block | null;
  return shown && { ...shown, tags: tags.get(shown["id"]) ?? [] };
}

function environmentOf({ spec }: Block): Block | null {
  const { environment } = spec as {
    environment?: { name: string; action?: string; deployment_tier?: string };
  };
  if (!environment) return null;
  const { name, action = "start", deployment_tier = null } = environment;
  return { name, action, deployment_tier };
}

async function isProtected({ store }: Making, { project_id, ref, tag }: Block): Promise<boolean> {
  const name = ref as string;
  const full = `${tag ? TAGS : BRANCHES}${name}`;
  const rules = await rulesOf(store, project_id as number, [full]);
  return (tag ? rules.tags(name) : rules.branches(name)).length > 0;
}

/** The variables that a pipeline was given. Values that are masked elsewhere are left out. */
async function variablesOf(
  { store, view }: Making,
  { id, project_id, namespace_id }: Block,
): Promise<Block[]> {
  const given = await givenVariables(store, view, id as number);
  if (given.length === 0) return [];
  const project = { id: project_id as number, namespaceId: namespace_id as number };
  const masked = await maskedValues(store, view, project);
  return given.map(({ key, value }) => ({
    key,
    value: masked.some((secret) => value.includes(secret)) ? "[MASKED]" : value,
  }));
}

/** The merge request of a pipeline. */
async function requestOf(making: Making, id: number): Promise<Block | null> {
  const found = await issuableOf(making, MERGE_REQUEST, id);
  if (!found) return null;
  const { iid, title, source_branch, source_project_id, target_branch, target_project_id } =
    found.attributes;
  const { state, merge_status, detailed_merge_status, url } = found.attributes;
  return {
    ...{ id, iid, title, source_branch, source_project_id, target_branch, target_project_id },
    ...{ state, merge_status, detailed_merge_status, url },
  };
}
