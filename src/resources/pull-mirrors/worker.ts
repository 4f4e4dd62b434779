import type { Caller, Person } from "../../core/access/caller.ts";
import { type Source, sourcesById } from "../../core/access/source.ts";
import { BEING_DELETED } from "../../core/access/visibility.ts";
import { dayOf } from "../../core/time.ts";
import { commitId, commitNumber } from "../../git/commits.ts";
import { RefusedError } from "../../git/errors.ts";
import { LIMITS } from "../../git/limits.ts";
import { Packs } from "../../git/packs.ts";
import { Input } from "../../git/pkt-line.ts";
import {
  type CheckedChange,
  isOutdated,
  type Outcome as PushOutcome,
  type RefChange,
} from "../../git/push.ts";
import type { StagedPack } from "../../git/receive.ts";
import { type Before, receiveChanges } from "../../git/receive-pack.ts";
import { BRANCHES, listRefsBelow, TAGS } from "../../git/refs.ts";
import { fetchFrom, listForFetch, type RemoteRefs } from "../../git/remote.ts";
import type { Repository } from "../../git/repository.ts";
import { Shown } from "../../git/shown.ts";
import type { Task } from "../../jobs/outbox.ts";
import { repeat, type Service } from "../../jobs/services.ts";
import { type Outcome, startWorker, type WorkerSettings, workOff } from "../../jobs/worker.ts";
import type { Reader } from "../../store/port.ts";
import { Budget } from "../../turns/budget.ts";
import { mostImportBytes, mostPushBytes } from "../application-settings/sizes.ts";
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
import { isLikeAnOid, MIRROR_REFUSAL, mayMirror } from "../protected-refs/abilities.ts";
import { findRecord, openRecord } from "../repositories/open.ts";
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
/** Commits that a remote is told are here, at most. */
const MOST_HAVES = 10_000;
/** How many commits before a branch's newest one the last of these may be. */
const FARTHEST = 1024;
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

/** A project, and who its changes are of. */
interface Place {
  readonly project: Source;
  readonly caller: Caller;
}

/** The project of a mirror for the user who has set it up; `undefined` if it may not be updated for them. */
async function placeOf(
  db: Reader,
  { project_id, user_id }: mirrors.PullMirror,
  now: number,
): Promise<Place | undefined> {
  const user = await db.one<
    Omit<Person, "admin" | "external"> & { admin: number; external: number }
  >(
    "select u.id, u.username, u.admin, u.external from users u where u.id = ? and u.state = 'active'",
    [user_id],
  );
  if (!user) return undefined;
  const person = { ...user, admin: user.admin === 1, external: user.external === 1 };
  const caller: Caller = { ...person, scopes: [], by: { kind: "host" } };
  const viewer = { caller, today: dayOf(now) };
  const project = (await sourcesById(db, "project", [project_id], viewer)).get(project_id);
  const mayUpdate = project && project.visibility > BEING_DELETED && mayMirror(project);
  return mayUpdate ? { project, caller } : undefined;
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
  const names = [...listed.refs.keys()].filter(
    (name) => name.startsWith(BRANCHES) || name.startsWith(TAGS),
  );
  const choice = {
    onlyProtected: mirror.only_mirror_protected_branches === 1,
    pattern: mirror.mirror_branch_regex,
  };
  const isMirrored = await mirroredAmong(db, mirror.project_id, choice, names);
  const updating = { ...place, settings, mirror, listed, signal, budget };
  return leftOut(sectionsOf(await pullAll(updating, names.filter(isMirrored))));
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
async function pullSome(
  { settings, mirror, project, caller, listed, signal, budget }: Updating,
  names: readonly string[],
): Promise<readonly PushOutcome[]> {
  const { store, now, url: base } = settings;
  const db = store.reader();
  const { row, defaultBranch } = await findRecord(db, project.id);
  const branches = row ? await listRefsBelow(db, row.id, BRANCHES) : [];
  const tags = row ? await listRefsBelow(db, row.id, TAGS) : [];
  const here = new Map([...branches, ...tags].map(({ name, oid }) => [name, oid]));
  const wanted = names
    .map((name) => ({ name, from: here.get(name), to: listed.refs.get(name) as string }))
    .filter(({ from, to }) => from !== to)
    .slice(0, LIMITS.commands);
  if (wanted.length === 0) return [];
  const repository = await openRecord(store, row);
  const before = {
    repository,
    version: row?.version ?? 0,
    shown: new Shown(db, repository, row),
  };
  const pack = await fetchMissing(wanted, here, before, { db, listed, signal, budget });
  const input = pack && new Input(pack, budget);
  const packs = Packs.of(store);
  let staged: StagedPack | undefined;
  try {
    const received = await receiveChanges(input, wanted, before, packs, now(), budget);
    staged = received.staged;
    const changes = received.changes.map((change) => ({
      ...change,
      problem: change.problem ?? problemOf(change, mirror),
    }));
    if (changes.every(({ problem }) => problem !== undefined)) {
      await staged?.discard();
      return changes.map((change) => ({ change, problem: change.problem }));
    }
    const push = { ...received, changes, version: before.version, isAtomic: false };
    const head = (branches.length === 0 ? listed.head : undefined) ?? BRANCHES + defaultBranch;
    const prepared = await receive(store, push, project.id, { row, head, base }, budget);
    const configured = mirror.mirror_trigger_builds === 1 ? prepared.configured : new Map();
    const made = { ...prepared, configured, project, caller };
    const { outcomes, refusal } = await store.transaction(
      (writer) => apply(writer, made, "mirror", now(), budget),
      { shared: true },
    );
    if (refusal !== undefined) throw new RefusedError(refusal);
    return outcomes;
  } catch (error) {
    await staged?.discard();
    throw error;
  } finally {
    await pack?.return(undefined);
  }
}

/** Why a change is not made that could be; `undefined` if it is. Tags are as they are there, as in GitLab. */
function problemOf(
  { name, isForced }: CheckedChange,
  mirror: mirrors.PullMirror,
): string | undefined {
  if (isLikeAnOid(name)) return "its name looks like that of a commit";
  const isKept = isForced && name.startsWith(BRANCHES);
  return isKept && mirror.mirror_overwrites_diverged_branches === 0 ? DIVERGED : undefined;
}

/** Fetches the objects that changes need and that are not here. @returns a pack; `undefined` if there are none */
async function fetchMissing(
  changes: readonly (RefChange & { readonly to: string })[],
  here: ReadonlyMap<string, string>,
  { repository, shown }: Before,
  { db, listed, signal, budget }: Pick<Updating, "listed" | "signal" | "budget"> & { db: Reader },
): Promise<AsyncGenerator<Buffer> | undefined> {
  const there = [...new Set(listed.refs.values())].map((oid) => ({
    oid,
    object: repository.findHex(oid),
  }));
  const objects = there.map(({ object }) => object).filter((object) => object >= 0);
  const seen = await shown.those(objects, budget);
  const common = there.filter(({ object }) => seen.has(object)).map(({ oid }) => oid);
  const known = new Set(common);
  const wants = [...new Set(changes.map(({ to }) => to))].filter((oid) => !known.has(oid));
  if (wants.length === 0) return undefined;
  const haves = new Set<string>();
  for (const { from } of changes) {
    if (haves.size > MOST_HAVES) break;
    for (const oid of from === undefined ? [] : spreadOf(repository, from)) haves.add(oid);
    if (budget.isDue) await budget.pause();
  }
  const all = [...new Set([...haves, ...common, ...here.values()])].slice(0, MOST_HAVES);
  const limits = [LIMITS.packBytes, await mostPushBytes(db), await mostImportBytes({ db })];
  const most = Math.min(...limits.filter((limit) => limit !== undefined));
  return fetchFrom(listed, { wants, haves: all, most }, signal, budget);
}

/** A commit and some of those before it, ever farther from each other: which of them are there as well is not known. */
function spreadOf(repository: Repository, oid: string): string[] {
  const spread: string[] = [];
  let commit = commitNumber(repository, oid);
  for (let at = 0, next = 0; commit !== undefined && at <= FARTHEST; at += 1) {
    if (at === next) {
      spread.push(commitId(repository, commit));
      next = Math.max(1, 2 * at);
    }
    commit = repository.graph.parentsOf(commit)[0];
  }
  return spread;
}
