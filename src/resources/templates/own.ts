import type { Source } from "../../core/access/source.ts";
import type { PrepareContext } from "../../core/resource.ts";
import { isRegular } from "../../git/changes.ts";
import { commitNumber } from "../../git/commits.ts";
import { TREE } from "../../git/objects.ts";
import { entriesOf, entryAt, treeOf, typeOfMode } from "../../git/trees.ts";
import { type OpenRepository, openRepository } from "../repositories/open.ts";
import type { Template } from "./catalog.ts";

/** The folders of a repository with a project's own templates. */
export const FOLDERS = {
  issues: ".gitlab/issue_templates",
  merge_requests: ".gitlab/merge_request_templates",
} as const;
export type FolderName = keyof typeof FOLDERS;

/** Whether a kind of templates is in the repository. */
export const isFolder = (type: string): type is FolderName => Object.hasOwn(FOLDERS, type);

const ENDING = ".md";
/** Maximum templates of a folder; others are not listed. */
const MAX_LISTED = 1000;
/** Larger files, in bytes, are no templates. */
const MAX_BYTES = 1_048_576;

/** Opens the repository of a project at its default branch. */
export const openFolders = (preparing: PrepareContext & { source: Source }) =>
  openRepository(preparing, ["HEAD"]);

/** The default branch's tree, if there is one. */
function rootOf({ repository, refs, head }: OpenRepository): number | undefined {
  const tip = refs.get(head);
  const commit = tip && commitNumber(repository, tip.oid);
  return commit === undefined ? undefined : treeOf(repository, commit);
}

/** The names of a project's own templates. */
export async function ownNames(opened: OpenRepository, folder: FolderName): Promise<string[]> {
  const { repository } = opened;
  const root = rootOf(opened);
  const found = root === undefined ? undefined : await entryAt(repository, root, FOLDERS[folder]);
  if (!found || typeOfMode(found.mode) !== TREE) return [];
  const entries = await entriesOf(repository, repository.findHex(found.oid));
  return entries
    .filter(({ name, mode }) => isRegular(mode) && name.length > ENDING.length)
    .map(({ name }) => name)
    .filter((name) => name.endsWith(ENDING))
    .slice(0, MAX_LISTED)
    .map((name) => name.slice(0, -ENDING.length));
}

/** A template of a project by its name, or `undefined`. */
export async function findOwn(
  opened: OpenRepository,
  folder: FolderName,
  name: string,
): Promise<Template | undefined> {
  const { repository } = opened;
  const root = rootOf(opened);
  if (root === undefined || name.includes("/")) return undefined;
  const found = await entryAt(repository, root, `${FOLDERS[folder]}/${name}${ENDING}`);
  if (!found || !isRegular(found.mode)) return undefined;
  const object = repository.findHex(found.oid);
  if (repository.sizeOf(object) > MAX_BYTES) return undefined;
  const content = (await repository.read(object)).data.toString("utf8");
  return { name, content };
}
