import { commitId } from "../../git/commits.ts";
import { lastChange } from "../../git/history.ts";
import type { Repository } from "../../git/repository.ts";
import { treePath } from "./rules.ts";

const MEBIBYTE = 1024 * 1024;
/** Bytes of a request that brings files. Larger files can be pushed. */
export const CONTENT_BYTES = 32 * MEBIBYTE;

/** How the content of a file may be sent. */
export const ENCODINGS = ["text", "base64"] as const;

/** The bytes of a file. Base64 may have line breaks. */
export function contentOf(text: string, encoding: (typeof ENCODINGS)[number] = "text"): Buffer {
  return Buffer.from(text, encoding === "base64" ? "base64" : "utf8");
}

/**
 * Whether a file was changed by another commit than the one that a client knows.
 *
 * @param commit the number of the commit that has the file
 * @param known the last commit that the client knows to have changed it, if it knows one
 */
export async function hasChanged(
  repository: Repository,
  commit: number | undefined,
  path: string,
  known: string | undefined,
): Promise<boolean> {
  if (!known || commit === undefined) return false;
  const last = await lastChange(repository, commit, treePath(path));
  return last !== undefined && commitId(repository, last) !== known;
}
