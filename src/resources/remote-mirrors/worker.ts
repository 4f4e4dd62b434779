import type { Outgoing } from "../../core/outgoing.ts";
import type { Secrets } from "../../core/secrets.ts";
import { RefusedError } from "../../git/errors.ts";
import { FetchPlan } from "../../git/fetch-plan.ts";
import { BRANCHES, listRefsBelow, type Ref, TAGS } from "../../git/refs.ts";
import { listForPush, pushTo, type RemoteChange, RemoteError } from "../../git/remote.ts";
import { findRow, open, type Repository } from "../../git/repository.ts";
import { EVERYTHING } from "../../git/select.ts";
import { writePack } from "../../git/send.ts";
import type { Task } from "../../jobs/outbox.ts";
import {
  type Outcome,
  startWorker,
  type Worker,
  type WorkerSettings,
  type Working,
} from "../../jobs/worker.ts";
import { ForbiddenAddress, UnknownHost } from "../../outgoing/addresses.ts";
import type { Reader } from "../../store/port.ts";
import { Pace } from "../../turns/pace.ts";
import { rulesOf } from "../protected-refs/queries.ts";
import { planMirror } from "./plan.ts";
import * as mirrors from "./queries.ts";
import { withCredentials } from "./rules.ts";

/** What the worker of mirrors needs. */
export interface MirrorSettings extends Working {
  readonly secrets: Secrets;
  readonly outgoing: Outgoing;
  /** Milliseconds between two looks at an empty queue. Default 1000. */
  readonly interval?: number | undefined;
}

/** Mirrors that a process pushes to at once. */
const LANES = 2;
const INTERVAL = 1000;
/** Milliseconds that one update may take. */
const LIMIT = 600_000;
/** Updates that fail before a mirror waits for the next push, and the first pause between them in milliseconds. */
const TRIES = 3;
const FIRST_RETRY = 60_000;
/** References that an error names. */
const MOST_NAMED = 20;

/**
 * Starts the worker that pushes to mirrors what was pushed to their projects.
 *
 * @throws UnavailableError if the database can't be used
 */
export function startMirrors(settings: MirrorSettings): Promise<Worker> {
  return startWorker(workerOf(settings));
}

function workerOf(settings: MirrorSettings): WorkerSettings {
  const { store, now, leases, onError, interval = INTERVAL } = settings;
  return {
    ...{ store, now, leases, onError },
    name: mirrors.MIRROR_WORKER,
    announced: false,
    interval,
    lanes: LANES,
    work: (task, signal) => update(settings, task, signal),
  };
}

async function update(settings: MirrorSettings, task: Task, signal: AbortSignal): Promise<Outcome> {
  const { store, now, outgoing } = settings;
  const { mirror: id } = JSON.parse(task.payload) as mirrors.MirrorTask;
  const mirror = await mirrors.findEnabled(store.reader(), id);
  if (!mirror) return { done: true };
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
    const reason = limit.aborted ? "the update took longer than ten minutes" : reasonOf(error);
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

/** Why an update failed, without secrets. @throws what is no failure of the remote */
function reasonOf(error: unknown): string {
  if (error instanceof RefusedError) return error.message;
  const isOfRemote =
    error instanceof RemoteError ||
    error instanceof ForbiddenAddress ||
    error instanceof UnknownHost;
  if (isOfRemote) return error.message;
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (
    error instanceof Error &&
    (syscall !== undefined || /^(E|CERT_|ERR_TLS|UNABLE_|SELF_|DEPTH_)/.test(code ?? ""))
  ) {
    return `the server can't be reached: ${code}`;
  }
  throw error;
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
  const url = withCredentials(mirror, secrets);
  const listed = await listForPush({ url, allowLocal: outgoing.allowLocal }, signal, pace);
  const isMirrored = await filterOf(db, mirror, [...listed.refs.keys()]);
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
  if (refused.size === 0 && diverged.length === 0) return undefined;
  return [
    ...section("Some refs have diverged and have not been updated on the remote:", diverged),
    ...section(
      "Some refs have not been accepted by the remote:",
      [...refused].map(([name, reason]) => `${name} (${reason})`),
    ),
  ].join("\n\n");
}

function section(title: string, lines: readonly string[]): string[] {
  if (lines.length === 0) return [];
  const more = lines.length > MOST_NAMED ? [`and ${lines.length - MOST_NAMED} more`] : [];
  return [title, [...lines.slice(0, MOST_NAMED), ...more].join("\n")];
}

/** The branches and tags that are mirrored. */
async function mirroredRefs(
  db: Reader,
  mirror: mirrors.Mirror,
  repositoryId: number,
): Promise<Ref[]> {
  const branches = await listRefsBelow(db, repositoryId, BRANCHES);
  const isMirrored = await filterOf(
    db,
    mirror,
    branches.map(({ name }) => name),
  );
  const tags = await listRefsBelow(db, repositoryId, TAGS);
  return [...branches.filter(({ name }) => isMirrored(name)), ...tags];
}

/** Which of some references are mirrored: of branches only some may be. */
async function filterOf(
  db: Reader,
  mirror: mirrors.Mirror,
  names: readonly string[],
): Promise<(name: string) => boolean> {
  const branchOf = (name: string) => name.slice(BRANCHES.length);
  const orTag = (fits: (branch: string) => boolean) => (name: string) =>
    !name.startsWith(BRANCHES) || fits(branchOf(name));
  if (mirror.only_protected_branches === 1) {
    const rules = await rulesOf(db, mirror.project_id, names);
    return orTag((branch) => rules.branches(branch).length > 0);
  }
  if (mirror.mirror_branch_regex === null) return () => true;
  const { readExpression } = await import("../../core/expressions.ts");
  const expression = readExpression(mirror.mirror_branch_regex);
  return orTag((branch) => expression?.fits(branch) ?? false);
}

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
