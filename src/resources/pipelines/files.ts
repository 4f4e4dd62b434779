import { BLOB } from "../../git/objects.ts";
import type { Repository } from "../../git/repository.ts";
import { TreeList } from "../../git/tree-list.ts";
import { entryAt, treeOf, typeOfMode } from "../../git/trees.ts";

/** Larger files are no configurations, in bytes. */
export const MOST_BYTES = 1024 * 1024;
/** Files of a commit that `exists` looks at. */
const MOST_PATHS = 100_000;

/** The text of a file of a commit; `undefined` if there is none, or it is too large. */
export async function fileOf(
  repository: Repository,
  commit: number,
  path: string,
): Promise<string | undefined> {
  const entry = await entryAt(repository, treeOf(repository, commit), path);
  if (!entry || typeOfMode(entry.mode) !== BLOB) return undefined;
  const object = repository.findHex(entry.oid);
  if (object < 0 || repository.sizeOf(object) > MOST_BYTES) return undefined;
  return (await repository.read(object)).data.toString("utf8");
}

/** The paths of the files of a commit, of the first hundred thousand. */
export async function pathsOf(repository: Repository, commit: number): Promise<string[]> {
  const list = new TreeList(repository, treeOf(repository, commit), "", true);
  const entries = await list.slice(0, Math.min(await list.length(), MOST_PATHS));
  return entries.filter(({ mode }) => typeOfMode(mode) === BLOB).map(({ path }) => path);
}
