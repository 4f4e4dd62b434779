import * as field from "../../core/field.ts";
import { MAX_READ_CHARACTERS } from "../../core/pagination.ts";
import { presenter, rowMaker } from "../../core/presenter.ts";
import { type FileChange, type FileEntry, textOf } from "../../git/changes.ts";
import { changesBetween, compareCommits } from "../../git/compared.ts";
import { StoredObjects, treeNameOf } from "../../git/contents.ts";
import { Lru } from "../../git/lru.ts";
import type { PackReader } from "../../git/packs.ts";
import { changedLines, type Patch, patchHead, patchOf } from "../../git/patches.ts";
import type { Repository } from "../../git/repository.ts";
import type { Value } from "../../store/port.ts";
import type { Budget } from "../../turns/budget.ts";

/** Characters of patches that a comparison shows, about. */
const MOST_SHOWN = 5 * 1024 * 1024;

/** A changed file. Its columns are those of {@link diffRow}. */
export const diff = presenter({
  old_path: field.text("old_path"),
  new_path: field.text("new_path"),
  a_mode: field.text("a_mode"),
  b_mode: field.text("b_mode"),
  new_file: field.flag("new_file"),
  renamed_file: field.flag("renamed_file"),
  deleted_file: field.flag("deleted_file"),
  generated_file: field.constant(false),
  diff: field.text("diff"),
  collapsed: field.flag("collapsed"),
  too_large: field.flag("too_large"),
});
const diffRow = rowMaker(diff);

/** How many lines a commit changed. */
export const countFields = {
  additions: field.integer("additions"),
  deletions: field.integer("deletions"),
  total: field.integer("total"),
};

/** How many lines a commit added and removed. */
export interface LineCounts {
  readonly additions: number;
  readonly deletions: number;
}

/** How many lines were added to a file and removed from it. */
export interface FileCounts extends LineCounts {
  readonly path: string;
}

/** The lines that changed between pairs of trees, which never change, by repositories' packs. */
const known = new WeakMap<PackReader, Lru<string, LineCounts>>();
const CACHE = 4 * 1024 * 1024;
/** What an entry of the cache takes. */
const ENTRY = 200;

/** The files that a commit changed in its first parent, or in nothing, as they are shown. */
export function changesOf(
  repository: Repository,
  commit: number,
  budget: Budget,
): Promise<readonly FileChange[]> {
  return changesBetween(repository, repository.graph.parentsOf(commit)[0], commit, budget);
}

/**
 * Whether a commit changed a line of a file.
 *
 * @param line counted from 1, in the file as the commit leaves it: of a removed line, the one that is there now
 * @param type whether the line was added or removed
 */
export async function hasChangedLine(
  repository: Repository,
  commit: number,
  path: string,
  line: number,
  type: "new" | "old",
  budget: Budget,
): Promise<boolean> {
  const objects = new StoredObjects(repository, budget);
  for (const change of await changesOf(repository, commit, budget)) {
    const file = change.to ?? change.from;
    if (!file || textOf(file.path) !== path) continue;
    for (const { removed, to, added } of (await changedLines(objects, change)) ?? []) {
      const isLine = type === "new" ? line > to && line <= to + added : line === to + 1;
      if (isLine && (type === "new" || removed > 0)) return true;
    }
  }
  return false;
}

/** How many lines a commit added and removed, as JSON text. Files beyond the request's budget are not counted. */
export async function statsOf(
  repository: Repository,
  commit: number,
  budget: Budget,
): Promise<string> {
  const { additions, deletions } = await countsOf(repository, commit, budget);
  return JSON.stringify({ additions, deletions, total: additions + deletions });
}

async function countsOf(
  repository: Repository,
  commit: number,
  budget: Budget,
): Promise<LineCounts> {
  const [parent] = repository.graph.parentsOf(commit);
  const before = parent === undefined ? undefined : treeNameOf(repository, parent);
  const key = `${before} ${treeNameOf(repository, commit)}`;
  const cache = known.get(repository.packs) ?? new Lru<string, LineCounts>(CACHE);
  known.set(repository.packs, cache);
  const found = cache.get(key);
  if (found) return found;
  const changes = await compareCommits(repository, parent, commit, budget);
  const { files, areAll } = await countEach(repository, changes, budget);
  const counts = sumOf(files);
  if (areAll) cache.set(key, counts, ENTRY);
  return counts;
}

/** The lines of files together. */
export const sumOf = (files: readonly LineCounts[]): LineCounts => ({
  additions: files.reduce((sum, { additions }) => sum + additions, 0),
  deletions: files.reduce((sum, { deletions }) => sum + deletions, 0),
});

/** How many lines were added to each changed file and removed from it, and whether the budget was enough for all. */
export async function countEach(
  repository: Repository,
  changes: readonly FileChange[],
  budget: Budget,
): Promise<{ files: FileCounts[]; areAll: boolean }> {
  const objects = new StoredObjects(repository, budget);
  const files: FileCounts[] = [];
  for (const change of changes) {
    const counts = { additions: 0, deletions: 0 };
    const lines = await changedLines(objects, change);
    if (!lines) return { files, areAll: false };
    for (const { added, removed } of lines) {
      counts.additions += added;
      counts.deletions += removed;
    }
    files.push({ path: textOf((change.to ?? (change.from as FileEntry)).path), ...counts });
    if (budget.isDue) await budget.pause();
  }
  return { files, areAll: true };
}

/** The rows of changed files, as many as are read at once. */
export async function readDiffs(
  repository: Repository,
  changes: readonly FileChange[],
  hasHead: boolean | undefined,
  budget: Budget,
): Promise<Value[][]> {
  const objects = new StoredObjects(repository, budget);
  const rows: Value[][] = [];
  let characters = 0;
  for (const change of changes) {
    if (characters > MAX_READ_CHARACTERS) break;
    const patch = await patchOf(objects, change);
    rows.push(rowOf(change, patch, hasHead));
    characters += patch.text.length;
    if (budget.isDue) await budget.pause();
  }
  return rows;
}

/** The rows of all changed files. Patches are left out once enough of them are shown. */
export async function readAllDiffs(
  repository: Repository,
  changes: readonly FileChange[],
  hasHead: boolean | undefined,
  budget: Budget,
): Promise<Value[][]> {
  const rows: Value[][] = [];
  let characters = 0;
  while (rows.length < changes.length) {
    if (characters > MOST_SHOWN) {
      return [...rows, ...changes.slice(rows.length).map((change) => rowOf(change, undefined))];
    }
    const read = await readDiffs(repository, changes.slice(rows.length), hasHead, budget);
    for (const row of read) characters += String(row[diff.at("diff")]).length;
    rows.push(...read);
  }
  return rows;
}

/** The row of a changed file; collapsed without its patch. */
function rowOf(change: FileChange, patch: Patch | undefined, hasHead?: boolean): Value[] {
  const { from, to } = change;
  const [old, next] = [from ?? to, to ?? from] as [FileEntry, FileEntry];
  const text = patch?.text ?? "";
  return diffRow({
    old_path: textOf(old.path),
    new_path: textOf(next.path),
    a_mode: modeOf(from),
    b_mode: modeOf(to),
    new_file: from ? 0 : 1,
    renamed_file: old.path === next.path ? 0 : 1,
    deleted_file: to ? 0 : 1,
    diff: hasHead && text ? patchHead(change) + text : text,
    collapsed: patch ? 0 : 1,
    too_large: patch?.isTooLarge ? 1 : 0,
  });
}

/** A mode as GitLab shows it: of what does not exist, `0`. */
const modeOf = (file: FileEntry | undefined) => (file ? file.mode.toString(8) : "0");
