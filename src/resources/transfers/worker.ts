import type { Heir } from "../../core/access/owner.ts";
import { HOME_PATH } from "../../core/access/source.ts";
import * as outbox from "../../jobs/outbox.ts";
import {
  startWorker,
  type Worker,
  type WorkerSettings,
  type Working,
  workOff,
} from "../../jobs/worker.ts";
import type { Database, Store } from "../../store/port.ts";
import * as projects from "../projects/queries.ts";
import { adopt, adoptAll, placesBelow } from "./adoption.ts";
import { mergeAll, type Promoted } from "./merging.ts";

/** The worker that ends transfers of projects with many issues or merge requests, and promotions of what many have. */
const TRANSFERS = "transfers";

/** What is transferred, and may have labels and milestones of groups it has left. */
type Transferred = { readonly project: number } | { readonly group: number };

/** Queues that what was promoted in this transaction takes the place of others. */
export function mergeLater(db: Database, promoted: Promoted, now: number): Promise<void> {
  return outbox.add(db, TRANSFERS, [promoted], now);
}

/** Queues what is left to do for what was transferred in this transaction. */
export function adoptLater(db: Database, transferred: Transferred, now: number): Promise<void> {
  return outbox.add(db, TRANSFERS, [transferred], now);
}

async function finish(
  store: Store,
  task: Transferred | Promoted,
  now: number,
  signal: AbortSignal,
) {
  if ("kind" in task) return mergeAll(store, task, signal);
  for (const place of await placesOf(store, task)) {
    const isDone = await store.transaction((db) => adopt(db, place, now));
    if (!isDone) await adoptAll(store, place, now, signal);
  }
}

async function placesOf(store: Store, transferred: Transferred): Promise<Heir[]> {
  if ("group" in transferred) return placesBelow(store, transferred.group);
  const project = await projects.find(store, transferred.project);
  if (!project) return [];
  const { id, namespace_id: namespaceId, path } = project;
  const place = { column: "project_id", id, namespaceId } as const;
  return [path === HOME_PATH ? { ...place, isHome: true } : place];
}

/** How the worker does its tasks. */
function workerOf(working: Working): WorkerSettings {
  const { store, now } = working;
  return {
    ...working,
    name: TRANSFERS,
    announced: false,
    interval: 1000,
    lanes: 1,
    grace: 0,
    work: async ({ payload }, signal) => {
      try {
        await finish(store, JSON.parse(payload) as Transferred | Promoted, now(), signal);
        return { done: true };
      } catch (error) {
        if (signal.aborted) return "interrupted";
        throw error;
      }
    },
  };
}

/** Starts the worker that ends transfers. */
export function startMover(settings: Working): Promise<Worker> {
  return startWorker(workerOf(settings));
}

/** Does what there is to do for that worker, and returns how many tasks it was. */
export function endTransfers(settings: Working): Promise<number> {
  return workOff(workerOf(settings));
}
