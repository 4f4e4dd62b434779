// Trees are merged as Git's own `git merge-tree` does; it must be installed.
import { describe, expect, it } from "vitest";
import { Draft } from "../../src/git/draft.ts";
import { mergeCommits } from "../../src/git/merge-commits.ts";
import type { Repository } from "../../src/git/repository.ts";
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

/** The tree that Git merges two commits to, or that there are conflicts; `undefined` if it fails an assertion of its own. */
async function mergedByGit(source: string, names: readonly string[]): Promise<string | undefined> {
  const options = ["merge-tree", "--write-tree", "--no-messages"];
  try {
    return await git(source, ...options, ...names);
  } catch (error) {
    if (/merge-ort\.c.+Assertion .+ failed/.test(String(error))) return undefined;
    // Git then says nothing where its errors go.
    if (!String(error).endsWith(": ")) throw error;
    return CONFLICT;
  }
}

/** Merges two commits as Git does, or fails. @returns whether that was possible */
async function isMerged(
  repository: Repository,
  source: string,
  names: readonly string[],
): Promise<boolean> {
  const { graph } = repository;
  const expected = await mergedByGit(source, names);
  if (expected === undefined) return false;
  const commits = (await git(source, "rev-parse", ...names)).split("\n");
  const [one = -1, other = -1] = commits.map((oid) => graph.commitOf(repository.findHex(oid)));
  const draft = new Draft(repository);
  const { tree, conflicts } = await mergeCommits(repository, draft, one, other);
  const result = conflicts.size > 0 ? CONFLICT : tree;
  expect([names, [...conflicts], result]).toEqual([names, expect.anything(), expected]);
  return result !== CONFLICT;
}

describe.each(histories(1, 3))("%s", (_, seed) => {
  it.each(["wild", "calm"])("is merged as git merge-tree does, if it is %s", async (kind) => {
    const source = `${kind}-${seed}`;
    const history = changingHistory(seed, COMMITS, kind === "calm", true);
    const repository = await workshop.pushed(source, history);
    const draw = randomOf(seed);
    for (let pair = 0; pair < PAIRS; pair += 1) {
      const names = [`c${1 + draw(COMMITS)}`, `c${1 + draw(COMMITS)}`];
      const bases = await git(source, "merge-base", "--all", ...names).catch(() => "");
      if (bases === "") continue;
      await isMerged(repository, source, names);
    }
  });
});

it("merges changes of different lines, and not of the same one", async () => {
  const commit = (mark: number, from: number | undefined, lines: readonly number[]) => {
    const content = lines.map((line) => `line ${line}\n`).join("");
    const parent = from === undefined ? "" : `from :${from}\n`;
    return (
      `commit refs/tags/c${mark}\nmark :${mark}\ncommitter A <a@example.com> ${mark} +0000\n` +
      `data 1\n${mark}\n${parent}M 100644 inline a\ndata ${content.length}\n${content}\n`
    );
  };
  const lines = Array.from({ length: 9 }, (_, at) => at);
  const history = [
    commit(1, undefined, lines),
    commit(2, 1, lines.with(0, 100)),
    commit(3, 1, lines.with(8, 100)),
    commit(4, 1, lines.with(0, 200)),
  ].join("");
  const repository = await workshop.pushed("lines", history);
  expect(await isMerged(repository, "lines", ["c2", "c3"])).toBe(true);
  expect(await isMerged(repository, "lines", ["c2", "c4"])).toBe(false);
});
