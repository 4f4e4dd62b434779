import { commitNumber } from "../../git/commits.ts";
import { BLOB } from "../../git/objects.ts";
import type { Repository } from "../../git/repository.ts";
import { entriesOf, treeOf, typeOfMode } from "../../git/trees.ts";

/** Names of files that present a folder; those with markup come first. */
const NAMES = [
  /^(readme|index)\.(md|mdown|mkd|mkdn|markdown|ad|adoc|asciidoc|org|rdoc|rst|textile|creole|mediawiki|wiki)$/i,
  /^(readme|index)(\.txt)?$/i,
];

/**
 * The path of the README of a commit, if it has one.
 *
 * @param oid the commit, in hex
 */
export async function readmeOf(repository: Repository, oid: string): Promise<string | null> {
  const commit = commitNumber(repository, oid) as number;
  const entries = await entriesOf(repository, treeOf(repository, commit));
  const files = entries.filter(({ mode }) => typeOfMode(mode) === BLOB).map(({ name }) => name);
  for (const pattern of NAMES) {
    const found = files.find((name) => pattern.test(name));
    if (found) return found;
  }
  return null;
}
