import type { Caller } from "../../core/access/caller.ts";
import type { Source } from "../../core/access/source.ts";
import { ApiError } from "../../core/errors.ts";
import type { View } from "../../core/field.ts";
import type { Presenter } from "../../core/presenter.ts";
import { among } from "../../store/conditions.ts";
import type { Database, Reader, Value } from "../../store/port.ts";
import { approvalsOf, grantsFor, type HeldGrant, missingOf } from "../ci/environment-rights.ts";
import { setDeploymentStatus } from "../ci/environments.ts";
import { play, reject } from "../ci/progress.ts";
import { whoIs } from "../protected-environments/json.ts";
import type { Deployment } from "./queries.ts";

const refuse = (message: string) => new ApiError(400, { message });

/** The protections of environments `en` of projects `p` that have approval rules, as joins. */
const PROTECTIONS = `join protected_environments pe on (pe.project_id = dp.project_id and pe.name = en.name)
    or (pe.name = en.tier and pe.namespace_id in (
      select ancestor_id from namespace_ancestors where namespace_id = p.namespace_id))`;
const OF_DEPLOYMENTS = `deployments dp join environments en on en.id = dp.environment_id
  join projects p on p.id = dp.project_id ${PROTECTIONS}
  join environment_grants g on g.environment_id = pe.id and g.action = 'approve'`;

/** A rule about approvals of a deployment, and whether whoever a project was found for has it. */
export type ApprovalRule = HeldGrant & { readonly name: string };

/** The rules about approvals of a deployment of a project. */
export async function rulesOfDeployment(
  db: Reader,
  source: Source,
  deploymentId: number,
): Promise<ApprovalRule[]> {
  const rows = await db.rows(
    `select g.id, g.environment_id, g.access_level, coalesce(u.name, n.name) from ${OF_DEPLOYMENTS}
     left join users u on u.id = g.user_id left join namespaces n on n.id = g.group_id
     where dp.id = ? order by g.id`,
    [deploymentId],
  );
  const protections = [...new Set(rows.map(([, protection]) => protection as number))];
  if (protections.length === 0) return [];
  const grants = new Map(
    (await grantsFor(db, source, protections)).map((grant) => [grant.id, grant]),
  );
  return rows.flatMap(([id, , level, name]) => {
    const grant = grants.get(id as number);
    return grant ? [{ ...grant, name: String(whoIs([level as Value, name as Value])) }] : [];
  });
}

/**
 * The rule that an approval counts for: the one that is named, or the first of the caller's that still needs one.
 *
 * @throws ApiError 400 if the deployment does not wait for approvals, or not for the caller's
 */
export async function chooseRule(
  db: Reader,
  { source, caller }: { readonly source: Source; readonly caller: Caller },
  deploymentId: number,
  rules: readonly ApprovalRule[],
  representedAs: string | undefined,
): Promise<ApprovalRule> {
  const [row] = await db.rows("select status, user_id from deployments where id = ?", [
    deploymentId,
  ]);
  const [status, userId] = row as [string, number | null];
  if (status !== "blocked") throw refuse("This deployment is not waiting for approvals.");
  if (userId === caller.id) throw refuse("You cannot approve your own deployment.");
  const own = rules.filter(({ isHeld }) => isHeld);
  if (own.length === 0) {
    throw refuse(`You don't have permission to approve this deployment of ${source.fullPath}.`);
  }
  const named =
    representedAs === undefined ? own : own.filter((rule) => rule.name === representedAs);
  const [first] = named;
  if (!first) {
    throw refuse(
      "There are no approval rules for the given `represented_as`. Use a valid User/Group/Role name instead.",
    );
  }
  const approvals = await approvalsOf(db, deploymentId);
  return named.find((rule) => missingOf(rule, approvals) > 0) ?? first;
}

/** Does what follows when somebody has approved or rejected a deployment. */
export async function follow(
  db: Database,
  deployment: Deployment,
  said: "approved" | "rejected",
  rules: readonly ApprovalRule[],
  now: number,
): Promise<void> {
  const jobs = await db.rows("select id, pipeline_id from ci_jobs where id = ?", [
    deployment.job_id,
  ]);
  const job = jobs[0] && { id: jobs[0][0] as number, pipeline_id: jobs[0][1] as number };
  if (said === "rejected") {
    if (job) await reject(db, job, now);
    else await setDeploymentStatus(db, deployment, "failed", now);
    return;
  }
  const approvals = await approvalsOf(db, deployment.id);
  if (rules.some((rule) => missingOf(rule, approvals) > 0)) return;
  await setDeploymentStatus(db, deployment, "created", now);
  if (job) await play(db, job, undefined, now);
}

/**
 * Fills in what people have said of deployments and what is still missing, in two statements.
 *
 * @param shown the presenter of an approval
 */
export async function fillApprovals(
  {
    db,
    presenter,
    view,
  }: { readonly db: Reader; readonly presenter: Presenter; readonly view: View },
  shown: Presenter,
  rows: readonly Value[][],
): Promise<void> {
  if (rows.length === 0) return;
  const idAt = presenter.at("id");
  const ids = rows.map((row) => row[idAt] as Value);
  const these = among("dp.id", ids);
  const rules = await db.rows(
    `select dp.id, dp.status, g.id, g.user_id, g.group_id, g.access_level, g.required_approvals,
       coalesce(u.name, n.name) from ${OF_DEPLOYMENTS}
     left join users u on u.id = g.user_id left join namespaces n on n.id = g.group_id
     where ${these.sql} order by g.id`,
    these.values,
  );
  const said = await db.rows(
    `select ${shown.columns}, da.deployment_id, da.grant_id, da.status
     from deployment_approvals da join users u on u.id = da.user_id
     where ${among("da.deployment_id", ids).sql} order by da.id`,
    these.values,
  );
  for (const row of rows) {
    const own = said.filter((one) => one.at(-3) === row[idAt]);
    const write = (some: readonly Value[][]) =>
      `[${some.map((one) => shown.write(one, view)).join(",")}]`;
    let pending = 0;
    const summary = rules
      .filter(([deployment]) => deployment === row[idAt])
      .map(([, status, id, user_id, group_id, access_level, required_approvals, name]) => {
        const approvals = own.filter((one) => one.at(-2) === id);
        const given = approvals.filter((one) => one.at(-1) === "approved").length;
        if (status === "blocked") pending += Math.max(0, (required_approvals as number) - given);
        const rule = {
          ...{ user_id, group_id, access_level, required_approvals },
          access_level_description: whoIs([access_level as Value, name as Value]),
        };
        return `${JSON.stringify(rule).slice(0, -1)},"deployment_approvals":${write(approvals)}}`;
      });
    row[presenter.at("pending_approval_count")] = pending;
    row[presenter.at("approvals")] = write(own);
    row[presenter.at("approval_summary")] = `{"rules":[${summary.join(",")}]}`;
  }
}
