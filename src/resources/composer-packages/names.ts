/** Characters of a name, and of a version. */
const LONGEST = 255;
const NAME = /^[a-z0-9]+(?:[_.-][a-z0-9]+)*\/[a-z0-9]+(?:(?:[_.]|--?)[a-z0-9]+)*$/;

/** Whether a text is the name of a package, in lower case: `acme/thing`. */
export const isName = (text: string): boolean => text.length <= LONGEST && NAME.test(text);

const STABILITY = "(?:stable|beta|b|rc|alpha|a|patch|pl|p)";
const VERSION = new RegExp(
  `^v?(\\d+(?:\\.\\d+){0,3}(?:[._-]?${STABILITY}(?:[.-]?\\d+(?:[.-]\\d+){0,2})?)?(?:[.-]?dev)?)$`,
  "i",
);

/** The version that a tag is, such as `1.0.0` of `v1.0.0`; `undefined` if it is none. */
export const versionOfTag = (tag: string): string | undefined =>
  tag.length <= LONGEST ? VERSION.exec(tag)?.[1] : undefined;

/** The version that a branch is: `dev-main`, or `1.2.x-dev` of `1.2` and `1.2.x`, as Composer names them. */
export function versionOfBranch(branch: string): string {
  const numbers = /^v?(\d+(?:\.\d+){0,2})(?:\.[x*])?$/i.exec(branch)?.[1];
  return numbers === undefined ? `dev-${branch}` : `${numbers}.x-dev`;
}
