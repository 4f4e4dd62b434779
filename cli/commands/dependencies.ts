import { readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Command } from "commander";
import type { DependencyScan, TextFile } from "../../src/index.ts";
import { type DatabaseOptions, databaseOption, withAdmin } from "../database.ts";
import { Failure } from "../errors.ts";
import { complete, JSON_OPTION, type JsonOptions, print } from "../ui.ts";

interface DependencyOptions extends DatabaseOptions, JsonOptions {
  project?: string;
}

/** Folders with dependency files of other projects. */
const SKIPPED = ["node_modules", ".git", "vendor"];

/** Adds `dependencies scan|import`. */
export function addDependencyCommands(program: Command): void {
  const dependencies = program
    .command("dependencies")
    .description("record the dependencies of projects")
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
      .description("read the dependency files in a folder and its subfolders")
      .argument("<dir>", "the project's root"),
  )
    .addHelpText(
      "after",
      `
Reads Gemfile.lock, Pipfile.lock, composer.lock, package-lock.json, pom.xml, requirements.txt and
yarn.lock. The dependencies of each file replace those recorded for it before; those of deleted files stay.

Examples:
  $ pm-cli dependencies scan . --project acme/site
  $ pm-cli dependencies scan checkout --project acme/site --db pm.db --json`,
    )
    .action(scan);

  withOptions(
    dependencies
      .command("import")
      .description("import a CycloneDX SBOM or GitLab's dependency scanning report, as JSON")
      .argument("<file>", "the report"),
  )
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli dependencies import sbom.cdx.json --project acme/site
  $ pm-cli dependencies import gl-dependency-scanning-report.json --project acme/site --json`,
    )
    .action(importReport);
}

async function scan(dir: string, options: DependencyOptions): Promise<void> {
  const { project } = await projectOf(options);
  const { DEPENDENCY_FILES } = await import("../../src/index.ts");
  const files = await findFiles(dir, DEPENDENCY_FILES);
  const scanned = await withAdmin(options.db, (admin) => admin.dependencies.scan(project, files));
  await print(scanned, options, (all) => describe(all, project));
}

async function importReport(file: string, options: DependencyOptions): Promise<void> {
  const { project } = await projectOf(options);
  const report = { path: basename(file), content: await readText(file) };
  const taken = await withAdmin(options.db, (admin) =>
    admin.dependencies.importReport(project, report),
  );
  await print(taken, options, (all) => describe(all, project));
}

async function projectOf(options: DependencyOptions): Promise<{ project: string }> {
  return (await complete({ project: options.project }, { project: "Project" })).values;
}

function withOptions(command: Command): Command {
  return command
    .addOption(databaseOption())
    .option("--project <project>", "full path of the project, or its id")
    .option(...JSON_OPTION);
}

/** Files with these names in a folder and its subfolders, in order. Links are not followed. */
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
  throw new Failure(`cannot read it: ${error.message}`, { cause: error });
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
  // Paths come from a report, so control characters are replaced: they could send commands to the terminal.
  return lines.map((line) => line.replace(/\p{Cc}/gu, "?")).join("\n");
}

function counted(count: number, one: string, many: string): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}
