import { hasRole } from "../../core/access/roles.ts";
import { hasCodeRole, type Source } from "../../core/access/source.ts";

/** Whether the caller may see the vulnerabilities of a project's dependencies. */
export const mayReadVulnerabilities = (project: Source): boolean => hasRole(project, "developer");

/** Who may list the dependencies of a group: callers who see the vulnerabilities of all of its projects. */
export const GROUP_ROLE = "developer";

/** Whether the caller may still read what they have asked to export. */
export const mayReadDependencies = (place: Source): boolean =>
  place.kind === "group" ? hasRole(place, GROUP_ROLE) : hasCodeRole(place);
