import { readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { filesBelow, kindOf, ROOT, testFiles } from "./kinds.ts";

/** What a change can reach. */
export interface Reach {
  /** Test files: those that changed, that use what changed, or that send requests to a resource that uses it. */
  readonly tests: ReadonlySet<string>;
  /** The folders of `src/resources` that changed themselves, by name. */
  readonly resources: ReadonlySet<string>;
  /** Whether any changed path fits a pattern. */
  touches(pattern: RegExp): boolean;
}

/** Which tests and resources a change can reach, from its paths. */
export function reachOf(changed: readonly string[]): Reach {
  const touches = (pattern: RegExp) => changed.some((path) => pattern.test(path));
  const tests = new Set<string>();
  const resources = new Set<string>();
  if (changed.length > 0) {
    const using = usersOf(changed);
    for (const name of changed.map(resourceOf)) if (name) resources.add(name);
    const reached = new Set([...using].flatMap((path) => resourceOf(path) ?? []));
    const files = testFiles();
    const sending = files.filter((file) => kindOf(file) === "app");
    for (const file of [...reached].flatMap((name) => testsOf(name, sending))) tests.add(file);
    for (const file of files) if (using.has(file) || isNear(file, touches)) tests.add(file);
  }
  return { tests, resources, touches };
}

/** The folder of `src/resources` that a file is in, by name. */
function resourceOf(path: string): string | undefined {
  return /^src\/resources\/([^/]+)\//.exec(path)?.[1];
}

/**
 * Files of `src`, `cli` and `test` that import any of some files, directly or through others, and those files
 * themselves. What gathers everything, such as the list of resources, passes nothing on, and between resources only the
 * first step counts: else, every file would reach nearly every other.
 */
function usersOf(files: readonly string[]): ReadonlySet<string> {
  const importers = new Map<string, string[]>();
  for (const file of ["src", "cli", "test"]
    .flatMap(filesBelow)
    .filter((name) => /\.m?ts$/.test(name))) {
    for (const [, path = ""] of textOf(file).matchAll(/(?:\bfrom |\bimport\()"(\.[^"]+)"/g)) {
      const imported = join(dirname(file), path);
      importers.set(imported, [...(importers.get(imported) ?? []), file]);
    }
  }
  const users = new Set(files);
  /** Users in another folder of resources than what they use: they are not followed further. */
  const across = new Set<string>();
  for (const file of users) {
    if (GATHERS.test(file) || across.has(file)) continue;
    for (const importer of importers.get(file) ?? []) {
      if (users.has(importer)) continue;
      users.add(importer);
      const [from, to] = [file, importer].map(resourceOf);
      if (from && to && from !== to) across.add(importer);
    }
  }
  return users;
}

const GATHERS =
  /^(src\/(app|mounts|index|options|adapters|node|bun|deno|testing)\.ts|src\/resources\/(index|graphql)\.ts|src\/(admin|seed|testing|database)\/|test\/(helpers|fixtures)\.ts)/;

/**
 * The tests of a resource: those named after it, and those that have its word in a path three times, since with fewer
 * tests prepare what they are about. If these are more than a quarter of all, nearly every test needs such a record, and
 * only the names tell.
 */
function testsOf(resource: string, files: readonly string[]): string[] {
  const stem = resource.replace(/s$/, "");
  const inPath = new RegExp(`/${resource}\\b`, "g");
  const asking = files.filter((file) => (textOf(file).match(inPath)?.length ?? 0) >= 3);
  const named = files.filter((file) => basename(file).startsWith(stem));
  return asking.length > files.length / 4 ? named : [...named, ...asking];
}

/** For tests of programs and documents, which import little of what they test. */
function isNear(file: string, touches: (pattern: RegExp) => boolean): boolean {
  if (kindOf(file) === "app") return false;
  const folder = dirname(file);
  const [, top = "", area = ""] = /^(examples|test)\/([^/]+)/.exec(file) ?? [];
  if (top === "examples") return touches(new RegExp(`^${folder}/`));
  return area === "cli"
    ? touches(new RegExp(`^cli/|^src/admin/${basename(file).split(/[.-]/)[0]}`))
    : (NEAR[area]?.some(touches) ?? false);
}

/** What else, beside the folder of the same name in `src`, tests in a folder are about. */
const NEAR: Readonly<Record<string, readonly RegExp[]>> = {
  adapters: [/^src\/(adapters|node|bun|deno)\.ts/, /^src\/core\/http\//],
  docs: [/^docs\//, /^README/],
  e2e: [/^src\/(web|pages|oauth|browse)\//],
  examples: [/^examples\//],
  package: [/^package(-lock)?\.json/, /^tsup/, /^src\/(index|node|bun|deno|testing)\.ts/],
  testing: [/^src\/testing/, /^docs\/testing/],
  toy: [/^src\/core\//],
};

const texts = new Map<string, string>();

/** A file's text; empty if it was removed. */
function textOf(file: string): string {
  const known = texts.get(file);
  if (known !== undefined) return known;
  let text = "";
  try {
    text = readFileSync(join(ROOT, file), "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  texts.set(file, text);
  return text;
}
