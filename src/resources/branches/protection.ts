import { ROLES } from "../../core/access/roles.ts";
import type { CodeSource } from "../../core/resource.ts";

/** What protects a branch, and what that leaves to the caller. */
export interface Protection {
  readonly isProtected: boolean;
  readonly developersCanPush: boolean;
  readonly developersCanMerge: boolean;
  readonly canPush: boolean;
}

/** The protection of a branch of a project, for the caller that the project was looked up for. */
export function protectionOf(project: CodeSource): Protection {
  return {
    isProtected: false,
    developersCanPush: false,
    developersCanMerge: false,
    canPush: project.level >= ROLES.developer && !project.archived,
  };
}
