import { firstSelective, idsOf, withoutIndex } from "../../core/lists/index-start.ts";
import { paginateFrom } from "../../core/lists/paginate.ts";
import type { Page, RowPage } from "../../core/pagination.ts";
import { type Presenter, rowReader } from "../../core/presenter.ts";
import { all, when, worded } from "../../store/conditions.ts";
import type { Awaitable, Database, Reader } from "../../store/port.ts";
import { type DeploymentStatus, findEnvironment } from "../ci/environments.ts";
import { OF_JOB } from "../ci/json.ts";

/** By what lists are sorted. */
export const ORDERS = ["id", "iid", "created_at", "updated_at", "finished_at", "ref"] as const;

/** A deployment, as handlers need it. */
export interface Deployment {
  id: number;
  environment_id: number;
  status: DeploymentStatus;
  /** The commit that is deployed, in hex. */
  sha: string;
  /** The job that deploys, if it is one. */
  job_id: number | null;
  updated_at: number;
}

/** Which deployments a list has. */
export interface DeploymentFilter {
  environment?: string | undefined;
  status?: DeploymentStatus | undefined;
  updatedAfter?: number | undefined;
  updatedBefore?: number | undefined;
  finishedAfter?: number | undefined;
  finishedBefore?: number | undefined;
}

const TABLES = `deployments dp join environments en on en.id = dp.environment_id
  join projects p on p.id = dp.project_id left join users u on u.id = dp.user_id
  left join ci_jobs cj on cj.id = dp.job_id ${OF_JOB}`;

/** The deployments of a project. */
export async function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  projectId: number,
  filter: DeploymentFilter,
  [orderBy, sort]: readonly [order: (typeof ORDERS)[number], sort: "asc" | "desc"],
): Promise<RowPage> {
  const ofProject = { sql: "dp.project_id = ?", values: [projectId] };
  const environment = await environmentNamed(db, projectId, filter.environment);
  const inEnvironment = when("dp.environment_id = ?", environment);
  const withStatus = worded("dp.status", filter.status && [filter.status]);
  const spans = all([
    when("dp.updated_at > ?", filter.updatedAfter),
    when("dp.updated_at < ?", filter.updatedBefore),
    when("dp.finished_at > ?", filter.finishedAfter),
    when("dp.finished_at < ?", filter.finishedBefore),
  ]);
  const hasOrder = orderBy === "id";
  const starts = [inEnvironment, withStatus && all([ofProject, withStatus])];
  const start = await firstSelective(
    db,
    "dp",
    (hasOrder ? [] : starts)
      .filter((filter) => filter !== undefined)
      .map((filter) => idsOf("deployments dp", filter)),
  );
  const filters = [withStatus, spans];
  return paginateFrom(db, presenter, page, start, {
    alias: "dp",
    tables: "deployments dp",
    presented: { sql: TABLES, values: [] },
    where: all([inEnvironment ?? ofProject, ...filters]),
    picked: hasOrder
      ? undefined
      : all([ofProject, when(`${withoutIndex("dp.environment_id")} = ?`, environment), ...filters]),
    order: hasOrder ? `dp.id ${sort}` : `dp.${orderBy} ${sort}, dp.id ${sort}`,
  });
}

/** The id of the environment of a project that deployments must be in, if any is asked for; 0 if there is none. */
async function environmentNamed(
  db: Reader,
  projectId: number,
  name: string | undefined,
): Promise<number | undefined> {
  if (name === undefined) return undefined;
  return (await findEnvironment(db, projectId, { name }))?.id ?? 0;
}

/** One deployment as a row for its presenter. */
export const row = rowReader(`${TABLES} where dp.id = ?`);

/** A deployment of a project, or `undefined`. */
export function find(db: Reader, projectId: number, id: number): Awaitable<Deployment | undefined> {
  return db.one<Deployment>(
    "select id, environment_id, status, sha, job_id, updated_at from deployments where project_id = ? and id = ?",
    [projectId, id],
  );
}

/** Whether a deployment is the one that its environment has now: the newest that succeeded. */
export async function isCurrent(db: Reader, { id, environment_id }: Deployment): Promise<boolean> {
  const rows = await db.rows(
    "select max(id) from deployments where environment_id = ? and status = 'success'",
    [environment_id],
  );
  return rows[0]?.[0] === id;
}

/** What somebody says of a deployment. */
export interface Said {
  readonly deploymentId: number;
  readonly userId: number;
  readonly ruleId: number;
  readonly status: "approved" | "rejected";
  readonly comment?: string | null | undefined;
}

/** Records what somebody says of a deployment, in place of what they said before. @returns the id of the record */
export async function say(
  db: Database,
  { deploymentId, userId, ruleId, status, comment = null }: Said,
  now: number,
): Promise<number> {
  const [row] = await db.rows(
    `insert into deployment_approvals (deployment_id, user_id, grant_id, status, comment, created_at)
     values (?, ?, ?, ?, ?, ?)
     on conflict (deployment_id, user_id) do update set grant_id = excluded.grant_id,
       status = excluded.status, comment = excluded.comment, created_at = excluded.created_at
     returning id`,
    [deploymentId, userId, ruleId, status, comment, now],
  );
  return (row as [number])[0];
}

/** An approval as a row for its presenter. */
export const approvalRow = rowReader(`deployment_approvals da join users u on u.id = da.user_id
     where da.id = ?`);

/** Removes a deployment. */
export async function remove(db: Database, id: number): Promise<void> {
  await db.run("delete from deployments where id = ?", [id]);
}
