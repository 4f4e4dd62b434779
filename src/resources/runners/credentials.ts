import { digestOf } from "../../auth/token-secrets.ts";
import { BEING_DELETED } from "../../core/access/visibility.ts";
import { ApiError, forbidden, missing, unauthorized } from "../../core/errors.ts";
import type { RequestInfo } from "../../core/resource.ts";
import type { Awaitable, Reader } from "../../store/port.ts";
import type { Status } from "../ci/statuses.ts";

/** A runner, as its own requests need it. */
export interface Runner {
  readonly id: number;
  readonly kind: "instance_type" | "group_type" | "project_type";
  readonly namespace_id: number | null;
  readonly paused: number;
  readonly run_untagged: number;
  readonly access_level: "not_protected" | "ref_protected";
  readonly maximum_timeout: number | null;
  readonly contacted_at: number | null;
}

const RUNNER = `select id, kind, namespace_id, paused, run_untagged, access_level, maximum_timeout, contacted_at
  from runners where`;

/** The runner with this id, or `undefined`. */
export function findRunner(db: Reader, id: number): Awaitable<Readonly<Runner> | undefined> {
  return db.one<Runner>(`${RUNNER} id = ?`, [id]);
}

/** Finds the runner that a request comes from, by its token. @throws ApiError 400 or 403 */
export async function runnerOf(
  db: Reader,
  request: RequestInfo,
  sent: string | undefined,
): Promise<Runner> {
  const token = sent ?? request.header("runner-token");
  if (token === undefined) throw missing("token");
  const found = await db.one<Runner>(`${RUNNER} digest = ?`, [digestOf(token)]);
  if (!found) throw forbidden();
  return found;
}

/** A job that runs, as its own requests need it. */
export interface RunningJob {
  readonly id: number;
  readonly project_id: number;
  readonly pipeline_id: number;
  readonly user_id: number | null;
  readonly status: Status;
  readonly trace_bytes: number;
  readonly protected: number;
  readonly namespace_id: number;
  readonly token: string;
}

/** Finds the job that a token is for: it has one as long as it runs. */
export async function jobOfToken(db: Reader, token: string): Promise<RunningJob | undefined> {
  const found = await db.one<RunningJob>(
    `select cj.id, cj.project_id, cj.pipeline_id, cj.user_id, cj.status, cj.trace_bytes, cj.protected, p.namespace_id
     from job_tokens jt join ci_jobs cj on cj.id = jt.job_id join projects p on p.id = cj.project_id
     where jt.digest = ? and p.visibility > ${BEING_DELETED}`,
    [digestOf(token)],
  );
  return found && { ...found, token };
}

/**
 * Finds the job that a request of its runner is about.
 *
 * @throws ApiError 400 without a token, 403 if it is not the job's; with the job's status if it has ended, so that its
 *   runner knows why it has to stop
 */
export async function requireJob(
  db: Reader,
  request: Pick<RequestInfo, "header">,
  jobId: number,
  sent: string | undefined,
): Promise<RunningJob> {
  const token = sent ?? request.header("job-token");
  if (token === undefined) throw missing("token");
  const found = await jobOfToken(db, token);
  if (found?.id === jobId) return found;
  const [ended] = await db.rows(
    "select status from ci_jobs where id = ? and token_digest = ? and status not in ('running', 'canceling')",
    [jobId, digestOf(token)],
  );
  if (!ended) throw forbidden();
  const answer = forbidden("Job is not processing on runner");
  throw new ApiError(answer.status, answer.body, { "job-status": ended[0] as Status });
}

/** The token of a job, which `GET /job` needs. @throws ApiError 401 */
export function jobTokenOf(request: RequestInfo, sent: string | undefined): string {
  const token = sent ?? request.header("job-token");
  if (token === undefined || token === "") throw unauthorized();
  return token;
}
