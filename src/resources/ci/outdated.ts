import { among } from "../../store/conditions.ts";
import type { Reader } from "../../store/port.ts";
import { deploymentSettingsIn } from "./settings.ts";
import { FINISHED, type Status } from "./statuses.ts";

/** The `failure_reason` of a job that would have deployed what is outdated. */
export const OUTDATED = "failed_outdated_deployment_job";

/**
 * The jobs among some that would replace a newer deployment by an older one of another commit, in projects that refuse
 * this. Jobs that have ended deploy again when they are retried: that is a rollback, which may be allowed.
 */
export async function outdatedAmong(db: Reader, jobIds: readonly number[]): Promise<Set<number>> {
  if (jobIds.length === 0) return new Set();
  const these = among("d.job_id", jobIds);
  const older = await db.rows(
    `select cj.id, cj.status, p.kept_settings from deployments d
     join ci_jobs cj on cj.id = d.job_id join projects p on p.id = d.project_id
     join deployments last on last.id = (
       select max(s.id) from deployments s where s.environment_id = d.environment_id and s.status = 'success')
     where ${these.sql} and d.id < last.id and d.sha <> last.sha`,
    these.values,
  );
  const refused = older.filter(([, status, stored]) => {
    const settings = deploymentSettingsIn(stored);
    const isRollback = status === "skipped" || FINISHED.includes(status as Status);
    return (
      settings.ci_forward_deployment_enabled &&
      !(isRollback && settings.ci_forward_deployment_rollback_allowed)
    );
  });
  return new Set(refused.map(([id]) => id as number));
}
