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
  first,
  type GraphContext,
  type GraphqlModule,
  id,
  leaf,
  loaded,
  one,
  property,
  required,
  rowType,
  string,
  time,
  valueType,
  word,
} from "../../graphql/declare.ts";
import { all, among, type Condition, when } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Value } from "../../store/port.ts";
import { ACTIVE } from "../ci/heads.ts";
import { shownStatus, wholeSeconds } from "../ci/json.ts";
import { STATUS_NAMES, type Status } from "../ci/statuses.ts";
import { numberOf } from "../issuables/mutations.ts";

const names = Object.fromEntries(STATUS_NAMES.map((name) => [name.toUpperCase(), name]));
const PIPELINE_STATUS = enumeration("PipelineStatusEnum", "How far a pipeline is.", names);
/** The statuses of jobs. */
export const JOB_STATUS = enumeration("CiJobStatus", "How far a job is.", names);

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

/** What a stage's status follows from. */
interface StageJob {
  readonly status: Status;
  readonly allowFailure: boolean;
}

/** The statuses that stages get from their jobs, by the ids of their first jobs, in one statement. */
async function stagesOf(
  ids: readonly Value[],
  { db }: GraphContext,
): Promise<Map<Value, { status: Status; hasWarnings: boolean }>> {
  const these = placeholders(ids);
  const rows = await db.rows(
    `select distinct st.id, cj.status, cj.allow_failure from ci_jobs st
     join ci_jobs cj on cj.pipeline_id = st.pipeline_id and cj.stage_index = st.stage_index and cj.retried = 0
     where st.id in (${these.sql})`,
    these.values,
  );
  const found = new Map<Value, StageJob[]>();
  for (const [id, status, allowFailure] of rows) {
    const own = found.get(id as Value) ?? [];
    found.set(id as Value, own);
    own.push({ status: status as Status, allowFailure: allowFailure === 1 });
  }
  return new Map(
    [...found].map(([id, jobs]) => [
      id,
      {
        status: compositeStatus(jobs) as Status,
        hasWarnings: jobs.some((job) => job.allowFailure && job.status === "failed"),
      },
    ]),
  );
}

/** The id of the first job of the stage that a job `cj` is in. */
const STAGE = `(select min(e.id) from ci_jobs e
  where e.pipeline_id = cj.pipeline_id and e.stage_index = cj.stage_index)`;

const stage = rowType("CiStage", {
  about: "Jobs of a pipeline that run at the same time.",
  // A stage is known by its first job.
  from: "ci_jobs st join projects p on p.id = st.project_id",
  key: "st.id",
  visible: visibleJobs,
  fields: {
    id: required(gid("Stage", "st.id")),
    name: string("st.stage"),
    status: loaded("String", async (ids, context) => {
      const found = await stagesOf(ids, context);
      return new Map([...found].map(([id, { status }]) => [id, status]));
    }),
    detailedStatus: loaded(status, async (ids, context) => {
      const found = await stagesOf(ids, context);
      return new Map(
        [...found].map(([id, { status, hasWarnings }]) => [id, detailed(status, { hasWarnings })]),
      );
    }),
    jobs: connection("CiJob", {
      needs: ["st.pipeline_id", "st.stage_index"],
      query: (_, __, [pipelineId, index]) => ({
        where: when(
          "cj.pipeline_id = ? and cj.stage_index = ? and cj.retried = 0",
          pipelineId,
          index,
        ),
        order: [{ sql: "cj.id" }],
      }),
    }),
  },
});

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
    stages: connection("CiStage", {
      isSmall: true,
      query: () => ({
        parent: "st.pipeline_id",
        where: when(
          `not exists (select 1 from ci_jobs e where e.pipeline_id = st.pipeline_id
            and e.stage_index = st.stage_index and e.id < st.id)`,
        ),
        order: [{ sql: "st.stage_index" }, { sql: "st.id" }],
      }),
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
    failureMessage: string(
      "case when cj.status = 'failed' then replace(cj.failure_reason, '_', ' ') end",
    ),
    allowFailure: required(boolean("cj.allow_failure")),
    active: required(boolean(`case when cj.status in ${ACTIVE} then 1 else 0 end`)),
    manualJob: boolean("case when cj.run_when = 'manual' then 1 else 0 end"),
    retried: boolean("cj.retried"),
    stage: one("CiStage", STAGE),
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
export const graphqlModule: GraphqlModule = {
  types: [pipeline, stage, job],
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
