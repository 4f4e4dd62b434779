import * as v from "valibot";
import { functionOption, optionsOf, readOptions } from "../core/options.ts";
import {
  isAge,
  type Purged,
  type PurgeOptions,
  purgeEvents,
  removeExpiredMembers,
  startOfRetention,
} from "../purge.ts";
import * as jobs from "../resources/meta/queries.ts";
import { type Progress, type Seed, type Seeded, seed } from "../seed.ts";
import type { AdminContext } from "./context.ts";

/** What fills a database and tidies it up. */
export interface MaintenanceAdmin {
  /**
   * Removes events older than the retention. With the retention switched off and no `olderThan`, nothing.
   *
   * @throws OptionError where `olderThan` is no age
   */
  purgeEvents(options?: PurgeOptions): Promise<Purged>;
  /**
   * Removes memberships that have run out; where they were of a project, its activity says so. They give no access from
   * their last day on, removed or not.
   */
  removeExpiredMembers(): Promise<{ members: number }>;
  /**
   * {@link purgeEvents} and {@link removeExpiredMembers}, where none of the processes that share the database did so
   * for a day. `createApp` calls it by itself unless `background` is `false`; then call it every few minutes.
   *
   * @returns `undefined` where it is not due, or another process is at it
   */
  sweepDaily(): Promise<(Purged & { members: number }) | undefined>;
  /**
   * Runs a job now and then, in one of all processes that share the database: to be called often, by each of them. A job
   * that fails is tried again within ten minutes; until it succeeds, `/-/readiness` names it in `failed_jobs`.
   *
   * @param job its name, and the milliseconds between two runs
   * @returns what `work` returned; `undefined` where it is not due, or another process is at it
   * @throws what `work` throws
   */
  runJob<T>(job: { name: string; every: number }, work: () => Promise<T>): Promise<T | undefined>;
  /** Fills the database with plain data, in one transaction. @throws SeedError */
  seed(data: Seed, onProgress?: Progress): Promise<Seeded>;
}

const DAY = 86_400_000;
/** The time a process is given for a job; after that it counts as dead, or another joins it. */
const JOB_LEASE = 3_600_000;
/** When a failed job is tried again. */
const RETRY = 600_000;

const PURGE = optionsOf({
  olderThan: v.optional(v.custom<string>(isAge, "must be a number and d, w, m or y, such as 2y")),
  dryRun: v.optional(v.boolean("must be true or false")),
  onProgress: v.optional(functionOption),
});

/** Maintenance's part of what operators do. */
export function maintenanceAdmin({ store, now, retention }: AdminContext): MaintenanceAdmin {
  const purge: MaintenanceAdmin["purgeEvents"] = async (options = {}) => {
    readOptions("purgeEvents", PURGE, options);
    const age = options.olderThan ?? retention;
    const before = age === false ? 0 : startOfRetention(age, now());
    return purgeEvents(store, before, options);
  };
  const runJob: MaintenanceAdmin["runJob"] = async ({ name, every }, work) => {
    if (!(await jobs.isDue(store, name, now()))) return undefined;
    const taken = await store.transaction((db) => jobs.takeJob(db, name, now(), now() + JOB_LEASE));
    if (!taken) return undefined;
    const end = (next: number, error: string | null) =>
      store.transaction((db) => jobs.endJob(db, name, now() + next, error));
    try {
      const result = await work();
      await end(every, null);
      return result;
    } catch (error) {
      const { message } = error instanceof Error ? error : new Error(String(error));
      await end(Math.min(every, RETRY), message.slice(0, 500)).catch(() => undefined);
      throw error;
    }
  };
  return {
    purgeEvents: purge,
    sweepDaily: () =>
      runJob({ name: "sweep", every: DAY }, async () => {
        const members = await removeExpiredMembers(store, now());
        return { ...(await purge()), members };
      }),
    runJob,
    removeExpiredMembers: async () => ({ members: await removeExpiredMembers(store, now()) }),
    seed: (data, onProgress) => seed(store, data, now(), onProgress),
  };
}
