import { entriesOf, type Package, parseObject, textOf } from "./read.ts";

const FOLDER = "node_modules/";

/** package-lock.json of versions 1 to 3. The project's own workspaces and links are not dependencies. */
export function parsePackageLock(text: string): Package[] {
  const lock = parseObject(text);
  if (lock["packages"] !== undefined) return fromPaths(lock["packages"]);
  if (lock["dependencies"] === undefined && lock["lockfileVersion"] === undefined) {
    throw new Error("has neither packages nor dependencies");
  }
  return fromTree(lock["dependencies"]);
}

/** Versions 2 and 3: keyed by installation path. */
function fromPaths(packages: unknown): Package[] {
  const found: Package[] = [];
  for (const [path, entry] of entriesOf(packages, "packages")) {
    const at = path.lastIndexOf(FOLDER);
    if (at < 0 || entry["link"] === true) continue;
    // An alias is installed under its own name; its entry has the real one.
    const name = textOf(entry["name"]) || path.slice(at + FOLDER.length);
    found.push({ name, version: textOf(entry["version"]) });
  }
  return found;
}

/** Version 1: each package is nested in its dependent. */
function fromTree(dependencies: unknown): Package[] {
  const found: Package[] = [];
  const pending = [dependencies];
  while (pending.length > 0) {
    for (const [name, entry] of entriesOf(pending.pop(), "dependencies")) {
      const version = textOf(entry["version"]);
      const alias = /^npm:(@?[^@]+)@(.*)$/.exec(version);
      if (alias) found.push({ name: `${alias[1]}`, version: `${alias[2]}` });
      else if (!/^(file|link):/.test(version)) found.push({ name, version: withoutUrl(version) });
      pending.push(entry["dependencies"]);
    }
  }
  return found;
}

/** URLs may hold passwords, so only the commit at the end is stored. */
function withoutUrl(version: string): string {
  if (!/[/:]/.test(version)) return version;
  return version.includes("#") ? version.slice(version.lastIndexOf("#") + 1) : "";
}
