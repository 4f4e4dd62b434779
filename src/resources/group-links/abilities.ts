import { hasRole } from "../../core/access/roles.ts";
import type { Source } from "../../core/access/source.ts";

/** Whether the caller may invite other groups to a group, and take that back. */
export const mayShareGroup = (group: Source): boolean => hasRole(group, "owner");
