import { HOME_PATH, homeOf, type Source } from "../../core/access/source.ts";
import { OF_HOMES } from "../../core/access/visibility.ts";
import type { SeededSource } from "../../core/seeding.ts";
import { insertRow } from "../../store/insert.ts";
import type { Database } from "../../store/port.ts";

/**
 * The id of a place as the pipeline has found it. The hidden project that has what a group shares with projects
 * (docs/decisions/0104) is made when the first of it is.
 */
export async function ensureHome(
  db: Database,
  home: Pick<Source, "id" | "namespaceId" | "fullPath">,
  now: number,
): Promise<number> {
  if (home.id !== 0) return home.id;
  return insertRow(db, "projects", {
    namespace_id: home.namespaceId,
    name: HOME_PATH,
    path: HOME_PATH,
    full_path: `${home.fullPath}/${HOME_PATH}`,
    visibility: OF_HOMES,
    request_access_enabled: 0,
    lfs_enabled: 0,
    created_at: now,
    updated_at: now,
    last_activity_at: now,
  });
}

/** The id of a group's hidden project, for seeds: it is made if there is none. */
export async function seededHome(
  db: Database,
  group: Pick<SeededSource, "id" | "fullPath" | "createdAt">,
): Promise<number> {
  const { id: namespaceId, fullPath, createdAt } = group;
  return ensureHome(db, { id: await homeOf(db, fullPath), namespaceId, fullPath }, createdAt);
}
