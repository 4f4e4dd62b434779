import { notFound } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { Json, routes } from "../../core/resource.ts";
import { isoInstant } from "../../core/time.ts";
import { queued, queues, retry } from "../../jobs/outbox.ts";

// What `pm-cli jobs` tells and does, for the pages of administrators: these routes have no address.

const { get, post } = routes();

/** So many tasks are shown: those that were given up first. */
const MOST = 100;
/** So much of what a worker knows about a task is shown. */
const MOST_CHARACTERS = 200;

const instant = (at: number | null) => (at === null ? null : isoInstant(at));

/** The queues of all workers, and the tasks in them. */
export const BACKGROUND = get("/background", {
  summary: "Tell of background work",
  access: "admin",
  input: {
    worker: param.unlessBlank(param.anyText()),
    state: param.optional(param.choice(["waiting", "running", "failed"])),
  },
  handle: async ({ db, input, now }) => {
    const [workers, tasks] = [await queues(db, now), await queued(db, input, MOST, now)];
    return new Json({
      workers: workers.map(({ oldestAt, seenAt, failingSince, ...one }) => ({
        ...one,
        oldest_at: instant(oldestAt),
        seen_at: instant(seenAt),
        failing_since: instant(failingSince),
      })),
      tasks: tasks.map(({ id, worker, state, attempts, dueAt, error, stuck, payload }) => ({
        ...{ id, worker, state, attempts, error: stuck ?? error, due_at: instant(dueAt) },
        about: payload.slice(0, MOST_CHARACTERS),
      })),
    });
  },
});

/** Tries a task, or all of a worker, again at once. */
export const RETRY = post("/background/retry", {
  summary: "Retry waiting and given-up tasks at once",
  access: "admin",
  input: {
    worker: param.unlessBlank(param.anyText()),
    task_id: param.unlessBlank(param.recordId()),
  },
  handle: async ({ db, input: { worker, task_id: id } }) => {
    const tasks = await retry(db, { worker, id });
    if (id !== undefined && tasks === 0) throw notFound("Task");
    return new Json({ tasks });
  },
});
