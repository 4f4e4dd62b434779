import { hasRole } from "../../core/access/roles.ts";
import type { Source } from "../../core/access/source.ts";

/** Whether the caller may see the vulnerabilities of a project's dependencies. */
export const mayReadVulnerabilities = (project: Source): boolean => hasRole(project, "developer");
