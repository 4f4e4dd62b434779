import { type NewObjects, treeNameOf } from "./contents.ts";
import { type MergedTrees, mergeTrees } from "./merge.ts";
import { mergeBases } from "./merge-bases.ts";
import type { Repository } from "./repository.ts";

/** How many merges of merge bases are made at most. With more, the oldest merge base is used as it is. */
const MOST_MERGES = 50;

/**
 * Merges two commits, as `git merge-tree` does. If they have several merge bases, those are merged first.
 *
 * @param objects gets the objects of the result, and of merged merge bases
 * @param ours the number of a commit
 * @param theirs likewise
 */
export async function mergeCommits(
  repository: Repository,
  objects: NewObjects,
  ours: number,
  theirs: number,
): Promise<MergedTrees> {
  let merges = 0;
  /** The tree of what a commit and others together have in common; `undefined` if they have nothing. */
  const baseOf = async (
    one: number,
    others: readonly number[],
    depth: number,
  ): Promise<string | undefined> => {
    const [first, ...rest] = mergeBases(repository.graph, one, others).reverse();
    if (first === undefined) return undefined;
    const merged = [first];
    let tree = treeNameOf(repository, first);
    for (const next of rest) {
      merges += 1;
      if (merges > MOST_MERGES) break;
      const base = await baseOf(next, merged, depth + 1);
      const other = treeNameOf(repository, next);
      ({ tree } = await mergeTrees(objects, base, tree, other, depth + 1));
      merged.push(next);
    }
    return tree;
  };
  const base = await baseOf(theirs, [ours], 0);
  const [own, other] = [treeNameOf(repository, ours), treeNameOf(repository, theirs)];
  return mergeTrees(objects, base, own, other);
}
