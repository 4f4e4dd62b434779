import type { Caller } from "../../core/access/caller.ts";
import type { Source } from "../../core/access/source.ts";
import { Outdated } from "../../core/errors.ts";
import type { Draft, Signature } from "../../git/draft.ts";
import { RefusedError } from "../../git/errors.ts";
import { Packs } from "../../git/packs.ts";
import { isOutdated, type RefChange } from "../../git/push.ts";
import type { Repository, RepositoryRow } from "../../git/repository.ts";
import type { Database, Reader, Store } from "../../store/port.ts";
import { apply, type Received, receive } from "./pushes.ts";
import { impossible } from "./rules.ts";

/** A repository as a change finds it, and who makes the change. */
export interface Place {
  readonly store: Store;
  readonly project: Source;
  readonly caller: Caller;
  readonly row: RepositoryRow;
  readonly repository: Repository;
  /** The full name of the default branch, which may not exist. */
  readonly head: string;
  /** Epoch milliseconds. */
  readonly now: number;
}

/**
 * Stages new objects and changes of references, like a push of a client that sent them.
 *
 * @throws ApiError 400 if an object is not valid
 */
export async function stage(
  { store, project, caller, row, head, now }: Place,
  draft: Draft,
  changes: readonly RefChange[],
): Promise<Received> {
  try {
    const push = await draft.push(changes, row, Packs.of(store), now);
    return await receive(store, push, { project, authorId: caller.id, row, head });
  } catch (error) {
    throw error instanceof RefusedError ? impossible(error.message) : error;
  }
}

/**
 * Makes staged changes in a transaction, all of them or none.
 *
 * @throws Outdated if others have changed one of the references since
 * @throws ApiError 400 if a reference can't have its name
 */
export async function applyAll(db: Database, received: Received, now: number): Promise<void> {
  const outcomes = await apply(db, received, undefined, now);
  const outdated = outcomes.find(isOutdated);
  if (outdated) {
    throw movedOn(outdated.change.name, async () => received.push.staged?.discard());
  }
  const failed = outcomes.find(({ problem }) => problem !== undefined);
  if (failed) throw impossible(failed.problem as string);
}

/**
 * The error for a reference that others have changed meanwhile.
 *
 * @param name its full name
 * @param discard deletes what was staged
 */
export function movedOn(name: string, discard = async () => {}): Outdated {
  return new Outdated(
    impossible(`Could not update ${name}. Please refresh and try again.`),
    discard,
  );
}

/** The name and address of a user, as commits have them. */
export async function signatureOf(db: Reader, userId: number, now: number): Promise<Signature> {
  const user = await db.one<{ name: string; email: string }>(
    "select name, email from users where id = ?",
    [userId],
  );
  const { name, email } = user as { name: string; email: string };
  return { name, email, time: Math.floor(now / 1000), zone: "+0000" };
}
