import { lastRun } from "../../ci/index.ts";
import type { Reader } from "../../store/port.ts";

/** Freeze periods of a project, at most. */
export const MOST = 50;

/**
 * Whether a project is not to be deployed: of one of its freeze periods, a start is nearer in the past than an end.
 *
 * @param now epoch milliseconds
 */
export async function isFrozen(db: Reader, projectId: number, now: number): Promise<boolean> {
  const periods = await db.rows(
    `select freeze_start, freeze_end, cron_timezone from freeze_periods where project_id = ? limit ${MOST}`,
    [projectId],
  );
  return periods.some(([start, end, zone]) => {
    const last = (cron: unknown) => lastRun(String(cron), String(zone), new Date(now));
    const begun = last(start);
    const ended = last(end);
    return begun !== undefined && (ended === undefined || begun > ended);
  });
}
