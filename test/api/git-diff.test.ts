// Differences between trees and files are those that Git's own `git diff` shows; it must be installed.
import { describe, expect, it } from "vitest";
import { compareTrees } from "../../src/git/changes.ts";
import { commitNumber } from "../../src/git/commits.ts";
import { changesBetween } from "../../src/git/compared.ts";
import { StoredObjects, treeNameOf } from "../../src/git/contents.ts";
import { patchOf, shownChanges } from "../../src/git/patches.ts";
import { rawDiff } from "../../src/git/raw-diff.ts";
import { withRenames } from "../../src/git/renames.ts";
import type { Repository } from "../../src/git/repository.ts";
import { Budget } from "../../src/turns/budget.ts";
import { histories } from "../forms.ts";
import { changingHistory, longFilesHistory } from "./_changing-history.ts";
import { shareWorkshop, type Workshop } from "./_git.ts";

let workshop: Workshop;
let git: Workshop["git"];
shareWorkshop((opened) => {
  ({ workshop, git } = opened);
});

/** Our changes of a commit against its first parent, each as its paths, modes and patch. */
async function changesOf(repository: Repository, oid: string): Promise<string[]> {
  const objects = new StoredObjects(repository);
  const commit = repository.graph.commitOf(repository.findHex(oid));
  const [parent] = repository.graph.parentsOf(commit);
  const before = parent === undefined ? undefined : treeNameOf(repository, parent);
  const { list } = await compareTrees(objects, before, treeNameOf(repository, commit), 10_000);
  const changes = await withRenames(objects, list, { allowEmpty: true });
  const shown: string[] = [];
  for (const change of shownChanges(changes)) {
    const { from, to } = change;
    const { text } = await patchOf(objects, change);
    // Git shows no mode of a file that only has another name.
    const isMoved = from?.mode === to?.mode && from?.oid === to?.oid;
    const side = (file: typeof from) =>
      file ? `${file.path} ${isMoved ? undefined : file.mode.toString(8)}` : "-";
    shown.push(`${side(from)} -> ${side(to)}\n${text}`.trimEnd());
  }
  return shown;
}

/** Our text of the changes from one commit to another. */
async function rawDiffOf(repository: Repository, from: string, to: string): Promise<string> {
  const [before, after] = [from, to].map((oid) => commitNumber(repository, oid));
  const changes = await changesBetween(repository, before, after as number, new Budget());
  const parts: Buffer[] = [];
  const { signal } = new AbortController();
  for await (const part of rawDiff(repository, changes, signal)) parts.push(part);
  return Buffer.concat(parts).toString().trim();
}

/** The same from `git log -p`. */
function changesFrom(patch: string): string[] {
  return patch
    .split(/^diff --git /m)
    .slice(1)
    .map((section) => {
      const [, head = "", text = ""] = /^(.*?\n)((?:@@|Binary files).*)?$/s.exec(section) ?? [];
      const [, a, b] = /^a\/(\S+) b\/(\S+)\n/.exec(head) ?? [];
      const line = (start: string) => new RegExp(`^${start} (\\S+)$`, "m").exec(head)?.[1];
      const both = /^index \S+ (\d+)$/m.exec(head)?.[1];
      const from = line("new file mode")
        ? undefined
        : (line("deleted file mode") ?? line("old mode") ?? both);
      const to = line("deleted file mode")
        ? undefined
        : (line("new file mode") ?? line("new mode") ?? both);
      const isNew = line("new file mode") !== undefined;
      const isDeleted = line("deleted file mode") !== undefined;
      return `${isNew ? "-" : `${a} ${from}`} -> ${isDeleted ? "-" : `${b} ${to}`}\n${text}`.trimEnd();
    });
}

/**
 * A raw diff without the similarity of files whose last lines are not ended: Git counts those lines since 2.44, as we do,
 * and an older one may run here.
 */
async function comparable(source: string, diff: string): Promise<string> {
  const shown: string[] = [];
  for (const file of diff.split(/^(?=diff --git )/m)) {
    const [, ...oids] = /^similarity [\s\S]*?^index (\w+)\.\.(\w+)/m.exec(file) ?? [];
    const contents = await Promise.all(oids.map((oid) => git(source, "cat-file", "blob", oid)));
    const areEnded = contents.every((content) => content.endsWith("\n"));
    shown.push(areEnded ? file : file.replace(/^similarity .*/m, ""));
  }
  return shown.join("");
}

/** Compares all changes of a history with Git's. */
async function compareAll(source: string, repository: Repository): Promise<number> {
  const options = ["--diff-merges=first-parent", "--root", "-p", "-M", "--no-color"];
  const log = await git(source, "log", "--all", "--format=%x01%H", ...options);
  const commits = log.split("\u0001").slice(1);
  for (const part of commits) {
    const oid = part.slice(0, 40);
    const patch = `${part.slice(40).trimEnd()}\n`;
    expect([oid, await changesOf(repository, oid)]).toEqual([oid, changesFrom(patch)]);
  }
  return commits.length;
}

describe.each(histories(1, 3))("%s", (_, seed) => {
  it("has the changes that `git diff` shows", async () => {
    const source = `source-${seed}`;
    const repository = await workshop.pushed(source, changingHistory(seed, 60));
    expect(await compareAll(source, repository)).toBe(60);
  });

  it("has long files with the same changes", async () => {
    const source = `long-${seed}`;
    const repository = await workshop.pushed(source, longFilesHistory(seed));
    expect(await compareAll(source, repository)).toBe(2);
  });

  it("has the raw diffs that `git diff` prints", async () => {
    const source = `raw-${seed}`;
    const repository = await workshop.pushed(source, changingHistory(seed + 1000, 40));
    const oids = (await git(source, "log", "--all", "--format=%H")).split("\n");
    for (const [at, oid] of oids.entries()) {
      const other = oids[(at * 7 + 3) % oids.length] as string;
      const theirs = await git(source, "diff", "--full-index", "-M", "--no-color", oid, other);
      const ours = await rawDiffOf(repository, oid, other);
      expect([oid, other, await comparable(source, ours)]).toEqual([
        ...[oid, other],
        await comparable(source, theirs),
      ]);
    }
  });
});
