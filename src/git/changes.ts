import { EMPTY_TREE, type Objects } from "./contents.ts";
import { eachEntry, FOLDER } from "./objects.ts";
import { OID_BYTES } from "./oid-table.ts";

/** A file in a tree; also a symbolic link or a submodule. */
export interface FileEntry {
  /** Each byte as one character. */
  readonly path: string;
  readonly mode: number;
  /** Its object, in hex: of a submodule, a commit of another repository. */
  readonly oid: string;
}

/** A file that differs between two trees. */
export interface FileChange {
  /** `undefined` if it is added. */
  readonly from: FileEntry | undefined;
  /** `undefined` if it is deleted. */
  readonly to: FileEntry | undefined;
}

/** An entry of a tree. The name of a folder ends with a slash, as trees are sorted. */
export interface Entry {
  readonly name: string;
  readonly mode: number;
  readonly oid: string;
}

const EXECUTABLE = 0o100755;
const REGULAR = 0o100644;
const KIND = 0o170000;

/** What kind of file a mode is for: a regular one, a symbolic link, a submodule. */
export const kindOf = (mode: number) => mode & KIND;

/** Whether a mode is that of a regular file. */
export const isRegular = (mode: number) => kindOf(mode) === kindOf(REGULAR);

/** The mode that Git shows: old repositories have others for regular files. */
const shownMode = (mode: number) =>
  isRegular(mode) ? ((mode & 0o100) === 0 ? REGULAR : EXECUTABLE) : mode;

/** The last part of a path. */
export const baseName = (path: string) => path.slice(path.lastIndexOf("/") + 1);

/** A path as text: in trees, each byte of it is one character. */
export const textOf = (path: string) => Buffer.from(path, "latin1").toString("utf8");

/** What differs between two trees. */
export interface Changes {
  /** By path. */
  readonly list: FileChange[];
  /** Whether there is more. */
  readonly isCut: boolean;
}

/** Folders that are compared at most: a few objects can make any number of them. */
const MOST_FOLDERS = 100_000;

/**
 * Compares two trees, as `git diff-tree -r` does.
 *
 * @param from the name of a tree in hex; `undefined` for an empty one
 * @param to likewise
 * @param most how many changes are looked for, besides one
 */
export async function compareTrees(
  objects: Objects,
  from: string | undefined,
  to: string | undefined,
  most: number,
): Promise<Changes> {
  const { budget } = objects;
  const list: FileChange[] = [];
  let folders = 0;
  const visit = async (path: string, before: string | undefined, after: string | undefined) => {
    folders += 1;
    const [old, next] = differing(
      await contentOf(objects, before),
      await contentOf(objects, after),
    );
    const entries = paired(old, next);
    if (budget.isDue) await budget.pause();
    for (const [old, next] of entries) {
      if (list.length > most || folders > MOST_FOLDERS) return;
      if (old?.oid === next?.oid && old?.mode === next?.mode) continue;
      const name = path + ((old ?? next) as Entry).name;
      const a = old && { path: name, mode: old.mode, oid: old.oid };
      const b = next && { path: name, mode: next.mode, oid: next.oid };
      if (name.endsWith("/")) await visit(name, old?.oid, next?.oid);
      else list.push({ from: a, to: b });
    }
  };
  if (from !== to) await visit("", from, to);
  return { list, isCut: list.length > most || folders > MOST_FOLDERS };
}

/** The content of a tree; empty for the empty tree. */
async function contentOf(objects: Objects, tree: string | undefined): Promise<Buffer> {
  return tree === undefined || tree === EMPTY_TREE ? NOTHING : (await objects.read(tree)).data;
}

const NOTHING = Buffer.alloc(0);

/** The entries of a tree, in their order. */
export async function entriesOf(objects: Objects, tree: string | undefined): Promise<Entry[]> {
  return new Entries(await contentOf(objects, tree)).between();
}

/** Where the entries of a tree are. What they are is read when it is asked for. */
class Entries {
  readonly #tree: Buffer;
  readonly #modes: number[] = [];
  /** Where names begin, and end. */
  readonly #froms: number[] = [];
  readonly #tos: number[] = [];

  constructor(tree: Buffer) {
    this.#tree = tree;
    eachEntry(tree, (mode, from, to) => {
      this.#modes.push(mode);
      this.#froms.push(from);
      this.#tos.push(to);
    });
  }

  get length(): number {
    return this.#modes.length;
  }

  /** Where an entry begins: the first after the last one is where the tree ends. */
  startOf(place: number): number {
    return place === 0 ? 0 : (this.#tos[place - 1] as number) + 1 + OID_BYTES;
  }

  /** The entries from a place to one before another. */
  between(first = 0, end = this.length): Entry[] {
    const entries: Entry[] = [];
    for (let place = first; place < end; place += 1) entries.push(this.#at(place));
    return entries;
  }

  #at(place: number): Entry {
    const mode = this.#modes[place] as number;
    const to = this.#tos[place] as number;
    const name = this.#tree.toString("latin1", this.#froms[place], to);
    return {
      name: mode === FOLDER ? `${name}/` : name,
      mode: shownMode(mode),
      oid: this.#tree.toString("hex", to + 1, to + 1 + OID_BYTES),
    };
  }
}

/** The entries of two trees, but for those at both ends that are the same: most changes leave most of a folder as it is. */
function differing(before: Buffer, after: Buffer): [Entry[], Entry[]] {
  const [old, next] = [new Entries(before), new Entries(after)];
  const shorter = Math.min(before.length, after.length);
  let same = 0;
  while (same < shorter && before[same] === after[same]) same += 1;
  let first = 0;
  while (first < old.length && old.startOf(first + 1) <= same) first += 1;
  let rest = 0;
  while (rest < shorter && before[before.length - 1 - rest] === after[after.length - 1 - rest])
    rest += 1;
  let [end, to] = [old.length, next.length];
  while (end > first && to > first) {
    const bytes = before.length - old.startOf(end - 1);
    if (bytes > rest || bytes !== after.length - next.startOf(to - 1)) break;
    end -= 1;
    to -= 1;
  }
  return [old.between(first, end), next.between(first, to)];
}

/** The entries of two trees by name, those of one name together. */
function paired(
  before: readonly Entry[],
  after: readonly Entry[],
): [Entry | undefined, Entry | undefined][] {
  const pairs: [Entry | undefined, Entry | undefined][] = [];
  for (let at = 0, to = 0; at < before.length || to < after.length; ) {
    const [old, next] = [before[at], after[to]];
    const isOld = old !== undefined && (!next || old.name <= next.name);
    const isNext = next !== undefined && (!old || next.name <= old.name);
    pairs.push([isOld ? old : undefined, isNext ? next : undefined]);
    if (isOld) at += 1;
    if (isNext) to += 1;
  }
  return pairs;
}
