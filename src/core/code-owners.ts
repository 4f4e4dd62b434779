import { Glob } from "./globs.ts";

/** Whom a line names as owners. */
interface OwnerReferences {
  /** User names and full paths of groups, in lower case. */
  readonly names: readonly string[];
  /** In lower case. */
  readonly emails: readonly string[];
  /** Names of roles. */
  readonly roles: readonly CodeOwnerRole[];
}

const ROLES = ["developer", "maintainer", "owner"] as const;
/** A role that can own code: all direct members of the project who have it. */
type CodeOwnerRole = (typeof ROLES)[number];

/** A line of a CODEOWNERS file that says who owns some paths. */
export interface CodeOwnerEntry {
  /** As written. */
  readonly pattern: string;
  readonly section: string;
  /** How many owners must approve a change, as its section says; 0 if it says nothing. */
  readonly approvals: number;
  readonly owners: OwnerReferences;
}

/** The name of the section that a file begins with. */
const DEFAULT_SECTION = "codeowners";

/** Where a repository may have the file. The first one that exists counts. */
export const CODE_OWNERS_PATHS = ["CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"] as const;

interface Line {
  readonly glob: Glob;
  /** Without one, paths that fit have no owner in the section. */
  readonly entry: CodeOwnerEntry | undefined;
}

interface Section {
  readonly name: string;
  /** By normalized pattern: the last line counts if several have the same one. */
  readonly lines: Map<string, Line>;
  /** Whether no line of it asks for approvals. */
  isOptional: boolean;
}

/** What the lines after a section's header have in common. */
interface Header {
  readonly section: Section;
  readonly isOptional: boolean;
  readonly approvals: number;
  readonly owners: string;
}

/**
 * Who owns the files of a repository, as GitLab reads a CODEOWNERS file. Reading it takes time linear in its length;
 * lines that mean nothing are left out.
 */
export class CodeOwners {
  readonly #sections = new Map<string, Section>();

  constructor(text: string) {
    let header = this.#begin({
      name: DEFAULT_SECTION,
      isOptional: false,
      approvals: 0,
      owners: "",
    });
    for (const raw of text.split("\n")) {
      const line = raw.trim();
      if (line === "" || line.startsWith("#")) continue;
      const begun = headerIn(line);
      if (begun) header = this.#begin(begun);
      else if (!line.startsWith("[") && !line.startsWith("^[")) addLine(header, line);
    }
  }

  /** The entry of each section that owns a path: the last one that fits, unless an exclusion does. */
  entriesOf(path: string): CodeOwnerEntry[] {
    const names = path.split("/");
    return [...this.#sections.values()].flatMap(({ lines }) => {
      let owning: CodeOwnerEntry | undefined;
      for (const { glob, entry } of lines.values()) {
        if (!glob.fits(names)) continue;
        if (!entry) return [];
        owning = entry;
      }
      return owning ?? [];
    });
  }

  /** Whether a section asks for no approvals. */
  isOptional(section: string): boolean {
    return this.#sections.get(section.toLowerCase())?.isOptional === true;
  }

  /** Begins a section, or continues the one with the same name. */
  #begin({ name, ...rest }: Omit<Header, "section"> & { name: string }): Header {
    const key = name.toLowerCase();
    const known = this.#sections.get(key);
    const section = known ?? { name, lines: new Map(), isOptional: true };
    this.#sections.set(key, section);
    return { section, ...rest };
  }
}

/** Reads `[Name]`, `^[Name]`, `[Name][2]` and `[Name] @owner`; `undefined` for any other line. */
function headerIn(line: string): (Omit<Header, "section"> & { name: string }) | undefined {
  const isOptional = line.startsWith("^[");
  const start = isOptional ? 2 : 1;
  if (line[start - 1] !== "[") return undefined;
  const end = line.indexOf("]", start);
  if (end < 0) return undefined;
  const rest = line.slice(end + 1);
  const count = /^\[[\s\d]*\]/.exec(rest)?.[0] ?? "";
  const approvals = Number.parseInt(count.slice(1), 10);
  return {
    name: line.slice(start, end),
    isOptional,
    approvals: Number.isNaN(approvals) ? 0 : Math.min(approvals, MAX_APPROVALS),
    owners: rest.slice(count.length),
  };
}

/** The most approvals that a section can ask for, as a rule. */
const MAX_APPROVALS = 100;

function addLine({ section, isOptional, approvals, owners }: Header, line: string): void {
  const isExclusion = line.startsWith("!");
  const end = endOfPattern(line);
  const pattern = line.slice(isExclusion ? 1 : 0, end);
  if (pattern === "") return;
  const named = line.slice(end).trim() || owners;
  const normalized = normalizedPattern(pattern);
  // Set again, it comes after the lines before it.
  section.lines.delete(normalized);
  section.lines.set(normalized, {
    glob: new Glob(normalized),
    entry: isExclusion
      ? undefined
      : { pattern, section: section.name, approvals, owners: referencesIn(named) },
  });
  section.isOptional &&= isOptional;
}

/** Where a line's pattern ends: at the first blank that is not after a backslash. */
function endOfPattern(line: string): number {
  for (let at = 0; at < line.length; at += 1) {
    if (line[at] === "\\") at += 1;
    else if (/\s/.test(line[at] as string)) return at;
  }
  return line.length;
}

/** A pattern that begins at the root: a relative one fits in every folder, one for a folder fits all that is below. */
function normalizedPattern(pattern: string): string {
  if (pattern === "*") return "/**/*";
  const rooted = pattern.startsWith("/") ? pattern : `/**/${pattern}`;
  return rooted.endsWith("/") ? `${rooted}**/*` : rooted;
}

/** Reads `@user`, `@group/subgroup`, `@@role` and addresses. */
function referencesIn(owners: string): OwnerReferences {
  const names = new Set<string>();
  const emails = new Set<string>();
  const roles = new Set<CodeOwnerRole>();
  for (const word of owners.toLowerCase().split(/\s+/)) {
    if (word.startsWith("@@")) {
      const role = ROLES.find((name) => word === `@@${name}` || word === `@@${name}s`);
      if (role) roles.add(role);
    } else if (word.startsWith("@")) names.add(word.slice(1));
    else if (word.includes("@")) emails.add(word);
  }
  return { names: [...names], emails: [...emails], roles: [...roles] };
}
