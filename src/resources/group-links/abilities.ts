import { hasRole } from "../../core/access/roles.ts";
import type { Source } from "../../core/access/source.ts";

/** Whether the caller may invite other groups to a group, and take that back. */
export const mayShareGroup = (group: Source): boolean => hasRole(group, "owner");

/**
 * Whether the caller may let groups in with an access level: only owners can let in owners. Who may share a project is at
 * least its maintainer.
 */
export const mayShareAt = (source: Source, accessLevel: number): boolean =>
  source.level >= accessLevel;

/** Whether the caller may invite a group elsewhere: not because it can be seen, but as one of its members. */
export const mayInvite = (group: Source): boolean => hasRole(group, "guest");
