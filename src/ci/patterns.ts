import { readExpression } from "../core/expressions.ts";
import { Glob } from "../core/globs.ts";
import type { Pattern } from "./types.ts";

/** Maximum length of a glob in characters. */
const MAX_LENGTH = 1000;
/**
 * Reads a regular expression of RE2 between slashes, as `/^v\d+/i`. It takes time that grows with the text's length only.
 *
 * @returns `undefined` if it is none
 */
export function readPattern(text: string): Pattern | undefined {
  const end = text.lastIndexOf("/");
  if (!text.startsWith("/") || end < 2) return undefined;
  return readExpression(text.slice(1, end).replaceAll("\\/", "/"), text.slice(end + 1));
}

/** Whether a text looks like a regular expression, which may still be invalid. */
export function isPattern(text: string): boolean {
  return /^\/.*\/[ismU]*$/s.test(text);
}

/** Maximum number of globs that braces in one glob stand for. */
const MAX_ALTERNATIVES = 100;

/** Reads a glob of paths, as Ruby's `File.fnmatch` does: like Git's, and `{a,b}` stands for one of several texts. */
export function readGlobs(glob: string): readonly Glob[] {
  return alternativesOf(glob).map((one) => new Glob(`/${one.replace(/^\//, "")}`));
}

/** The globs that one with braces stands for; none if there are too many, or it is too long. */
function alternativesOf(glob: string): readonly string[] {
  if (glob.length > MAX_LENGTH) return [];
  let open: readonly string[] = [glob];
  const done: string[] = [];
  while (open.length > 0) {
    if (open.length + done.length > MAX_ALTERNATIVES) return [];
    open = open.flatMap((one) => {
      const [, before = "", inside, after = ""] = /^(.*)\{([^{}]*)\}(.*)$/s.exec(one) ?? [];
      if (inside !== undefined) return inside.split(",").map((part) => before + part + after);
      done.push(one);
      return [];
    });
  }
  return done;
}
