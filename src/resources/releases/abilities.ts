import { hasRole } from "../../core/access/roles.ts";
import type { Source } from "../../core/access/source.ts";

/** The role with which people write releases; a protected tag may ask for more. */
export const RELEASE_WRITER = "developer";

/** Whether the caller may write releases of a project. */
export const mayWriteReleases = (project: Source): boolean =>
  !project.archived && hasRole(project, RELEASE_WRITER);
