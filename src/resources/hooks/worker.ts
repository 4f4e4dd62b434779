import { setTimeout as sleep } from "node:timers/promises";
import { HOOKS } from "../../hooks/events.ts";
import { isInProgress, type Task } from "../../jobs/outbox.ts";
import {
  type Outcome,
  startWorker,
  type Worker,
  type WorkerSettings,
  type Working,
  workOff,
} from "../../jobs/worker.ts";
import {
  attempt,
  type Delivering,
  findDelivery,
  isAccepted,
  isSwitchedOff,
  isSwitchedOffForGood,
  mailOut,
  pauseAfter,
  problemOf,
  readyPayload,
  recordAttempt,
} from "./delivery.ts";
import * as hooks from "./queries.ts";

/** Hooks that a process calls at once. */
const LANES = 16;
const INTERVAL = 1000;
/** Milliseconds between two looks at whether others still call. */
const LOOK = 2;

/** The settings of the worker that calls hooks. */
export interface CallerSettings extends Working, Omit<Delivering, "now" | "store"> {
  /** Milliseconds between two looks at an empty queue, and before the first attempt is repeated. Default 1000. */
  readonly interval?: number | undefined;
}

/**
 * Starts the worker that calls hooks: each gets what it is told in order, and what it does not accept again until it does,
 * or is switched off.
 *
 * @throws UnavailableError if the database can't be used
 */
export function startHookCaller(settings: CallerSettings): Promise<Worker> {
  return startWorker(workerOf(settings));
}

/** Calls the hooks that are due, waits for calls that the worker has begun meanwhile, and returns how many it made itself. */
export async function callHooks(settings: CallerSettings): Promise<number> {
  let made = await workOff(workerOf(settings));
  while (await isInProgress(settings.store.reader(), HOOKS)) {
    await sleep(LOOK);
    made += await workOff(workerOf(settings));
  }
  return made;
}

function workerOf(settings: CallerSettings): WorkerSettings {
  const { store, now, leases, onError, interval = INTERVAL } = settings;
  return {
    ...{ store, now, leases, onError, interval },
    name: HOOKS,
    announced: false,
    ordered: true,
    lanes: LANES,
    work: (task, signal) => deliver({ ...settings, now: now() }, task, interval, signal),
  };
}

async function deliver(
  delivering: Delivering,
  task: Task,
  interval: number,
  signal: AbortSignal,
): Promise<Outcome> {
  const { store, now } = delivering;
  const { delivery: id } = JSON.parse(task.payload) as { delivery: number };
  const delivery = await findDelivery(store, id);
  const hook = delivery && (await hooks.findAny(store, delivery.hook_id));
  // Somebody may have sent it by hand since.
  if (!delivery || !hook || delivery.pending === 0) return { done: true };
  if (isSwitchedOffForGood(hook.failures)) {
    return { done: true, follow: (db) => hooks.giveUp(db, id) };
  }
  const payload = await readyPayload(delivering, hook, delivery);
  if (!payload) return { done: true, follow: (db) => hooks.forget(db, id) };
  if (payload.recipients) return { done: true, follow: (db) => mailOut(db, id, payload, now) };
  const made = await attempt(delivering, hook, payload, delivery.event_uuid, signal).catch(
    (error) => {
      if (signal.aborted) return undefined;
      throw error;
    },
  );
  if (!made) return "interrupted";
  if (isAccepted(made)) {
    return {
      done: true,
      follow: async (db) => {
        await recordAttempt(db, id, made, { isPending: false, now });
        if (hook.failures > 0) await hooks.setFailures(db, hook.id, 0, null);
      },
    };
  }
  const failures = hook.failures + 1;
  const isLast = isSwitchedOffForGood(failures);
  const pause = pauseAfter(failures, interval);
  const until = isSwitchedOff(failures) && !isLast ? now + pause : null;
  return {
    done: false,
    error: problemOf(made),
    pause,
    follow: async (db) => {
      await recordAttempt(db, id, made, { isPending: !isLast, now });
      await hooks.setFailures(db, hook.id, failures, until);
    },
  };
}
