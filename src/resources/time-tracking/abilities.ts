import type { Ability } from "../../core/access/abilities.ts";
import { hasRole } from "../../core/access/roles.ts";

/** Whether the caller may remove time spent: their own, or any as a maintainer. */
export const mayRemoveTime: Ability<{ readonly user_id: number | null }> = (
  { user_id },
  { source, caller },
) => user_id === caller?.id || hasRole(source, "maintainer");
