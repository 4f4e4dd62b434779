import type { Budget } from "../turns/budget.ts";
import { compareTrees, type FileChange } from "./changes.ts";
import { StoredObjects, treeNameOf } from "./contents.ts";
import { Lru } from "./lru.ts";
import type { PackReader } from "./packs.ts";
import { shownChanges } from "./patches.ts";
import { withRenames } from "./renames.ts";
import type { Repository } from "./repository.ts";

/** Changed files that are looked for at most. */
const MOST_FILES = 10_000;

const CACHE = 16 * 1024 * 1024;
/** What an entry of the cache takes besides its texts. */
const OVERHEAD = 200;

/** The changes between pairs of trees, which never change, by repositories' packs. */
const known = new WeakMap<PackReader, Lru<string, readonly FileChange[]>>();

/**
 * The files that changed from one commit to another, by path: the new one of those that were renamed.
 *
 * @param from the number of a commit; `undefined` for nothing
 */
export async function compareCommits(
  repository: Repository,
  from: number | undefined,
  to: number,
  budget: Budget,
): Promise<readonly FileChange[]> {
  const cache = known.get(repository.packs) ?? new Lru<string, readonly FileChange[]>(CACHE);
  known.set(repository.packs, cache);
  const before = from === undefined ? undefined : treeNameOf(repository, from);
  const after = treeNameOf(repository, to);
  const key = `${before} ${after}`;
  const found = cache.get(key);
  if (found) return found;
  const objects = new StoredObjects(repository, budget);
  const { list } = await compareTrees(objects, before, after, MOST_FILES);
  const changes = await withRenames(objects, list.slice(0, MOST_FILES), { allowEmpty: true });
  const characters = changes.reduce(
    (sum, { from, to }) => sum + (from?.path.length ?? 0) + (to?.path.length ?? 0),
    0,
  );
  cache.set(key, changes, characters + OVERHEAD * (1 + changes.length));
  return changes;
}

/** The files that changed from one commit to another, as they are shown. */
export async function changesBetween(
  repository: Repository,
  from: number | undefined,
  to: number,
  budget: Budget,
): Promise<readonly FileChange[]> {
  return shownChanges(await compareCommits(repository, from, to, budget));
}
