import { BEING_DELETED } from "../core/access/visibility.ts";
import { inBatches } from "../jobs/batches.ts";
import { type Hidden, REMOVER, removeLater } from "../jobs/removal.ts";
import {
  type Outcome,
  startWorker,
  type Worker,
  type WorkerSettings,
  type Working,
} from "../jobs/worker.ts";
import type { Store } from "../store/port.ts";
import { removeOfAuthor } from "./events/record.ts";
import { removeGroup } from "./groups/removal.ts";
import { removeIteration } from "./iterations/removal.ts";
import { removeLabel } from "./labels/removal.ts";
import { removeMilestone } from "./milestones/removal.ts";
import * as namespaces from "./namespaces/queries.ts";
import { reassign } from "./placeholders/reassigning.ts";
import { removeProjects } from "./projects/removal.ts";
import { removeUser } from "./users/removal.ts";

/** How long a worker's task takes, in milliseconds; then the next one continues. */
const PIECE_MS = 30_000;

/**
 * Deletes what is hidden, in batches, between which others can write. A later call continues where this one stopped.
 *
 * @param now epoch milliseconds
 * @throws what the signal was aborted with
 */
export async function finish(
  store: Store,
  hidden: Hidden,
  now: number,
  signal?: AbortSignal,
): Promise<void> {
  if ("project" in hidden) return removeProjects(store, [hidden.project], signal);
  if ("group" in hidden) return removeGroup(store, hidden.group, signal);
  if ("label" in hidden) return removeLabel(store, hidden.label, signal);
  if ("iteration" in hidden) return removeIteration(store, hidden.iteration, signal);
  if ("milestone" in hidden) return removeMilestone(store, hidden.milestone, signal);
  if ("placeholder" in hidden) return reassign(store, hidden.placeholder, now, signal);
  const personal = await namespaces.findPersonal(store, hidden.user);
  if (personal) await removeGroup(store, personal.id, signal);
  await inBatches(store, (db, batch) => removeOfAuthor(db, hidden.user, batch), { signal });
  return removeUser(store, hidden.user, now, signal);
}

/** Deletes what is hidden although no task says so, as after a failed one, or if no worker runs. */
export async function finishAll(store: Store, now: number): Promise<void> {
  const found = await store.rows(
    `select 'group', id from namespaces where visibility = ${BEING_DELETED} and kind = 'group'
     union all select 'project', id from projects where visibility = ${BEING_DELETED}
     union all select 'label', id from labels where removed = 1
     union all select 'milestone', id from milestones where removed = 1
     union all select 'iteration', id from iterations where removed = 1
     union all select 'user', id from users where state = 'removed'
     union all select 'placeholder', id from import_source_users where status = 'reassignment_in_progress'`,
  );
  for (const [kind, id] of found) {
    await finish(store, { [kind as string]: id } as unknown as Hidden, now);
  }
  // Of groups that are deleted now.
  const left = await store.rows(
    `select id from users u where state = 'placeholder'
       and not exists (select 1 from import_source_users s where s.placeholder_user_id = u.id)`,
  );
  for (const [id] of left) await finish(store, { user: id as number }, now);
}

/** Starts the worker that deletes what is hidden. */
export function startRemover(settings: Working): Promise<Worker> {
  const { store, now } = settings;
  const work: WorkerSettings["work"] = async ({ payload }, stopping): Promise<Outcome> => {
    const hidden = JSON.parse(payload) as Hidden;
    const piece = AbortSignal.timeout(PIECE_MS);
    try {
      await finish(store, hidden, now(), AbortSignal.any([stopping, piece]));
      return { done: true };
    } catch (error) {
      if (stopping.aborted) return "interrupted";
      if (!piece.aborted) throw error;
      return { done: true, follow: (db) => removeLater(db, hidden, now()) };
    }
  };
  return startWorker({
    ...settings,
    name: REMOVER,
    announced: false,
    interval: 1000,
    lanes: 1,
    grace: 0,
    work,
  });
}
