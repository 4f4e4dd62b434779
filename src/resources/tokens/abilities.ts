import { hasRole } from "../../core/access/roles.ts";
import type { Source } from "../../core/access/source.ts";

/** The roles that manage the access tokens of groups and projects. */
export const TOKEN_MANAGER = { group: "owner", project: "maintainer" } as const;

/** Whether the caller may manage the access tokens of a group or project. */
export const mayManageTokens = (source: Source): boolean =>
  hasRole(source, TOKEN_MANAGER[source.kind]);
