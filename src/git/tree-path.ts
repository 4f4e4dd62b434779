import { RefusedError } from "./errors.ts";
import { isEntryName } from "./objects.ts";
import { FILE } from "./work-tree.ts";

/** Folders that a path leads through: each costs a tree. */
const MAX_FOLDERS = 100;

/**
 * The path of a file as trees have it: without `.`, and slashes at its ends.
 *
 * @throws RefusedError if files can't have it
 */
export function treePath(path: string): string {
  if (path.includes("//") || path.includes("\0") || !path.isWellFormed()) throw invalidPath(path);
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.length === 0) throw new RefusedError("You must provide a file path");
  if (parts.includes("..")) throw new RefusedError("Path cannot include directory traversal");
  const isPossible = parts.every((part) => isEntryName(Buffer.from(part), FILE));
  if (!isPossible || parts.length > MAX_FOLDERS) throw invalidPath(path);
  return parts.join("/");
}

const invalidPath = (path: string) => new RefusedError(`invalid path: '${path}'`);
