import * as v from "valibot";
import { notFound } from "../core/errors.ts";
import * as param from "../core/input.ts";
import { attributeOption, optionsOf, readOptions } from "../core/options.ts";
import { queued, queues, retry, type TaskState } from "../jobs/outbox.ts";
import type { AdminContext } from "./context.ts";

/** The queue of a worker. Times are ISO 8601 instants. */
export interface WorkerRecord {
  /** Its name, such as `mail`. */
  worker: string;
  /** Tasks that wait for their next attempt. */
  waiting: number;
  /** Tasks that a process is doing. */
  running: number;
  /** Tasks that were given up, until they are retried. */
  failed: number;
  /** Running tasks that seem not to end, because their process has died or they hang. */
  stuck: number;
  /** When the oldest task that was not given up was queued; `null` if there is none. */
  oldest_at: string | null;
  /** When a process that runs the worker was last seen, to the hour; `null` if never. */
  seen_at: string | null;
  /** Since when the worker can't reach the service it needs; `null` if it can. */
  failing_since: string | null;
}

/** A task of a worker. */
export interface TaskRecord {
  id: number;
  worker: string;
  /** `waiting` for its next attempt, `running`, or `failed` for good. */
  state: TaskState;
  /** What the worker knows about it, such as the id of an event. */
  payload: unknown;
  attempts: number;
  /** As an ISO 8601 instant; `null` for never. */
  next_attempt_at: string | null;
  /** When the running attempt began, as an ISO 8601 instant; `null` if none runs. */
  started_at: string | null;
  /** Why it seems that the running attempt will not end; `null` if it does not. */
  stuck: string | null;
  /** Why the last attempt failed. */
  error: string | null;
  /** As an ISO 8601 instant. */
  created_at: string;
}

/** Background work (docs/jobs.md). */
export interface JobAdmin {
  /** Returns the queues of all workers, by name. */
  listWorkers(): Promise<WorkerRecord[]>;
  /**
   * Returns queued tasks, given-up ones first.
   *
   * @param options `worker` and `state`: only these; `limit`: the maximum number, default 1000
   * @throws OptionError for an unknown state, or a limit that is not a whole number above 0
   */
  list(options?: { worker?: string; state?: TaskState; limit?: number }): Promise<TaskRecord[]>;
  /**
   * Retries tasks at once, both waiting and given-up ones.
   *
   * @param options `worker`: only its tasks; `id`: only this task. Default: all of them
   * @returns how many
   * @throws ApiError 404 for an id that is not in the queue, or is running
   */
  retry(options?: { worker?: string; id?: number }): Promise<{ tasks: number }>;
}

const STATES = ["waiting", "running", "failed"] as const satisfies TaskState[];
const name = v.optional(v.string("must be a text"));
const count = v.optional(
  v.pipe(
    v.number("give a whole number"),
    v.integer("give a whole number"),
    v.minValue(1, "must be at least 1"),
  ),
);
const LIST = optionsOf({
  worker: name,
  state: v.optional(v.picklist(STATES, 'must be "waiting" or "running" or "failed"')),
  limit: count,
});
const RETRY = optionsOf({
  worker: name,
  id: v.optional(attributeOption(param.integer({ min: 1 }))),
});

const instant = (milliseconds: number | null) =>
  milliseconds === null ? null : new Date(milliseconds).toISOString();

/** Creates {@link JobAdmin}. */
export function jobAdmin({ store, now }: AdminContext): JobAdmin {
  return {
    async listWorkers() {
      return (await queues(store, now())).map(({ oldestAt, seenAt, failingSince, ...queue }) => ({
        ...queue,
        oldest_at: instant(oldestAt),
        seen_at: instant(seenAt),
        failing_since: instant(failingSince),
      }));
    },
    async list(options = {}) {
      const { limit = 1000, ...only } = readOptions("tasks.list", LIST, options);
      const found = await queued(store, only, limit, now());
      return found.map(({ createdAt, startedAt, dueAt, payload, ...task }) => ({
        ...task,
        payload: JSON.parse(payload) as unknown,
        next_attempt_at: instant(dueAt),
        started_at: instant(startedAt),
        created_at: new Date(createdAt).toISOString(),
      }));
    },
    async retry(options = {}) {
      const only = readOptions("tasks.retry", RETRY, options);
      return store.transaction(async (db) => {
        const tasks = await retry(db, only);
        if (only.id !== undefined && tasks === 0) throw notFound("Task");
        return { tasks };
      });
    },
  };
}
