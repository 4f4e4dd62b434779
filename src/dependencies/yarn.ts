import { isObject, type Package, textOf } from "./read.ts";

/** yarn.lock of Yarn 1 and of Yarn 2 and later. The project's own workspaces are not dependencies. */
export async function parseYarnLock(text: string): Promise<Package[]> {
  const { parseSyml } = await import("@yarnpkg/parsers");
  const found: Package[] = [];
  for (const [key, entry] of Object.entries(parseSyml(text) as object)) {
    if (key === "__metadata") continue;
    if (!isObject(entry) || typeof entry["version"] !== "string") {
      throw new Error(`${key} has no version`);
    }
    // Workspaces and links, in Yarn 2 and later.
    if (entry["linkType"] === "soft") continue;
    const resolution = textOf(entry["resolution"]);
    found.push({
      name: resolution === "" ? nameOf(key) : splitAtRange(resolution).name,
      version: entry["version"],
    });
  }
  return found;
}

/** The package name of a Yarn 1 key: `left@npm:leftpad@0.0.1, left@…` is leftpad. */
function nameOf(key: string): string {
  const { name, range } = splitAtRange(key.split(", ", 1)[0] as string);
  return range.startsWith("npm:") ? splitAtRange(range.slice("npm:".length)).name : name;
}

/** Splits `@scope/name@range` into name and range. */
function splitAtRange(descriptor: string): { name: string; range: string } {
  const at = descriptor.indexOf("@", 1);
  if (at < 0) return { name: descriptor, range: "" };
  return { name: descriptor.slice(0, at), range: descriptor.slice(at + 1) };
}
