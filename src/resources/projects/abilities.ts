import type { Ability } from "../../core/access/abilities.ts";
import { hasRole } from "../../core/access/roles.ts";
import type { Source } from "../../core/access/source.ts";

/** Whether the caller may give a project another name, path or visibility. */
export const mayRenameProject = (project: Source): boolean => hasRole(project, "owner");

/** Whether the caller may delete a project, or have an import replace it. */
export const mayDeleteProject = (project: Source): boolean => hasRole(project, "owner");

/** Whether somebody is told where a project was imported from. */
export const maySeeOrigin = (project: Source): boolean => hasRole(project, "maintainer");

/**
 * Whether the caller may create projects in a namespace: with the level that its owners chose, unless it is to be
 * deleted.
 */
export const mayCreateProjects: Ability<
  { readonly creation_level: number },
  Pick<Source, "archived" | "level">
> = ({ creation_level }, { source, caller }) =>
  !source.archived && (caller?.admin === true || source.level >= creation_level);
