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
   * for a day. To be called every few minutes by each of them.
   *
   * @returns `undefined` where it is not due, or another process is at it
   */
  sweepDaily(): Promise<(Purged & { members: number }) | undefined>;
  /** Fills the database with plain data, in one transaction. @throws SeedError */
  seed(data: Seed, onProgress?: Progress): Promise<Seeded>;
}

const DAY = 86_400_000;
/** The job of sweeping, and how long one is given for it: who takes longer has died, or is joined by another. */
const SWEEP = "sweep";
const SWEEP_LEASE = 3_600_000;

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
  return {
    purgeEvents: purge,
    async sweepDaily() {
      if (!(await jobs.isDue(store, SWEEP, now()))) return undefined;
      const taken = await store.transaction((db) =>
        jobs.takeJob(db, SWEEP, now(), now() + SWEEP_LEASE),
      );
      if (!taken) return undefined;
      const members = await removeExpiredMembers(store, now());
      const purged = await purge();
      await store.transaction((db) => jobs.endJob(db, SWEEP, now() + DAY));
      return { ...purged, members };
    },
    removeExpiredMembers: async () => ({ members: await removeExpiredMembers(store, now()) }),
    seed: (data, onProgress) => seed(store, data, now(), onProgress),
  };
}
