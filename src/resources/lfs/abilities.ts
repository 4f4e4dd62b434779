import { hasRole } from "../../core/access/roles.ts";
import type { Source } from "../../core/access/source.ts";

/** Whether somebody who may push may take away the locks of others. */
export const mayForceUnlock = (project: Source): boolean => hasRole(project, "maintainer");
