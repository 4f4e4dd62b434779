import { commitId, readCommit, type Signature } from "./commits.ts";
import { treeNameOf } from "./contents.ts";
import type { Draft } from "./draft.ts";
import { logOf } from "./log.ts";
import { mergeTrees } from "./merge.ts";
import { repeatedCommits, treeBefore } from "./patch-ids.ts";

/** Commits that are made again at most. */
const MOST_COMMITS = 1000;
/** Bytes of the objects of all of them, which are in memory until they are pushed. */
const MOST_BYTES = 128 * 1024 * 1024;

/**
 * Makes the commits of a branch again on top of another commit, as `git rebase` does: in one line, without merges,
 * without what is there already, and without what changes nothing any more.
 *
 * @param draft gets the new commits
 * @param head the number of the branch's commit
 * @param onto the number of the commit that they are to follow
 * @param committer of the new commits; their authors stay
 * @returns the name of the last commit, in hex; `undefined` if there are conflicts, or too many commits
 */
export async function rebase(
  draft: Draft,
  head: number,
  onto: number,
  committer: Signature,
): Promise<string | undefined> {
  const { repository, budget } = draft;
  const log = logOf(repository, {
    from: [head],
    not: [onto],
    isWithoutMerges: true,
    order: "topo",
  });
  const listed = await log.first(repository, MOST_COMMITS + 1);
  if (listed.length > MOST_COMMITS) return undefined;
  const commits = listed.toReversed();
  const repeated = await repeatedCommits(repository, commits, { from: onto, not: head }, budget);
  let last = { oid: commitId(repository, onto), tree: treeNameOf(repository, onto) };
  for (const number of commits) {
    if (repeated.has(number)) continue;
    const commit = await readCommit(repository, number);
    if (commit.parents[0] === last.oid) {
      last = { oid: commit.id, tree: commit.tree };
      continue;
    }
    const before = treeBefore(repository, number);
    const { tree, conflicts } = await mergeTrees(draft, before, last.tree, commit.tree);
    if (conflicts.size > 0 || draft.bytes > MOST_BYTES) return undefined;
    if (tree === last.tree && before !== commit.tree) continue;
    const { author, message } = commit;
    last = {
      oid: draft.addCommit({ tree, parents: [last.oid], author, committer, message }),
      tree,
    };
    if (budget.isDue) await budget.pause();
  }
  return last.oid;
}
