import { sourcesById } from "../core/access/source.ts";
import { change } from "./issuables/change.ts";
import { COLUMNS, type Issuable } from "./issuables/queries.ts";
import type { Writing } from "./issuables/type.ts";
import { ISSUABLE_TYPES } from "./issuables/types.ts";

/** Takes a milestone that is about to be deleted from the issues and merge requests that have it, which are few. */
export async function takeMilestone(
  deleting: Omit<Writing, "source">,
  milestoneId: number,
): Promise<void> {
  const { db, viewer } = deleting;
  for (const type of ISSUABLE_TYPES) {
    const { table, alias } = type;
    const found = await db.all<Issuable>(
      `select ${COLUMNS[type.prefix]}, 1 as visible, 0 as assigned from ${table} ${alias}
       where ${alias}.milestone_id = ? order by ${alias}.id`,
      [milestoneId],
    );
    const projects = [...new Set(found.map(({ project_id }) => project_id))];
    const sources = await sourcesById(db, "project", projects, viewer);
    for (const issuable of found) {
      const source = sources.get(issuable.project_id);
      if (!source) continue;
      await change({ ...deleting, source }, type, issuable, { columns: { milestone_id: null } });
    }
  }
}
