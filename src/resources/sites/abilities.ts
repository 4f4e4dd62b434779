import { findVisible } from "../../core/access/source.ts";
import { VISIBILITIES, type Viewer } from "../../core/access/visibility.ts";
import type { Reader } from "../../store/port.ts";
import type { Site } from "./queries.ts";
import { siteLevelIn } from "./settings.ts";

/** Whether everybody may see the site of a project, without being known. */
export const isOpenSite = ({ kept, visibility }: Site): boolean => {
  const level = siteLevelIn(kept);
  return level === "public" || (level === "enabled" && visibility === VISIBILITIES.public);
};

/** Whether somebody may see the site of a project: `pages_access_level`. */
export async function maySeeSite(db: Reader, site: Site, viewer: Viewer): Promise<boolean> {
  if (isOpenSite(site)) return true;
  const level = siteLevelIn(site.kept);
  if (level === "disabled") return false;
  const source = await findVisible(db, "project", String(site.id), viewer);
  return source !== undefined && (level === "enabled" || source.level > 0);
}
