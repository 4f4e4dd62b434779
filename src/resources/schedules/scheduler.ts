import type { Source } from "../../core/access/source.ts";
import type { Secrets } from "../../core/secrets.ts";
import type { Edition } from "../../core/version.ts";
import { repeat, type Service } from "../../jobs/services.ts";
import type { IncludeSources } from "../../outgoing/includes.ts";
import type { Store } from "../../store/port.ts";
import {
  type Creation,
  PipelineRefusal,
  type Place,
  planCreation,
  storeFailed,
  storePipeline,
} from "../pipelines/create.ts";
import { projectFor } from "../pipelines/rules.ts";
import * as schedules from "./queries.ts";

/** What runs schedules, and where. */
export interface SchedulerSettings {
  readonly store: Store;
  readonly secrets: Secrets;
  readonly now: () => number;
  /** The public address, without a trailing slash. */
  readonly base: string;
  readonly edition: Edition;
  readonly includes: IncludeSources;
  readonly onError: (error: unknown) => void;
}

/** Schedules that are read at once. */
const BATCH = 20;
/** How often each process looks for due schedules. */
const INTERVAL_MILLISECONDS = 15_000;

/** What becomes of a run: a pipeline, or the reasons why there is none. */
type Planned = Creation | PipelineRefusal | undefined;

/**
 * Starts the pipelines of all schedules that are due. Several processes may do so at the same time: each run is started by
 * the one that moves the schedule to its next time, in the same transaction. Of several missed runs, one is made up for.
 *
 * @returns how many pipelines were started
 */
export async function runDue(settings: SchedulerSettings): Promise<number> {
  const { store, now } = settings;
  let started = 0;
  for (;;) {
    const due = await store.all<schedules.Schedule & { next_run_at: number }>(
      `select ${schedules.COLUMNS} from pipeline_schedules
       where active = 1 and next_run_at <= ? order by next_run_at, id limit ?`,
      [now(), BATCH],
    );
    for (const schedule of due) started += await run(settings, schedule);
    if (due.length < BATCH) return started;
  }
}

async function run(
  settings: SchedulerSettings,
  schedule: schedules.Schedule & { next_run_at: number },
): Promise<number> {
  const { store, secrets, now } = settings;
  const { id, project_id, owner_id, next_run_at } = schedule;
  const at = now();
  const project = owner_id === null ? undefined : await projectFor(store, project_id, owner_id, at);
  const planned = project && (await plan(settings, schedule, project));
  return store.transaction(
    async (db) => {
      db.lock(project_id);
      // Who no longer may run pipelines has no more schedules that do.
      const claimed = await db.run(
        `update pipeline_schedules set next_run_at = ?, active = ?
         where id = ? and active = 1 and next_run_at = ?`,
        [schedules.nextOf(schedule, at), project ? 1 : 0, id, next_run_at],
      );
      if (claimed === 0 || !project || !planned) return 0;
      const place = { project, userId: owner_id };
      let pipelineId: number;
      if (!(planned instanceof PipelineRefusal)) {
        pipelineId = await storePipeline(db, secrets, planned, at);
      } else if (planned.target) {
        pipelineId = await storeFailed(db, place, planned.target, planned.reasons, at);
      } else return 0;
      await schedules.noteRun(db, id, pipelineId);
      return 1;
    },
    { shared: true },
  );
}

/** Plans the pipeline of a schedule. Failures that are not the configuration's are reported. */
async function plan(
  settings: SchedulerSettings,
  schedule: schedules.Schedule,
  project: Source,
): Promise<Planned> {
  const { store, secrets, base, edition, includes, onError, now } = settings;
  try {
    const userId = schedule.owner_id;
    const at = now();
    const place = { store, db: store, secrets, project, userId, base, edition, includes, at };
    return await planOf(place, schedule);
  } catch (error) {
    if (error instanceof PipelineRefusal) return error;
    onError(error);
    return undefined;
  }
}

/**
 * Plans a pipeline of a schedule.
 *
 * @param place for whom: its owner, or who plays it
 * @throws PipelineRefusal if there is nothing to run, or the user may not
 */
export async function planOf(
  place: Place,
  schedule: Pick<schedules.Schedule, "id" | "ref" | "inputs">,
): Promise<Creation> {
  const { id, ref } = schedule;
  const variables = await schedules.variablesOf(place.db, place.secrets, id);
  const inputs = schedules.inputsOf(schedule);
  return planCreation(place, { ref, source: "schedule", scheduleId: id, variables, inputs });
}

/** Runs due schedules in the background. @returns what stops it */
export const startScheduler = (settings: SchedulerSettings): Service =>
  repeat(() => runDue(settings), INTERVAL_MILLISECONDS, settings.onError);
