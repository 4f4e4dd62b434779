import { BLOB, COMMIT, eachEntry, FOLDER, type GitObject, SUBMODULE, TREE } from "./objects.ts";
import { OID_BYTES } from "./oid-table.ts";
import type { Repository } from "./repository.ts";

/** An entry of a tree. */
export interface TreeEntry {
  readonly mode: number;
  readonly name: string;
  /** Its object, in hex: of a submodule, a commit of another repository. */
  readonly oid: string;
}

/** What an entry of a tree is: a folder, a file or link, or a submodule. */
export function typeOfMode(mode: number): typeof TREE | typeof BLOB | typeof COMMIT {
  return mode === FOLDER ? TREE : mode === SUBMODULE ? COMMIT : BLOB;
}

/** The object that is a commit's tree. */
export function treeOf(repository: Repository, commit: number): number {
  return repository.find(repository.graph.trees, OID_BYTES * commit);
}

/** Trees that were parsed, as long as their objects are kept. */
const parsed = new WeakMap<GitObject, readonly TreeEntry[]>();

/** The entries of a tree, in Git's order. */
export async function entriesOf(
  repository: Repository,
  tree: number,
): Promise<readonly TreeEntry[]> {
  const content = await repository.read(tree);
  const known = parsed.get(content);
  if (known) return known;
  const { data } = content;
  const entries: TreeEntry[] = [];
  eachEntry(data, (mode, from, to, at) => {
    entries.push({
      mode,
      name: data.toString("utf8", from, to),
      oid: data.toString("hex", at, at + OID_BYTES),
    });
  });
  parsed.set(content, entries);
  return entries;
}

/** What tells an entry of a tree from others: its name, and whether it is a folder's. */
export function entryKey(tree: Buffer, mode: number, from: number, to: number): string {
  return `${mode === FOLDER ? "/" : ""}${tree.toString("latin1", from, to)}`;
}

/** The objects of the entries of some trees, by {@link entryKey}. Submodules are left out. */
export async function objectsByEntry(
  repository: Repository,
  trees: readonly number[],
): Promise<Map<string, number[]>> {
  const entries = new Map<string, number[]>();
  for (const tree of trees) {
    const { data } = await repository.read(tree);
    eachEntry(data, (mode, from, to, at) => {
      if (mode === SUBMODULE) return;
      const key = entryKey(data, mode, from, to);
      const object = repository.find(data, at);
      const found = entries.get(key);
      if (found) found.push(object);
      else entries.set(key, [object]);
    });
  }
  return entries;
}

/** The parts of a path: without slashes at its ends, and doubled ones. */
export function partsOf(path: string): string[] {
  return path.split("/").filter((part) => part !== "");
}

/**
 * Finds what a path names.
 *
 * @param tree the object that the path begins at
 * @returns `undefined` if there is nothing
 */
export async function entryAt(
  repository: Repository,
  tree: number,
  path: string,
): Promise<TreeEntry | undefined> {
  const parts = partsOf(path);
  let at = tree;
  for (const [depth, name] of parts.entries()) {
    const { data } = await repository.read(at);
    const found = locate(data, Buffer.from(name)) ?? locateShown(data, name);
    if (!found) return undefined;
    if (depth === parts.length - 1) {
      return { mode: found.mode, name, oid: data.toString("hex", found.at, found.at + OID_BYTES) };
    }
    if (found.mode !== FOLDER) return undefined;
    at = repository.find(data, found.at);
  }
  return undefined;
}

/** Where an entry of a tree is. */
export interface Location {
  readonly mode: number;
  /** Where its object's name begins. */
  readonly at: number;
}

/** Finds an entry of a tree by its name. */
export function locate(tree: Buffer, name: Uint8Array): Location | undefined {
  let found: Location | undefined;
  eachEntry(tree, (mode, from, to, at) => {
    if (to - from !== name.length || found) return;
    for (let index = 0; index < name.length; index += 1) {
      if (tree[from + index] !== name[index]) return;
    }
    found = { mode, at };
  });
  return found;
}

/** What stands for bytes that are no UTF-8. */
const REPLACEMENT = "\ufffd";

/** Finds the first entry of a tree whose name, which is not UTF-8, is shown so. */
function locateShown(tree: Buffer, name: string): Location | undefined {
  if (!name.includes(REPLACEMENT)) return undefined;
  let found: Location | undefined;
  eachEntry(tree, (mode, from, to, at) => {
    if (!found && tree.toString("utf8", from, to) === name) found = { mode, at };
  });
  return found;
}
