import type { Pace } from "../turns/pace.ts";
import { eachEntry, FOLDER, SUBMODULE, SYMLINK } from "./objects.ts";
import { OID_BYTES } from "./oid-table.ts";
import type { Repository } from "./repository.ts";
import { entryAt } from "./trees.ts";

/** What is in an archive instead of a file's content. */
export interface Replacement {
  /** In bytes. */
  readonly size: number;
  readonly chunks: () => AsyncIterable<Uint8Array>;
}

/** What an archive contains. */
export interface Archived {
  readonly repository: Repository;
  /** The commit whose files they are, in hex. */
  readonly commit: string;
  /** When it was committed, in seconds of the epoch: the time of all files. */
  readonly time: number;
  /** The commit's tree. */
  readonly root: number;
  /** The tree that the files are in. */
  readonly tree: number;
  /** The path of the tree, without slashes at its ends. */
  readonly path: string;
  /** The folder of all files, without a slash at its end; `""` if they are in none. */
  readonly folder: string;
  /** What is in it instead of a file, by the number of its object. Default: nothing. */
  readonly replacing?: ((object: number) => Promise<Replacement | undefined>) | undefined;
}

/** A file, link, folder or submodule of an archive. */
export interface Member {
  /** As Latin-1: names are bytes, which need not be UTF-8. Folders' and submodules' end with a slash. */
  readonly path: string;
  readonly mode: number;
  /** Its object, in hex: of the folder of all files, the commit's tree. */
  readonly oid: string;
  /** The number of a file's object, or of a link's, whose content is the target; `undefined` for folders. */
  readonly object: number | undefined;
  /** What a file has instead of its object's content. */
  readonly replacement?: Replacement | undefined;
}

/** An entry of a tree. */
interface Entry {
  readonly mode: number;
  /** As Latin-1. */
  readonly name: string;
  readonly oid: string;
}

/** All of an archive: each folder before what is in it. */
export async function* membersOf(
  { repository, root, tree, path, folder, replacing }: Archived,
  pace: Pace,
): AsyncGenerator<Member> {
  const folderAt = (at: string, object: number): Member => {
    const oid = repository.oidOf(object).toString("hex");
    return { path: at, mode: FOLDER, oid, object: undefined };
  };
  let above = folder === "" ? "" : `${latin1Of(folder)}/`;
  if (folder !== "") yield folderAt(above, root);
  let parent = root;
  for (const name of path === "" ? [] : path.split("/")) {
    above += `${latin1Of(name)}/`;
    parent = repository.findHex((await entryAt(repository, parent, name))?.oid ?? "");
    yield folderAt(above, parent);
  }
  const open: { entries: readonly Entry[]; at: number; path: string }[] = [
    { entries: await entriesOf(repository, tree), at: 0, path: above },
  ];
  for (let last = open.at(-1); last; last = open.at(-1)) {
    const entry = last.entries[last.at];
    if (!entry) {
      open.pop();
      continue;
    }
    last.at += 1;
    const { mode, oid, name } = entry;
    const at = last.path + name;
    const object = mode === SUBMODULE ? -1 : repository.findHex(oid);
    if (mode === FOLDER || mode === SUBMODULE) {
      yield { path: `${at}/`, mode, oid, object: undefined };
    } else {
      const replacement = mode === SYMLINK ? undefined : await replacing?.(object);
      yield { path: at, mode, oid, object, replacement };
    }
    if (mode === FOLDER) {
      open.push({ entries: await entriesOf(repository, object), at: 0, path: `${at}/` });
    }
    if (pace.isDue) await pace.pause();
  }
}

async function entriesOf(repository: Repository, tree: number): Promise<Entry[]> {
  const { data } = await repository.read(tree);
  const entries: Entry[] = [];
  eachEntry(data, (mode, from, to, at) => {
    const oid = data.toString("hex", at, at + OID_BYTES);
    entries.push({ mode, name: data.toString("latin1", from, to), oid });
  });
  return entries;
}

const latin1Of = (text: string) => Buffer.from(text).toString("latin1");
