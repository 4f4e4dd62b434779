import { compositeStatus } from "../../ci/index.ts";
import { type Viewer, visibleCode, visibleJobs } from "../../core/access/visibility.ts";
import * as field from "../../core/field.ts";
import {
  arg,
  boolean,
  computed,
  connection,
  digits,
  enumeration,
  type Face,
  first,
  id,
  leaf,
  loaded,
  NO_ROWS,
  one,
  PAGE_ARGS,
  pagesOf,
  property,
  required,
  rowType,
  string,
  time,
  type Values,
  valueType,
  word,
} from "../../graphql/declare.ts";
import { all, among, type Condition, when } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader, Value } from "../../store/port.ts";
import { ACTIVE } from "../ci/heads.ts";
import { shownStatus, wholeSeconds } from "../ci/json.ts";
import { STATUS_NAMES, type Status } from "../ci/statuses.ts";
import { numberOf } from "../issuables/mutations.ts";

const names = Object.fromEntries(STATUS_NAMES.map((name) => [name.toUpperCase(), name]));
const PIPELINE_STATUS = enumeration("PipelineStatusEnum", "How far a pipeline is.", names);
const JOB_STATUS = enumeration("CiJobStatus", "How far a job is.", names);

const status = valueType("DetailedStatus", "A status as it is shown, and where its page is.", {
  text: property("String"),
  label: property("String"),
  group: property("String"),
  icon: property("String"),
  tooltip: property("String"),
  favicon: property("String"),
  hasDetails: property("Boolean"),
  detailsPath: property("String"),
});

/** A status as it is shown. @param path its page, if it has one */
function detailed(
  name: Status,
  { hasWarnings = false, path }: { hasWarnings?: boolean; path?: string },
) {
  return {
    ...shownStatus(name, hasWarnings),
    favicon: `/assets/ci_favicons/favicon_status_${name}.png`,
    hasDetails: path !== undefined,
    detailsPath: path ?? null,
  };
}

/** What is shown of a job's status: unlike pipelines, jobs that wait for somebody block nothing. */
function detailedJob(name: Status, isAllowed: boolean, path: string) {
  const shown = detailed(name, { path });
  if (name === "manual") return { ...shown, text: "Manual", label: "manual play action" };
  if (name !== "failed" || !isAllowed) return shown;
  const label = "failed (allowed to fail)";
  return { ...shown, label, icon: "status_warning", group: "failed-with-warnings" };
}

const gid = (type: string, column: string) =>
  id(field.derived([column], "string", ([value]) => `gid://gitlab/Ci::${type}/${value}`));
const pathOf = (kind: "pipelines" | "jobs", key: string) =>
  string(
    field.derived(["p.full_path", key], "string", ([path, own]) => `/${path}/-/${kind}/${own}`),
  );
const seconds = (from: string, to: string) => leaf("Int", wholeSeconds(from, to));
const coverage = (column: string) =>
  leaf(
    "Float",
    field.derived([column], "number or null", ([value]) => (value === null ? null : Number(value))),
  );

const stage = valueType("CiStage", "Jobs of a pipeline that run at the same time.", {
  name: property("String"),
  status: property("String"),
  detailedStatus: property(status),
});
const stages = pagesOf(stage, "The stages of a pipeline.");

/** The part of few values that a page shows: a cursor is the number of a value. */
function pageOf<T>(values: readonly T[], { first, last, after, before }: Values<typeof PAGE_ARGS>) {
  const edges = values
    .map((node, index) => ({ cursor: String(index + 1), node }))
    .slice(Number(after ?? 0) || 0, before === undefined ? undefined : Number(before) - 1);
  const ahead = first === undefined ? edges : edges.slice(0, Math.max(first, 0));
  const shown = last === undefined ? ahead : ahead.slice(-Math.max(last, 0) || ahead.length);
  return {
    nodes: shown.map(({ node }) => node),
    edges: shown,
    pageInfo: {
      hasNextPage: ahead.length < edges.length,
      hasPreviousPage: shown.length < ahead.length,
      startCursor: shown.at(0)?.cursor ?? null,
      endCursor: shown.at(-1)?.cursor ?? null,
    },
    count: values.length,
  };
}

/** What a stage's status follows from. */
interface StageJob {
  readonly status: Status;
  readonly allowFailure: boolean;
}

/** The stages of pipelines, in their order, with the statuses that their jobs give them. */
async function stagesOf(
  db: Reader,
  pipelines: readonly Value[],
  range: Values<typeof PAGE_ARGS>,
): Promise<Map<Value, unknown>> {
  const these = placeholders(pipelines);
  const rows = await db.rows(
    `select distinct pipeline_id, stage_index, stage, status, allow_failure from ci_jobs
     where pipeline_id in (${these.sql}) and retried = 0 order by pipeline_id, stage_index`,
    these.values,
  );
  const found = new Map<Value, Map<string, StageJob[]>>();
  for (const [pipeline, , stage, status, allowFailure] of rows) {
    const own = found.get(pipeline as Value) ?? new Map<string, StageJob[]>();
    found.set(pipeline as Value, own);
    const one = { status: status as Status, allowFailure: allowFailure === 1 };
    own.set(String(stage), [...(own.get(String(stage)) ?? []), one]);
  }
  return new Map(
    [...found].map(([pipeline, own]) => [
      pipeline,
      pageOf(
        [...own].map(([name, jobs]) => ({ name, ...ofStage(jobs) })),
        range,
      ),
    ]),
  );
}

function ofStage(jobs: readonly StageJob[]) {
  const status = compositeStatus(jobs) as Status;
  const hasWarnings = jobs.some((job) => job.allowFailure && job.status === "failed");
  return { status, detailedStatus: detailed(status, { hasWarnings }) };
}

const pipeline = rowType("Pipeline", {
  about: "A pipeline.",
  from: "pipelines pl join projects p on p.id = pl.project_id",
  key: "pl.id",
  visible: visibleJobs,
  fields: {
    id: required(gid("Pipeline", "pl.id")),
    iid: required(digits("pl.iid")),
    name: string("pl.name"),
    status: required(word(PIPELINE_STATUS, "upper(pl.status)")),
    detailedStatus: required(
      computed(
        status,
        ["pl.status", "pl.has_warnings", "p.full_path", "pl.id"],
        ([name, hasWarnings, path, key]) =>
          detailed(name as Status, {
            hasWarnings: hasWarnings === 1,
            path: `/${path}/-/pipelines/${key}`,
          }),
      ),
    ),
    active: required(boolean(`case when pl.status in ${ACTIVE} then 1 else 0 end`)),
    ref: string("pl.ref"),
    sha: string("pl.sha"),
    beforeSha: string("pl.before_sha"),
    source: string("pl.source"),
    path: pathOf("pipelines", "pl.id"),
    coverage: coverage("pl.coverage"),
    warnings: required(boolean("pl.has_warnings")),
    createdAt: required(time("pl.created_at")),
    updatedAt: required(time("pl.updated_at")),
    startedAt: time("pl.started_at"),
    finishedAt: time("pl.finished_at"),
    duration: seconds("pl.started_at", "pl.finished_at"),
    user: one("UserCore", "pl.user_id"),
    project: one("Project", "pl.project_id"),
    yamlErrors: required(boolean("case when pl.yaml_errors is null then 0 else 1 end")),
    yamlErrorMessages: string("pl.yaml_errors"),
    stages: loaded(stages, (ids, { db }, range) => stagesOf(db, ids, range), {
      args: PAGE_ARGS,
      empty: NO_ROWS,
    }),
    jobs: connection("CiJob", {
      args: { statuses: arg.list(arg.choice(JOB_STATUS)), retried: arg.boolean },
      query: ({ statuses, retried }) => ({
        parent: "cj.pipeline_id",
        where: all([
          statuses && among("cj.status", statuses),
          when("cj.retried = ?", retried === undefined ? undefined : Number(retried)),
        ]),
        order: [{ sql: "cj.id" }],
      }),
    }),
  },
});

/** Statuses that somebody has reported are, as in REST, for those who may read the code. */
function visibleJob(viewer: Viewer): Condition {
  const code = visibleCode(viewer);
  const reported = { sql: `(cj.kind <> 'external' or ${code.sql})`, values: code.values };
  return all([visibleJobs(viewer), reported]);
}

const job = rowType("CiJob", {
  about: "A job of a pipeline.",
  from: "ci_jobs cj join projects p on p.id = cj.project_id",
  key: "cj.id",
  visible: visibleJob,
  fields: {
    id: gid("Build", "cj.id"),
    name: string("cj.name"),
    status: word(JOB_STATUS, "upper(cj.status)"),
    detailedStatus: computed(
      status,
      ["cj.status", "cj.allow_failure", "p.full_path", "cj.id"],
      ([name, isAllowed, path, key]) =>
        detailedJob(name as Status, isAllowed === 1, `/${path}/-/jobs/${key}`),
    ),
    allowFailure: required(boolean("cj.allow_failure")),
    active: required(boolean(`case when cj.status in ${ACTIVE} then 1 else 0 end`)),
    manualJob: boolean("case when cj.run_when = 'manual' then 1 else 0 end"),
    retried: boolean("cj.retried"),
    stage: computed(stage, ["cj.stage"], ([name]) => ({ name })),
    tags: computed("[String!]", ["cj.tag_list"], ([tags]) => JSON.parse(String(tags))),
    refName: string("cj.ref"),
    webPath: pathOf("jobs", "cj.id"),
    coverage: coverage("cj.coverage"),
    createdAt: required(time("cj.created_at")),
    queuedAt: time("cj.queued_at"),
    startedAt: time("cj.started_at"),
    finishedAt: time("cj.finished_at"),
    scheduledAt: time("cj.scheduled_at"),
    duration: seconds("cj.started_at", "cj.finished_at"),
    pipeline: one("Pipeline", "cj.pipeline_id"),
  },
});

/** Pipelines and their jobs. */
export const face: Face = {
  types: [pipeline, job],
  extend: {
    Project: {
      pipeline: first("Pipeline", {
        args: { iid: arg.id, sha: arg.string },
        query: ({ iid, sha }) => ({
          parent: "pl.project_id",
          where: all([
            when("pl.iid = ?", iid === undefined ? undefined : numberOf(iid)),
            when("pl.sha = ?", sha),
          ]),
          order: [{ sql: "pl.id", descending: true }],
        }),
      }),
      pipelines: connection("Pipeline", {
        args: {
          status: arg.choice(PIPELINE_STATUS),
          ref: arg.string,
          sha: arg.string,
          source: arg.string,
          username: arg.string,
        },
        query: ({ status: wanted, ref, sha, source, username }) => ({
          parent: "pl.project_id",
          where: all([
            source === "parent_pipeline"
              ? undefined
              : { sql: "pl.source <> 'parent_pipeline'", values: [] },
            when("pl.status = ?", wanted),
            when("pl.ref = ?", ref),
            when("pl.sha = ?", sha),
            when("pl.source = ?", source),
            when("pl.user_id = (select id from users where lower(username) = lower(?))", username),
          ]),
          order: [{ sql: "pl.id", descending: true }],
        }),
      }),
    },
  },
};
