import { pointerIn } from "../../git/pointers.ts";
import type { Push } from "../../git/push.ts";
import type { Reader } from "../../store/port.ts";
import type { Budget } from "../../turns/budget.ts";
import { isEnabled, sizesOf } from "./objects.ts";

/** Bytes of the blobs that are looked at, as in Gitaly: pointers without extensions have fewer. */
const LOOKED_AT = 200;

const MISSING =
  'LFS objects are missing. Ensure LFS is properly set up or try a manual "git lfs push --all".';

/**
 * Why a push with pointers of Git LFS is refused: their objects were not uploaded first (GitLab's lfs_check.rb).
 *
 * @param projectId the project; `undefined` if the push is to create it
 * @returns `undefined` if nothing is missing
 */
export async function refusalByMissing(
  db: Reader,
  projectId: number | undefined,
  { staged, repository }: Push,
  budget: Budget,
): Promise<string | undefined> {
  if (!staged || (projectId !== undefined && !(await isEnabled(db, projectId)))) return undefined;
  const { pack } = staged;
  const start = repository.startOf(repository.list.length - 1);
  const pushed = new Set<string>();
  for (let entry = 0; entry < pack.count; entry += 1) {
    if (budget.isDue) await budget.pause();
    const pointer = await pointerIn(repository, start + entry, LOOKED_AT);
    // Packs have copies of what there was before, as bases of deltas.
    const isNew = pointer && repository.findOldest(pack.oids.bytesOf(entry)) >= start;
    if (isNew) pushed.add(pointer.oid);
  }
  if (pushed.size === 0) return undefined;
  const known = projectId === undefined ? new Map() : await sizesOf(db, projectId, [...pushed]);
  return known.size < pushed.size ? MISSING : undefined;
}
