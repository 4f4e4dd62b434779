import { RefusedError } from "../../git/errors.ts";
import { applyPush, type Outcome as PushOutcome } from "../../git/push.ts";
import { BRANCHES } from "../../git/refs.ts";
import { listForFetch } from "../../git/remote.ts";
import { create } from "../../git/repository.ts";
import type { Task } from "../../jobs/outbox.ts";
import type { Service } from "../../jobs/services.ts";
import { type Outcome, startWorker, type WorkerSettings, workOff } from "../../jobs/worker.ts";
import { updateRow } from "../../store/update.ts";
import { Budget } from "../../turns/budget.ts";
import {
  branchesAndTags,
  type Fetched,
  type Fetching,
  fetchSome,
} from "../fetched-changes/fetch.ts";
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
import { protectDefault } from "../protected-refs/changes.ts";
import { factsOf, setMain } from "../repositories/facts.ts";
import { mainChange } from "../repositories/pushes.ts";
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
  // The default branch is among those that are brought first.
  let open = branchesAndTags(listed).sort(
    (a, b) => Number(b === listed.head) - Number(a === listed.head),
  );
  const left: PushOutcome[] = [];
  for (;;) {
    const outcomes = await fetchSome(fetching, open, (fetched) => apply(fetching, fetched));
    if (outcomes.length === 0) break;
    left.push(...outcomes.filter(({ problem }) => problem !== undefined));
    const settled = new Set(outcomes.map(({ change }) => change.name));
    open = open.filter((name) => !settled.has(name));
  }
  const lines = left.map(({ change, problem }) => `${change.name} (${problem})`);
  return leftOut([["Some refs could not be imported:", lines]]);
}

/** Makes changes without what follows from pushes: the feed, webhooks and pipelines are not told. */
async function apply(
  { store, now, projectId, budget }: Fetching,
  { head, isEmpty, ...push }: Fetched,
): Promise<readonly PushOutcome[]> {
  const main = mainChange(push, head, isEmpty);
  const facts = main?.to === undefined ? undefined : await factsOf(push.repository, main.to);
  return store.transaction(
    async (db) => {
      db.lock(projectId);
      const repositoryId = await create(db, projectId, "code");
      const outcomes = await applyPush(db, repositoryId, push, undefined, budget);
      const isMade = outcomes.some(({ change, problem }) => change === main && !problem);
      if (main && facts && isMade) {
        if (isEmpty) {
          const branch = main.name.slice(BRANCHES.length);
          await updateRow(db, "projects", projectId, { default_branch: branch }, now());
          await protectDefault(db, projectId, branch, now());
        }
        await setMain(db, repositoryId, facts);
      }
      return outcomes;
    },
    { shared: true },
  );
}
