import { FetchPlan } from "../../git/fetch-plan.ts";
import { BRANCHES, listRefsBelow, type Ref, TAGS } from "../../git/refs.ts";
import { listForPush, pushTo, type RemoteChange } from "../../git/remote.ts";
import { findRow, open, type Repository } from "../../git/repository.ts";
import { EVERYTHING } from "../../git/select.ts";
import { writePack } from "../../git/send.ts";
import type { Task } from "../../jobs/outbox.ts";
import { type Outcome, startWorker, type Worker, type WorkerSettings } from "../../jobs/worker.ts";
import type { Reader } from "../../store/port.ts";
import { Pace } from "../../turns/pace.ts";
import { withCredentials } from "../mirrors/address.ts";
import { type Choice, mirroredAmong } from "../mirrors/branches.ts";
import {
  FIRST_RETRY,
  LIMIT,
  leftOut,
  type MirrorSettings,
  mirrorWorker,
  reasonOf,
  TOO_SLOW,
  TRIES,
} from "../mirrors/updates.ts";
import { NOT_SENT, sendLargeFiles } from "./large-files.ts";
import { planMirror } from "./plan.ts";
import * as mirrors from "./queries.ts";
import { purposeOf } from "./table.ts";

/**
 * Starts the worker that pushes to mirrors what was pushed to their projects.
 *
 * @throws UnavailableError if the database can't be used
 */
export function startMirrors(settings: MirrorSettings): Promise<Worker> {
  return startWorker(workerOf(settings));
}

const workerOf = (settings: MirrorSettings): WorkerSettings =>
  mirrorWorker(settings, mirrors.MIRROR_WORKER, (task, signal) => update(settings, task, signal));

async function update(settings: MirrorSettings, task: Task, signal: AbortSignal): Promise<Outcome> {
  const { store, now, outgoing } = settings;
  const { mirror: id } = JSON.parse(task.payload) as mirrors.MirrorTask;
  const mirror = await mirrors.findEnabled(store.reader(), id);
  if (!mirror) return { done: true, follow: (db) => mirrors.drop(db, id) };
  await store.transaction((db) => mirrors.begin(db, id, now()));
  if (outgoing.isKept?.()) {
    return { done: true, follow: (db) => mirrors.end(db, id, "finished", null, now()) };
  }
  const limit = AbortSignal.timeout(LIMIT);
  try {
    const problem = await push(settings, mirror, AbortSignal.any([signal, limit]));
    const status = problem === undefined ? "finished" : "failed";
    return { done: true, follow: (db) => mirrors.end(db, id, status, problem ?? null, now()) };
  } catch (error) {
    if (signal.aborted) return "interrupted";
    const reason = limit.aborted ? TOO_SLOW : reasonOf(error);
    // Trying again in vain is left to the next push.
    if (task.attempts >= TRIES) {
      return { done: true, follow: (db) => mirrors.end(db, id, "failed", reason, now()) };
    }
    return {
      done: false,
      error: reason,
      pause: FIRST_RETRY * 2 ** (task.attempts - 1),
      follow: (db) => mirrors.end(db, id, "to_retry", reason, now()),
    };
  }
}

/** Pushes to a mirror what it lacks. @returns what it did not take */
async function push(
  { store, secrets, outgoing }: MirrorSettings,
  mirror: mirrors.Mirror,
  signal: AbortSignal,
): Promise<string | undefined> {
  const pace = new Pace(signal);
  const db = store.reader();
  const row = await findRow(db, mirror.project_id);
  if (!row) return undefined;
  const refs = await mirroredRefs(db, mirror, row.id);
  const repository = await open(store, row);
  const url = withCredentials(mirror, purposeOf(mirror.id), secrets);
  const { allowLocal } = outgoing;
  const unsent = await sendLargeFiles({ store, url, allowLocal, signal }, mirror);
  const listed = await listForPush({ url, allowLocal }, signal, pace);
  const isMirrored = await mirroredAmong(db, mirror.project_id, choiceOf(mirror), [
    ...listed.refs.keys(),
  ]);
  const { changes, diverged } = await planMirror(
    {
      repository,
      refs,
      remote: listed.refs,
      isMirrored,
      keepsDiverged: mirror.keep_divergent_refs === 1,
      mayDelete: listed.capabilities.has("delete-refs"),
    },
    pace,
  );
  const refused =
    changes.length === 0
      ? new Map<string, string>()
      : await pushTo(
          listed,
          changes,
          await packOf(repository, refs, changes, listed.refs, pace),
          signal,
          pace,
        );
  return leftOut([
    [NOT_SENT, unsent],
    ["Some refs have diverged and have not been updated on the remote:", diverged],
    [
      "Some refs have not been accepted by the remote:",
      [...refused].map(([name, reason]) => `${name} (${reason})`),
    ],
  ]);
}

/** The branches and tags that are mirrored. */
async function mirroredRefs(
  db: Reader,
  mirror: mirrors.Mirror,
  repositoryId: number,
): Promise<Ref[]> {
  const branches = await listRefsBelow(db, repositoryId, BRANCHES);
  const names = branches.map(({ name }) => name);
  const isMirrored = await mirroredAmong(db, mirror.project_id, choiceOf(mirror), names);
  const tags = await listRefsBelow(db, repositoryId, TAGS);
  return [...branches.filter(({ name }) => isMirrored(name)), ...tags];
}

const choiceOf = (mirror: mirrors.Mirror): Choice => ({
  onlyProtected: mirror.only_protected_branches === 1,
  pattern: mirror.mirror_branch_regex,
});

/** What a remote lacks of some changes; `undefined` if they are removals only. */
async function packOf(
  repository: Repository,
  list: readonly Ref[],
  changes: readonly RemoteChange[],
  remote: ReadonlyMap<string, string>,
  pace: Pace,
): Promise<(() => AsyncIterable<Buffer>) | undefined> {
  const wants = changes.flatMap(({ to }) => to ?? []);
  if (wants.length === 0) return undefined;
  const plan = new FetchPlan(
    repository,
    { head: "", list },
    {
      ...{ wants, haves: [], shallow: [], deepening: undefined, filter: EVERYTHING },
      ...{ isDone: true, waitsForDone: false, includeTags: false, progress: false },
      ...{ thin: false, ofsDeltas: true },
    },
  );
  const common = [...new Set(remote.values())].filter((oid) => plan.has(oid));
  const selection = await plan.select(common, true, pace);
  return () => writePack(selection, { ofsDeltas: true, thin: false }, pace);
}
