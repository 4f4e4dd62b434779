import * as v from "valibot";
import { optionsOf } from "../../core/options.ts";
import { oneOf, type SeededSource, seedPart, type Word } from "../../core/seeding.ts";
import {
  MAX_LENGTHS,
  PACKAGE_MANAGERS,
  type PackageManager,
  SEVERITIES,
  type Severity,
} from "../../dependencies/types.ts";
import * as dependencies from "./queries.ts";

/** A dependency of a seed. */
export interface DependencySeed {
  name: string;
  version: string;
  package_manager: Word<PackageManager>;
  dependency_file_path: string;
  vulnerabilities?: { name: string; severity: Word<Severity> }[] | undefined;
}

const upTo = (max: number) => v.pipe(v.string(), v.maxLength(max));

/** A project's dependencies, inserted file by file. */
export const dependenciesPart = seedPart({
  schema: v.optional(
    v.array(
      optionsOf({
        name: v.pipe(upTo(MAX_LENGTHS.name), v.nonEmpty()),
        version: upTo(MAX_LENGTHS.version),
        package_manager: oneOf(PACKAGE_MANAGERS),
        dependency_file_path: v.pipe(upTo(MAX_LENGTHS.path), v.nonEmpty()),
        vulnerabilities: v.optional(
          v.array(optionsOf({ name: v.string(), severity: oneOf(SEVERITIES) })),
          [],
        ),
      }),
    ),
    [],
  ),
  counted: "dependencies",
  async insert({ db }, given, project: SeededSource) {
    const files = new Map<string, typeof given>();
    for (const one of given) {
      const { dependency_file_path: path } = one;
      const own = files.get(path) ?? [];
      own.push(one);
      files.set(path, own);
    }
    for (const [path, own] of files) {
      await dependencies.replaceFile(db, project.id, { path, dependencies: own });
    }
    return given.length;
  },
});
