import { BEING_DELETED_ROWS, type Viewer, visibleJobs } from "../../core/access/visibility.ts";
import * as field from "../../core/field.ts";
import { presenter } from "../../core/presenter.ts";
import type { Condition } from "../../store/conditions.ts";
import type { Value } from "../../store/port.ts";
import { publicUserFields, userFields, userSummaryFields } from "../users/json.ts";
import type { Status } from "./statuses.ts";

/** Milliseconds between two instants, in seconds; null as long as one of them is not known. */
const secondsBetween = (from: Value | undefined, to: Value | undefined) =>
  typeof from === "number" && typeof to === "number" ? Math.max(0, to - from) / 1000 : null;

/** Whole seconds between two instants. */
export const wholeSeconds = (from: string, to: string) =>
  field.derived([from, to], "integer or null", ([start, end]) => {
    const seconds = secondsBetween(start, end);
    return seconds === null ? null : Math.floor(seconds);
  });

/** @param pl the alias of the pipeline @param p the alias of its project */
const basicsOf = (pl: string, p: string) => ({
  id: field.integer(`${pl}.id`),
  iid: field.integer(`${pl}.iid`),
  project_id: field.integer(`${pl}.project_id`),
  sha: field.text(`${pl}.sha`),
  ref: field.text(`${pl}.ref`),
  status: field.text(`${pl}.status`),
  source: field.text(`${pl}.source`),
  created_at: field.instant(`${pl}.created_at`),
  updated_at: field.instant(`${pl}.updated_at`),
  web_url: field.url([`${p}.full_path`, `${pl}.id`], (path, id) => `/${path}/-/pipelines/${id}`),
});

const pipelineBasics = basicsOf("pl", "p");

/** A pipeline within other records. Its tables are {@link PIPELINES}. */
export const pipelineFields = { ...pipelineBasics, name: field.text("pl.name") };

/** A pipeline in lists. */
export const listedPipeline = presenter(pipelineFields);

/** How a status is shown: its text, and its label if that is another one. */
const SHOWN: Readonly<Record<Status, readonly [text: string, label?: string]>> = {
  created: ["Created"],
  waiting_for_resource: ["Waiting", "waiting for resource"],
  preparing: ["Preparing"],
  waiting_for_callback: ["Waiting", "waiting for callback"],
  pending: ["Pending"],
  running: ["Running"],
  success: ["Passed", "passed"],
  failed: ["Failed"],
  canceling: ["Canceling"],
  canceled: ["Canceled"],
  skipped: ["Skipped"],
  manual: ["Blocked", "waiting for manual action"],
  scheduled: ["Delayed", "waiting for delayed job"],
};

/** What `detailed_status` says of a pipeline, but for its address. */
export function shownStatus(status: Status, hasWarnings: boolean) {
  const isWarning = status === "success" && hasWarnings;
  const [text, label = status] = isWarning ? ["Warning", "passed with warnings"] : SHOWN[status];
  const group = isWarning ? "success-with-warnings" : status.replaceAll("_", "-");
  return { icon: `status_${isWarning ? "warning" : status}`, text, label, group, tooltip: label };
}

/** How a status is called: `passed` for `success`. */
export const detailedStatusOf = (status: Status, hasWarnings: boolean): string =>
  shownStatus(status, hasWarnings).label;

const detailedStatus = field.derived(
  ["pl.status", "pl.has_warnings", "p.full_path", "pl.id"],
  "object",
  ([status, hasWarnings, path, id]) =>
    status === null
      ? null
      : {
          ...shownStatus(status as Status, hasWarnings === 1),
          has_details: true,
          details_path: `/${path}/-/pipelines/${id}`,
          illustration: null,
          favicon: `/assets/ci_favicons/favicon_status_${status}.png`,
        },
);

const pipelineDetails = {
  before_sha: field.text("pl.before_sha"),
  tag: field.flag("pl.tag"),
  yaml_errors: field.text("pl.yaml_errors"),
  user: field.nested(userSummaryFields),
  started_at: field.instant("pl.started_at"),
  finished_at: field.instant("pl.finished_at"),
  committed_at: field.constant(null),
  duration: wholeSeconds("pl.started_at", "pl.finished_at"),
  queued_duration: wholeSeconds("pl.created_at", "pl.started_at"),
  coverage: field.text("pl.coverage"),
  detailed_status: detailedStatus,
  archived: field.constant(false),
};

/** A pipeline alone. */
export const pipeline = presenter({ ...pipelineFields, ...pipelineDetails });

/** A pipeline that was created, retried or canceled. */
export const changedPipeline = presenter({ ...pipelineBasics, ...pipelineDetails });

/** The tables of pipelines' rows. */
export const PIPELINES =
  "pipelines pl join projects p on p.id = pl.project_id left join users u on u.id = pl.user_id";

/** A runner is online for so long after it was heard of, in milliseconds. */
export const ONLINE = 7_200_000;
/** A runner that was not heard of for so long is forgotten. */
export const STALE = 7 * 86_400_000;

/** Whether a runner, or a process of one, was heard of. @param contactedAt when it was, if ever */
export function connectionOf(
  contactedAt: Value | undefined,
  createdAt: Value | undefined,
  now: number,
) {
  if (typeof contactedAt !== "number") {
    return now - Number(createdAt) > STALE ? "stale" : "never_contacted";
  }
  if (now - contactedAt < ONLINE) return "online";
  return now - contactedAt > STALE ? "stale" : "offline";
}

/** SQL of whether a job runs. @param jobs the condition on rows `rj` of jobs under which it counts */
export const isRunning = (jobs: string) =>
  `exists (select 1 from ci_jobs rj where ${jobs} and rj.status = 'running'
    and rj.project_id not in (${BEING_DELETED_ROWS.projects}))`;

/** A runner within other records, with the alias `rn`. */
export const runnerFields = {
  id: field.integer("rn.id"),
  description: field.text("rn.description"),
  ip_address: field.text("rn.ip_address"),
  active: field.flag("1 - rn.paused"),
  paused: field.flag("rn.paused"),
  is_shared: field.flag("case when rn.kind = 'instance_type' then 1 else 0 end"),
  runner_type: field.text("rn.kind"),
  name: field.constant(null),
  online: field.derived(
    ["rn.contacted_at", "rn.created_at"],
    "boolean",
    ([at, created], { now }) => connectionOf(at, created, now) === "online",
  ),
  created_at: field.instant("rn.created_at"),
  status: field.derived(
    ["rn.contacted_at", "rn.created_at"],
    "online, offline, stale, never_contacted",
    ([at, created], { now }) => connectionOf(at, created, now),
  ),
  job_execution_status: field.derived(
    [`case when ${isRunning("rj.runner_id = rn.id")} then 1 else 0 end`],
    "active, idle",
    ([runs]) => (runs === 1 ? "active" : "idle"),
  ),
};

/** A process of a runner, with the alias `rm`. */
export const managerFields = {
  id: field.integer("rm.id"),
  system_id: field.text("rm.system_id"),
  version: field.text("rm.version"),
  revision: field.text("rm.revision"),
  platform: field.text("rm.platform"),
  architecture: field.text("rm.architecture"),
  created_at: field.instant("rm.created_at"),
  contacted_at: field.instant("rm.contacted_at"),
  ip_address: field.text("rm.ip_address"),
};

const number = (column: string) =>
  field.derived([column], "number or null", ([value]) => (value === null ? null : Number(value)));

/** A job. Its commit is filled in by who reads the repository. */
const jobFields = {
  id: field.integer("cj.id"),
  status: field.text("cj.status"),
  stage: field.text("cj.stage"),
  name: field.text("cj.name"),
  ref: field.text("cj.ref"),
  tag: field.flag("pl.tag"),
  coverage: number("cj.coverage"),
  allow_failure: field.flag("cj.allow_failure"),
  created_at: field.instant("cj.created_at"),
  started_at: field.instant("cj.started_at"),
  finished_at: field.instant("cj.finished_at"),
  erased_at: field.instant("cj.erased_at"),
  duration: field.derived(["cj.started_at", "cj.finished_at"], "number or null", ([from, to]) =>
    secondsBetween(from, to),
  ),
  queued_duration: field.derived(
    ["cj.queued_at", "cj.started_at"],
    "number or null",
    ([from, to]) => secondsBetween(from, to),
  ),
  user: field.nested(publicUserFields),
  commit: field.embedded("commit_json", "object", "null"),
  pipeline: field.nested(pipelineBasics),
  failure_reason: field.omittedIfNull(
    field.text("case when cj.status = 'failed' then cj.failure_reason end"),
  ),
  web_url: field.url(["p.full_path", "cj.id"], (path, id) => `/${path}/-/jobs/${id}`),
  project: field.nested({ ci_job_token_scope_enabled: field.constant(false) }),
};

const buildFields = {
  ...jobFields,
  artifacts_file: field.omittedIfNull(field.embedded("artifacts_file_json", "object", "null")),
  artifacts: field.embedded("artifacts_json", "array", "[]"),
  runner: field.nested(runnerFields),
  runner_manager: field.nested(managerFields),
  artifacts_expire_at: field.instant("cj.artifacts_expire_at"),
  archived: field.constant(false),
  tag_list: field.json("cj.tag_list", "array of string"),
};

/** A job that a runner does. */
export const job = presenter(buildFields);

/** A job that starts another pipeline. */
export const bridge = presenter({
  ...jobFields,
  downstream_pipeline: field.nested(basicsOf("dw", "dwp")),
});

/** The pipeline that a job has started, if the viewer may see it: more tables of jobs' rows. */
export function downstream(viewer: Viewer): Condition {
  const visible = visibleJobs(viewer);
  return {
    sql: `left join pipelines dw on dw.id = (
        select max(d.pipeline_id) from downstream_pipelines d join pipelines o on o.id = d.pipeline_id
        join projects p on p.id = o.project_id join namespaces n on n.id = p.namespace_id
        where d.job_id = cj.id and ${visible.sql})
      left join projects dwp on dwp.id = dw.project_id`,
    values: visible.values,
  };
}

/** The tables of what belongs to a job `cj`, if there is one, but for its project and user. */
export const OF_JOB = `left join pipelines pl on pl.id = cj.pipeline_id left join runners rn on rn.id = cj.runner_id
  left join runner_managers rm on rm.id = cj.runner_manager_id`;

/** The tables of jobs' rows. */
export const JOBS = `ci_jobs cj join projects p on p.id = cj.project_id left join users u on u.id = cj.user_id
  ${OF_JOB}`;

/** A job as a status of its commit. */
export const commitStatus = presenter({
  id: field.integer("cj.id"),
  sha: field.text("pl.sha"),
  ref: field.text("cj.ref"),
  status: field.text("cj.status"),
  name: field.text("cj.name"),
  target_url: field.derived(
    ["cj.target_url", "cj.kind", "p.full_path", "cj.id"],
    "URL",
    ([url, kind, path, id], { base }) =>
      kind === "external" ? url : `${base}/${path}/-/jobs/${id}`,
  ),
  description: field.text("cj.description"),
  created_at: field.instant("cj.created_at"),
  started_at: field.instant("cj.started_at"),
  finished_at: field.instant("cj.finished_at"),
  allow_failure: field.flag("cj.allow_failure"),
  coverage: number("cj.coverage"),
  pipeline_id: field.integer("cj.pipeline_id"),
  author: field.nested(userFields("u")),
});

/** The tables of statuses' rows. */
export const STATUSES = `ci_jobs cj join pipelines pl on pl.id = cj.pipeline_id
  join projects p on p.id = cj.project_id left join users u on u.id = cj.user_id`;
