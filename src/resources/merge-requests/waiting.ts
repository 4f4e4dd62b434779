import type { Caller, Person } from "../../core/access/caller.ts";
import { findVisible } from "../../core/access/source.ts";
import { ApiError, unauthorized } from "../../core/errors.ts";
import { Retries } from "../../core/http/retries.ts";
import type { Tier } from "../../core/resource.ts";
import { dayOf } from "../../core/time.ts";
import { queueNotification } from "../../jobs/notifications.ts";
import type { Awaitable, Reader, Store } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { hasHeadSucceeded, isHeadActive } from "../ci/heads.ts";
import { happened } from "../issuables/change.ts";
import { mergeStateOf } from "../issuables/merge-checks.ts";
import { MERGE_REQUEST } from "../issuables/merge-request.ts";
import { addNote } from "../issuables/notes.ts";
import { COLUMNS, type Issuable } from "../issuables/queries.ts";
import type { Writing } from "../issuables/type.ts";
import { mayMergeRequest } from "../protected-refs/abilities.ts";
import { orDiscard } from "../repositories/write.ts";
import {
  carOf,
  enterTrain,
  isFirst,
  LEFT_TRAIN,
  leaveTrain,
  noteMerging,
  trainSettingsOf,
} from "../train-state/cars.ts";
import { checkCodeOf } from "./code.ts";
import {
  applyMerge,
  type MergeInput,
  noteRefusal,
  requireReady,
  stageMerge,
  type WaitingFor,
} from "./merge.ts";
import * as requests from "./queries.ts";

/** What merging without a request needs. */
export interface MergingLater {
  readonly store: Store;
  readonly now: () => number;
  readonly tier: Tier;
  /** The public address, without a trailing slash; `""` if it is not known. */
  readonly base: string;
}

/** A merge request that waits to be merged. */
interface Waiting extends Issuable {
  readonly sha: string | null;
  /** What was asked for, as JSON text. */
  readonly merge_params: string | null;
}

const retries = new Retries();

/**
 * Merges a merge request that waits for it, as the user who wanted it, if it is ready now. It waits no longer if they may
 * not merge it any more.
 */
export async function mergeWaiting(settings: MergingLater, id: number): Promise<void> {
  const first = await waitingRequest(settings.store.reader(), id);
  if (!first) return;
  try {
    await retries.run(String(first.project_id), mergeWaiting, () => attempt(settings, id));
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status !== 401) {
      // What can't be merged when it is its turn must not hold up the others.
      if (await isTurnOf(settings.store.reader(), first.id))
        await derail(settings, first, UNMERGEABLE);
      return;
    }
    await settings.store.transaction(async (db) => {
      const at = settings.now();
      db.lock(first.project_id);
      const [people] = await db.rows(
        "select author_id, auto_merge_user_id from merge_requests where id = ?",
        [id],
      );
      const about = [...new Set(people as (number | null)[])].filter((user) => user !== null);
      await updateRow(db, "merge_requests", id, { auto_merge: 0 }, at);
      await leaveTrain(db, id, at);
      const notice = { notice: "auto_merge_aborted", request: id, by: null, at, about } as const;
      await queueNotification(db, notice, at);
    });
  }
}

const UNMERGEABLE = "merge request is not mergeable";

async function isTurnOf(db: Reader, id: number): Promise<boolean> {
  const car = await carOf(db, id);
  return car !== undefined && isFirst(db, id, car);
}

/** Takes a merge request out of its merge train, which then does not wait for it, and notes why. */
export async function derail(
  { store, now }: Pick<MergingLater, "store" | "now">,
  { id, project_id }: Pick<Waiting, "id" | "project_id">,
  reason: string,
): Promise<void> {
  await store.transaction(async (db) => {
    const at = now();
    db.lock(project_id);
    const car = await carOf(db, id);
    if (!car) return;
    await leaveTrain(db, id, at);
    await updateRow(db, "merge_requests", id, { auto_merge: 0 }, at);
    const note = { project_id, id, author_id: car.user_id, system: true };
    await addNote(db, MERGE_REQUEST, { ...note, body: `${LEFT_TRAIN} because ${reason}` }, at);
  });
}

/**
 * Puts a merge request that waits for it into its merge train, if it is ready.
 *
 * @returns whether it is in the train, and its turn
 */
async function board(acting: Acting, waiting: Waiting & requests.Branches): Promise<boolean> {
  const { store, source, now } = acting;
  const db = store.reader();
  const { id } = waiting;
  if (!(await carOf(db, id))) {
    await checkCodeOf({ ...acting, db }, id);
    const isReady = async (reader: Reader) =>
      (await hasHeadSucceeded(reader, id)) && !(await mergeStateOf(reader, id, acting)).failed;
    if (!(await isReady(db))) return false;
    await store.transaction(async (tx) => {
      tx.lock(source.id);
      if ((await carOf(tx, id)) || !(await waitingRequest(tx, id)) || !(await isReady(tx))) return;
      const note = await enterTrain(tx, waiting, acting.caller.id, now);
      await happened({ ...acting, db: tx }, MERGE_REQUEST, waiting, { note });
    });
  }
  const isTurn = await isTurnOf(store.reader(), id);
  if (!isTurn || (await isHeadActive(db, id))) return false;
  const { merge_trains_enabled } = await trainSettingsOf(db, source.id);
  if (!merge_trains_enabled) await derail({ store, now: () => now }, waiting, DISABLED);
  else if (await hasHeadSucceeded(db, id)) return true;
  else await derail({ store, now: () => now }, waiting, FAILED);
  return false;
}

const DISABLED = "project disabled merge trains";
/** Why what fails its pipeline leaves its merge train. */
export const FAILED = "pipeline did not succeed";

/** What a merge is made with that nobody asks for now. */
type Acting = Omit<Writing, "db"> & { readonly store: Store; readonly tier: Tier };

function waitingRequest(db: Reader, id: number): Awaitable<Waiting | undefined> {
  return db.one<Waiting>(
    `select ${COLUMNS.merge_request}, 1 as visible, 0 as assigned, mr.sha, mr.merge_params
     from merge_requests mr where mr.id = ? and state = 'opened' and auto_merge = 1`,
    [id],
  );
}

/** @throws ApiError 401 if whoever wanted the merge may not merge any more; others if it is not ready yet */
async function attempt({ store, now: clock, tier, base }: MergingLater, id: number): Promise<void> {
  const db = store.reader();
  const now = clock();
  const waiting = await waitingRequest(db, id);
  if (!waiting) return;
  const wanted = JSON.parse(waiting.merge_params ?? "{}") as WaitingFor;
  if (wanted.train !== true && !(await hasHeadSucceeded(db, id))) return;
  const { project_id, iid, sha } = waiting;
  const caller = await mergerOf(db, id);
  const viewer = { caller, today: dayOf(now) };
  const source = caller && (await findVisible(db, "project", String(project_id), viewer));
  if (!caller || !source) throw new ApiError(401, { message: "401 Unauthorized" });
  const input: MergeInput = {
    ...wanted,
    merge_request_iid: iid,
    sha: sha ?? undefined,
  };
  const acting = { store, source, caller, viewer, tier, now, view: { base } };
  if (wanted.train === true) {
    const branches = await requests.branchesOf(db, id);
    if (!(await board(acting, { ...waiting, ...branches }))) return;
  }
  const staged = await stageMerge({ ...acting, db }, input);
  if (staged === "later") return;
  await store.transaction((db) =>
    orDiscard(staged.received, async () => {
      db.lock(project_id);
      const writing = { ...acting, db };
      const request = await waitingRequest(db, id);
      if (!request) throw new ApiError(405, { message: "405 Method Not Allowed" });
      if (!(await mayMergeRequest(db, source, request.id))) throw unauthorized();
      await requireReady(writing, request, sha ?? undefined);
      if (await noteRefusal(writing, request.id, staged)) return;
      const car = await carOf(db, id);
      if (car) await noteMerging(db, car);
      await applyMerge(writing, request, staged, input);
    }),
  );
}

/** The user who wanted a merge request to be merged, unless they are gone or blocked. */
async function mergerOf(db: Reader, id: number): Promise<Caller | undefined> {
  const user = await db.one<
    Omit<Person, "admin" | "external"> & { admin: number; external: number }
  >(
    `select u.id, u.username, u.admin, u.external from merge_requests mr
     join users u on u.id = mr.auto_merge_user_id where mr.id = ? and u.state = 'active'`,
    [id],
  );
  if (!user) return undefined;
  const { admin, external } = user;
  return {
    ...user,
    admin: admin === 1,
    external: external === 1,
    scopes: [],
    by: { kind: "host" },
  };
}
