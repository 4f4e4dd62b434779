import * as v from "valibot";
import { functionOption, optionsOf, readOptions } from "../core/options.ts";
import type { Progress } from "../core/progress.ts";
import { type Tidied, tidy } from "../git/tidy.ts";
import { type PeriodicJob, runPeriodic } from "../jobs/periodic.ts";
import { finishAll } from "../resources/remover.ts";
import { type Seeded, seed } from "../seed/index.ts";
import type { Seed } from "../seed/input.ts";
import type { AdminContext } from "./context.ts";
import {
  isAge,
  type Purged,
  type PurgeOptions,
  purgeEvents,
  removeExpiredMembers,
  startOfRetention,
} from "./retention.ts";

/** Seeding, cleaning up and periodic jobs. */
export interface MaintenanceAdmin {
  /**
   * Removes events older than `olderThan` or the retention; nothing if neither is set.
   *
   * @throws OptionError if `olderThan` is malformed
   */
  purgeEvents(options?: PurgeOptions): Promise<Purged>;
  /**
   * Removes expired memberships; those of projects are recorded in the project's activity. Expired memberships give no
   * access even before they are removed.
   */
  removeExpiredMembers(): Promise<{ members: number }>;
  /**
   * Packs Git repositories again that have many packs, or commits that no branch or tag reaches any more, and deletes
   * what was replaced a day before (docs/git.md).
   */
  tidyRepositories(): Promise<Tidied>;
  /**
   * Runs {@link purgeEvents}, {@link removeExpiredMembers} and {@link tidyRepositories}, unless one of the processes that share the database did
   * so within a day. `createApp` calls it by itself unless `background` is `false`; then call it every few minutes.
   *
   * @returns `undefined` if it is not due, or another process is running it
   */
  sweepDaily(): Promise<(Purged & { members: number }) | undefined>;
  /**
   * Runs a periodic job in one of the processes that share the database. Each of them should call this often. A failed
   * job is retried within ten minutes; until it succeeds, `/-/readiness` names it in `failed_jobs`.
   *
   * @param job its name and interval in milliseconds
   * @returns the result of `work`; `undefined` if it is not due, or another process is running it
   * @throws what `work` throws
   */
  runJob<T>(job: PeriodicJob, work: () => Promise<T>): Promise<T | undefined>;
  /** Returns the application's metrics in Prometheus' text format, as `GET /-/metrics` (docs/metrics.md). */
  metrics(): Promise<string>;
  /** Fills the database with data, in one transaction. @throws SeedError */
  seed(data: Seed, onProgress?: Progress): Promise<Seeded>;
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
  retention,
  readMetrics,
}: AdminContext): MaintenanceAdmin {
  const purge: MaintenanceAdmin["purgeEvents"] = async (options = {}) => {
    readOptions("purgeEvents", PURGE, options);
    const age = options.olderThan ?? retention;
    const before = age === false ? 0 : startOfRetention(age, now());
    return purgeEvents(store, before, options);
  };
  const runJob: MaintenanceAdmin["runJob"] = (job, work) => runPeriodic(store, job, now, work);
  return {
    purgeEvents: purge,
    sweepDaily: () =>
      runJob({ name: "sweep", every: DAY }, async () => {
        const members = await removeExpiredMembers(store, now());
        await finishAll(store, now());
        await tidy(store, now());
        return { ...(await purge()), members };
      }),
    runJob,
    tidyRepositories: () => tidy(store, now()),
    metrics: () => readMetrics(store, now()),
    removeExpiredMembers: async () => ({ members: await removeExpiredMembers(store, now()) }),
    seed: (data, onProgress) => seed(store, data, now(), onProgress),
  };
}
