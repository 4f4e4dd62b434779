import * as v from "valibot";
import { optionsOf, readArgument, readOptions } from "../core/options.ts";
import { readDependencyFiles, readDependencyReport } from "../dependencies/index.ts";
import type { DependencyFile, TextFile } from "../dependencies/types.ts";
import * as dependencies from "../resources/dependencies/queries.ts";
import { type AdminContext, findAny, reference } from "./context.ts";

/** The result of reading dependency files or a report. */
export interface DependencyScan {
  files: { path: string; dependencies: number; vulnerabilities: number }[];
  /** How many packages of a report have a package manager that the API doesn't know. */
  skipped: number;
}

/** Dependencies of projects. */
export interface DependencyAdmin {
  /**
   * Reads dependency files ({@link DEPENDENCY_FILES}) and replaces the dependencies recorded for the same files, in one
   * transaction. Dependencies of other files stay.
   *
   * @param project its full path or id
   * @throws DependencyError naming the file that can't be read; then nothing is changed
   * @throws ApiError 404 for an unknown project
   */
  scan(project: string, files: readonly TextFile[]): Promise<DependencyScan>;
  /**
   * Like {@link scan}, but reads dependencies and vulnerabilities from a CycloneDX SBOM (JSON, 1.4 to 1.7)
   * or GitLab's dependency scanning report. If an SBOM does not name the dependency file, its own path is used.
   *
   * @throws DependencyError if the report can't be read
   * @throws ApiError 404 for an unknown project
   */
  importReport(project: string, report: TextFile): Promise<DependencyScan>;
}

const FILE = optionsOf({ path: v.string("give a text"), content: v.string("give a text") });
const FILES = optionsOf({ files: v.array(FILE, "give a list of files") });
const REPORT = optionsOf({ report: FILE });

/** Creates {@link DependencyAdmin}. */
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
    async scan(project, given) {
      const name = named("dependencies.scan", project);
      const { files } = readOptions("dependencies.scan", FILES, { files: given });
      return replace(name, await readDependencyFiles(files), 0);
    },
    async importReport(project, given) {
      const name = named("dependencies.importReport", project);
      const { report } = readOptions("dependencies.importReport", REPORT, { report: given });
      const { files, skipped } = await readDependencyReport(report);
      return replace(name, files, skipped);
    },
  };
}
