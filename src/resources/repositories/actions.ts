import type { Draft } from "../../git/draft.ts";
import { BLOB } from "../../git/objects.ts";
import { EXECUTABLE, FILE, isFile, type Placed, type WorkTree } from "../../git/work-tree.ts";
import { impossible, treePath } from "./rules.ts";

/** The changes of files that a commit can make. */
export const ACTIONS = ["create", "update", "move", "delete", "chmod"] as const;

/** A change of a file. */
export interface FileAction {
  readonly action: (typeof ACTIONS)[number];
  readonly path: string;
  /** Of a file that is moved: where it was. */
  readonly previousPath?: string | undefined;
  /** A file that is moved without content keeps its own. */
  readonly content?: Buffer | undefined;
  readonly isExecutable?: boolean | undefined;
}

const missingFile = () => impossible("A file with this name doesn't exist");
const takenByFile = () => impossible("A file with this name already exists");

/**
 * Makes a change in a tree.
 *
 * @throws ApiError 400 if it is impossible
 */
export async function perform(
  { action, path: given, previousPath = "", content, isExecutable }: FileAction,
  tree: WorkTree,
  draft: Draft,
): Promise<void> {
  const path = treePath(given);
  const blob = content && draft.add(BLOB, content);
  const modeOf = (mode: number) =>
    isExecutable === undefined
      ? mode
      : isExecutable
        ? EXECUTABLE
        : mode === EXECUTABLE
          ? FILE
          : mode;
  if (action === "create") {
    const entry = { mode: modeOf(FILE), oid: blob ?? draft.add(BLOB, Buffer.alloc(0)) };
    return place(tree, path, entry);
  }
  const from = action === "move" ? treePath(previousPath) : path;
  const found = await tree.find(from);
  if (!found || !isFile(found)) throw missingFile();
  const changed = { mode: modeOf(found.mode), oid: blob ?? found.oid };
  if (action === "delete") return tree.remove(path);
  if (action !== "move") {
    await tree.set(path, changed);
    return;
  }
  await tree.remove(from);
  await place(tree, path, changed);
}

/** Puts a file where there is nothing. @throws ApiError 400 if there is something */
async function place(tree: WorkTree, path: string, entry: Placed): Promise<void> {
  const found = await tree.find(path);
  if (found) {
    throw isFile(found) ? takenByFile() : impossible("A directory with this name already exists");
  }
  if (!(await tree.set(path, entry))) throw takenByFile();
}
