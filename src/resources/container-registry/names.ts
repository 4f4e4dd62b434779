import type { Reader } from "../../store/port.ts";

/** Characters of a name. */
const MOST = 255;
/** How many levels a name may have below the path of its project. */
const LEVELS = 2;

const PART = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/;
const TAG = /^\w[\w.-]{0,127}$/;
const DIGEST = /^(?:sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$/;

/** Whether a text can name a repository (OCI distribution 1.1, "Pulling manifests"). */
export const isName = (text: string): boolean =>
  text.length <= MOST && text.split("/").every((part) => PART.test(part));

/** Whether a text can be a tag. */
export const isTag = (text: string): boolean => TAG.test(text);

/** Whether a text is the digest of something, by SHA-256 or SHA-512. */
export const isDigest = (text: unknown): text is string =>
  typeof text === "string" && DIGEST.test(text);

/**
 * The paths that the project of a repository may have, the longest first: at most {@link LEVELS} levels follow it.
 *
 * @param name of the repository
 */
export function projectPathsOf(name: string): string[] {
  const parts = name.split("/");
  const paths: string[] = [];
  for (let left = 0; left <= LEVELS && parts.length - left >= 2; left += 1) {
    paths.push(parts.slice(0, parts.length - left).join("/"));
  }
  return paths;
}

/** What follows the path of a project in the name of a repository; `undefined` if it is not the project's. */
export function withinProject(name: string, fullPath: string): string | undefined {
  const path = fullPath.toLowerCase();
  if (name === path) return "";
  const rest = name.startsWith(`${path}/`) ? name.slice(path.length + 1) : undefined;
  return rest !== undefined && rest.split("/").length <= LEVELS ? rest : undefined;
}

/** The name of a repository, as clients of the registry know it. @param own what follows the path of its project */
export const nameOf = (fullPath: string, own: string): string =>
  own === "" ? fullPath.toLowerCase() : `${fullPath.toLowerCase()}/${own}`;

/** The path of a project, unless it is being deleted. */
export async function pathOf(db: Reader, projectId: number): Promise<string | undefined> {
  const [row] = await db.rows("select full_path from projects where id = ? and visibility > -1", [
    projectId,
  ]);
  return row && String(row[0]);
}
