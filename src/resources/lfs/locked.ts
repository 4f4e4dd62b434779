import { textOf } from "../../git/changes.ts";
import { commitNumber } from "../../git/commits.ts";
import { compareCommits } from "../../git/compared.ts";
import { mergeBases } from "../../git/merge-bases.ts";
import type { Push } from "../../git/push.ts";
import { BRANCHES } from "../../git/refs.ts";
import type { Repository } from "../../git/repository.ts";
import type { Reader } from "../../store/port.ts";
import type { Budget } from "../../turns/budget.ts";

/** What others have locked in a project with Git LFS: who, by path. Mostly nothing. */
async function locksOfOthers(
  db: Reader,
  projectId: number,
  userId: number,
): Promise<Map<string, string>> {
  const rows = await db.rows(
    `select k.path, u.name from lfs_locks k join projects p on p.id = k.project_id and p.lfs_enabled = 1
     join users u on u.id = k.user_id where k.project_id = ? and k.user_id <> ?`,
    [projectId, userId],
  );
  return new Map(rows.map(([path, name]) => [String(path), String(name)]));
}

/** The commit with which the files of a branch are compared; `undefined` for none. */
function comparedWith(
  repository: Repository,
  before: string | undefined,
  to: number,
): number | undefined {
  const known = before === undefined ? undefined : commitNumber(repository, before);
  return known === undefined ? undefined : mergeBases(repository.graph, to, [known])[0];
}

/**
 * Why a push is refused that changes files which others have locked (GitLab's diff_check.rb).
 *
 * @param main the newest commit of the default branch before: new branches are compared with it
 * @returns `undefined` if it changes none
 */
export async function refusalByLocks(
  db: Reader,
  projectId: number,
  { repository, changes }: Push,
  userId: number,
  main: string | undefined,
  budget: Budget,
): Promise<string | undefined> {
  const locked = await locksOfOthers(db, projectId, userId);
  if (locked.size === 0) return undefined;
  for (const { name, from, to, problem } of changes) {
    const commit = to === undefined ? undefined : commitNumber(repository, to);
    if (!name.startsWith(BRANCHES) || problem !== undefined || commit === undefined) continue;
    const before = comparedWith(repository, from ?? main, commit);
    for (const file of await compareCommits(repository, before, commit, budget)) {
      if (budget.isDue) await budget.pause();
      for (const side of [file.from, file.to]) {
        const path = side && textOf(side.path);
        const holder = path === undefined ? undefined : locked.get(path);
        if (holder !== undefined) return `The path '${path}' is locked in Git LFS by ${holder}`;
      }
    }
  }
  return undefined;
}
