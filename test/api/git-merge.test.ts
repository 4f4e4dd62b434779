// Trees are merged as Git's own `git merge-tree` does; it must be installed.
import { describe, expect, it } from "vitest";
import { Draft } from "../../src/git/draft.ts";
import { mergeCommits } from "../../src/git/merge-commits.ts";
import { histories } from "../forms.ts";
import { changingHistory } from "./_changing-history.ts";
import { randomOf, shareWorkshop, type Workshop } from "./_git.ts";

const COMMITS = 40;
const PAIRS = 25;

let workshop: Workshop;
let git: Workshop["git"];
shareWorkshop((opened) => {
  ({ workshop, git } = opened);
});

const CONFLICT = "conflict";
/** Whether there were conflicts. */
const results = new Set<boolean>();

/** The tree that Git merges two commits to, or that there are conflicts. */
async function mergedByGit(source: string, names: readonly string[]): Promise<string> {
  const options = ["merge-tree", "--write-tree", "--no-messages"];
  try {
    return await git(source, ...options, ...names);
  } catch (error) {
    // Git then says nothing where its errors go.
    if (!String(error).endsWith(": ")) throw error;
    return CONFLICT;
  }
}

describe.each(histories(1, 3))("%s", (_, seed) => {
  it.each(["wild", "calm"])("is merged as git merge-tree does, if it is %s", async (kind) => {
    const source = `${kind}-${seed}`;
    const history = changingHistory(seed, COMMITS, kind === "calm");
    const repository = await workshop.pushed(source, history);
    const { graph } = repository;
    const draw = randomOf(seed);
    for (let pair = 0; pair < PAIRS; pair += 1) {
      const names = [`c${1 + draw(COMMITS)}`, `c${1 + draw(COMMITS)}`];
      const bases = await git(source, "merge-base", "--all", ...names).catch(() => "");
      if (bases === "") continue;
      const expected = await mergedByGit(source, names);
      const commits = (await git(source, "rev-parse", ...names)).split("\n");
      const [one = -1, other = -1] = commits.map((oid) => graph.commitOf(repository.findHex(oid)));
      const draft = new Draft(repository);
      const { tree, conflicts } = await mergeCommits(repository, draft, one, other);
      const result = conflicts.size > 0 ? CONFLICT : tree;
      expect([names, [...conflicts], result]).toEqual([names, expect.anything(), expected]);
      results.add(result === CONFLICT);
    }
  });
});

it("some could be merged, and others could not", () => {
  expect([...results].sort()).toEqual([false, true]);
});
