import type { Caller, Person } from "../../core/access/caller.ts";
import { findVisible } from "../../core/access/source.ts";
import { ApiError, unauthorized } from "../../core/errors.ts";
import { Retries } from "../../core/http/retries.ts";
import type { Tier } from "../../core/resource.ts";
import { dayOf } from "../../core/time.ts";
import { queueNotification } from "../../jobs/notifications.ts";
import type { Awaitable, Reader, Store } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { hasHeadSucceeded } from "../ci/heads.ts";
import { COLUMNS, type Issuable } from "../issuables/queries.ts";
import { mayMergeRequest } from "../protected-refs/abilities.ts";
import { orDiscard } from "../repositories/write.ts";
import { applyMerge, type MergeInput, noteRefusal, requireReady, stageMerge } from "./merge.ts";

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
    if (error.status !== 401) return;
    await settings.store.transaction(async (db) => {
      const at = settings.now();
      const [people] = await db.rows(
        "select author_id, auto_merge_user_id from merge_requests where id = ?",
        [id],
      );
      const about = [...new Set(people as (number | null)[])].filter((user) => user !== null);
      await updateRow(db, "merge_requests", id, { auto_merge: 0 }, at);
      const notice = { notice: "auto_merge_aborted", request: id, by: null, at, about } as const;
      await queueNotification(db, notice, at);
    });
  }
}

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
  if (!waiting || !(await hasHeadSucceeded(db, id))) return;
  const { project_id, iid, sha } = waiting;
  const caller = await mergerOf(db, id);
  const viewer = { caller, today: dayOf(now) };
  const source = caller && (await findVisible(db, "project", String(project_id), viewer));
  if (!caller || !source) throw new ApiError(401, { message: "401 Unauthorized" });
  const input: MergeInput = {
    ...(JSON.parse(waiting.merge_params ?? "{}") as Partial<MergeInput>),
    merge_request_iid: iid,
    sha: sha ?? undefined,
  };
  const acting = { store, source, caller, viewer, tier, now, view: { base } };
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
