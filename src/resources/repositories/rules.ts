import { ApiError } from "../../core/errors.ts";
import { isEntryName } from "../../git/objects.ts";
import { FILE } from "../../git/work-tree.ts";

/** 400 for a change of a repository that can't be made. */
export const impossible = (message: string) => new ApiError(400, { message });

/** Folders that a path leads through: each costs a tree. */
const MAX_FOLDERS = 100;

/**
 * The path of a file as trees have it: without `.`, and slashes at its ends.
 *
 * @throws ApiError 400 if files can't have it
 */
export function treePath(path: string): string {
  if (path.includes("//") || path.includes("\0") || !path.isWellFormed()) throw invalidPath(path);
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.length === 0) throw impossible("You must provide a file path");
  if (parts.includes("..")) throw impossible("Path cannot include directory traversal");
  const isPossible = parts.every((part) => isEntryName(Buffer.from(part), FILE));
  if (!isPossible || parts.length > MAX_FOLDERS) throw invalidPath(path);
  return parts.join("/");
}

const invalidPath = (path: string) => impossible(`invalid path: '${path}'`);
