import { sourcesById } from "../core/access/source.ts";
import { change } from "./issuables/change.ts";
import { ISSUE } from "./issuables/issue.ts";
import { COLUMNS, type Issuable } from "./issuables/queries.ts";
import type { IssuableType, Writing } from "./issuables/type.ts";
import { ISSUABLE_TYPES } from "./issuables/types.ts";

type Deleting = Omit<Writing, "source">;

/** Takes a milestone that is about to be deleted from the issues and merge requests that have it, which are few. */
export const takeMilestone = (deleting: Deleting, id: number): Promise<void> =>
  take(deleting, ISSUABLE_TYPES, "milestone_id", id);

/** Takes the issues of an iteration that is about to be deleted out of it, which are few. */
export const takeIteration = (deleting: Deleting, id: number): Promise<void> =>
  take(deleting, [ISSUE], "iteration_id", id);

async function take(
  deleting: Deleting,
  types: readonly IssuableType[],
  column: "milestone_id" | "iteration_id",
  id: number,
): Promise<void> {
  const { db, viewer } = deleting;
  for (const type of types) {
    const { table, alias } = type;
    const found = await db.all<Issuable>(
      `select ${COLUMNS[type.prefix]}, 1 as visible, 0 as assigned from ${table} ${alias}
       where ${alias}.${column} = ? order by ${alias}.id`,
      [id],
    );
    const projects = [...new Set(found.map(({ project_id }) => project_id))];
    const sources = await sourcesById(db, "project", projects, viewer);
    for (const issuable of found) {
      const source = sources.get(issuable.project_id);
      if (!source) continue;
      await change({ ...deleting, source }, type, issuable, { columns: { [column]: null } });
    }
  }
}
