import { RefusedError } from "../../git/errors.ts";
import { type CheckedChange, isOutdated, type Outcome as PushOutcome } from "../../git/push.ts";
import { BRANCHES } from "../../git/refs.ts";
import { listForFetch, type RemoteRefs } from "../../git/remote.ts";
import type { Task } from "../../jobs/outbox.ts";
import { repeat, type Service } from "../../jobs/services.ts";
import { type Outcome, startWorker, type WorkerSettings, workOff } from "../../jobs/worker.ts";
import { Budget } from "../../turns/budget.ts";
import { branchesAndTags, type Fetching, fetchSome } from "../fetched-changes/fetch.ts";
import { LARGE_FILES_LEFT, largeFilesLeft, newestPack } from "../fetched-changes/large-files.ts";
import { type Place, placeOf } from "../fetched-changes/place.ts";
import { withCredentials } from "../mirrors/address.ts";
import { mirroredAmong } from "../mirrors/branches.ts";
import {
  LIMIT,
  leftOut,
  type MirrorSettings,
  mirrorWorker,
  reasonOf,
  TOO_SLOW,
} from "../mirrors/updates.ts";
import { MIRROR_REFUSAL } from "../protected-refs/abilities.ts";
import { apply, receive } from "../repositories/pushes.ts";
import * as mirrors from "./queries.ts";
import { purposeOf } from "./table.ts";

/** What the worker of pull mirrors needs. */
export interface PullSettings extends MirrorSettings {
  /** The public address, if it is known. */
  readonly url: string | undefined;
  /** Milliseconds that one update may take. Default {@link LIMIT}. */
  readonly limit?: number;
}

/** How often each process looks for updates that are due. */
const LOOK = 15_000;
/** How often changes are tried while others push. */
const TRIES = 3;

/**
 * Starts the worker that updates projects from their pull mirrors, and what queues these updates when they are due.
 *
 * @throws UnavailableError if the database can't be used
 */
export async function startPullMirrors(settings: PullSettings): Promise<Service> {
  const worker = await startWorker(workerOf(settings));
  const { store, now, onError } = settings;
  const looking = repeat(() => mirrors.queueDue(store, now()), LOOK, onError);
  return {
    stop: async () => {
      await looking.stop();
      await worker.stop();
    },
  };
}

/** Does the updates that are due, and returns how many. */
export async function updateFromMirrors(settings: PullSettings): Promise<number> {
  await mirrors.queueDue(settings.store, settings.now());
  return workOff(workerOf(settings));
}

const workerOf = (settings: PullSettings): WorkerSettings =>
  mirrorWorker(settings, mirrors.PULL_WORKER, (task, signal) => update(settings, task, signal));

async function update(settings: PullSettings, task: Task, signal: AbortSignal): Promise<Outcome> {
  const { store, now, outgoing } = settings;
  const { mirror: id } = JSON.parse(task.payload) as mirrors.PullTask;
  const mirror = await mirrors.findEnabled(store.reader(), id);
  if (!mirror) return { done: true, follow: (db) => mirrors.drop(db, id) };
  await store.transaction((db) => mirrors.begin(db, id, now()), { shared: true });
  const done = (error: string | null, hasFailed: boolean): Outcome => ({
    done: true,
    follow: (db) => mirrors.end(db, mirror, { error, hasFailed }, now()),
  });
  if (outgoing.isKept?.()) return done(null, false);
  const limit = AbortSignal.timeout(settings.limit ?? LIMIT);
  try {
    const problem = await pull(settings, mirror, AbortSignal.any([signal, limit]));
    return done(problem ?? null, false);
  } catch (error) {
    if (signal.aborted) return "interrupted";
    return done(limit.aborted ? TOO_SLOW : reasonOf(error), true);
  }
}

/** What an update works with. */
interface Updating extends Place {
  readonly settings: PullSettings;
  readonly mirror: mirrors.PullMirror;
  readonly listed: RemoteRefs;
  readonly signal: AbortSignal;
  readonly budget: Budget;
}

/** Updates a project from its mirror. @returns what of it was left out */
async function pull(
  settings: PullSettings,
  mirror: mirrors.PullMirror,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { store, secrets, outgoing, now } = settings;
  const db = store.reader();
  const place = await placeOf(db, mirror, now());
  if (!place) return MIRROR_REFUSAL;
  const budget = new Budget(signal);
  const url = withCredentials(mirror, purposeOf(mirror.id), secrets);
  const listed = await listForFetch({ url, allowLocal: outgoing.allowLocal }, signal, budget);
  const names = branchesAndTags(listed);
  const choice = {
    onlyProtected: mirror.only_mirror_protected_branches === 1,
    pattern: mirror.mirror_branch_regex,
  };
  const isMirrored = await mirroredAmong(db, mirror.project_id, choice, names);
  const updating = { ...place, settings, mirror, listed, signal, budget };
  const left = await pullAll(updating, names.filter(isMirrored));
  const fetching = { store, now, projectId: mirror.project_id, listed, signal, budget };
  return leftOut([...sectionsOf(left), [LARGE_FILES_LEFT, await largeFilesOf(mirror, fetching)]]);
}

/** Brings the objects of Git LFS that newer packs need. @returns those that could not be brought */
async function largeFilesOf(
  { id, large_files_until: before }: mirrors.PullMirror,
  fetching: Fetching,
): Promise<string[]> {
  const { store, projectId } = fetching;
  const until = await newestPack(store, projectId);
  if (until <= before) return [];
  const left = await largeFilesLeft(fetching, before);
  if (left?.length === 0) {
    await store.transaction((db) => mirrors.setLargeFilesUntil(db, id, until), { shared: true });
  }
  return left ?? [];
}

const DIVERGED = "diverged";

/** How an error names what was not updated. */
function sectionsOf(left: readonly PushOutcome[]): Parameters<typeof leftOut>[0] {
  const diverged = left.filter(({ problem }) => problem === DIVERGED);
  const others = left.filter(({ problem }) => problem !== DIVERGED);
  return [
    [
      "Some refs have diverged from the mirrored repository and have not been updated:",
      diverged.map(({ change }) => change.name),
    ],
    [
      "Some refs could not be updated:",
      others.map(({ change, problem }) => `${change.name} (${problem})`),
    ],
  ];
}

/** Updates references, as many at a time as a push may change. @returns those that were left as they are */
async function pullAll(updating: Updating, names: readonly string[]): Promise<PushOutcome[]> {
  const left: PushOutcome[] = [];
  let open = names;
  for (let tries = 1; ; ) {
    const outcomes = await pullSome(updating, open);
    if (outcomes.length === 0) return left;
    // Others have pushed meanwhile.
    const again = tries < TRIES ? outcomes.filter(isOutdated) : [];
    if (again.length > 0) tries += 1;
    left.push(...outcomes.filter((one) => one.problem !== undefined && !again.includes(one)));
    const settled = new Set(outcomes.map(({ change }) => change.name));
    for (const { change } of again) settled.delete(change.name);
    open = open.filter((name) => !settled.has(name));
  }
}

/** Updates the first references that are not as they are there. @returns what became of them; none if all are */
function pullSome(
  { settings, mirror, project, caller, listed, signal, budget }: Updating,
  names: readonly string[],
): Promise<readonly PushOutcome[]> {
  const { store, now, url: base } = settings;
  const fetching = { store, now, projectId: project.id, listed, signal, budget };
  return fetchSome(fetching, names, async ({ row, head, ...fetched }) => {
    const changes = fetched.changes.map((change) => ({
      ...change,
      problem: change.problem ?? problemOf(change, mirror),
    }));
    if (changes.every(({ problem }) => problem !== undefined)) {
      await fetched.staged?.discard();
      return changes.map((change) => ({ change, problem: change.problem }));
    }
    const push = { ...fetched, changes };
    const prepared = await receive(store, push, project.id, { row, head, base }, budget);
    const configured = mirror.mirror_trigger_builds === 1 ? prepared.configured : new Map();
    const made = { ...prepared, configured, project, caller };
    const { outcomes, refusal } = await store.transaction(
      (writer) => apply(writer, made, "mirror", now(), budget),
      { shared: true },
    );
    if (refusal !== undefined) throw new RefusedError(refusal);
    return outcomes;
  });
}

/** Why a change is not made that could be; `undefined` if it is. Tags are as they are there, as in GitLab. */
function problemOf(
  { name, isForced }: CheckedChange,
  mirror: mirrors.PullMirror,
): string | undefined {
  const isKept = isForced && name.startsWith(BRANCHES);
  return isKept && mirror.mirror_overwrites_diverged_branches === 0 ? DIVERGED : undefined;
}
