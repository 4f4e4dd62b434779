import { extname } from "node:path/posix";
import { ApiError, invalid } from "../../core/errors.ts";

/** What a page is found by and shown as. */
export interface PageName {
  slug: string;
  title: string;
}

/** Below this stand attachments. */
const ATTACHMENT = /^uploads\/[0-9a-f]{32}\/[^/]+$/;

/**
 * The slug and shown title of a title (gitlab-facts §3): blanks within each part become one and then a hyphen,
 * directories, dots, case and Unicode stay.
 *
 * @param directory where a title without one goes: that of the page it renames; a leading `/` leads out of it
 * @throws ApiError 400 where nothing is left, or an address can't hold it
 */
export function nameOf(title: string, directory = ""): PageName {
  const parts = title
    .split("/")
    .map((part) => part.replace(/[\s\u0085]+/g, " ").trim())
    .filter((part) => part !== "");
  if (parts.length === 0) throw invalid({ title: ["can't be blank"] });
  // An address with "." or ".." in it is another address (RFC 3986 §5.2.4).
  if (parts.some((part) => /^\.+$/.test(part))) throw invalid({ title: ["is invalid"] });
  const path = parts.join("/").replaceAll(" ", "-");
  const stays = directory !== "" && parts.length === 1 && !title.trimStart().startsWith("/");
  const slug = stays ? `${directory}/${path}` : path;
  if (ATTACHMENT.test(slug)) throw invalid({ title: ["is reserved for attachments"] });
  return { slug, title: slug.replace(/-+/g, " ") };
}

/** The directory a slug is in, `""` for the root. */
export function directoryOf(slug: string): string {
  return slug.slice(0, Math.max(0, slug.lastIndexOf("/")));
}

const LONGEST_NAME = 255;

/**
 * The name an attachment is kept under (gitlab-facts §3).
 *
 * @throws ApiError 400 for an empty one
 */
export function attachmentName(name: string): string {
  if (name.trim() === "") {
    throw new ApiError(400, { message: "The file name cannot be empty" });
  }
  const clean = name.replace(/[^a-zA-Z0-9.\-+_]/gu, "_").replace(/^\.+$/, "_");
  if (clean.length <= LONGEST_NAME) return clean;
  const extension = extname(clean).slice(0, LONGEST_NAME - 1);
  return clean.slice(0, LONGEST_NAME - extension.length) + extension;
}

/** What browsers show in the page they are in. SVG is not among them: it can hold scripts. */
const IMAGES: Readonly<Record<string, string>> = {
  ".avif": "image/avif",
  ".bmp": "image/bmp",
  ".gif": "image/gif",
  ".ico": "image/x-icon",
  ".jpeg": "image/jpeg",
  ".jpg": "image/jpeg",
  ".png": "image/png",
  ".tif": "image/tiff",
  ".tiff": "image/tiff",
  ".webp": "image/webp",
};

const VIDEOS: Readonly<Record<string, string>> = {
  ".m4v": "video/mp4",
  ".mov": "video/quicktime",
  ".mp4": "video/mp4",
  ".ogv": "video/ogg",
  ".webm": "video/webm",
};

/** What a page has to hold to show or link an attachment. */
export function markdownOf(name: string, path: string): string {
  const extension = extname(name);
  const kind = extension.toLowerCase();
  if (!IMAGES[kind] && !VIDEOS[kind]) return `[${name}](${path})`;
  return `![${name.slice(0, -extension.length)}](${path})`;
}

/** The headers an attachment is sent with: by its name alone, whatever its sender called it. */
export function headersOf(name: string): Record<string, string> {
  const kind = extname(name).toLowerCase();
  return {
    "content-type": IMAGES[kind] ?? VIDEOS[kind] ?? "application/octet-stream",
    // The name has no character that would need quoting.
    "content-disposition": `${IMAGES[kind] ? "inline" : "attachment"}; filename="${name}"`,
    "content-security-policy": "default-src 'none'; sandbox",
  };
}
