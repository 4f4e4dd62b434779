import type { Member } from "../../git/members.ts";
import { FOLDER, SUBMODULE, SYMLINK } from "../../git/objects.ts";
import type { Repository } from "../../git/repository.ts";
import { entryAt } from "../../git/trees.ts";

/**
 * The files of a module among all below its folder, as Go packs them: neither links, nor what is in other modules below it,
 * nor packages that were copied into `vendor`.
 *
 * @param folder of all members, with a slash at its end
 */
export async function* filesOf(
  repository: Repository,
  folder: string,
  members: AsyncIterable<Member>,
): AsyncGenerator<Member> {
  let left: string | undefined;
  for await (const member of members) {
    const { path, mode, oid } = member;
    if (left !== undefined && path.startsWith(left)) continue;
    if (mode === FOLDER && path !== folder) {
      const inner = await entryAt(repository, repository.findHex(oid), "go.mod");
      if (inner && inner.mode !== FOLDER) left = path;
    }
    if ([FOLDER, SUBMODULE, SYMLINK].includes(mode)) continue;
    if (!/(?:^|\/)vendor\/.*\//.test(path.slice(folder.length))) yield member;
  }
}
