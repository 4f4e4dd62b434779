import {
  baseName,
  compareTrees,
  entriesOf,
  type FileChange,
  type FileEntry,
  isRegular,
  kindOf,
} from "./changes.ts";
import type { NewObjects, Objects } from "./contents.ts";
import { isBinary, linesOf } from "./lines.ts";
import { mergeLines } from "./merge-lines.ts";
import { BLOB, FOLDER, TREE, treeWith } from "./objects.ts";
import { withRenames } from "./renames.ts";

/** Changes of a side that are looked at; with more, the sides can't be merged. */
const MOST_CHANGES = 50_000;
/** Larger files with changes of both sides are in conflict, in bytes. */
const MOST_MERGED = 8 * 1024 * 1024;
/** How many characters mark a conflict; those of a merge within others have more. */
const MARKER = 7;
/** What the sides are called where merge bases are merged. */
const NAMES = ["Temporary merge branch 1", "Temporary merge branch 2"] as const;

/** What is at a path. */
type Content = Pick<FileEntry, "mode" | "oid">;

/** Two trees merged. */
export interface MergedTrees {
  /** The result, in hex. Nothing but merge bases can be made of it if there are conflicts. */
  readonly tree: string;
  /** The paths that the sides changed in ways that exclude each other. */
  readonly conflicts: ReadonlySet<string>;
}

/** What the base and both sides have at a path. */
interface Stages {
  base: Content | undefined;
  ours: Content | undefined;
  theirs: Content | undefined;
  /** What our tree has there; `ours` may be from where the file was before it was renamed. */
  readonly own: Content | undefined;
  /** Whether some of it is from where the file was before it was renamed. */
  readonly isMoved: boolean;
}

type SideName = "ours" | "theirs";

/** What became of a path: what is there now, and whether both sides can live with it. */
interface Resolution {
  readonly content: Content | undefined;
  readonly isClean: boolean;
}

/**
 * Merges what two sides changed in a tree, as `git merge-tree` does: what one side changed in a file that the other
 * renamed is changed under the new name.
 *
 * @param objects gets the objects of the result
 * @param base the tree that both began with, in hex; `undefined` for an empty one
 * @param depth 0; for merge bases, how many merges they are for: conflicts are then part of the result
 */
export async function mergeTrees(
  objects: NewObjects,
  base: string | undefined,
  ours: string,
  theirs: string,
  depth = 0,
): Promise<MergedTrees> {
  const changesOfOurs = await compareTrees(objects, base, ours, MOST_CHANGES);
  const changesOfTheirs = await compareTrees(objects, base, theirs, MOST_CHANGES);
  if (changesOfOurs.isCut || changesOfTheirs.isCut) return { tree: ours, conflicts: new Set([""]) };
  const merge = new Merge(objects, depth);
  merge.addSide("ours", ours, changesOfOurs.list);
  merge.addSide("theirs", theirs, changesOfTheirs.list);
  return merge.run();
}

/** What a side changed. */
interface Side {
  readonly name: SideName;
  readonly tree: string;
  readonly changes: readonly FileChange[];
  /** The new paths of renamed files, by their old ones. */
  readonly renames: Map<string, string>;
}

class Merge {
  readonly #objects: NewObjects;
  readonly #depth: number;
  readonly #sides: Side[] = [];
  readonly #stages = new Map<string, Stages>();
  readonly #edits = new Map<string, Content | undefined>();
  readonly #conflicts = new Set<string>();

  constructor(objects: NewObjects, depth: number) {
    this.#objects = objects;
    this.#depth = depth;
  }

  addSide(name: SideName, tree: string, changes: readonly FileChange[]): void {
    this.#sides.push({ name, tree, changes, renames: new Map() });
    for (const { from, to } of changes) {
      const { path } = (from ?? to) as FileEntry;
      const unchanged = { base: from, ours: from, theirs: from };
      const own = name === "ours" ? to : from;
      const known = this.#stages.get(path) ?? { ...unchanged, own, isMoved: false };
      this.#stages.set(path, { ...known, [name]: to });
    }
  }

  async run(): Promise<MergedTrees> {
    const [ours, theirs] = this.#sides as [Side, Side];
    await this.#findRenames(ours, theirs);
    await this.#findRenames(theirs, ours);
    for (const path of new Set([...ours.renames.keys(), ...theirs.renames.keys()])) {
      const [own, other] = [ours.renames.get(path), theirs.renames.get(path)];
      if (own !== undefined && other !== undefined) this.#followBoth(path, own, other);
      else if (own !== undefined) await this.#follow(path, own, "ours", "theirs");
      else if (other !== undefined) await this.#follow(path, other, "theirs", "ours");
    }
    for (const [path, stages] of this.#stages) {
      const { content, isClean } = await this.#resolve(stages);
      if (!isClean) this.#conflicts.add(path);
      if (!areSame(content, stages.own)) this.#edits.set(path, content);
    }
    const writer = new TreeWriter(this.#objects);
    const tree = await writer.write(ours.tree, this.#edits);
    for (const path of writer.clashes) this.#conflicts.add(path);
    return { tree, conflicts: this.#conflicts };
  }

  /** Finds renamed files, as far as it matters: because the other side changed them, too, or added files to their folder. */
  async #findRenames(side: Side, other: Side): Promise<void> {
    const folders = await this.#movedFolders(side, other);
    const isRelevant = ({ path }: FileEntry) => {
      const stages = this.#stages.get(path);
      return (
        !areSame(stages?.base, stages?.[other.name]) ||
        foldersOf(path).some((folder) => folders.has(folder))
      );
    };
    if (!side.changes.some(({ from, to }) => from && !to && isRelevant(from))) return;
    const rules = { allowEmpty: false, isRelevant };
    for (const { from, to } of await withRenames(this.#objects, side.changes, rules)) {
      if (!from || !to || from.path === to.path) continue;
      side.renames.set(from.path, to.path);
      for (const path of goneWith(from.path, to.path).flatMap(
        (folder) => folders.get(folder) ?? [],
      )) {
        // It may belong to the folder's new place.
        this.#conflicts.add(path);
      }
    }
  }

  /** The folders that a side no longer has, with the files that the other side added to them. */
  async #movedFolders(side: Side, other: Side): Promise<Map<string, string[]>> {
    const folders = new Map<string, string[]>();
    for (const { from, to } of other.changes) {
      if (from || !to) continue;
      const folder = folderOf(to.path);
      const known = folders.get(folder);
      if (known) known.push(to.path);
      else if (folder !== "") folders.set(folder, [to.path]);
    }
    for (const folder of folders.keys()) {
      if (await hasFolder(this.#objects, side.tree, folder)) folders.delete(folder);
    }
    return folders;
  }

  /** Moves what both sides have of a file that both have renamed. */
  #followBoth(path: string, own: string, other: string): void {
    const base = this.#take(path)?.base;
    if (own === other) this.#update(own, { base });
    else for (const name of [own, other]) this.#conflicts.add(name);
  }

  /** Moves what the other side has of a file that one side has renamed. */
  async #follow(path: string, to: string, side: SideName, other: SideName): Promise<void> {
    const [old, renamed] = [this.#stages.get(path), this.#stages.get(to)];
    const [before, added] = [old?.[other], renamed?.[side]];
    if (!old || !renamed || !added) return;
    if (before && isRegular(before.mode) !== isRegular(added.mode)) {
      // The other side has another kind of file there now: not the one that was renamed, which it has deleted.
      this.#update(path, { base: undefined });
      this.#update(to, { base: old.base });
      if (!renamed[other]) this.#conflicts.add(to);
      return;
    }
    this.#take(path);
    if (!before) this.#conflicts.add(to);
    else if (renamed[other]) {
      const pair = { [side]: added, [other]: before } as Record<SideName, Content>;
      const { content } = await this.#mergeContents(old.base, pair.ours, pair.theirs);
      this.#update(to, { [side]: content });
    } else this.#update(to, { base: old.base, [other]: before });
  }

  #update(path: string, part: Partial<Stages>): void {
    const stages = this.#stages.get(path);
    if (stages) this.#stages.set(path, { ...stages, ...part, isMoved: true });
  }

  /** Leaves nothing at a path. */
  #take(path: string): Stages | undefined {
    const stages = this.#stages.get(path);
    this.#stages.delete(path);
    if (stages?.own) this.#edits.set(path, undefined);
    return stages;
  }

  async #resolve({ base, ours, theirs, isMoved }: Stages): Promise<Resolution> {
    const areAlike = !ours || !theirs || kindOf(ours.mode) === kindOf(theirs.mode);
    // Git does not see that one side left a file as it was if the other renamed it and it is a link or submodule now.
    if (areAlike || !isMoved) {
      if (areSame(ours, theirs) || areSame(base, theirs)) return { content: ours, isClean: true };
      if (areSame(base, ours)) return { content: theirs, isClean: true };
    }
    if (ours && theirs && areAlike) return this.#mergeContents(base, ours, theirs);
    return { content: this.#depth > 0 ? base : (ours ?? theirs), isClean: false };
  }

  /** Merges the modes and contents of what both sides have. */
  async #mergeContents(
    base: Content | undefined,
    ours: Content,
    theirs: Content,
  ): Promise<Resolution> {
    if (kindOf(ours.mode) !== kindOf(theirs.mode)) return { content: ours, isClean: false };
    const isOursNew = ours.mode !== theirs.mode && ours.mode !== base?.mode;
    const isModeClean = !isOursNew || theirs.mode === base?.mode;
    const mode = isOursNew ? ours.mode : theirs.mode;
    const { oid, isClean } = await this.#mergeFiles(base, ours, theirs);
    return { content: { mode, oid }, isClean: isClean && isModeClean };
  }

  async #mergeFiles(
    base: Content | undefined,
    ours: Content,
    theirs: Content,
  ): Promise<{ oid: string; isClean: boolean }> {
    if (ours.oid === theirs.oid || base?.oid === ours.oid)
      return { oid: theirs.oid, isClean: true };
    if (base?.oid === theirs.oid) return { oid: ours.oid, isClean: true };
    const unmerged = { oid: (this.#depth > 0 ? base : ours)?.oid ?? ours.oid, isClean: false };
    if (!isRegular(ours.mode)) return unmerged;
    const common = base && isRegular(base.mode) ? base : undefined;
    const size = (file?: Content) => (file ? this.#objects.sizeOf(file.oid) : 0);
    if (size(common) + size(ours) + size(theirs) > MOST_MERGED) return unmerged;
    const read = async (file?: Content) =>
      file ? (await this.#objects.read(file.oid)).data : NOTHING;
    const files = [await read(common), await read(ours), await read(theirs)] as const;
    if (files.some(isBinary)) return unmerged;
    const { budget } = this.#objects;
    const before = await budget.take(linesOf(files[0]));
    const own = await budget.take(linesOf(files[1]));
    const other = await budget.take(linesOf(files[2]));
    const { lines, hasConflicts } = await budget.take(
      mergeLines(before, own, other, MARKER + 2 * this.#depth, NAMES),
    );
    if (hasConflicts && this.#depth === 0) return unmerged;
    const oid = this.#objects.add(BLOB, Buffer.from(lines.join(""), "latin1"));
    return { oid, isClean: !hasConflicts };
  }
}

const NOTHING = Buffer.alloc(0);

const areSame = (a: Content | undefined, b: Content | undefined) =>
  a?.oid === b?.oid && a?.mode === b?.mode;

/** The folder of a path; empty for the root. */
const folderOf = (path: string) => path.slice(0, Math.max(0, path.lastIndexOf("/")));

/** The folders that a path is in, from the innermost. */
function foldersOf(path: string): string[] {
  const folders: string[] = [];
  for (let folder = folderOf(path); folder !== ""; folder = folderOf(folder)) folders.push(folder);
  return folders;
}

/** The folders that may have been renamed as a whole when a file was: its own, and those above that have the same names. */
function goneWith(from: string, to: string): string[] {
  let [old, next] = [folderOf(from), folderOf(to)];
  const folders = [old];
  while (old !== "" && next !== "" && baseName(old) === baseName(next)) {
    [old, next] = [folderOf(old), folderOf(next)];
    folders.push(old);
  }
  return folders;
}

async function hasFolder(objects: Objects, tree: string, path: string): Promise<boolean> {
  let at = tree;
  for (const name of path.split("/")) {
    const entry = (await entriesOf(objects, at)).find((one) => one.name === `${name}/`);
    if (!entry) return false;
    at = entry.oid;
  }
  return true;
}

/** Writes changed trees. */
class TreeWriter {
  readonly #objects: NewObjects;
  /** Paths at which there would be both a file and a folder. */
  readonly clashes: string[] = [];

  constructor(objects: NewObjects) {
    this.#objects = objects;
  }

  /** Makes changes to the files of a tree. Returns the name of the new tree, in hex. */
  async write(tree: string, edits: ReadonlyMap<string, Content | undefined>): Promise<string> {
    return (await this.#write(tree, [...edits], "")) ?? this.#objects.add(TREE, NOTHING);
  }

  /** @returns `undefined` if nothing is left */
  async #write(
    tree: string | undefined,
    edits: readonly (readonly [path: string, content: Content | undefined])[],
    place: string,
  ): Promise<string | undefined> {
    const entries = new Map((await entriesOf(this.#objects, tree)).map((one) => [one.name, one]));
    const inner = new Map<string, (typeof edits)[number][]>();
    for (const [path, content] of edits) {
      const rest = path.slice(place.length);
      const slash = rest.indexOf("/") + 1;
      if (slash > 0) {
        const name = rest.slice(0, slash);
        const list = inner.get(name) ?? [];
        list.push([path, content]);
        inner.set(name, list);
      } else if (content) entries.set(rest, { name: rest, ...content });
      else entries.delete(rest);
    }
    for (const [name, edits] of inner) {
      const oid = await this.#write(entries.get(name)?.oid, edits, place + name);
      if (oid === undefined) entries.delete(name);
      else entries.set(name, { name, mode: FOLDER, oid });
    }
    for (const name of entries.keys()) {
      if (name.endsWith("/") && entries.delete(name.slice(0, -1))) this.clashes.push(place + name);
    }
    return entries.size === 0
      ? undefined
      : this.#objects.add(TREE, treeWith([...entries.values()]));
  }
}
