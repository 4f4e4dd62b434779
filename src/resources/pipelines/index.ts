import * as v from "valibot";
import { PIPELINE_SOURCES } from "../../ci/index.ts";
import { visibleJobs } from "../../core/access/visibility.ts";
import { ApiError, forbidden, invalid, notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { firstSelective, idsOf, withoutIndex } from "../../core/lists/index-start.ts";
import { paginateFrom } from "../../core/lists/paginate.ts";
import { paginate } from "../../core/pagination.ts";
import { presenter } from "../../core/presenter.ts";
import { type Context, Json, type Resource, routes } from "../../core/resource.ts";
import { BRANCHES, TAGS } from "../../git/refs.ts";
import { all, type Condition, when, worded } from "../../store/conditions.ts";
import type { Database, Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { mayAdminRun, mayReadJobs, readingRole } from "../ci/abilities.ts";
import { countOf } from "../ci/counts.ts";
import { pipelineInputs, readInputs } from "../ci/inputs.ts";
import { bridge, changedPipeline, job, listedPipeline, PIPELINES, pipeline } from "../ci/json.ts";
import { releaseCommit } from "../ci/kept-commits.ts";
import { cancel, childrenOf, giveResources, retryPipeline } from "../ci/progress.ts";
import { type GivenVariable, givenVariables, PIPELINE_VARIABLES } from "../ci/records.ts";
import { groupsOf } from "../ci/resource-groups.ts";
import { FINISHED, STATUS_NAMES } from "../ci/statuses.ts";
import { migrations } from "../ci/table.ts";

import { MERGE_REQUEST } from "../issuables/merge-request.ts";
import { findIssuable } from "../issuables/rules.ts";
import { openRepository } from "../repositories/open.ts";
import { placeIn, planCreation, storePipeline } from "./create.ts";
import { listJobs, scope } from "./jobs.ts";
import { findPipeline, mayRunJobsOf, projectFor } from "./rules.ts";
import { testReportRoutes } from "./test-reports.ts";

const { del, get, list, post, put } = routes({
  source: "project",
  path: "/pipelines",
  features: ["jobs"],
});
const { post: create } = routes({ source: "project", path: "/pipeline", features: ["jobs"] });
const ofRequest = routes({
  source: "project",
  path: "/merge_requests/:merge_request_iid/pipelines",
  features: ["merge_requests"],
});

const id = { pipeline_id: param.recordId() };
const reading = { access: "anyone", role: readingRole } as const;

const SCOPES = ["running", "pending", "finished", "branches", "tags"] as const;

/** What is shown of the newest pipeline of each branch, or of each tag. */
function newestOf(projectId: number, kind: "branches" | "tags"): Condition {
  const folder = kind === "tags" ? TAGS : BRANCHES;
  return {
    sql: `pl.id in (
      select (select max(o.id) from pipelines o where o.project_id = g.project_id
        and o.ref = substr(r.name, ${folder.length + 1}) and o.tag = ${kind === "tags" ? 1 : 0}
        and o.source <> 'parent_pipeline')
      from git_repositories g join git_refs r on r.repository_id = g.id
      where g.project_id = ? and g.kind = 'code' and r.name > '${folder}' and r.name < '${folder.slice(0, -1)}0')`,
    values: [projectId],
  };
}

function ofRefs(projectId: number, scope: (typeof SCOPES)[number] | undefined) {
  return scope === "branches" || scope === "tags" ? newestOf(projectId, scope) : undefined;
}

/** The pipelines that are not started by another one of the project. */
const OWN: Condition = { sql: "pl.source <> 'parent_pipeline'", values: [] };

const filters = {
  scope: param.optional(param.choice(SCOPES)),
  status: param.optional(param.choice(STATUS_NAMES)),
  source: param.optional(param.choice(PIPELINE_SOURCES)),
  ref: param.optional(param.anyText({ max: 1024 })),
  sha: param.optional(param.anyText()),
  username: param.optional(param.anyText()),
  name: param.optional(param.anyText()),
  yaml_errors: param.optional(param.boolean()),
  updated_before: param.optional(param.instant()),
  updated_after: param.optional(param.instant()),
  created_before: param.optional(param.instant()),
  created_after: param.optional(param.instant()),
};

/** What a list of pipelines is filtered by, each with an index of its own that ends in their ids. */
function filtersOf(input: param.Input<typeof filters>): Condition[] {
  const { scope, status, source, yaml_errors } = input;
  const isOfRefs = scope === "branches" || scope === "tags";
  return [
    isOfRefs ? undefined : worded("pl.status", scope && SCOPED[scope]),
    worded("pl.status", status && [status]),
    worded("pl.source", source && [source]),
    when("pl.ref = ?", input.ref),
    when("pl.sha = ?", input.sha),
    when("pl.user_id = (select id from users where lower(username) = lower(?))", input.username),
    when("pl.name = ?", input.name),
    yaml_errors === undefined
      ? undefined
      : { sql: `pl.yaml_errors is ${yaml_errors ? "not null" : "null"}`, values: [] },
  ].filter((filter) => filter !== undefined);
}

const SCOPED = { running: ["running"], pending: ["pending"], finished: FINISHED } as const;

/**
 * Spans of time that a list of pipelines is filtered by.
 *
 * @param sqlOf SQL of a column
 */
function spansOf(
  input: param.Input<typeof filters>,
  sqlOf = (column: string) => `pl.${column}`,
): Condition[] {
  return (["updated", "created"] as const).flatMap((what) => {
    const column = sqlOf(`${what}_at`);
    const span = [
      when(`${column} < ?`, input[`${what}_before`]),
      when(`${column} > ?`, input[`${what}_after`]),
    ];
    return span.some((end) => end !== undefined) ? [all(span)] : [];
  });
}

/** A variable, as it is sent and shown. */
const variable = presenter({
  variable_type: field.text("variable_type"),
  key: field.text("key"),
  value: field.text("value"),
  raw: field.constant(false),
});

/** Variables that a pipeline can be given. */
const MOST_VARIABLES = 100;

const VARIABLES = v.array(
  v.object({
    key: v.pipe(v.string(), v.regex(/^[A-Za-z0-9_]{1,255}$/)),
    value: v.pipe(v.union([v.string(), v.number()]), v.transform(String), v.maxLength(65_536)),
    variable_type: v.optional(v.picklist(["env_var", "file"]), "env_var"),
  }),
);

/** Reads the variables of a request. @throws ApiError 400 */
function readVariables(sent: readonly unknown[] | undefined): GivenVariable[] {
  const read = v.safeParse(VARIABLES, sent ?? []);
  if (!read.success) throw invalid({ variables: ["is invalid"] });
  return read.output;
}

/** Deletes a pipeline with the child pipelines that its jobs have started. What these shared with others is free then. */
async function removePipeline(
  db: Database,
  projectId: number,
  id: number,
  now: number,
): Promise<void> {
  for (const child of await childrenOf(db, id)) await removePipeline(db, projectId, child, now);
  await releaseCommit(db, projectId, id);
  const groups = await groupsOf(db, id);
  await db.run("delete from pipelines where id = ?", [id]);
  await giveResources(db, groups, now);
}

/** A pipeline as a row of its presenter. */
async function rowOf({ db, presenter }: Pick<Context, "presenter"> & { db: Reader }, id: number) {
  const [row] = await db.rows(`select ${presenter.columns} from ${PIPELINES} where pl.id = ?`, [
    id,
  ]);
  return row;
}

/** The pipelines of a merge request: its own, and those of the commits that its branch has had. */
function ofMergeRequest(request: number): Condition {
  return {
    sql: `pl.id in (
      select id from pipelines where merge_request_id = ?
      union
      select o.id from merge_requests mr join pipelines o on o.project_id = mr.source_project_id
        and (o.sha = mr.sha or o.sha in (select head_sha from merge_request_versions where merge_request_id = mr.id))
      where mr.id = ? and o.ref = mr.source_branch and o.source <> 'parent_pipeline')`,
    values: [request, request],
  };
}

/** Pipelines of projects. */
export const pipelineResource: Resource = {
  name: "Pipelines",
  migrations,
  sealed: [PIPELINE_VARIABLES],
  routes: [
    list("", {
      summary: "List the pipelines of a project, the newest first",
      ...reading,
      jobTokens: true,
      input: {
        ...filters,
        order_by: param.optional(param.choice(["id", "status", "ref", "updated_at", "user_id"])),
        sort: param.optional(param.choice(["asc", "desc"])),
      },
      presenter: listedPipeline,
      handle: async ({ db, source, input, presenter, page }) => {
        const { order_by = "id", sort = "desc" } = input;
        const listed = { sql: "pl.project_id = ?", values: [source.id] };
        const filters = filtersOf(input);
        const spans = spansOf(input);
        // The index of a single filter has the order of ids; of few users, PostgreSQL would take that of all pipelines.
        const hasOrder =
          order_by === "id" &&
          spans.length + filters.length <= 1 &&
          !(spans.length > 0 || input.scope === "finished" || input.username !== undefined);
        const start = await firstSelective(
          db,
          "pl",
          (hasOrder ? [] : [...filters, ...spans]).map((filter) =>
            idsOf("pipelines pl", all([listed, filter])),
          ),
        );
        const where = all([
          listed,
          input.source === "parent_pipeline" ? undefined : OWN,
          ofRefs(source.id, input.scope),
          ...filters,
        ]);
        const isWhole = filters.length + spans.length === 0 && input.scope === undefined;
        const picked = spansOf(input, (column) =>
          column === order_by ? `pl.${column}` : withoutIndex(`pl.${column}`),
        );
        return paginateFrom(db, presenter, page, start, {
          alias: "pl",
          tables: "pipelines pl",
          presented: { sql: "pipelines pl join projects p on p.id = pl.project_id", values: [] },
          where: all([where, ...spans]),
          picked: all([where, ...picked]),
          order: order_by === "id" ? `pl.id ${sort}` : `pl.${order_by} ${sort}, pl.id ${sort}`,
          stored: isWhole ? countOf("pipeline", source.id) : undefined,
        });
      },
    }),
    get("/latest", {
      summary: "Get the newest pipeline of a branch or tag",
      ...reading,
      jobTokens: true,
      input: { ref: param.optional(param.anyText({ max: 1024 })) },
      presenter: pipeline,
      handle: async (context) => {
        const { db, source, input } = context;
        const [found] = await db.rows(
          `select pl.id from pipelines pl where pl.project_id = ? and pl.source <> 'parent_pipeline'
           and pl.ref = coalesce(cast(? as text), (select default_branch from projects where id = ?))
           order by pl.id desc limit 1`,
          [source.id, input.ref ?? null, source.id],
        );
        if (!found) throw forbidden();
        return rowOf(context, found[0] as number);
      },
    }),
    get("/:pipeline_id", {
      summary: "Get a pipeline",
      ...reading,
      jobTokens: true,
      input: id,
      presenter: pipeline,
      handle: async (context) => {
        const { db, source, input } = context;
        const found = await findPipeline(db, source, input.pipeline_id);
        return rowOf(context, found.id);
      },
    }),
    create("", {
      summary: "Run a pipeline of a branch or tag",
      role: "developer",
      concurrency: "per project",
      input: {
        inputs: pipelineInputs,
        ref: param.text({ max: 1024 }),
        variables: param.optional(
          param.arrayOf(param.json("variables, each with key, value and variable_type"), {
            max: MOST_VARIABLES,
          }),
        ),
      },
      presenter: changedPipeline,
      prepare: ({ ref, variables, inputs }, preparing) =>
        planCreation(placeIn(preparing, preparing.source, preparing.caller.id), {
          ref,
          source: "api",
          variables: readVariables(variables),
          inputs: readInputs(inputs),
        }),
      handle: async (context) => {
        const { db, secrets, prepared, now } = context;
        return rowOf(context, await storePipeline(db, secrets, prepared, now));
      },
    }),
    get("/:pipeline_id/variables", {
      summary: "List the variables that a pipeline was given",
      role: "developer",
      input: id,
      examples: [[{ variable_type: "env_var", key: "DEPLOY", value: "yes", raw: false }]],
      handle: async ({ db, source, caller, input, secrets, view }) => {
        const found = await findPipeline(db, source, input.pipeline_id);
        if (!mayAdminRun(found, { source, caller })) throw forbidden();
        const given = await givenVariables(db, secrets, found.id);
        return new Json(
          given.map(({ variable_type, key, value }) =>
            variable.value([variable_type, key, value], view),
          ),
        );
      },
    }),
    put("/:pipeline_id/metadata", {
      summary: "Name a pipeline",
      role: "developer",
      jobTokens: true,
      input: { ...id, name: param.anyText({ max: param.LONG_TEXT }) },
      presenter: pipeline,
      handle: async (context) => {
        const { db, source, input, now } = context;
        const found = await findPipeline(db, source, input.pipeline_id);
        if (input.name.length > 255) {
          const reason = "Name is too long (maximum is 255 characters)";
          throw new ApiError(400, { message: `Failed to update pipeline - ${reason}` });
        }
        await updateRow(db, "pipelines", found.id, { name: input.name }, now);
        return rowOf(context, found.id);
      },
    }),
    post("/:pipeline_id/retry", {
      summary: "Run the jobs of a pipeline again that failed or were canceled",
      role: "developer",
      input: id,
      presenter: changedPipeline,
      handle: async (context) => {
        const { db, source, caller, input, now } = context;
        const found = await findPipeline(db, source, input.pipeline_id);
        if (!(await mayRunJobsOf(db, source, found))) throw forbidden();
        await retryPipeline(db, found.id, caller.id, now);
        return rowOf(context, found.id);
      },
    }),
    post("/:pipeline_id/cancel", {
      summary: "Cancel the jobs of a pipeline that have not ended",
      role: "developer",
      input: id,
      presenter: changedPipeline,
      status: 200,
      handle: async (context) => {
        const { db, source, input, now } = context;
        const found = await findPipeline(db, source, input.pipeline_id);
        if (!(await mayRunJobsOf(db, source, found))) throw forbidden();
        await cancel(db, found.id, {}, now);
        return rowOf(context, found.id);
      },
    }),
    del("/:pipeline_id", {
      summary: "Delete a pipeline with its jobs",
      role: "owner",
      input: id,
      handle: async ({ db, source, input, now, requireUnmodified }) => {
        const found = await findPipeline(db, source, input.pipeline_id);
        requireUnmodified(found.updated_at);
        await removePipeline(db, source.id, found.id, now);
        return undefined;
      },
    }),
    ...testReportRoutes,
    ...(["jobs", "bridges"] as const).map((kind) =>
      list(`/:pipeline_id/${kind}`, {
        isShownToVisitors: true,
        summary:
          kind === "jobs"
            ? "List the jobs of a pipeline, the newest first"
            : "List the jobs of a pipeline that start other pipelines",
        role: readingRole,
        jobTokens: true,
        input: {
          ...id,
          ...scope,
          ...(kind === "jobs" && { include_retried: param.optional(param.boolean()) }),
        },
        presenter: kind === "jobs" ? job : bridge,
        prepare: (_, preparing) => openRepository(preparing),
        handle: async (context) => {
          const { db, source, input, page } = context;
          const found = await findPipeline(db, source, input.pipeline_id);
          const isAll = "include_retried" in input && input.include_retried === true;
          const where = all([
            { sql: "cj.pipeline_id = ?", values: [found.id] },
            { sql: "cj.kind = ?", values: [kind === "jobs" ? "build" : "bridge"] },
            isAll ? undefined : { sql: "cj.retried = 0", values: [] },
            worded("cj.status", input.scope),
          ]);
          return listJobs(context, page, where);
        },
      }),
    ),
    ofRequest.list("", {
      summary: "List the pipelines of a merge request, the newest first",
      access: "anyone",
      input: { merge_request_iid: param.recordId() },
      presenter: listedPipeline,
      handle: async (context) => {
        const { db, source, viewer, input, presenter, page } = context;
        const found = await findIssuable(context, MERGE_REQUEST, input.merge_request_iid);
        if (!mayReadJobs(source)) throw forbidden();
        // Its pipelines may be of a fork that the caller does not see.
        const where = all([ofMergeRequest(found.id), visibleJobs(viewer)]);
        return paginate(db, presenter, page, {
          from: `pipelines pl join projects p on p.id = pl.project_id where ${where.sql}`,
          values: where.values,
          order: "pl.id desc",
        });
      },
    }),
    ofRequest.post("", {
      summary: "Run a pipeline of a merge request",
      role: "developer",
      input: { merge_request_iid: param.recordId() },
      presenter: pipeline,
      status: 200,
      prepare: async ({ merge_request_iid }, preparing) => {
        const { db, caller, now } = preparing;
        const found = await findIssuable(preparing, MERGE_REQUEST, merge_request_iid);
        const request = await requestOf(db, found.id);
        const project = await projectFor(db, request.source_project_id, caller.id, now);
        if (!project) throw forbidden();
        return planCreation(placeIn(preparing, project, caller.id), {
          ref: request.source_branch,
          source: "merge_request_event",
          request,
        });
      },
      handle: async (context) => {
        const { db, secrets, prepared, now } = context;
        db.lock(prepared.project.id);
        return rowOf(context, await storePipeline(db, secrets, prepared, now));
      },
    }),
  ],
};

interface RequestRow {
  readonly id: number;
  readonly iid: number;
  readonly source_branch: string;
  readonly target_branch: string;
  readonly source_project_id: number;
}

async function requestOf(db: Reader, id: number): Promise<RequestRow> {
  const found = await db.one<RequestRow>(
    "select id, iid, source_branch, target_branch, source_project_id from merge_requests where id = ?",
    [id],
  );
  if (!found) throw notFound();
  return found;
}
