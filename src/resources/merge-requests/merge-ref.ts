import type { Caller } from "../../core/access/caller.ts";
import type { Source } from "../../core/access/source.ts";
import { ApiError } from "../../core/errors.ts";
import type { PrepareContext } from "../../core/resource.ts";
import { commitNumber, readCommit } from "../../git/commits.ts";
import { Draft } from "../../git/draft.ts";
import { mergeCommits } from "../../git/merge-commits.ts";
import { Packs } from "../../git/packs.ts";
import { applyPush } from "../../git/push.ts";
import { mergeNameOf } from "../../git/refs.ts";
import { mergeStateOf } from "../issuables/merge-checks.ts";
import { signatureOf } from "../repositories/write.ts";
import { checkCodeOf, openCode } from "./code.ts";

/** What the route is prepared with. */
type Preparing = Pick<PrepareContext<Caller>, "db" | "store" | "caller" | "now"> & {
  readonly source: Source;
};

/** Attempts, if others change the repository meanwhile. */
const ATTEMPTS = 5;

/**
 * Merges a merge request as if it were accepted now, and keeps the result as `refs/merge-requests/…/merge`. The target
 * branch stays as it is.
 *
 * @returns the name of the commit, in hex
 * @throws ApiError 404 if there is no such merge request, 400 if it can't be merged
 */
export async function storeMergeRef(preparing: Preparing, iid: number): Promise<string> {
  for (let left = ATTEMPTS; left > 0; left -= 1) {
    const commit = await tryToStore({ ...preparing, db: preparing.store.reader() }, iid);
    if (commit !== undefined) return commit;
  }
  throw impossible();
}

const impossible = () => new ApiError(400, { message: "Merge request is not mergeable" });

/** @returns `undefined` if others have changed the repository meanwhile */
async function tryToStore(preparing: Preparing, iid: number): Promise<string | undefined> {
  const { db, store, caller, now } = preparing;
  const name = mergeNameOf(iid);
  const { request, opened, target, version } = await openCode(preparing, iid, [name]);
  await checkCodeOf(preparing, request.id);
  const { status } = await mergeStateOf(db, request.id, undefined);
  const isOpen = request.state === "opened";
  const { sha } = request;
  if (!isOpen || status !== "can_be_merged" || !target || !version || !opened.row || !sha) {
    throw impossible();
  }
  const { repository, row } = opened;
  const parents = [target.oid, sha];
  const [ours, theirs] = parents.map((oid) => commitNumber(repository, oid)) as [number, number];
  const known = opened.refs.get(name)?.oid;
  const stored = known === undefined ? undefined : commitNumber(repository, known);
  if (stored !== undefined) {
    const before = await readCommit(repository, stored);
    if (before.parents.join() === parents.join()) return known;
  }
  const draft = new Draft(repository);
  const { tree } = await mergeCommits(repository, draft, ours, theirs);
  const by = await signatureOf(db, request.author_id ?? caller.id, now);
  const message = `Merge ${sha} into ${target.oid}`;
  const to = draft.addCommit({ tree, parents, author: by, committer: by, message });
  const push = await draft.push([{ name, from: known, to }], row.version, Packs.of(store), now);
  const isDone = await store.transaction(
    async (tx) => {
      tx.lock(preparing.source.id);
      const [outcome] = await applyPush(tx, row.id, push, undefined);
      return outcome?.problem === undefined;
    },
    { shared: true },
  );
  return isDone ? to : undefined;
}
