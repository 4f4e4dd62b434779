import { ROLES } from "../../core/access/roles.ts";
import { BRANCHES } from "../../git/refs.ts";
import type { Database } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import * as rules from "./queries.ts";

/** Protects a project's new default branch, as GitLab does: maintainers push to it and merge into it. */
export async function protectDefault(
  db: Database,
  projectId: number,
  branch: string,
  now: number,
): Promise<void> {
  const { branches } = await rules.rulesOf(db, projectId, [BRANCHES + branch]);
  if (branches(branch).length === 0) await protectFor(db, projectId, branch, {}, now);
}

/**
 * Protects a branch, or changes its rule.
 *
 * @param developers what they may do; what is left out stays as it is, and is for maintainers in a new rule
 */
export async function protectFor(
  db: Database,
  projectId: number,
  branch: string,
  developers: { canPush?: boolean | undefined; canMerge?: boolean | undefined },
  now: number,
): Promise<void> {
  const levelOf = (may: boolean | undefined) =>
    may === undefined ? undefined : may ? ROLES.developer : ROLES.maintainer;
  const push_level = levelOf(developers.canPush);
  const merge_level = levelOf(developers.canMerge);
  const found = await rules.find(db, "protected_branches", projectId, branch);
  if (found) {
    await updateRow(db, "protected_branches", found.id, { push_level, merge_level }, now);
    return;
  }
  const rule = {
    name: branch,
    push_level: push_level ?? ROLES.maintainer,
    merge_level: merge_level ?? ROLES.maintainer,
    allow_force_push: 0,
  };
  await rules.insert(db, "protected_branches", projectId, rule, now);
}

/** Removes the rule of a branch. @returns whether there was one */
export async function unprotect(db: Database, projectId: number, branch: string): Promise<boolean> {
  const found = await rules.find(db, "protected_branches", projectId, branch);
  if (found) await rules.remove(db, "protected_branches", found.id);
  return found !== undefined;
}
