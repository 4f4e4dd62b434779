import { createHash } from "node:crypto";
import type { Budget } from "../turns/budget.ts";
import { compareTrees, type FileChange } from "./changes.ts";
import { EMPTY_TREE, type Objects, StoredObjects, treeNameOf } from "./contents.ts";
import { logOf } from "./log.ts";
import { patchOf, shownChanges } from "./patches.ts";
import type { Repository } from "./repository.ts";

/** Commits whose changes are looked for, the newest ones. */
const MOST_COMMITS = 1000;
/** Changes of a commit that is looked at; what changes more files is like no other. */
const MOST_CHANGES = 1000;

/** The tree of a commit's first parent, in hex; that without files if it has none. */
export function treeBefore(repository: Repository, commit: number): string {
  const [parent] = repository.graph.parentsOf(commit);
  return parent === undefined ? EMPTY_TREE : treeNameOf(repository, parent);
}

/**
 * Finds the commits that make the same changes as commits which are elsewhere already, as `git log --cherry-pick` does:
 * wherever in their files, and whatever their blanks.
 *
 * @param commits the numbers of commits with at most one parent
 * @param from where the others are: what can be reached from this commit, but not from `not`
 */
export async function repeatedCommits(
  repository: Repository,
  commits: readonly number[],
  { from, not }: { readonly from: number; readonly not: number },
  budget: Budget,
): Promise<Set<number>> {
  const log = logOf(repository, { from: [from], not: [not], isWithoutMerges: true });
  const others = (await log.first(repository, MOST_COMMITS)).slice(0, MOST_COMMITS);
  const repeated = new Set<number>();
  if (others.length === 0) return repeated;
  const ids = new PatchIds(repository, budget);
  const wanted = new Map<string, number[]>();
  for (const commit of commits.slice(0, MOST_COMMITS)) {
    const files = await ids.filesOf(commit);
    if (files !== undefined) wanted.set(files, [...(wanted.get(files) ?? []), commit]);
  }
  for (const other of others) {
    const files = await ids.filesOf(other);
    const alike = files === undefined ? undefined : wanted.get(files);
    for (const commit of alike ?? []) {
      if ((await ids.of(commit)) === (await ids.of(other))) repeated.add(commit);
    }
  }
  return repeated;
}

/** What commits change, as texts that are equal if the changes are. */
class PatchIds {
  readonly #repository: Repository;
  readonly #objects: Objects;
  readonly #ids = new Map<number, string>();

  constructor(repository: Repository, budget: Budget) {
    this.#repository = repository;
    this.#objects = new StoredObjects(repository, budget);
  }

  /** The files that a commit changes; `undefined` if there are too many, or none. */
  async filesOf(commit: number): Promise<string | undefined> {
    const changes = await this.#changesOf(commit);
    return changes === undefined || changes.length === 0 ? undefined : changes.map(fileOf).join();
  }

  /** What a commit changes in its files. */
  async of(commit: number): Promise<string> {
    const known = this.#ids.get(commit);
    if (known !== undefined) return known;
    const hash = createHash("sha256");
    for (const change of (await this.#changesOf(commit)) ?? []) {
      const { text, isTooLarge } = await patchOf(this.#objects, change);
      const isWhole = isTooLarge || text.startsWith("Binary");
      hash.update(`${fileOf(change)}\n`);
      hash.update(isWhole ? `${change.from?.oid} ${change.to?.oid}` : withoutPlaces(text));
    }
    const id = hash.digest("hex");
    this.#ids.set(commit, id);
    return id;
  }

  async #changesOf(commit: number): Promise<FileChange[] | undefined> {
    const [before, after] = [
      treeBefore(this.#repository, commit),
      treeNameOf(this.#repository, commit),
    ];
    const { list, isCut } = await compareTrees(this.#objects, before, after, MOST_CHANGES);
    return isCut ? undefined : shownChanges(list);
  }
}

/** Which file a change is of, and whether the file is added or deleted. */
function fileOf({ from, to }: FileChange): string {
  const { path } = (to ?? from) as { path: string };
  const mode = from && to ? "" : `${from ? "-" : "+"}${(to ?? from)?.mode}`;
  return JSON.stringify([path, mode]);
}

/** A patch without blanks, and without the lines that say where its hunks are. */
const withoutPlaces = (patch: string) =>
  patch
    .split("\n")
    .filter((line) => !line.startsWith("@@"))
    .join("")
    .replace(/\s/g, "");
