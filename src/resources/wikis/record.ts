import { BRANCHES } from "../../git/refs.ts";
import type { RepositoryRow } from "../../git/repository.ts";
import type { Reader } from "../../store/port.ts";

/** The default branch of wikis, unless the first push had only others. */
export const MASTER = "master";

/** The record of a wiki's repository. */
export interface WikiRecord {
  /** `undefined` if nothing was written yet. */
  readonly row: RepositoryRow | undefined;
  /** The full name of the default branch, which does not exist in an empty wiki. */
  readonly head: string;
}

/** Finds the record of a project's wiki. */
export async function findWikiRecord(db: Reader, projectId: number): Promise<WikiRecord> {
  const found = await db.one<RepositoryRow & { head: string | null }>(
    "select id, version, has_garbage, refs_version, head from git_repositories where project_id = ? and kind = 'wiki'",
    [projectId],
  );
  return { row: found, head: BRANCHES + (found?.head ?? MASTER) };
}

/** Whether a project has a wiki from before wikis were repositories, which is to become one. */
export async function isUnconverted(db: Reader, projectId: number): Promise<boolean> {
  const found = await db.rows(
    `select 1 where not exists (select 1 from git_repositories where project_id = ? and kind = 'wiki')
       and (exists (select 1 from wiki_pages where project_id = ?)
         or exists (select 1 from wiki_page_versions where project_id = ?)
         or exists (select 1 from wiki_attachments where project_id = ?))`,
    [projectId, projectId, projectId, projectId],
  );
  return found.length > 0;
}
