import { readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { type Command, Option } from "commander";
import type { Admin, DependencyScan, TextFile } from "../../src/index.ts";

/** Opens a database, lets `work` do what operators do there, and closes it. */
export type WithAdmin = <T>(database: string, work: (admin: Admin) => Promise<T>) => Promise<T>;

interface Options {
  db: string;
  project: string;
  json?: boolean;
}

/** Folders whose files say what somebody else depends on. */
const SKIPPED = ["node_modules", ".git", "vendor"];

/** Adds `dependencies scan|import`. */
export function registerDependencies(program: Command, withAdmin: WithAdmin): void {
  const dependencies = program
    .command("dependencies")
    .description("keep what projects depend on")
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli dependencies scan . --project acme/site
  $ pm-cli dependencies import sbom.cdx.json --project acme/site`,
    );

  withOptions(
    dependencies
      .command("scan")
      .description("read the dependency files of a folder and those below")
      .argument("<dir>", "the project's root"),
  )
    .addHelpText(
      "after",
      `
Reads Gemfile.lock, Pipfile.lock, composer.lock, package-lock.json, pom.xml, requirements.txt and
yarn.lock. What each file says replaces what it said before; files that are gone keep what they said.

Examples:
  $ pm-cli dependencies scan . --project acme/site
  $ pm-cli dependencies scan checkout --project acme/site --db pm.db --json`,
    )
    .action(async (dir: string, options: Options) => {
      const { DEPENDENCY_FILES } = await import("../../src/index.ts");
      const files = await findFiles(dir, DEPENDENCY_FILES);
      await report(options, (admin) => admin.scanDependencies(options.project, files));
    });

  withOptions(
    dependencies
      .command("import")
      .description("take over a CycloneDX SBOM or GitLab's dependency scanning report, as JSON")
      .argument("<file>", "the report"),
  )
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli dependencies import sbom.cdx.json --project acme/site
  $ pm-cli dependencies import gl-dependency-scanning-report.json --project acme/site --json`,
    )
    .action(async (file: string, options: Options) => {
      const read = { path: basename(file), content: await readText(file) };
      await report(options, (admin) => admin.importDependencies(options.project, read));
    });

  async function report(
    options: Options,
    work: (admin: Admin) => Promise<DependencyScan>,
  ): Promise<void> {
    const scan = await withAdmin(options.db, work);
    console.log(options.json ? JSON.stringify(scan) : describe(scan, options.project));
  }
}

function withOptions(command: Command): Command {
  return command
    .addOption(
      new Option("--db <file>", "SQLite file, or a postgres:// URL").env("PM_DB").default("pm.db"),
    )
    .requiredOption("--project <project>", "full path of the project, or its id")
    .option("--json", "print JSON, for scripts");
}

/** Files of these names in a folder and below, in order. Links are not followed. */
async function findFiles(root: string, names: readonly string[]): Promise<TextFile[]> {
  const files: TextFile[] = [];
  const visit = async (folder: string): Promise<void> => {
    const entries = await readdir(join(root, folder), { withFileTypes: true }).catch(cannotRead);
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory() && !SKIPPED.includes(entry.name)) await visit(path);
      if (entry.isFile() && names.includes(entry.name)) {
        files.push({ path, content: await readText(join(root, path)) });
      }
    }
  };
  await visit("");
  return files;
}

const readText = (file: string) => readFile(file, "utf8").catch(cannotRead);

function cannotRead(error: Error): never {
  throw new Error(`cannot read it: ${error.message}`, { cause: error });
}

function describe({ files, skipped }: DependencyScan, project: string): string {
  const lines = files.map(
    ({ path, dependencies, vulnerabilities }) =>
      `${path}: ${counted(dependencies, "dependency", "dependencies")}${
        vulnerabilities > 0
          ? `, ${counted(vulnerabilities, "vulnerability", "vulnerabilities")}`
          : ""
      }`,
  );
  if (files.length === 0) lines.push(`Nothing that ${project} depends on was found.`);
  if (skipped > 0) {
    lines.push(`Left out: ${counted(skipped, "package", "packages")} of other package managers.`);
  }
  // Paths come from a report: what would steer a terminal is shown as a question mark.
  return lines.map((line) => line.replace(/\p{Cc}/gu, "?")).join("\n");
}

function counted(count: number, one: string, many: string): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}
