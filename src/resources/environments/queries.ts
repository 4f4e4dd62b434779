import { type Page, paginate, type RowPage } from "../../core/pagination.ts";
import { type Presenter, rowReader } from "../../core/presenter.ts";
import { all, when, worded } from "../../store/conditions.ts";
import { contains } from "../../store/patterns.ts";
import type { Awaitable, Database, Reader, Value } from "../../store/port.ts";
import type { EnvironmentState } from "../ci/environments.ts";
import { OF_JOB } from "../ci/json.ts";

/** Which environments a list has. */
export interface EnvironmentFilter {
  name?: string | undefined;
  search?: string | undefined;
  state?: EnvironmentState | undefined;
}

/** The environments of a project, oldest first. */
export function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  projectId: number,
  { name, search, state }: EnvironmentFilter,
): Promise<RowPage> {
  const where = all([
    { sql: "en.project_id = ?", values: [projectId] },
    when("en.name = ?", name),
    search ? contains(["en.name"], search) : undefined,
    worded("en.state", state && [state]),
  ]);
  return paginate(db, presenter, page, {
    from: `environments en join projects p on p.id = en.project_id
      join namespaces n on n.id = p.namespace_id where ${where.sql}`,
    countFrom: `environments en where ${where.sql}`,
    values: where.values,
    order: "en.id",
  });
}

/** One environment as a row for its presenter. */
export const row = rowReader(`environments en join projects p on p.id = en.project_id
     left join deployments dp on dp.id =
       (select max(id) from deployments where environment_id = en.id and status = 'success')
     left join users u on u.id = dp.user_id left join ci_jobs cj on cj.id = dp.job_id ${OF_JOB} where en.id = ?`);

/** The condition that a job has deployed to an environment, so that another one may have to stop it. */
const BY_JOB = `exists (select 1 from deployments d
  where d.environment_id = environments.id and d.status = 'success' and d.job_id is not null)`;

/**
 * Stops the environments of a project that neither changed nor got a deployment since an instant. Those that a job has
 * deployed to are stopped like those whose time has come.
 */
export async function stopStale(
  db: Database,
  projectId: number,
  before: number,
  now: number,
): Promise<void> {
  await db.run(
    `update environments set state = case when ${BY_JOB} then state else 'stopped' end,
       auto_stop_at = case when ${BY_JOB} then cast(? as bigint) end, updated_at = ?
     where project_id = ? and state = 'available' and updated_at < ? and not exists (
       select 1 from deployments where environment_id = environments.id and updated_at >= ?)
     and (auto_stop_setting = 'always' or ${BY_JOB})`,
    [now, now, projectId, before, before],
  );
}

/** The oldest stopped review apps of a project that were created before an instant, as rows of a presenter. */
export function stoppedReviewApps(
  db: Reader,
  presenter: Presenter,
  projectId: number,
  before: number,
  most: number,
): Awaitable<Value[][]> {
  return db.rows(
    `select ${presenter.columns} from environments en
     where en.project_id = ? and en.state = 'stopped' and en.created_at < ? and ${REVIEW_APP}
     order by en.id limit ?`,
    [projectId, before, most],
  );
}

/** The condition that an environment is one of many with names like `review/branch`. */
const REVIEW_APP = "substr(en.name, 1, 7) = 'review/'";

/** Removes environments with their deployments. */
export async function remove(db: Database, ids: readonly number[]): Promise<void> {
  for (const id of ids) await db.run("delete from environments where id = ?", [id]);
}
