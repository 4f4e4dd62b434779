import { invalid } from "../../core/errors.ts";
import { LONG_TEXT } from "../../core/input.ts";
import { isEntryName } from "../../git/objects.ts";
import { FILE } from "../../git/work-tree.ts";

/** The formats of pages; the first is the default. */
export const FORMATS = ["markdown", "rdoc", "asciidoc"] as const;
export type Format = (typeof FORMATS)[number];

/** How the names of pages' files end, in any case. New files get the first ending that their folder leaves them. */
export const ENDINGS: Readonly<Record<Format, readonly string[]>> = {
  markdown: ["md", "mkd", "mkdn", "mdown", "markdown"],
  rdoc: ["rdoc", "RDOC"],
  asciidoc: ["asciidoc", "adoc"],
};

/** All endings. Of files with one slug, the one whose ending comes first is the page. */
const RANKED = FORMATS.flatMap((format) => ENDINGS[format].map((ending) => ({ format, ending })));

/** Bytes of a page's file at most. The API accepts as many characters. */
export const MAX_PAGE_BYTES = 4 * LONG_TEXT;
/** Bytes of a slug at most: an index of PostgreSQL can't hold more. */
const MAX_SLUG_BYTES = 2048;

/** A page's slug, which identifies it, and its displayed title. */
export interface PageName {
  slug: string;
  title: string;
}

/** Paths of attachments, which pages cannot have. */
export const ATTACHMENT = /^uploads\/[0-9a-f]{32}\/[^/]+$/;

/**
 * The slug and displayed title of a title. Runs of blanks within each part become one hyphen; directories, dots, case and
 * Unicode stay.
 *
 * @param directory used if the title has none: that of the renamed page; a leading `/` means the root
 * @throws ApiError 400 if nothing is left, or a URL can't contain it
 */
export function nameOf(title: string, directory = ""): PageName {
  const parts = title
    .split("/")
    .map((part) => part.replace(/[\s\u0085]+/g, " ").trim())
    .filter((part) => part !== "");
  if (parts.length === 0) throw invalid({ title: ["can't be blank"] });
  // URLs with "." or ".." segments are normalized to others (RFC 3986 §5.2.4).
  if (parts.some((part) => /^\.+$/.test(part))) throw invalid({ title: ["is invalid"] });
  const path = parts.join("/").replaceAll(" ", "-");
  // Such as ".git": clients would refuse it.
  if (!path.split("/").every(isAllowed)) throw invalid({ title: ["is invalid"] });
  const stays = directory !== "" && parts.length === 1 && !title.trimStart().startsWith("/");
  const slug = stays ? `${directory}/${path}` : path;
  if (ATTACHMENT.test(slug)) throw invalid({ title: ["is reserved for attachments"] });
  return { slug, title: titleOf(slug) };
}

/** The displayed title of a slug. */
export const titleOf = (slug: string) => slug.replace(/-+/g, " ");

/** Whether a folder of a repository can have a part of a slug as its name. */
export const isAllowed = (part: string) => isEntryName(Buffer.from(part), FILE);

/** What the name of a page's file says. */
export interface PageFileName {
  readonly slug: string;
  readonly format: Format;
  /** Of files with one slug, the one with the lowest is the page. */
  readonly rank: number;
}

/** What a path in a wiki's repository says about a page; `undefined` if no page can be there. */
export function pageNameOf(path: string): PageFileName | undefined {
  const dot = path.lastIndexOf(".");
  if (dot <= path.lastIndexOf("/") + 1) return undefined;
  const ending = path.slice(dot + 1).toLowerCase();
  const rank = RANKED.findIndex((known) => known.ending === ending);
  const slug = path.slice(0, dot);
  return rank < 0 || !isSlug(slug) ? undefined : { slug, format: formatAt(rank), rank };
}

const formatAt = (rank: number) => (RANKED[rank] as (typeof RANKED)[number]).format;

/** Whether a page can have a slug: a URL and an index must hold it. */
function isSlug(slug: string): boolean {
  return (
    Buffer.byteLength(slug) <= MAX_SLUG_BYTES &&
    !ATTACHMENT.test(slug) &&
    slug.split("/").every((part) => !/^\.*$/.test(part))
  );
}

/** The directory a slug is in, `""` for the root. */
export function directoryOf(slug: string): string {
  return slug.slice(0, Math.max(0, slug.lastIndexOf("/")));
}
