import type { Pace } from "../turns/pace.ts";
import { FOLDER, SUBMODULE } from "./objects.ts";
import type { Repository } from "./repository.ts";
import { entriesOf, type TreeEntry } from "./trees.ts";

/** What an archive contains. */
export interface Archived {
  readonly repository: Repository;
  /** The commit whose files they are, in hex. */
  readonly commit: string;
  /** When it was committed, in seconds of the epoch: the time of all files. */
  readonly time: number;
  /** The tree that the files are in. */
  readonly tree: number;
  /** The path of the tree, without slashes at its ends. */
  readonly path: string;
  /** The folder of all files, without a slash at its end. */
  readonly folder: string;
}

/** A file, link, folder or submodule of an archive. */
export interface Member {
  /** Folders' and submodules' end with a slash. */
  readonly path: string;
  readonly mode: number;
  /** Its object, in hex; `undefined` for the folder of all files. */
  readonly oid: string | undefined;
  /** The number of a file's object, or of a link's, whose content is the target; `undefined` for folders. */
  readonly object: number | undefined;
}

/** All of an archive: each folder before what is in it. */
export async function* membersOf(
  { repository, tree, path, folder }: Archived,
  pace: Pace,
): AsyncGenerator<Member> {
  const none = { oid: undefined, object: undefined };
  yield { path: `${folder}/`, mode: FOLDER, ...none };
  let above = `${folder}/`;
  for (const name of path === "" ? [] : path.split("/")) {
    above += `${name}/`;
    yield { path: above, mode: FOLDER, ...none };
  }
  const open: { entries: readonly TreeEntry[]; at: number; path: string }[] = [
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
    } else yield { path: at, mode, oid, object };
    if (mode === FOLDER) {
      open.push({ entries: await entriesOf(repository, object), at: 0, path: `${at}/` });
    }
    if (pace.isDue) await pace.pause();
  }
}
