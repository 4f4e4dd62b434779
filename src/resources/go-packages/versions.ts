import { commitId, commitNumber } from "../../git/commits.ts";
import { FOLDER, SUBMODULE, SYMLINK } from "../../git/objects.ts";
import { listRefsBelow, type Ref, TAGS } from "../../git/refs.ts";
import { findCommit } from "../../git/revisions.ts";
import { entryAt, treeOf } from "../../git/trees.ts";
import type { Reader } from "../../store/port.ts";
import { type OpenRepository, withRefs } from "../repositories/open.ts";
import { commitIn, declaredIn, type Module, majorOf } from "./modules.ts";

/** What a version without a `go.mod` has behind it, from 2 on. */
const INCOMPATIBLE = "+incompatible";

/** Bytes of a `go.mod`. */
const MOST_BYTES = 1024 * 1024;

/** A version of a module. */
export interface ModuleVersion {
  readonly name: string;
  readonly commit: string;
  /** The seconds of the epoch at which it was committed. */
  readonly time: number;
  /** The object of the module's folder. */
  readonly tree: number;
  /** The content of its `go.mod`. */
  readonly gomod: Buffer;
}

/** The names of the references that a version may be: to open the repository with. */
export const tagsOf = ({ tagged }: Module, version: string): string[] =>
  tagged.map((before) => `${TAGS}${before}${version.replace(INCOMPATIBLE, "")}`);

/**
 * Finds a version of a module.
 *
 * @param opened with {@link tagsOf} the version
 * @returns `undefined` if there is none
 */
export async function findVersion(
  opened: OpenRepository,
  module: Module,
  version: string,
): Promise<ModuleVersion | undefined> {
  const plain = version.replace(INCOMPATIBLE, "");
  const named = commitIn(plain);
  if (named) {
    const commit = await findCommit(opened, named.id);
    if (commit === undefined || stampOf(opened, commit) !== named.time) return undefined;
    return versionAt(opened, module, version, commit);
  }
  const tag = tagsOf(module, version)
    .map((name) => opened.refs.get(name))
    .find((ref) => ref !== undefined);
  const commit = tag && commitNumber(opened.repository, tag.peeled ?? tag.oid);
  return commit === undefined ? undefined : versionAt(opened, module, version, commit);
}

/** The UTC time of a commit as versions have it: `20060102150405`. */
function stampOf({ repository }: OpenRepository, commit: number): string {
  const time = new Date((repository.graph.times[commit] as number) * 1000);
  return time.toISOString().replace(/\D/g, "").slice(0, 14);
}

/** What a commit has of a module, as a version of some name; `undefined` if it can't have this one. */
async function versionAt(
  { repository }: OpenRepository,
  module: Module,
  name: string,
  commit: number,
): Promise<ModuleVersion | undefined> {
  const isIncompatible = name.endsWith(INCOMPATIBLE);
  const major = majorOf(name.replace(INCOMPATIBLE, ""));
  if (major === undefined) return undefined;
  const root = treeOf(repository, commit);
  const found = {
    name,
    commit: commitId(repository, commit),
    time: repository.graph.times[commit] as number,
  };
  if (isIncompatible) {
    const isPossible = major >= 2 && module.major === undefined && module.folders[0] === "";
    if (!isPossible || (await entryAt(repository, root, "go.mod"))) return undefined;
    return { ...found, tree: root, gomod: Buffer.from(`module ${module.name}\n`) };
  }
  if (module.major === undefined ? major >= 2 : major !== module.major) return undefined;
  for (const folder of module.folders) {
    const entry = folder === "" ? undefined : await entryAt(repository, root, folder);
    if (folder !== "" && entry?.mode !== FOLDER) continue;
    const tree = entry ? repository.findHex(entry.oid) : root;
    const file = await entryAt(repository, tree, "go.mod");
    if (!file || [FOLDER, SUBMODULE, SYMLINK].includes(file.mode)) continue;
    const object = repository.findHex(file.oid);
    if (repository.sizeOf(object) > MOST_BYTES) continue;
    const gomod = (await repository.read(object)).data;
    if (declaredIn(gomod.toString()) === module.name) return { ...found, tree, gomod };
  }
  return undefined;
}

/**
 * The versions that a module's tags are, by name. Those without a `go.mod` count only if there are no others, as for Go.
 *
 * @param db reads the tags
 */
export async function listVersions(
  db: Reader,
  found: OpenRepository,
  module: Module,
): Promise<string[]> {
  if (!found.row) return [];
  const tags = await listRefsBelow(db, found.row.id, TAGS);
  const opened = await withRefs(found, tags);
  const byVersion = new Map<string, Ref>();
  for (const before of module.tagged.toReversed()) {
    for (const tag of tags) {
      const name = tag.name.slice(TAGS.length);
      if (name.startsWith(before) && majorOf(name.slice(before.length)) !== undefined) {
        byVersion.set(name.slice(before.length), tag);
      }
    }
  }
  const [compatible, others]: [string[], string[]] = [[], []];
  for (const [version, { oid, peeled }] of byVersion) {
    if (opened.budget.isDue) await opened.budget.pause();
    const commit = commitNumber(opened.repository, peeled ?? oid);
    if (commit === undefined || commitIn(version)) continue;
    if (await versionAt(opened, module, version, commit)) compatible.push(version);
    else if (compatible.length === 0) {
      const other = version + INCOMPATIBLE;
      if (await versionAt(opened, module, other, commit)) others.push(other);
    }
  }
  return (compatible.length > 0 ? compatible : others).sort();
}
