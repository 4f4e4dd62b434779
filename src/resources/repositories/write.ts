import type { Caller } from "../../core/access/caller.ts";
import { Outdated } from "../../core/errors.ts";
import type { CodeSource, PrepareContext } from "../../core/resource.ts";
import type { Signature } from "../../git/commits.ts";
import type { Draft } from "../../git/draft.ts";
import { RefusedError } from "../../git/errors.ts";
import { Packs } from "../../git/packs.ts";
import { isOutdated, type RefChange } from "../../git/push.ts";
import { create, type RepositoryRow } from "../../git/repository.ts";
import type { Database, Reader } from "../../store/port.ts";
import { type OpenRepository, openRepository } from "./open.ts";
import { apply, type Received, receive } from "./pushes.ts";
import { impossible } from "./rules.ts";

/** A repository that is about to be changed, and who changes it. */
export interface Place extends OpenRepository {
  readonly row: RepositoryRow;
  readonly caller: Caller;
  /** Epoch milliseconds. */
  readonly now: number;
}

/**
 * Opens the repository of the project that a route begins with, to change it. It is created if there is none.
 *
 * @param names what the request names commits by, as in {@link openRepository}
 */
export async function openToChange(
  preparing: PrepareContext<Caller | undefined> & { source: CodeSource },
  names: readonly string[],
): Promise<Place> {
  const { store, source, now } = preparing;
  // Routes that change repositories need a role.
  const caller = preparing.caller as Caller;
  const opened = await openRepository(preparing, names);
  if (opened.row) return { ...opened, row: opened.row, caller, now };
  await store.transaction((db) => create(db, source.id, "code"), { shared: true });
  const again = await openRepository({ store, source, db: store.reader() }, names);
  return { ...again, row: again.row as RepositoryRow, caller, now };
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
    throw new Outdated(
      impossible(`Could not update ${outdated.change.name}. Please refresh and try again.`),
      async () => received.push.staged?.discard(),
    );
  }
  const failed = outcomes.find(({ problem }) => problem !== undefined);
  if (failed) throw impossible(failed.problem as string);
}

/** The name and address of a user, as commits have them. */
export async function signatureOf(db: Reader, userId: number, now: number): Promise<Signature> {
  const user = await db.one<{ name: string; email: string }>(
    "select name, email from users where id = ?",
    [userId],
  );
  const { name, email } = user as { name: string; email: string };
  return { name, email, time: Math.floor(now / 1000), zone: 0 };
}
