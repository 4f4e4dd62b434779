import { compareVersions as compareSemantic } from "../packages/versions.ts";

/** Characters of a version, and of a name. */
const LONGEST = 100;
const VERSION = /^(\d+(?:\.\d+){0,3})(-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?(?:\+[0-9A-Za-z.-]+)?$/;

/** Whether a text is the id of a package. */
export const isName = (text: string): boolean =>
  text.length <= LONGEST && /^[\w+-][\w.+-]*$/.test(text);

/**
 * A version as NuGet compares them: `1.0.0` of `1`, `01.0` and `1.0.0.0+build`.
 *
 * @returns `undefined` if a text is none
 */
export function normalized(version: string): string | undefined {
  const [, numbers, before = ""] = (version.length <= LONGEST && VERSION.exec(version)) || [];
  if (numbers === undefined) return undefined;
  const [major = "0", minor = "0", patch = "0", revision = "0"] = numbers
    .split(".")
    .map((part) => part.replace(/^0+(?=\d)/, ""));
  const last = revision === "0" ? "" : `.${revision}`;
  return `${major}.${minor}.${patch}${last}${before}`;
}

/** Compares two normalized versions, as for sorting. */
export function compareVersions(one: string, other: string): number {
  const parts = (version: string) => {
    const [, three = "", revision = "0", before = ""] =
      /^(\d+\.\d+\.\d+)(?:\.(\d+))?(-.*)?$/.exec(version.toLowerCase()) ?? [];
    return { three, revision: `${revision}.0.0`, whole: `0.0.0${before}` };
  };
  const [a, b] = [parts(one), parts(other)];
  return (
    compareSemantic(a.three, b.three) ||
    compareSemantic(a.revision, b.revision) ||
    compareSemantic(a.whole, b.whole)
  );
}
