import { isUtf8 } from "node:buffer";
import { readdir, readFile, stat } from "node:fs/promises";
import { join, relative, resolve, sep } from "node:path";
import { SeedError } from "../core/seeding.ts";
import type { Seed } from "../seed/input.ts";

/** A commit of a seed that was not checked yet. */
type Commit = Record<string, unknown>;

/** Bytes that the folders of one seed may have in all. */
const MOST_BYTES = 256 * 1024 * 1024;

/**
 * A seed in which the folders that commits name are replaced by their files, and paths of bundles by these.
 *
 * @param base the folder that their paths begin at
 * @throws SeedError if one can't be read, or all folders have too many bytes
 */
export async function withFolders(seed: Seed, base: string): Promise<Seed> {
  if (!namesFiles(seed)) return seed;
  const copy = structuredClone(seed);
  let left = MOST_BYTES;
  for (const repository of projectsOf(copy).map((project) => recordOf(project["repository"]))) {
    const { file } = repository;
    if (typeof file !== "string") continue;
    const bytes = await readFile(resolve(base, file)).catch((cause) => {
      throw new SeedError(`the bundle ${file} can't be read: ${cause.message}`, { cause });
    });
    delete repository["file"];
    repository["bundle"] = bytes.toString("base64");
  }
  for (const commit of commitsOf(copy)) {
    const { folder, files, ...others } = commit;
    if (typeof folder !== "string") continue;
    const found: Record<string, unknown> = {};
    const root = resolve(base, folder);
    for (const path of await filesBelow(root)) {
      const bytes = await readFile(path);
      left -= bytes.length;
      if (left < 0) throw new SeedError(`the folder ${folder} is too large`);
      const encoding = isUtf8(bytes) ? "utf8" : "base64";
      const executable = ((await stat(path)).mode & 0o100) !== 0;
      found[relative(root, path).split(sep).join("/")] =
        encoding === "utf8" && !executable
          ? bytes.toString()
          : {
              content: bytes.toString(encoding),
              encoding: encoding === "utf8" ? "text" : "base64",
              executable,
            };
    }
    for (const name of Object.keys(commit)) delete commit[name];
    Object.assign(commit, others, { files: { ...found, ...(files as object | undefined) } });
  }
  return copy;
}

/** Whether a seed names files or folders. */
export const namesFiles = (seed: unknown): boolean =>
  commitsOf(seed).some(({ folder }) => folder !== undefined) ||
  projectsOf(seed).some(({ repository }) => recordOf(repository)["file"] !== undefined);

/** The commits of all pushes of a seed, as far as it is one. */
const commitsOf = (seed: unknown): Commit[] =>
  projectsOf(seed).flatMap(({ pushes }) =>
    listOf(pushes).flatMap((push) => listOf(recordOf(push)["commits"]).map(recordOf)),
  );

/** The projects of a seed, as far as it is one. */
function projectsOf(seed: unknown): Record<string, unknown>[] {
  const { groups, projects } = recordOf(seed);
  const inGroups = (given: unknown): unknown[] =>
    listOf(given)
      .map(recordOf)
      .flatMap((group) => [...listOf(group["projects"]), ...inGroups(group["subgroups"])]);
  return [...inGroups(groups), ...listOf(projects)].map(recordOf);
}

const recordOf = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** The files below a folder, in order, without those of Git. @throws SeedError */
async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((cause) => {
    throw new SeedError(`the folder ${folder} can't be read: ${cause.message}`, { cause });
  });
  const files: string[] = [];
  for (const entry of entries.sort((one, other) => (one.name < other.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (entry.name === ".git") continue;
    if (entry.isDirectory()) files.push(...(await filesBelow(path)));
    else if (entry.isFile()) files.push(path);
  }
  return files;
}
