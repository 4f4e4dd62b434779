import type { Source } from "../../core/access/source.ts";
import { inProject, type Viewer } from "../../core/access/visibility.ts";
import { notFound } from "../../core/errors.ts";
import type { Reader } from "../../store/port.ts";
import { find, type Issuable } from "./queries.ts";
import type { IssuableType } from "./type.ts";

/**
 * Finds an issuable by its number in the path's project.
 *
 * @param name what is not found, in the error
 * @throws ApiError 404 if there is none or the caller may not read it
 */
export async function findIssuable(
  { db, source, viewer }: { db: Reader; source: Source; viewer: Viewer },
  type: IssuableType,
  iid: number,
  name?: string,
): Promise<Issuable> {
  const found = await find(db, type, source.id, iid, inProject(viewer, source));
  if (!found?.visible) throw notFound(name);
  return found;
}
