import { isWritable } from "../../core/access/features.ts";
import { hasRole } from "../../core/access/roles.ts";
import type { Source } from "../../core/access/source.ts";

/** The role with which people write pages, through the API and with Git. */
export const WIKI_WRITER = "developer";

/** Whether the caller may write pages of the wiki of a project or group. */
export const mayWriteWiki = (project: Source): boolean =>
  isWritable(project, "wiki") && hasRole(project, WIKI_WRITER);
