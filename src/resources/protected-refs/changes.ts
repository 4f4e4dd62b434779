import { ROLES } from "../../core/access/roles.ts";
import { forbidden } from "../../core/errors.ts";
import type { Context } from "../../core/resource.ts";
import { BRANCHES } from "../../git/refs.ts";
import type { Database } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { mayUnprotect } from "./abilities.ts";
import { planOf, type Wanted } from "./allowed.ts";
import {
  addGrants,
  changeGrant,
  grantsOf,
  type RulesTable,
  removeGrants,
  type Subject,
} from "./grants.ts";
import { requireHolders } from "./holders.ts";
import * as rules from "./queries.ts";

/** Where rules are changed, and by whom. */
export type Place = Pick<Context, "source" | "tier" | "now"> & { readonly db: Database };

const MAINTAINERS: Subject = { column: "access_level", value: ROLES.maintainer };

/** Protects a project's new default branch, as GitLab does: maintainers push to it and merge into it. */
export async function protectDefault(
  db: Database,
  projectId: number,
  branch: string,
  now: number,
): Promise<void> {
  const { branches } = await rules.rulesOf(db, projectId, [BRANCHES + branch]);
  if (branches(branch).length > 0) return;
  const id = await rules.insert(db, "protected_branches", projectId, { name: branch }, now);
  const added = [MAINTAINERS];
  const rights = ["push", "merge", "unprotect"] as const;
  await addGrants(
    db,
    "protected_branches",
    id,
    rights.map((action) => ({ action, added })),
  );
}

/**
 * Protects a branch, or changes its rule.
 *
 * @param developers what they may do; what is left out stays as it is, and is for maintainers in a new rule
 * @throws ApiError 403 if the caller may not change the rule
 */
export async function protectFor(
  place: Place,
  branch: string,
  developers: { canPush?: boolean | undefined; canMerge?: boolean | undefined },
): Promise<void> {
  const { db, source } = place;
  const levelOf = (may: boolean | undefined) =>
    may === undefined ? undefined : may ? ROLES.developer : ROLES.maintainer;
  const wanted = [
    { action: "push", entries: [], level: levelOf(developers.canPush) },
    { action: "merge", entries: [], level: levelOf(developers.canMerge) },
  ] as const;
  const found = await rules.find(db, "protected_branches", source.id, branch);
  if (!found) {
    const unprotect = { action: "unprotect", entries: [], level: undefined } as const;
    await addRule(place, "protected_branches", { name: branch }, [...wanted, unprotect]);
    return;
  }
  await changeRule(place, found.id, {}, wanted);
}

/** Removes the rule of a branch. @returns whether there was one @throws ApiError 403 if the caller may not */
export async function unprotect(place: Place, branch: string): Promise<boolean> {
  const { db, source } = place;
  const found = await rules.find(db, "protected_branches", source.id, branch);
  if (!found) return false;
  if (!(await mayUnprotect(db, source, "protected_branches", found.id))) throw forbidden();
  await rules.remove(db, "protected_branches", found.id);
  return true;
}

/**
 * Adds a rule. A right that the request says nothing about is for maintainers.
 *
 * @returns its id
 * @throws ApiError 400 and 422 for grants that can't be, 403 for a rule that the caller could not remove
 */
export async function addRule(
  place: Place,
  table: RulesTable,
  rule: rules.NewRule,
  wanted: readonly Wanted[],
): Promise<number> {
  const { db, source, now } = place;
  const plans = wanted.map((one) => {
    const plan = planOf([], one);
    return plan.all.length > 0 ? plan : { ...plan, added: [MAINTAINERS], all: [MAINTAINERS] };
  });
  await requireHolders(place, plans);
  const id = await rules.insert(db, table, source.id, rule, now);
  await addGrants(db, table, id, plans);
  if (!(await mayUnprotect(db, source, table, id))) throw forbidden();
  return id;
}

/**
 * Changes a rule about branches.
 *
 * @throws ApiError 400 and 422 for grants that can't be, 403 if the caller may not
 */
export async function changeRule(
  place: Place,
  id: number,
  changes: Partial<Record<"allow_force_push" | "code_owner_approval_required", number | undefined>>,
  wanted: readonly Wanted[],
): Promise<void> {
  const { db, source } = place;
  const table = "protected_branches";
  if (!(await mayUnprotect(db, source, table, id))) throw forbidden();
  const now = await grantsOf(db, id);
  const plans = wanted
    .filter(({ entries, level }) => entries.length > 0 || level !== undefined)
    .map((one) => {
      const grants = now.filter(({ action }) => action === one.action);
      return planOf(grants, one);
    });
  await requireHolders(place, plans);
  await removeGrants(
    db,
    plans.flatMap(({ removed }) => removed),
  );
  for (const grant of plans.flatMap(({ changed }) => changed)) await changeGrant(db, grant);
  await addGrants(db, table, id, plans);
  await updateRow(db, table, id, changes, place.now);
}
