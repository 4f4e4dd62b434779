import type { Ability } from "../../core/access/abilities.ts";
import { hasRole } from "../../core/access/roles.ts";

/** Whether the caller may see the variables of a schedule, and delete it: as its owner, or as a maintainer. */
export const mayAdminSchedule: Ability<{ readonly owner_id: number | null }> = (
  { owner_id },
  { source, caller },
) => hasRole(source, "maintainer") || owner_id === caller?.id;
