// Branches are rebased as Git's own `git rebase` does; it must be installed.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseCommit, readCommit, type Signature } from "../../src/git/commits.ts";
import { Draft } from "../../src/git/draft.ts";
import { mergeCommits } from "../../src/git/merge-commits.ts";
import { rebase } from "../../src/git/rebase.ts";
import { histories, isLong } from "../forms.ts";
import { type TestApp, testApp } from "../helpers.ts";
import { changingHistory } from "./_changing-history.ts";
import { openWorkshop, randomOf, type Workshop } from "./_git.ts";

const COMMITS = 40;
const PAIRS = 4;
const CONFLICT = "conflict";
const COMMITTER: Signature = { name: "R", email: "r@example.com", time: 1_700_000_000, zone: 60 };

let app: TestApp;
let workshop: Workshop;
let git: Workshop["git"];
beforeAll(async () => {
  app = await testApp();
  workshop = await openWorkshop(app);
  ({ git } = workshop);
});
afterAll(async () => {
  await workshop.close();
  await app.dispose();
});

/** What became of each, so that none of it happens never. */
const results = { conflicts: 0, moved: 0, dropped: 0, squashed: 0 };

/** The commits of a branch, the oldest first: their trees, authors and messages. */
const COMMIT = "--format=%T %an %ae %ad %s";

/** The commits that Git makes of a branch on top of another commit. */
async function rebasedByGit(tree: string, head: string, onto: string): Promise<string[] | string> {
  await git(tree, "checkout", "--quiet", "--force", "--detach", head);
  await git(tree, "clean", "-fdxq");
  try {
    await git(tree, "rebase", "--quiet", "--no-fork-point", "--empty=drop", onto);
  } catch {
    await git(tree, "rebase", "--abort").catch(() => git(tree, "rebase", "--quit"));
    return CONFLICT;
  }
  const log = await git(
    tree,
    "log",
    "--reverse",
    "--topo-order",
    "--date=raw",
    COMMIT,
    `${onto}..`,
  );
  return log === "" ? [] : log.split("\n");
}

/** The tree of `git merge --squash`. */
async function squashedByGit(tree: string, ours: string, theirs: string): Promise<string> {
  await git(tree, "checkout", "--quiet", "--force", "--detach", ours);
  await git(tree, "clean", "-fdxq");
  try {
    await git(tree, "merge", "--quiet", "--squash", "--no-commit", theirs);
    return await git(tree, "write-tree");
  } catch {
    return CONFLICT;
  } finally {
    await git(tree, "reset", "--quiet", "--hard");
  }
}

/**
 * Adds commits `p0` to `p2` to a history, each on one of its commits: with what another commit of it changed, which half of
 * them undo again. Returns the names of both branches of each.
 */
async function withPicks(tree: string, draw: (below: number) => number): Promise<Pair[]> {
  const pairs: Pair[] = [];
  for (let tries = 0; tries < 20 && pairs.length < 3; tries += 1) {
    const [head, onto] = [`c${1 + draw(COMMITS)}`, `c${1 + draw(COMMITS)}`] as const;
    const range = await git(tree, "rev-list", "--no-merges", `${onto}..${head}`);
    const picked = range.split("\n").at(draw(3)) ?? "";
    await git(tree, "checkout", "--quiet", "--force", "--detach", onto);
    await git(tree, "clean", "-fdxq");
    try {
      await git(tree, "cherry-pick", picked);
    } catch {
      await git(tree, "reset", "--quiet", "--hard");
      continue;
    }
    if (draw(2) === 0) await git(tree, "revert", "--no-edit", "HEAD");
    const name = `p${pairs.length}`;
    await git(tree, "tag", name);
    pairs.push([head, name]);
  }
  return pairs;
}

type Pair = readonly [head: string, onto: string];

describe.each(histories(1, 3))("%s", (_, seed) => {
  it("is rebased and squashed as Git does", async () => {
    const source = `calm-${seed}`;
    const tree = `${source}-tree`;
    await workshop.importInto(source, changingHistory(seed, COMMITS, true, true));
    // A link may be empty, which no file system has.
    await git("", "clone", "--quiet", "-c", "core.symlinks=false", source, tree);
    const draw = randomOf(seed);
    const picks = await withPicks(tree, draw);
    const repository = await workshop.pushedFrom(tree, source);
    const { graph } = repository;
    const numberOf = async (name: string) =>
      graph.commitOf(repository.findHex(await git(tree, "rev-parse", name)));
    const others = Array.from(
      { length: PAIRS },
      (): Pair => [`c${1 + draw(COMMITS)}`, `c${1 + draw(COMMITS)}`],
    );
    for (const [head, onto] of [...picks, ...others]) {
      const bases = await git(tree, "merge-base", "--all", head, onto).catch(() => "");
      if (bases === "") continue;
      const [from, to] = [await numberOf(head), await numberOf(onto)];

      const expected = await rebasedByGit(tree, head, onto);
      const draft = new Draft(repository);
      const rebased = await rebase(draft, from, to, COMMITTER);
      const shown = rebased === undefined ? CONFLICT : await linesTo(draft, rebased, to);
      expect([head, onto, shown]).toEqual([head, onto, expected]);
      const listed = await git(tree, "rev-list", "--count", "--no-merges", `${onto}..${head}`);
      if (expected === CONFLICT) results.conflicts += 1;
      else if (expected.length > 0) results.moved += 1;
      if (expected !== CONFLICT && expected.length < Number(listed)) results.dropped += 1;

      const squashed = await mergeCommits(repository, new Draft(repository), to, from);
      const squash = squashed.conflicts.size > 0 ? CONFLICT : squashed.tree;
      expect([head, onto, squash]).toEqual([head, onto, await squashedByGit(tree, onto, head)]);
      if (squash !== CONFLICT) results.squashed += 1;
    }

    /** The commits down to another one, as Git shows them. */
    async function linesTo(draft: Draft, tip: string, end: number): Promise<string[]> {
      const stop = (await readCommit(repository, end)).id;
      const lines: string[] = [];
      const known = graph.reach([end]);
      for (let oid = tip; oid !== stop; ) {
        const number = graph.commitOf(repository.findHex(oid));
        if (number >= 0 && known[number]) break;
        const commit = parseCommit(oid, (await draft.read(oid)).data);
        const { name, email, time } = commit.author;
        lines.unshift(`${commit.tree} ${name} ${email} ${time} +0000 ${commit.message.trim()}`);
        oid = commit.parents[0] as string;
      }
      return lines;
    }
    // Git is started some two hundred times.
  }, 120_000);
});

// One history need not have all of it.
it.runIf(isLong)(
  "some commits were moved or dropped, some conflicted, and some were squashed",
  () => {
    for (const [what, count] of Object.entries(results)) expect(count, what).toBeGreaterThan(0);
  },
);
