import type { Caller } from "../../core/access/caller.ts";
import { ApiError, badRequest, forbidden, invalid, notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import { type Context, type Resource, routes } from "../../core/resource.ts";
import { commitId } from "../../git/commits.ts";
import { BRANCHES, TAGS } from "../../git/refs.ts";
import { findCommit } from "../../git/revisions.ts";
import type { Reader } from "../../store/port.ts";
import { nameErrors, tierOf } from "../ci/environment-names.ts";
import { mayDeployTo } from "../ci/environment-rights.ts";
import {
  DEPLOYMENT_STATUSES,
  findEnvironment,
  insertDeployment,
  insertEnvironment,
  setDeploymentStatus,
  tellOfDeployment,
} from "../ci/environments.ts";
import { queueTask } from "../ci/progress.ts";
import { deploymentFields } from "../environments/json.ts";
import { inputOf, valuesIn } from "../issuables/filter.ts";
import { list as listIssuables } from "../issuables/list.ts";
import { MERGE_REQUEST } from "../issuables/merge-request.ts";
import { MERGE_REQUEST_FILTERS } from "../issuables/merge-request-filters.ts";
import { commitsOf, forgetDeployed, requestsMergedBy } from "../pipelines/deployed.ts";
import { fillJobs } from "../pipelines/jobs.ts";
import { openRepository } from "../repositories/open.ts";
import { userSummaryFields } from "../users/json.ts";
import { chooseRule, fillApprovals, follow, rulesOfDeployment } from "./approvals.ts";
import * as deployments from "./queries.ts";
import { migrations } from "./table.ts";

const { del, get, list, post, put } = routes({
  source: "project",
  path: "/deployments",
  features: ["environments"],
});

const approval = {
  user: field.nested(userSummaryFields),
  status: field.text("da.status"),
  created_at: field.instant("da.created_at"),
  comment: field.text("da.comment"),
};
const approvalPresenter = presenter(approval);

const deployment = presenter({
  ...deploymentFields,
  pending_approval_count: field.integer("0 as pending_approval_count"),
  approvals: field.embedded("approvals", "array of approval", "[]", { items: approval }),
  approval_summary: field.json(`'{"rules":[]}' as approval_summary`, "object"),
});

const id = { deployment_id: param.recordId() };

/** The statuses that clients give deployments, and what leads to each. */
const EVENTS = { running: "run", success: "succeed", failed: "drop", canceled: "cancel" } as const;
const status = param.choice(Object.keys(EVENTS) as (keyof typeof EVENTS)[]);

/** @throws ApiError 404 */
async function findOne({
  db,
  source,
  input,
}: Pick<Context, "source"> & {
  db: Reader;
  input: { deployment_id: number };
}): Promise<deployments.Deployment> {
  const found = await deployments.find(db, source.id, input.deployment_id);
  if (!found) throw notFound();
  return found;
}

const filters = {
  environment: param.optional(param.anyText()),
  status: param.optional(param.choice(DEPLOYMENT_STATUSES)),
  updated_after: param.optional(param.instant()),
  updated_before: param.optional(param.instant()),
  finished_after: param.optional(param.instant()),
  finished_before: param.optional(param.instant()),
  order_by: param.optional(param.choice(deployments.ORDERS)),
  sort: param.optional(param.choice(["asc", "desc"])),
};

/**
 * Refuses filters that would look through all deployments.
 *
 * @throws ApiError 400
 */
function requireFitting(
  {
    updatedAfter,
    updatedBefore,
    finishedAfter,
    finishedBefore,
    status,
  }: deployments.DeploymentFilter,
  orderBy: string,
): void {
  const isUpdated = updatedAfter !== undefined || updatedBefore !== undefined;
  const isFinished = finishedAfter !== undefined || finishedBefore !== undefined;
  if (isUpdated && orderBy !== "updated_at") {
    throw badRequest("`updated_at` filter requires `updated_at` sort");
  }
  if (isFinished && orderBy !== "finished_at") {
    throw badRequest("`finished_at` filter requires `finished_at` sort.");
  }
  if (isFinished && status !== "success") {
    throw badRequest("`finished_at` filter must be combined with `success` status filter.");
  }
}

/** Where a deployment is, and who changes it. */
const by = ({ source, caller }: Pick<Context, "source"> & { caller: Caller }) => ({
  projectId: source.id,
  userId: caller.id,
});

/** Deployments of projects. */
export const deploymentResource: Resource = {
  name: "Deployments",
  migrations,
  routes: [
    list("", {
      jobTokens: true,
      summary: "List the deployments of a project",
      role: "reporter",
      input: filters,
      presenter: deployment,
      prepare: (_, preparing) => openRepository(preparing),
      handle: async (context) => {
        const { db, presenter, page, source, input } = context;
        const filter = {
          environment: input.environment,
          status: input.status,
          updatedAfter: input.updated_after,
          updatedBefore: input.updated_before,
          finishedAfter: input.finished_after,
          finishedBefore: input.finished_before,
        };
        const order = input.order_by ?? "id";
        requireFitting(filter, order);
        const sorted = [order, input.sort ?? "asc"] as const;
        const listed = await deployments.list(db, presenter, page, source.id, filter, sorted);
        await fillJobs(context, listed.rows);
        await fillApprovals(context, approvalPresenter, listed.rows);
        return listed;
      },
    }),
    get("/:deployment_id", {
      jobTokens: true,
      summary: "Get a deployment",
      role: "reporter",
      input: id,
      presenter: deployment,
      prepare: (_, preparing) => openRepository(preparing),
      handle: async (context) => {
        const found = await findOne(context);
        const row = await deployments.row(context.db, context.presenter, found.id);
        await fillJobs(context, [row]);
        await fillApprovals(context, approvalPresenter, [row]);
        return row;
      },
    }),
    post("/:deployment_id/approval", {
      summary: "Approve or reject a deployment that waits for approvals",
      role: "reporter",
      concurrency: "per project",
      input: {
        ...id,
        status: param.choice(["approved", "rejected"]),
        comment: param.clearable(param.anyText({ max: 1000 })),
        represented_as: param.unlessBlank(param.anyText()),
      },
      presenter: approvalPresenter,
      handle: async (context) => {
        const { db, source, caller, input, presenter: shown, now } = context;
        const found = await findOne(context);
        const rules = await rulesOfDeployment(db, source, found.id);
        const own = await chooseRule(db, { source, caller }, found.id, rules, input.represented_as);
        const { status: said, comment } = input;
        const approvalId = await deployments.say(
          db,
          { deploymentId: found.id, userId: caller.id, ruleId: own.id, status: said, comment },
          now,
        );
        await follow(db, found, said, rules, now);
        return deployments.approvalRow(db, shown, approvalId);
      },
    }),
    list("/:deployment_id/merge_requests", {
      summary: "List the merge requests that a deployment brought",
      role: "reporter",
      input: {
        ...inputOf(MERGE_REQUEST_FILTERS),
        ...id,
        order_by: param.optional(param.choice(["created_at", "updated_at"])),
        sort: param.optional(param.choice(["asc", "desc"])),
      },
      presenter: MERGE_REQUEST.listed,
      prepare: async (input, preparing) =>
        commitsOf(preparing, await findOne({ ...preparing, input })),
      handle: async (context) => {
        const { db, source, input, prepared: commits } = context;
        const ids = await requestsMergedBy(db, source.id, commits);
        return listIssuables(context, MERGE_REQUEST, {
          projectId: source.id,
          values: { scope: "all", ...valuesIn(MERGE_REQUEST_FILTERS, input), ids },
          not: input.not,
          orderBy: input.order_by ?? "created_at",
          sort: input.sort ?? "desc",
        });
      },
    }),
    post("", {
      jobTokens: true,
      summary: "Record a deployment; a new name of an environment adds it",
      role: "developer",
      concurrency: "per project",
      input: {
        environment: param.text(),
        sha: param.text(),
        ref: param.text({ max: 1024 }),
        tag: param.boolean(),
        status,
      },
      presenter: deployment,
      prepare: async ({ sha, ref, tag }, preparing) => {
        const opened = await openRepository(preparing, [sha, ref]);
        const number = await findCommit(opened, sha);
        if (number === undefined) throw invalid({ sha: ["The commit does not exist"] });
        if (!opened.refs.has(`${tag ? TAGS : BRANCHES}${ref}`)) {
          throw invalid({ ref: ["The branch or tag does not exist"] });
        }
        return commitId(opened.repository, number);
      },
      handle: async (context) => {
        const { db, source, caller, input, prepared: sha, presenter, now } = context;
        const { environment: name, ref, tag, status: given } = input;
        const errors = nameErrors(name);
        if (errors.length > 0) throw invalid({ environment: errors });
        const found = await findEnvironment(db, source.id, { name });
        const target = { name, tier: found?.tier ?? tierOf(name) };
        if (!(await mayDeployTo(db, source, target))) throw forbidden();
        const made = await insertDeployment(
          db,
          {
            project_id: source.id,
            environment_id: found?.id ?? (await insertEnvironment(db, source.id, { name }, now)),
            user_id: caller.id,
            ref,
            tag,
            sha,
            status: given,
          },
          now,
        );
        tellOfDeployment(context, { id: made, ...by(context) }, given);
        if (given === "success") await queueTask(db, { deployed: made }, now);
        return deployments.row(db, presenter, made);
      },
    }),
    put("/:deployment_id", {
      jobTokens: true,
      summary: "Change the status of a deployment",
      role: "developer",
      concurrency: "per project",
      input: { ...id, status },
      presenter: deployment,
      handle: async (context) => {
        const { db, source, input, presenter, now } = context;
        const found = await findOne(context);
        if (found.job_id !== null) throw forbidden();
        const target = await findEnvironment(db, source.id, { id: found.environment_id });
        if (target && !(await mayDeployTo(db, source, target))) throw forbidden();
        const isPossible =
          input.status === "running"
            ? ["created", "blocked"].includes(found.status)
            : input.status !== found.status;
        if (!isPossible) {
          throw invalid({ status: [`cannot transition via "${EVENTS[input.status]}"`] });
        }
        await setDeploymentStatus(db, found, input.status, now);
        tellOfDeployment(context, { id: found.id, ...by(context) }, input.status);
        if (input.status === "success") await queueTask(db, { deployed: found.id }, now);
        else await forgetDeployed(db, found.id);
        return deployments.row(db, presenter, found.id);
      },
    }),
    del("/:deployment_id", {
      jobTokens: true,
      summary: "Remove a deployment that neither runs nor is the current one",
      role: "maintainer",
      concurrency: "per project",
      input: id,
      handle: async (context) => {
        const found = await findOne(context);
        context.requireUnmodified(found.updated_at);
        if (found.status === "running") {
          throw new ApiError(400, { message: "Cannot destroy running deployment" });
        }
        if (await deployments.isCurrent(context.db, found)) {
          throw new ApiError(400, { message: "Deployment currently deployed to environment" });
        }
        await deployments.remove(context.db, found.id);
        return undefined;
      },
    }),
  ],
};
