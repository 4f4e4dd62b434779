import { linesOf, type Package } from "./read.ts";

/** `    rack (2.2.8)`, in a section's specs; a spec's own dependencies are indented further. */
const SPEC = /^ {4}([^\s()]+) \(([^()]+)\)$/;
const SECTIONS = ["GEM", "GIT", "PATH", "PLUGIN SOURCE"];

/** Gemfile.lock. Gems locked for several platforms count once. */
export function parseGemfileLock(text: string): Package[] {
  const packages: Package[] = [];
  let section = "";
  let sections = 0;
  for (const line of linesOf(text)) {
    if (/^[A-Z]/.test(line)) {
      section = line.trimEnd();
      sections += 1;
    }
    const spec = SECTIONS.includes(section) ? SPEC.exec(line) : null;
    // Versions of gems have no hyphen: the first one begins the platform.
    if (spec) packages.push({ name: `${spec[1]}`, version: `${spec[2]?.split("-")[0]}` });
  }
  if (sections === 0 && text.trim() !== "") throw new Error("has no section such as GEM");
  return packages;
}
