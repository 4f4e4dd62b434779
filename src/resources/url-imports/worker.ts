import { RefusedError } from "../../git/errors.ts";
import { listForFetch } from "../../git/remote.ts";
import type { Task } from "../../jobs/outbox.ts";
import type { Service } from "../../jobs/services.ts";
import { type Outcome, startWorker, type WorkerSettings, workOff } from "../../jobs/worker.ts";
import { Budget } from "../../turns/budget.ts";
import { bringRefs } from "../fetched-changes/bring.ts";
import { branchesAndTags } from "../fetched-changes/fetch.ts";
import { LARGE_FILES_LEFT, largeFilesLeft } from "../fetched-changes/large-files.ts";
import { placeOf } from "../fetched-changes/place.ts";
import { withCredentials, withoutStars } from "../mirrors/address.ts";
import {
  LIMIT,
  leftOut,
  type MirrorSettings,
  mirrorWorker,
  reasonOf,
  TOO_SLOW,
} from "../mirrors/updates.ts";
import * as imports from "./queries.ts";
import { purposeOf } from "./table.ts";

const MAY_NOT = "whoever has begun the import may not push any more";

/** Starts the worker that imports projects by URL. @throws UnavailableError if the database can't be used */
export const startUrlImports = (settings: MirrorSettings): Promise<Service> =>
  startWorker(workerOf(settings));

/** Does the imports that wait, and returns how many. */
export const importFromUrls = (settings: MirrorSettings): Promise<number> =>
  workOff(workerOf(settings));

const workerOf = (settings: MirrorSettings): WorkerSettings =>
  mirrorWorker(settings, imports.IMPORT_WORKER, (task, signal) => work(settings, task, signal));

async function work(settings: MirrorSettings, task: Task, signal: AbortSignal): Promise<Outcome> {
  const { store } = settings;
  const { project } = JSON.parse(task.payload) as imports.ImportTask;
  const found = await imports.findOpen(store.reader(), project);
  if (!found) return { done: true };
  await store.transaction((db) => imports.begin(db, project), { shared: true });
  const done = (status: "finished" | "failed", error: string | null): Outcome => ({
    done: true,
    follow: (db) => imports.end(db, project, status, error),
  });
  const limit = AbortSignal.timeout(LIMIT);
  try {
    const left = await bring(settings, found, AbortSignal.any([signal, limit]));
    return done("finished", left ?? null);
  } catch (error) {
    if (signal.aborted) return "interrupted";
    const reason = limit.aborted ? TOO_SLOW : reasonOf(error);
    const shown = withoutStars(found.url);
    const said = `Error importing repository ${shown} into ${found.full_path} - ${reason}`;
    return done("failed", said);
  }
}

/** Brings all branches and tags. @returns what was left out */
async function bring(
  { store, now, secrets, outgoing }: MirrorSettings,
  found: imports.UrlImport,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (!(await placeOf(store.reader(), found, now()))) throw new RefusedError(MAY_NOT);
  const budget = new Budget(signal);
  const url = withCredentials(found, purposeOf(found.project_id), secrets);
  const listed = await listForFetch({ url, allowLocal: outgoing.allowLocal }, signal, budget);
  const fetching = { store, now, projectId: found.project_id, listed, signal, budget };
  const left = await bringRefs(fetching, branchesAndTags(listed));
  return leftOut([
    ["Some refs could not be imported:", left],
    [LARGE_FILES_LEFT, (await largeFilesLeft(fetching)) ?? []],
  ]);
}
