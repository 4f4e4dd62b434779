import { entriesOf, linesOf, type Package, parseObject, textOf } from "./read.ts";

/** A name and the rest (PEP 508): extras, then a version or a URL, then a marker. */
const REQUIREMENT = /^([A-Za-z0-9][A-Za-z0-9._-]*) ?(?:\[[^\]]*\])? ?([^;]*)/;
/** One condition on a version. */
const CONDITION = /^(===|==|~=|!=|<=|>=|<|>) ?[^\s,()=<>]+$/;
const ARCHIVE = /\.(whl|zip|tar|tgz|gz|bz2|xz)$/i;

/**
 * requirements.txt: pinned versions as versions, other requirements as written (`>=2,<3`). Included files, options and
 * local paths are skipped; a URL requirement keeps only its name.
 */
export function parseRequirements(text: string): Package[] {
  return logicalLines(text).flatMap(([line, number]) => {
    const read = parseRequirement(line);
    if (read === null) throw new Error(`line ${number} is no requirement: ${line.slice(0, 60)}`);
    return read ?? [];
  });
}

/** Logical lines (continued by backslashes) without comments, with the number of their first line. */
function logicalLines(text: string): [line: string, number: number][] {
  const logical: [string, number][] = [];
  let before = "";
  let begin = 1;
  for (const [index, line] of linesOf(text).entries()) {
    if (before === "") begin = index + 1;
    const continued = line.endsWith("\\") && !/^\s*#/.test(line);
    before += continued ? `${line.slice(0, -1)} ` : line;
    if (continued) continue;
    logical.push([before, begin]);
    before = "";
  }
  logical.push([before, begin]);
  return logical
    .map(([line, number]): [string, number] => [tidy(line), number])
    .filter(([line]) => line !== "");
}

function tidy(line: string): string {
  return line
    .replace(/\s+/g, " ")
    .replace(/(^| )#.*$/, "")
    .trim();
}

/** `undefined` for a line that names no package, `null` for one pip would not understand. */
function parseRequirement(line: string): Package | undefined | null {
  const editable = /^(?:-e|--editable)[ =](.*)$/.exec(line)?.[1];
  if (editable === undefined && line.startsWith("-")) return undefined;
  // A requirement's options follow it: --hash=sha256:…
  const bare = (editable ?? line).split(/ --?[a-z]/, 1)[0] as string;
  if (/^[\w+.-]+:\/\//.test(bare)) {
    const name = /[#&]egg=([A-Za-z0-9][A-Za-z0-9._-]*)/.exec(bare)?.[1];
    return name === undefined ? undefined : { name, version: "" };
  }
  if (
    /^[^\s@;<>=!]*[/\\]/.test(bare) ||
    bare === "." ||
    ARCHIVE.test(bare.split(" ", 1)[0] ?? "")
  ) {
    return undefined;
  }
  const [, name, rest] = REQUIREMENT.exec(bare) ?? [];
  if (name === undefined || rest === undefined) return null;
  if (rest.trim() === "" || rest.startsWith("@")) return { name, version: "" };
  const conditions = rest
    .replace(/^\((.*)\) ?$/, "$1")
    .split(",")
    .map((condition) => condition.trim())
    .filter((condition) => condition !== "");
  if (!conditions.every((condition) => CONDITION.test(condition))) return null;
  return { name, version: pinned(conditions.join(",").replaceAll(" ", "")) };
}

/** `==1.2` is the version 1.2; anything else stays a requirement. */
function pinned(requirement: string): string {
  return /^={2,3}([^,=*]+)$/.exec(requirement)?.[1]?.trim() ?? requirement;
}

/** Pipfile.lock, all its categories. */
export function parsePipfileLock(text: string): Package[] {
  const lock = parseObject(text);
  if (lock["_meta"] === undefined && lock["default"] === undefined) {
    throw new Error("has neither _meta nor default");
  }
  return Object.keys(lock)
    .filter((category) => category !== "_meta")
    .flatMap((category) =>
      entriesOf(lock[category], category).map(([name, { version, ref }]) => ({
        name,
        version: version === undefined ? textOf(ref) : pinned(textOf(version)),
      })),
    );
}
