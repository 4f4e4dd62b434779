import * as v from "valibot";
import { optionsOf, readArgument, readOptions } from "../core/options.ts";
import { readDependencyFiles, readDependencyReport, type TextFile } from "../dependencies/index.ts";
import * as dependencies from "../resources/dependencies/queries.ts";
import type { DependencyFile } from "../resources/dependencies/rules.ts";
import { type AdminContext, findAny, reference } from "./context.ts";

/** What reading dependency files, or a report, put in place. */
export interface DependencyScan {
  files: { path: string; dependencies: number; vulnerabilities: number }[];
  /** Packages of a report whose package manager the API has no word for. */
  skipped: number;
}

/** Dependencies of projects. */
export interface DependencyAdmin {
  /**
   * Reads dependency files ({@link DEPENDENCY_FILES}) and puts what they say in place of what the same files said
   * before, in one transaction. What other files said stays.
   *
   * @param project full path, or id
   * @throws DependencyError naming the file that can't be read; nothing is changed then
   * @throws ApiError 404 for an unknown project
   */
  scanDependencies(project: string, files: readonly TextFile[]): Promise<DependencyScan>;
  /**
   * As {@link scanDependencies}, with vulnerabilities, from a CycloneDX SBOM (JSON, 1.4 to 1.7) or GitLab's dependency
   * scanning report. Where an SBOM does not name the dependency file, the report's own name stands for it.
   *
   * @throws DependencyError where the report can't be read
   * @throws ApiError 404 for an unknown project
   */
  importDependencies(project: string, report: TextFile): Promise<DependencyScan>;
}

const FILE = optionsOf({ path: v.string("give a text"), content: v.string("give a text") });
const FILES = optionsOf({ files: v.array(FILE, "give a list of files") });
const REPORT = optionsOf({ report: FILE });

/** The dependencies' part of what operators do. */
export function dependencyAdmin({ store, now }: AdminContext): DependencyAdmin {
  const named = (where: string, project: string) =>
    readArgument(where, "project", reference, project);

  const replace = (name: string, files: readonly DependencyFile[], skipped: number) =>
    store.transaction(async (db): Promise<DependencyScan> => {
      const project = await findAny(db, "project", name, now());
      for (const file of files) await dependencies.replaceFile(db, project.id, file);
      return {
        files: files.map((file) => ({
          path: file.path,
          dependencies: file.dependencies.length,
          vulnerabilities: file.dependencies.reduce(
            (sum, { vulnerabilities }) => sum + vulnerabilities.length,
            0,
          ),
        })),
        skipped,
      };
    });

  return {
    async scanDependencies(project, given) {
      const name = named("scanDependencies", project);
      const { files } = readOptions("scanDependencies", FILES, { files: given });
      return replace(name, await readDependencyFiles(files), 0);
    },
    async importDependencies(project, given) {
      const name = named("importDependencies", project);
      const { report } = readOptions("importDependencies", REPORT, { report: given });
      const { files, skipped } = await readDependencyReport(report);
      return replace(name, files, skipped);
    },
  };
}
