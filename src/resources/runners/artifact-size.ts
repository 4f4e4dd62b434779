import type { Reader } from "../../store/port.ts";
import { find } from "../application-settings/queries.ts";
import { groupSettings } from "../namespaces/kept.ts";

const MEBIBYTE = 1024 * 1024;

/** The most bytes of an artifact of a project: what it says itself, else the nearest group above it, else the instance. */
export async function mostArtifactBytes(
  db: Reader,
  project: { readonly id: number; readonly namespaceId: number },
): Promise<number> {
  const [own] = await db.rows("select max_artifacts_size from projects where id = ?", [project.id]);
  const size = (own?.[0] as number | null | undefined) ?? (await inGroups(db, project.namespaceId));
  return (size ?? (await find(db)).max_artifacts_size) * MEBIBYTE;
}

async function inGroups(db: Reader, namespaceId: number): Promise<number | undefined> {
  const rows = await db.rows(
    `select n.kept_settings from namespace_ancestors a join namespaces n on n.id = a.ancestor_id
     where a.namespace_id = ? and n.kept_settings is not null order by a.depth`,
    [namespaceId],
  );
  for (const [stored] of rows) {
    const { max_artifacts_size: size } = groupSettings.read(stored);
    if (size !== null) return size;
  }
  return undefined;
}
