import { hasRole } from "../../core/access/roles.ts";
import type { Source } from "../../core/access/source.ts";

/** Whether the caller has a role here: an administrator has one everywhere. */
export const isMember = (source: Source): boolean => hasRole(source, "guest");

/** Whether the viewer's level is at least an access level, whatever gives it to them. */
export const hasAsMuch = (source: Source, accessLevel: number): boolean =>
  source.level >= accessLevel;

/** Whether the caller may give people an access level, or change members who have it: none above their own. */
export const mayGrant = (source: Source, accessLevel: number): boolean =>
  hasAsMuch(source, accessLevel);
