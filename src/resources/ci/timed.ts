import { runPeriodic } from "../../jobs/periodic.ts";
import { repeat, type Service } from "../../jobs/services.ts";
import type { Working } from "../../jobs/worker.ts";
import type { Store, Value } from "../../store/port.ts";
import { deleteArtifacts } from "./artifacts.ts";
import { setState } from "./environments.ts";
import { finish, inherit, play } from "./progress.ts";
import { stopEnvironment, stopJobOf } from "./stopping.ts";

/** How often it is looked for what is due, in milliseconds. */
const EVERY = 5000;
const JOB = { name: "jobs", every: EVERY };
/** Jobs that are changed at once. */
const BATCH = 100;
/** A job whose runner has said nothing for so long has failed, in milliseconds. */
const SILENT = 3_600_000;

/**
 * Jobs that wait for a pipeline which is not there any more, however it was deleted. GitLab cancels pipelines before it
 * deletes them, which their jobs above inherit.
 */
const ABANDONED = `kind = 'bridge' and status = 'running'
  and not exists (select 1 from downstream_pipelines d where d.job_id = ci_jobs.id)
  and not exists (select 1 from mirrored_pipelines m where m.job_id = ci_jobs.id)`;

/** Jobs that are due, with their projects. */
type Due = readonly {
  readonly id: number;
  readonly project_id: number;
  readonly pipeline_id: number;
  readonly status: string;
}[];

/**
 * Does what time brings: starts delayed jobs, ends jobs that have run for too long or of whose runner nothing is heard,
 * and those that wait for a pipeline which was deleted, stops environments, and deletes artifacts that have expired.
 *
 * @param now epoch milliseconds
 */
export async function doDue(store: Store, now: number): Promise<void> {
  const find = (where: string, values: readonly Value[]) =>
    store.all<Due[number]>(
      `select id, project_id, pipeline_id, status from ci_jobs where ${where} limit ${BATCH}`,
      values,
    ) as Promise<Due>;
  for (const job of await find("status = 'scheduled' and scheduled_at <= ? order by scheduled_at", [
    now,
  ])) {
    await store.transaction(
      async (db) => {
        db.lock(job.project_id);
        const [still] = await db.rows(
          "select 1 from ci_jobs where id = ? and status = 'scheduled'",
          [job.id],
        );
        if (still) await play(db, job, undefined, now);
      },
      { shared: true },
    );
  }
  const running = "status in ('running', 'canceling')";
  const isOver = `${running} and (updated_at <= ? or started_at + timeout * 1000 <= ?) and kind = 'build'`;
  for (const job of await find(isOver, [now - SILENT, now])) {
    await store.transaction(
      async (db) => {
        db.lock(job.project_id);
        const [still] = await db.rows(
          `select started_at + timeout * 1000 from ci_jobs where id = ? and ${isOver}`,
          [job.id, now - SILENT, now],
        );
        if (!still) return;
        const isLong = (still[0] as number) <= now;
        const failureReason = isLong ? "job_execution_timeout" : "stuck_or_timeout_failure";
        await finish(db, job, { status: "failed", failureReason }, now);
      },
      { shared: true },
    );
  }
  for (const job of await find(ABANDONED, [])) {
    await store.transaction(
      async (db) => {
        db.lock(job.project_id);
        const [still] = await db.rows(`select 1 from ci_jobs where id = ? and ${ABANDONED}`, [
          job.id,
        ]);
        if (still) await inherit(db, job, "canceled", now);
      },
      { shared: true },
    );
  }
  await stopEnvironments(store, now);
  const expired = await find("artifacts_expire_at is not null and artifacts_expire_at <= ?", [now]);
  if (expired.length === 0) return;
  await store.transaction(
    (db) =>
      deleteArtifacts(
        db,
        expired.map(({ id }) => id),
      ),
    { shared: true },
  );
}

/** Stops environments whose time has come; some only if there is a job that does it. */
async function stopEnvironments(store: Store, now: number): Promise<void> {
  const isDue = "auto_stop_at is not null and auto_stop_at <= ? and state = 'available'";
  const due = await store.all<{ id: number; project_id: number }>(
    `select id, project_id from environments where ${isDue} order by auto_stop_at limit ${BATCH}`,
    [now],
  );
  for (const environment of due) {
    await store.transaction(
      async (db) => {
        db.lock(environment.project_id);
        const [still] = await db.rows(
          `select auto_stop_setting from environments where id = ? and ${isDue}`,
          [environment.id, now],
        );
        if (!still) return;
        const job = await stopJobOf(db, environment);
        if (job || still[0] === "always") {
          await stopEnvironment(db, environment, job, undefined, now);
        } else {
          await setState(db, environment.id, "available", now);
        }
      },
      { shared: true },
    );
  }
}

/** Does {@link doDue} again and again, in one of the processes that share a database. @returns what stops it */
export const watchJobs = ({ store, now, leases, onError }: Working): Service =>
  repeat(() => runPeriodic({ store, now, leases }, JOB, () => doDue(store, now())), EVERY, onError);
