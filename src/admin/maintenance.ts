import * as v from "valibot";
import { sweepSigningKeys } from "../auth/signing-keys.ts";
import { functionOption, optionsOf, readOptions } from "../core/options.ts";
import { sweepFiles } from "../files/sweep.ts";
import { type Tidied, tidy } from "../git/tidy.ts";
import { sweepUnheard } from "../jobs/outbox.ts";
import { type PeriodicJob, runPeriodic } from "../jobs/periodic.ts";
import { doDue } from "../resources/ci/timed.ts";
import { sweepRegistry } from "../resources/container-registry/sweep.ts";
import { removeOldLists } from "../resources/dependencies/exports.ts";
import { deleteDue } from "../resources/due-deletions.ts";
import { removeExports } from "../resources/exports/queries.ts";
import { sweepLogs } from "../resources/hooks/retention.ts";
import { tellDue } from "../resources/issues/due.ts";
import { turnIterations } from "../resources/iterations/turning.ts";
import { sweepObjects } from "../resources/lfs/sweep.ts";
import { removeEmpty } from "../resources/packages/queries.ts";
import { finishAll } from "../resources/remover.ts";
import { noteFacts } from "../resources/repositories/facts.ts";
import { sweepFetches } from "../resources/repositories/fetches.ts";
import { sweepSites } from "../resources/sites/deploy.ts";
import { tellExpiring } from "../resources/tokens/expiry.ts";
import { deactivateDormant } from "../resources/users/dormant.ts";
import type { AdminContext } from "./context.ts";
import {
  isAge,
  type Purged,
  type PurgeOptions,
  purgeEvents,
  removeExpiredMembers,
  startOfRetention,
} from "./retention.ts";

/** Cleaning up and periodic jobs. */
export interface MaintenanceAdmin {
  /**
   * Removes events older than `olderThan` or the retention; nothing if neither is set.
   *
   * @throws OptionError if `olderThan` is malformed
   */
  purgeEvents(options?: PurgeOptions): Promise<Purged>;
  /**
   * Removes expired memberships, and expired invitations of groups, which are not counted; memberships of projects are
   * recorded in the project's activity. What has expired gives no access even before it is removed.
   */
  removeExpiredMembers(): Promise<{ members: number }>;
  /**
   * Packs Git repositories again that have many packs, or commits that no branch or tag reaches any more, and deletes
   * what was replaced a day before (docs/git.md).
   */
  tidyRepositories(): Promise<Tidied>;
  /** Deletes files whose records were deleted, and those of uploads that were abandoned a day ago. */
  sweepFiles(): Promise<{ files: number }>;
  /**
   * Runs {@link purgeEvents}, {@link removeExpiredMembers}, {@link tidyRepositories} and {@link sweepFiles}, removes
   * projects and groups that were marked for deletion long enough, packages without files, container images without tags, and the old logs of
   * webhooks, deactivates dormant users if the settings say so, makes the iterations of automatic
   * cadences and rolls over those that are over, tells webhooks which access tokens expire soon, and queues mails about issues that are due, unless one
   * of the processes that share the database did so within a day. `createApp` calls it by itself unless `background`
   * is `false`; then call it every few minutes.
   *
   * @returns `undefined` if it is not due, or another process is running it
   */
  sweepDaily(): Promise<(Purged & { members: number }) | undefined>;
  /**
   * Starts the pipelines of schedules that are due; each run is started once, however many processes call this.
   * `createApp` calls it by itself unless `background` is `false`; then call it every minute.
   *
   * @returns how many pipelines were started
   */
  runSchedules(): Promise<{ pipelines: number }>;
  /**
   * Makes the pipelines that pushes, merge requests and jobs of other pipelines have asked for, and does what follows from
   * the ends of pipelines. `createApp` does it by itself unless `background` is `false`; then call it every few seconds.
   *
   * @returns how many tasks were done
   */
  runPipelines(): Promise<{ tasks: number }>;
  /**
   * Writes the archives of projects and groups that are to be exported, and reads those that are to be imported (docs/exports.md).
   * `createApp` does it by itself unless `background` is `false`; then call it every few seconds.
   *
   * @returns how many tasks were done
   */
  runArchives(): Promise<{ tasks: number }>;
  /**
   * Imports projects by URL, and updates projects from their pull mirrors where that is due, or was asked for
   * (docs/mirrors.md). `createApp` does it by itself unless `background` or `webhooks.deliver` is `false`; then call it every
   * minute.
   *
   * @returns how many updates and imports there were
   */
  updateMirrors(): Promise<{ updates: number }>;
  /**
   * Starts delayed jobs whose time has come, ends those that run for too long, and deletes artifacts that have expired.
   * `createApp` does it by itself unless `background` is `false`; then call it every few seconds.
   */
  runTimedJobs(): Promise<void>;
  /**
   * Runs a periodic job in one of the processes that share the database. Each of them should call this often. A failed
   * job is retried within ten minutes; until it succeeds, `/-/readiness` names it in `failed_jobs`.
   *
   * @param job its name and interval in milliseconds
   * @returns the result of `work`; `undefined` if it is not due, or another process is running it
   * @throws what `work` throws
   */
  runJob<T>(job: PeriodicJob, work: () => Promise<T>): Promise<T | undefined>;
}

const DAY = 86_400_000;

const PURGE = optionsOf({
  olderThan: v.optional(v.custom<string>(isAge, "must be a number and d, w, m or y, such as 2y")),
  dryRun: v.optional(v.boolean("must be true or false")),
  onProgress: v.optional(functionOption),
});

/** Creates {@link MaintenanceAdmin}. */
export function maintenanceAdmin({
  store,
  now,
  leases,
  retention,
  runSchedules,
  runPipelines,
  runArchives,
  updateMirrors,
  endTransfers,
  checkDirectories,
}: AdminContext): MaintenanceAdmin {
  const purge: MaintenanceAdmin["purgeEvents"] = async (options = {}) => {
    readOptions("maintenance.purgeEvents", PURGE, options);
    const age = options.olderThan ?? retention;
    const before = age === false ? 0 : startOfRetention(age, now());
    return purgeEvents(store, before, options);
  };
  let making = Promise.resolve(0);
  const runJob: MaintenanceAdmin["runJob"] = (job, work) =>
    runPeriodic({ store, now, leases }, job, work);
  return {
    purgeEvents: purge,
    sweepDaily: () =>
      runJob({ name: "sweep", every: DAY }, async () => {
        const members = await removeExpiredMembers(store, now());
        await deleteDue(store, now());
        await finishAll(store, now());
        await endTransfers();
        await noteFacts(store);
        await tidy(store, now());
        await store.transaction((db) => removeExports(db, now() - DAY), { shared: true });
        await removeOldLists(store, now());
        await removeEmpty(store);
        await sweepRegistry(store, now());
        await sweepObjects(store);
        await sweepSites(store, now());
        await sweepFetches(store, now());
        await sweepSigningKeys(store, now());
        await sweepFiles(store, now());
        await sweepLogs(store, now());
        await sweepUnheard(store, now());
        await tellExpiring(store, now());
        await tellDue(store, now());
        await turnIterations(store, now());
        await deactivateDormant(store, now());
        await checkDirectories();
        return { ...(await purge()), members };
      }),
    runJob,
    runSchedules: async () => ({ pipelines: await runSchedules() }),
    runPipelines: async () => {
      // Whoever calls it while it runs sees all that was asked for until then.
      making = making.then(runPipelines, runPipelines);
      return { tasks: await making };
    },
    runArchives: async () => ({ tasks: await runArchives() }),
    updateMirrors: async () => ({ updates: await updateMirrors() }),
    runTimedJobs: () => doDue(store, now()),
    tidyRepositories: () => tidy(store, now()),
    sweepFiles: async () => ({ files: await sweepFiles(store, now()) }),
    removeExpiredMembers: async () => ({ members: await removeExpiredMembers(store, now()) }),
  };
}
