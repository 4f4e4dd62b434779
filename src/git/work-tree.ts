import type { Draft } from "./draft.ts";
import { eachEntry, FOLDER, SUBMODULE, TREE, treeWith } from "./objects.ts";
import { OID_BYTES } from "./oid-table.ts";

/** The modes of files, and of files that can be executed. */
export const FILE = 0o100644;
export const EXECUTABLE = 0o100755;

/** What is at a path. */
export interface Placed {
  readonly mode: number;
  /** The name of its object, in hex. */
  readonly oid: string;
}

/** Whether an entry has content of its own: it is a file or a symbolic link. */
export const isFile = ({ mode }: Placed) => mode !== FOLDER && mode !== SUBMODULE;

/** Reads a tree that was checked. Names are as latin1, so that texts are in the order of their bytes. */
function readTree(tree: Buffer): Map<string, Placed> {
  const entries = new Map<string, Placed>();
  eachEntry(tree, (mode, from, to, at) => {
    entries.set(tree.toString("latin1", from, to), {
      mode,
      oid: tree.toString("hex", at, at + OID_BYTES),
    });
  });
  return entries;
}

/** Writes a tree. Its names are as {@link readTree} gives them. */
const writeTree = (entries: ReadonlyMap<string, Placed>): Buffer =>
  treeWith(
    [...entries].map(([name, { mode, oid }]) => ({
      name: mode === FOLDER ? `${name}/` : name,
      mode,
      oid,
    })),
  );

/** A folder that was opened. */
interface Folder {
  /** Those of folders that have changed are outdated until all is written. */
  readonly entries: Map<string, Placed>;
  /** Folders in it that were opened. */
  readonly opened: Map<string, Folder>;
  isChanged: boolean;
}

const emptyFolder = (): Folder => ({ entries: new Map(), opened: new Map(), isChanged: false });

/** The files of a commit, to be changed. Folders are read when a path leads into them, and written if they changed. */
export class WorkTree {
  readonly #draft: Draft;
  readonly #oid: string | undefined;
  #root: Folder | undefined;

  /** @param oid a tree; without one there are no files */
  constructor(draft: Draft, oid?: string) {
    this.#draft = draft;
    this.#oid = oid;
  }

  /**
   * What is at a path.
   *
   * @param path names joined by `/`, at least one
   */
  async find(path: string): Promise<Placed | undefined> {
    const { folders, name } = partsOf(path);
    const way = await this.#way(folders, false);
    return way?.at(-1)?.entries.get(name);
  }

  /**
   * Puts something at a path, with the folders that lead there.
   *
   * @returns `false` if that is impossible, since one of them is a file
   */
  async set(path: string, entry: Placed): Promise<boolean> {
    const { folders, name } = partsOf(path);
    const way = await this.#way(folders, true);
    if (!way) return false;
    for (const folder of way) folder.isChanged = true;
    const folder = way.at(-1) as Folder;
    folder.entries.set(name, entry);
    folder.opened.delete(name);
    return true;
  }

  /** Removes what is at a path, and folders that have nothing left. */
  async remove(path: string): Promise<void> {
    const { folders, name } = partsOf(path);
    const way = await this.#way(folders, false);
    if (!way) return;
    const names = [...folders, name];
    for (let at = way.length - 1; at >= 0; at -= 1) {
      const folder = way[at] as Folder;
      folder.isChanged = true;
      if (at < way.length - 1 && (way[at + 1] as Folder).entries.size > 0) continue;
      folder.entries.delete(names[at] as string);
      folder.opened.delete(names[at] as string);
    }
  }

  /** Writes what has changed, and returns the name of the root's tree. */
  async write(): Promise<string> {
    return this.#write(await this.#openRoot());
  }

  async #openRoot(): Promise<Folder> {
    this.#root ??= this.#oid === undefined ? emptyFolder() : await this.#read(this.#oid);
    return this.#root;
  }

  async #read(oid: string): Promise<Folder> {
    const { data } = await this.#draft.read(oid);
    return { ...emptyFolder(), entries: readTree(data) };
  }

  /**
   * The folders on a way, from the root.
   *
   * @param toCreate whether missing ones are created
   * @returns `undefined` if there is no such way
   */
  async #way(names: readonly string[], toCreate: boolean): Promise<Folder[] | undefined> {
    const way = [await this.#openRoot()];
    for (const name of names) {
      const parent = way.at(-1) as Folder;
      let folder = parent.opened.get(name);
      if (!folder) {
        const entry = parent.entries.get(name);
        if (entry ? entry.mode !== FOLDER : !toCreate) return undefined;
        folder = entry ? await this.#read(entry.oid) : emptyFolder();
        parent.opened.set(name, folder);
        if (!entry) parent.entries.set(name, { mode: FOLDER, oid: "" });
      }
      way.push(folder);
    }
    return way;
  }

  #write(folder: Folder): string {
    for (const [name, inner] of folder.opened) {
      if (!inner.isChanged) continue;
      folder.entries.set(name, { mode: FOLDER, oid: this.#write(inner) });
    }
    return this.#draft.add(TREE, writeTree(folder.entries));
  }
}

function partsOf(path: string): { folders: string[]; name: string } {
  const parts = Buffer.from(path).toString("latin1").split("/");
  return { name: parts.pop() as string, folders: parts };
}
