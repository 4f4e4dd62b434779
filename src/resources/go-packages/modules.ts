import { isVersion } from "../packages/versions.ts";

/** A Go module of a project. */
export interface Module {
  /** In full: `pm.example.com/acme/site/tool/v2`. */
  readonly name: string;
  /** The folders that it may be in, without slashes at their ends; `""` for the repository itself. */
  readonly folders: readonly string[];
  /** What its tags may begin with, such as `tool/`: as Go reads them, and as GitLab does. */
  readonly tagged: readonly string[];
  /** What the versions of a module begin with whose name ends so, such as `/v2`; `undefined` for `v0` and `v1`. */
  readonly major: number | undefined;
}

/** What an encoded name or version stands for: `!azure` for `Azure`, since file systems may not tell these apart. */
export const decoded = (text: string): string =>
  text.replace(/![a-z]/g, (pair) => (pair[1] as string).toUpperCase());

/**
 * Finds what a name stands for among the modules of a project.
 *
 * @param name as it was sent, encoded
 * @param root what the names of the project's modules begin with: `pm.example.com/acme/site`
 * @returns `undefined` if it can be none of them
 */
export function moduleOf(name: string, root: string): Module | undefined {
  const full = decoded(name);
  if (full !== root && !full.startsWith(`${root}/`)) return undefined;
  const parts = full === root ? [] : full.slice(root.length + 1).split("/");
  if (!parts.every((part) => /^[\w.~-]+$/.test(part) && !/^\.+$/.test(part))) return undefined;
  const suffix = /^v(\d+)$/.exec(parts.at(-1) ?? "");
  if (suffix && !/^(?:[2-9]|[1-9]\d{1,8})$/.test(suffix[1] as string)) return undefined;
  const above = (suffix ? parts.slice(0, -1) : parts).join("/");
  return {
    name: full,
    folders: suffix ? [parts.join("/"), above] : [above],
    tagged: above === "" ? [""] : [`${above}/`, ""],
    major: suffix ? Number(suffix[1]) : undefined,
  };
}

/** Characters of a version. */
const LONGEST = 128;
const RELEASE = /^v(0|[1-9]\d{0,8})\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:-|$)/;

/** The first number of a version as Go writes it, such as `v1.2.3-beta`; `undefined` if a text is none. */
export function majorOf(version: string): number | undefined {
  if (version.length > LONGEST || version.includes("+")) return undefined;
  const major = RELEASE.exec(version)?.[1];
  return major !== undefined && isVersion(version.slice(1)) ? Number(major) : undefined;
}

/** The version of a commit without a tag: its time in UTC, and the beginning of its id (go.dev/ref/mod#pseudo-versions). */
const PSEUDO = /^v\d+\.(?:0\.0-|\d+\.\d+-(?:[\w.-]*\.)?0\.)(\d{14})-([0-9a-f]{12})$/;

/** The commit that a version names; `undefined` for the version of a tag. */
export function commitIn(
  version: string,
): { readonly time: string; readonly id: string } | undefined {
  const [, time, id] = (version.length <= LONGEST && PSEUDO.exec(version)) || [];
  return time === undefined || id === undefined ? undefined : { time, id };
}

/** The module that the content of a `go.mod` is for, which it says before all but comments; `undefined` if it does not. */
export function declaredIn(content: string): string | undefined {
  const first = content.split("\n").find((line) => !/^\s*(?:\/\/.*)?$/.test(line));
  const [, said] = /^\s*module\s+([^\s()]+)\s*(?:\/\/.*)?$/.exec(first ?? "") ?? [];
  return said?.replace(/^(["`])(.*)\1$/, "$2");
}
