import { ApiError, missing, unreadable } from "../../core/errors.ts";
import type { Parameter } from "../../core/http/parameters.ts";
import type { Link } from "./queries.ts";

/** What a link may lead to. */
export const LINK_TYPES = ["other", "runbook", "image", "package"] as const;

/** Maximum characters of a name, a URL or a path. */
export const MAX_URL = 2048;
/** Maximum links of a new release. */
const MAX_LINKS = 100;

/** 400 with a list of sentences. */
const refusedLink = (sentences: readonly string[]) => new ApiError(400, { message: sentences });

/**
 * Checks a link.
 *
 * @param taken the attributes that another link of the release has
 * @throws ApiError 400
 */
export function requireLink({ url, filepath }: Link, taken: readonly (keyof Link)[]): void {
  const problems: string[] = [];
  if (!/^(https?|ftp):\/\//i.test(url)) {
    problems.push("Url is blocked: Only allowed schemes are http, https, ftp");
  } else if (!URL.canParse(url)) problems.push("Url must be a valid URL");
  if (filepath !== null && !isPath(filepath)) problems.push("Filepath is in an invalid format");
  for (const name of taken) {
    problems.push(`${name.slice(0, 1).toUpperCase()}${name.slice(1)} has already been taken`);
  }
  if (problems.length > 0) throw refusedLink(problems);
}

/** Whether links may have a path for downloads: it begins with a slash and ends in a letter or digit. */
const isPath = (path: string) =>
  /^\/[-.\w/]*$/.test(path) && /[\da-z]$/i.test(path) && !path.includes("//");

/** The links of `assets[links]`. @throws ApiError 400 */
export function readLinks(assets: Parameter | undefined): Link[] {
  if (assets === undefined || assets === "") return [];
  const links = typeof assets === "object" && !Array.isArray(assets) ? assets?.["links"] : null;
  if (links === undefined || links === "") return [];
  if (!Array.isArray(links) || links.length > MAX_LINKS)
    throw unreadable("assets[links] is invalid");
  return links.map((link, index) => {
    if (typeof link !== "object" || link === null || Array.isArray(link)) {
      throw unreadable("assets[links] is invalid");
    }
    const textOf = (name: string) => {
      const value = link[name];
      if (value === undefined || value === null || value === "") return null;
      if (typeof value === "string" && value.length <= MAX_URL && !value.includes("\0"))
        return value;
      throw unreadable(`assets[links][${index}][${name}] is invalid`);
    };
    const needed = (name: string) => {
      const value = textOf(name);
      if (value === null) throw missing(`assets[links][${index}][${name}]`);
      return value;
    };
    const link_type = textOf("link_type") ?? "other";
    if (!(LINK_TYPES as readonly string[]).includes(link_type)) {
      throw unreadable(`assets[links][${index}][link_type] does not have a valid value`);
    }
    return {
      name: needed("name"),
      url: needed("url"),
      filepath: textOf("direct_asset_path") ?? textOf("filepath"),
      link_type,
    };
  });
}
