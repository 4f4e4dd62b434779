import { fits } from "../resources/protected-refs/wildcards.ts";

/** A path as the client sends it, without the query: the whole path, in which `*` stands for any text, or a RegExp. */
export type PathPattern = string | RegExp;

/** Whether a path, or another name, fits a pattern. */
export function fitsPattern(pattern: PathPattern, path: string): boolean {
  return typeof pattern === "string" ? fits(pattern, path) : path.search(pattern) >= 0;
}
