import { EPICS_PATH, homeOf, type Source } from "../../core/access/source.ts";
import { OF_EPICS } from "../../core/access/visibility.ts";
import type { SeededSource } from "../../core/seeding.ts";
import type { Database } from "../../store/port.ts";
import { insert } from "./queries.ts";

/**
 * The id of a place as the pipeline has found it. The hidden project that has a group's epics and its wiki
 * (docs/decisions/0104) is made when the first of these is.
 */
export async function ensureHome(
  db: Database,
  home: Pick<Source, "id" | "namespaceId" | "fullPath">,
  now: number,
): Promise<number> {
  if (home.id !== 0) return home.id;
  return insert(
    db,
    {
      namespace: { id: home.namespaceId, full_path: home.fullPath },
      creator_id: null,
      name: EPICS_PATH,
      path: EPICS_PATH,
      visibility: OF_EPICS,
    },
    now,
  );
}

/** The id of a group's hidden project, for seeds: it is made if there is none. */
export async function seededHome(
  db: Database,
  group: Pick<SeededSource, "id" | "fullPath" | "createdAt">,
): Promise<number> {
  const { id: namespaceId, fullPath, createdAt } = group;
  return ensureHome(db, { id: await homeOf(db, fullPath), namespaceId, fullPath }, createdAt);
}
