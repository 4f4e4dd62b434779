import { extname } from "node:path/posix";
import { ApiError } from "../errors.ts";
import { isMedia } from "./file-reply.ts";

const MAX_NAME_LENGTH = 255;

/**
 * The name an attachment is stored under, with GitLab's replacements.
 *
 * @throws ApiError 400 for an empty one
 */
export function attachmentName(name: string): string {
  if (name.trim() === "") {
    throw new ApiError(400, { message: "The file name cannot be empty" });
  }
  const clean = name.replace(/[^a-zA-Z0-9.\-+_]/gu, "_").replace(/^\.+$/, "_");
  if (clean.length <= MAX_NAME_LENGTH) return clean;
  const extension = extname(clean).slice(0, MAX_NAME_LENGTH - 1);
  return clean.slice(0, MAX_NAME_LENGTH - extension.length) + extension;
}

/** The Markdown that shows or links an attachment. */
export function markdownOf(name: string, path: string): string {
  return isMedia(name)
    ? `![${name.slice(0, -extname(name).length)}](${path})`
    : `[${name}](${path})`;
}
