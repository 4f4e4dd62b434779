import type { Caller } from "../../core/access/caller.ts";
import type { Source } from "../../core/access/source.ts";
import { ApiError, Unapplied } from "../../core/errors.ts";
import type { View } from "../../core/field.ts";
import type { Attributes } from "../../core/input.ts";
import type { Context, PrepareContext } from "../../core/resource.ts";
import { commitNumber, readCommit, type Signature } from "../../git/commits.ts";
import { Draft } from "../../git/draft.ts";
import { RefusedError } from "../../git/errors.ts";
import { Packs } from "../../git/packs.ts";
import { isOutdated, type RefChange } from "../../git/push.ts";
import type { Ref } from "../../git/refs.ts";
import type { RepositoryRow } from "../../git/repository.ts";
import type { Database, Reader, Store } from "../../store/port.ts";
import { type RefRights, rightsOf, type Via } from "../protected-refs/abilities.ts";
import { type OpenRepository, openRepository } from "./open.ts";
import { apply, type PreparedPush, type Received, receive } from "./pushes.ts";
import { impossible } from "./rules.ts";

/** A repository that is about to be changed, and who changes it. */
export interface Place extends OpenRepository {
  readonly caller: Caller;
  /** What the caller may do with the branches and tags among the names it was opened with. */
  readonly rights: RefRights;
  /** The public address. */
  readonly base: string;
  /** Epoch milliseconds. */
  readonly now: number;
  /** The repository of a relative with objects that the changes need. */
  readonly lender?: RepositoryRow | undefined;
}

/**
 * Opens the repository of the project that a route begins with, to change it.
 *
 * @param changed the full names of references that may be changed
 * @param names what the request names commits by besides, as in {@link openRepository}
 */
export async function openToChange(
  preparing: Pick<PrepareContext, "db" | "store" | "caller" | "viewer" | "now"> & {
    source: Source;
    view: Pick<View, "base">;
  },
  changed: readonly string[],
  names: readonly string[] = [],
): Promise<Place> {
  const { db, source, view, now } = preparing;
  // Routes that change repositories need a role.
  const caller = preparing.caller as Caller;
  const rights = await rightsOf(db, source, changed);
  const opened = await openRepository(preparing, [...changed, ...names]);
  return { ...opened, caller, rights, base: view.base, now };
}

/**
 * Stages new objects and changes of references, like a push of a client that sent them.
 *
 * @param target the repository's record, if it has one yet, the full name of its default branch, and the project, if there
 * is one yet
 * @throws ApiError 400 if an object is not valid
 */
export async function stagePush(
  store: Store,
  draft: Draft,
  changes: readonly RefChange[],
  target: Parameters<typeof receive>[3] & Partial<Pick<Place, "project" | "lender">>,
  now: number,
): Promise<PreparedPush> {
  try {
    const { row, project, lender } = target;
    const push = await draft.push(changes, row?.version ?? 0, Packs.of(store), now);
    return await receive(store, { ...push, lender }, project?.id, target);
  } catch (error) {
    throw error instanceof RefusedError ? impossible(error.message) : error;
  }
}

/** {@link stagePush} for a place. */
export async function stage(
  place: Place,
  draft: Draft,
  changes: readonly RefChange[],
): Promise<Received> {
  const { store, project, caller, now } = place;
  const target = { ...place, pusher: { caller, via: "api" } as const };
  return { ...(await stagePush(store, draft, changes, target, now)), project, caller };
}

/**
 * Makes staged changes in a transaction, all of them or none.
 *
 * @param via what the caller uses
 * @throws Unapplied 400 if the caller may not make one of them, a reference can't have its name, or others have changed
 * one since
 */
export async function applyAll(
  db: Database,
  received: Received,
  now: number,
  via: Via = "api",
): Promise<void> {
  const { outcomes, refusal } = await apply(db, received, via, now);
  const outdated = outcomes.find(isOutdated);
  const reason =
    refusal ??
    (outdated
      ? `Could not update ${outdated.change.name}. Please refresh and try again.`
      : outcomes.find(({ problem }) => problem !== undefined)?.problem);
  if (reason === undefined) return;
  const isOnlyOutdated = refusal === undefined && outdated !== undefined;
  const discard = async () => received.push.staged?.discard();
  throw new Unapplied(impossible(reason), isOnlyOutdated, discard);
}

/** The deletion of a branch or tag. */
interface StagedDeletion {
  readonly received: Received;
  /** When the commit was written, in epoch milliseconds; 0 for a tag of something else. */
  readonly authoredAt: number;
}

/** Stages the deletion of a branch or tag of a place. */
export async function stageDeletion(
  place: Place,
  { name, oid: from, peeled }: Ref,
): Promise<StagedDeletion> {
  const { repository } = place;
  const number = commitNumber(repository, peeled ?? from);
  const commit = number === undefined ? undefined : await readCommit(repository, number);
  const received = await stage(place, new Draft(repository), [{ name, from, to: undefined }]);
  return { received, authoredAt: 1000 * (commit?.author.time ?? 0) };
}

/**
 * Deletes a branch or tag.
 *
 * @throws ApiError 412 if its commit was written after what the client says; see {@link applyAll}
 */
export async function applyDeletion({
  db,
  prepared: { received, authoredAt },
  requireUnmodified,
  now,
}: Pick<
  Context<Attributes, Database, StagedDeletion>,
  "db" | "prepared" | "requireUnmodified" | "now"
>) {
  requireUnmodified(authoredAt);
  await applyAll(db, received, now);
  return undefined;
}

/** Does the work of a transaction. If it is refused, what was staged for it is deleted. */
export async function orDiscard<T>(
  prepared: PreparedPush | undefined,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const staged = prepared?.push.staged;
    if (!staged || !(error instanceof ApiError) || error instanceof Unapplied) throw error;
    throw new Unapplied(error, false, () => staged.discard());
  }
}

/** The name and address of a user, as commits have them. */
export async function signatureOf(db: Reader, userId: number, now: number): Promise<Signature> {
  const user = await db.one<{ name: string; email: string }>(
    "select name, coalesce(commit_email, email) as email from users where id = ?",
    [userId],
  );
  const { name, email } = user as { name: string; email: string };
  return { name, email, time: Math.floor(now / 1000), zone: 0 };
}
