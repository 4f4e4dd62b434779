import { hasRole } from "../../core/access/roles.ts";
import type { Source } from "../../core/access/source.ts";

/** The roles that manage the runners of groups and projects. */
export const RUNNER_MANAGER = { group: "owner", project: "maintainer" } as const;

/** Whether the caller may manage the runners of a group or project. */
export const mayManageRunners = (source: Source): boolean =>
  hasRole(source, RUNNER_MANAGER[source.kind]);
