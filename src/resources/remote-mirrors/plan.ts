import { commitNumber } from "../../git/commits.ts";
import { BRANCHES, type Ref, TAGS } from "../../git/refs.ts";
import type { RemoteChange } from "../../git/remote.ts";
import type { Repository } from "../../git/repository.ts";
import type { Pace } from "../../turns/pace.ts";

/** What a mirror lacks. */
export interface MirrorPlan {
  readonly changes: readonly RemoteChange[];
  /** References that have commits there which are not here, and stay as they are. */
  readonly diverged: readonly string[];
}

/** What decides what becomes of a reference. */
interface Planning {
  readonly repository: Repository;
  /** The branches and tags that are here and mirrored. */
  readonly refs: readonly Ref[];
  /** Those that are there: names of objects, in hex, by full names. */
  readonly remote: ReadonlyMap<string, string>;
  /** Whether a reference that is not here any more would be mirrored if it were. */
  readonly isMirrored: (name: string) => boolean;
  readonly keepsDiverged: boolean;
  readonly mayDelete: boolean;
}

/**
 * Compares the references of a project with those of a mirror. What is there only is removed if its object is stored here:
 * it was deleted here. What others have pushed there stays, since nothing is known of it.
 */
export async function planMirror(
  { repository, refs, remote, isMirrored, keepsDiverged, mayDelete }: Planning,
  pace: Pace,
): Promise<MirrorPlan> {
  const changes: RemoteChange[] = [];
  const diverged: string[] = [];
  const here = new Set<string>();
  for (const { name, oid, peeled } of refs) {
    here.add(name);
    const from = remote.get(name);
    if (from === oid) continue;
    if (pace.isDue) await pace.pause();
    if (from !== undefined && keepsDiverged && !isBehind(repository, from, peeled ?? oid)) {
      diverged.push(name);
    } else changes.push({ name, from, to: oid });
  }
  for (const [name, from] of remote) {
    if (!name.startsWith(BRANCHES) && !name.startsWith(TAGS)) continue;
    if (pace.isDue) await pace.pause();
    const isDeleted = !here.has(name) && isMirrored(name) && repository.findHex(from) >= 0;
    if (mayDelete && isDeleted) changes.push({ name, from, to: undefined });
  }
  return { changes, diverged };
}

/** Whether what is there is in the history of what is here. */
function isBehind(repository: Repository, there: string, here: string): boolean {
  const [ancestor, commit] = [commitNumber(repository, there), commitNumber(repository, here)];
  if (ancestor === undefined || commit === undefined) return false;
  return repository.graph.isAncestor(ancestor, commit);
}
