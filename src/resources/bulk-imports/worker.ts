import type { Task } from "../../jobs/outbox.ts";
import type { Service } from "../../jobs/services.ts";
import { type Outcome, startWorker, type WorkerSettings, workOff } from "../../jobs/worker.ts";
import { type MirrorSettings, mirrorWorker } from "../mirrors/updates.ts";
import { BULK_IMPORT_WORKER, type BulkImportTask } from "./queries.ts";

/** Starts the worker that imports from other GitLab servers. @throws UnavailableError if the database can't be used */
export const startBulkImports = (settings: MirrorSettings): Promise<Service> =>
  startWorker(workerOf(settings));

/** Does the imports that wait, and returns how many. */
export const importFromServers = (settings: MirrorSettings): Promise<number> =>
  workOff(workerOf(settings));

const workerOf = (settings: MirrorSettings): WorkerSettings =>
  mirrorWorker(settings, BULK_IMPORT_WORKER, (task, signal) => work(settings, task, signal));

async function work(settings: MirrorSettings, task: Task, signal: AbortSignal): Promise<Outcome> {
  const { bulkImport } = JSON.parse(task.payload) as BulkImportTask;
  // Most processes import nothing.
  const { runImport } = await import("./run.ts");
  try {
    await runImport(settings, bulkImport, signal);
    return { done: true };
  } catch (error) {
    if (signal.aborted) return "interrupted";
    throw error;
  }
}
