import type { Parse } from "./read.ts";
import {
  type Dependency,
  type DependencyFile,
  MAX_LENGTHS,
  type PackageManager,
  type ReadReport,
  type TextFile,
  type Vulnerability,
} from "./types.ts";

/** A dependency file or report can't be used; the message names the file and the mistake. */
export class DependencyError extends Error {
  override get name() {
    return "DependencyError" as const;
  }
}

/** Maximum size of a file in characters. */
const MAX_SIZE = 64 * 1024 * 1024;

interface Format {
  manager: PackageManager;
  parse: Parse;
}

/** The reader of each file, by file name. Loaded when the first file is read. */
async function formats(): Promise<ReadonlyMap<string, Format>> {
  const [bundler, composer, maven, npm, pip, yarn] = await Promise.all([
    import("./bundler.ts"),
    import("./composer.ts"),
    import("./maven.ts"),
    import("./npm.ts"),
    import("./pip.ts"),
    import("./yarn.ts"),
  ]);
  return new Map<DependencyFileName, Format>([
    ["Gemfile.lock", { manager: "bundler", parse: bundler.parseGemfileLock }],
    ["Pipfile.lock", { manager: "pip", parse: pip.parsePipfileLock }],
    ["composer.lock", { manager: "composer", parse: composer.parseComposerLock }],
    ["package-lock.json", { manager: "npm", parse: npm.parsePackageLock }],
    ["pom.xml", { manager: "maven", parse: maven.parsePom }],
    ["requirements.txt", { manager: "pip", parse: pip.parseRequirements }],
    ["yarn.lock", { manager: "yarn", parse: yarn.parseYarnLock }],
  ]);
}

/** Names of the files that state a project's dependencies. */
export const DEPENDENCY_FILES = [
  "Gemfile.lock",
  "Pipfile.lock",
  "composer.lock",
  "package-lock.json",
  "pom.xml",
  "requirements.txt",
  "yarn.lock",
] as const;
type DependencyFileName = (typeof DEPENDENCY_FILES)[number];

/**
 * Reads dependency files.
 *
 * @throws DependencyError for a file with another name or that can't be read
 */
export async function readDependencyFiles(files: readonly TextFile[]): Promise<DependencyFile[]> {
  const known = await formats();
  const read: DependencyFile[] = [];
  for (const file of files) {
    const format = known.get(file.path.slice(file.path.lastIndexOf("/") + 1));
    if (!format) {
      throw new DependencyError(
        `${file.path}: is none of the files that are read, which are ${DEPENDENCY_FILES.join(", ")}`,
      );
    }
    const [one] = await withFileName(file, async (text) => {
      const packages = await format.parse(text);
      const dependencies = packages.map((found) => ({
        ...found,
        package_manager: format.manager,
        vulnerabilities: [],
      }));
      return [{ path: file.path, dependencies }];
    });
    read.push(one as DependencyFile);
  }
  return mergeFiles(read);
}

/**
 * Reads a CycloneDX SBOM (JSON, 1.4 to 1.7) or GitLab's dependency scanning report.
 *
 * @throws DependencyError if it is neither, or malformed
 */
export async function readDependencyReport(file: TextFile): Promise<ReadReport> {
  const { parseReport } = await import("./reports.ts");
  let skipped = 0;
  const files = await withFileName(file, (text) => {
    const report = parseReport(text, file.path.slice(file.path.lastIndexOf("/") + 1));
    skipped = report.skipped;
    return report.files;
  });
  return { files: mergeFiles(files), skipped };
}

/** Runs `read` on a file; anything it throws becomes an error that names the file. */
async function withFileName(
  { path, content }: TextFile,
  read: (text: string) => DependencyFile[] | Promise<DependencyFile[]>,
): Promise<DependencyFile[]> {
  try {
    if (content.length > MAX_SIZE) throw new Error("is larger than 64 MiB");
    const files = await read(content.replace(/^\uFEFF/, ""));
    for (const file of files) requireStorable(file);
    return files;
  } catch (error) {
    throw new DependencyError(`${path}: ${reasonOf(error)}`, { cause: error });
  }
}

function reasonOf(error: unknown): string {
  // Third-party parsers can overflow the stack.
  if (error instanceof RangeError) return "is nested too deeply";
  const { message } = error as Error;
  return message.replace(/\s+/g, " ").slice(0, 200);
}

function requireStorable({ path, dependencies }: DependencyFile): void {
  requireText("a path", path, MAX_LENGTHS.path);
  for (const { name, version } of dependencies) {
    requireText("a name", name, MAX_LENGTHS.name);
    if (version !== "") requireText(`the version of ${name}`, version, MAX_LENGTHS.version);
  }
}

/** Text that both engines can store and a terminal can show. */
function requireText(what: string, text: string, max: number): void {
  if (text.trim() === "") throw new Error(`${what} is empty`);
  if (text.length > max) throw new Error(`${what} is longer than ${max} characters`);
  if (/\p{Cc}/u.test(text) || !text.isWellFormed()) {
    throw new Error(`${what} has characters that belong in none`);
  }
}

/** One version of a package, with the vulnerabilities of all its entries. */
interface MergedDependency {
  dependency: Dependency;
  vulnerabilities: Map<string, Vulnerability>;
  /** Lists already read: entries may share one. */
  read: Set<readonly Vulnerability[]>;
}

/** One entry per path, each version of a package once, sorted by name. */
function mergeFiles(files: readonly DependencyFile[]): DependencyFile[] {
  const byPath = new Map<string, Map<string, MergedDependency>>();
  for (const file of files) {
    const path = file.path.replace(/^(?:\.\/)+/, "");
    const known = byPath.get(path) ?? new Map<string, MergedDependency>();
    byPath.set(path, known);
    for (const dependency of file.dependencies) {
      const key = JSON.stringify([dependency.package_manager, dependency.name, dependency.version]);
      const merged = known.get(key) ?? { dependency, vulnerabilities: new Map(), read: new Set() };
      known.set(key, merged);
      if (merged.read.has(dependency.vulnerabilities)) continue;
      merged.read.add(dependency.vulnerabilities);
      for (const one of dependency.vulnerabilities) {
        if (!merged.vulnerabilities.has(one.name)) merged.vulnerabilities.set(one.name, one);
      }
    }
  }
  return [...byPath].map(([path, known]) => ({
    path,
    dependencies: [...known.values()]
      .map(({ dependency, vulnerabilities }) => ({
        ...dependency,
        vulnerabilities: [...vulnerabilities.values()],
      }))
      .sort((a, b) => compare(a.name, b.name)),
  }));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
