import type { Viewer } from "../../core/access/visibility.ts";
import { all } from "../../store/conditions.ts";
import type { Reader } from "../../store/port.ts";
import { conditionsOf, type ListQuery, projectsOf, startOf } from "./list.ts";
import type { IssuableType } from "./type.ts";

/** How many of the rows of a list the caller may read, by their state. */
export async function countByState(
  { db, viewer }: { readonly db: Reader; readonly viewer: Viewer },
  type: IssuableType,
  query: Omit<ListQuery, "orderBy" | "sort">,
): Promise<ReadonlyMap<string, number>> {
  const { table, alias } = type;
  const { projectId, groupId, values } = query;
  const isWithin = projectId !== undefined || groupId !== undefined;
  const filtering = { type, viewer, values, isWithin, column: undefined };
  const { prefix, condition } = await startOf(db, filtering, projectId);
  const where = all([condition, projectsOf(alias, viewer, query), conditionsOf(filtering, query)]);
  const rows = await db.rows(
    `select ${alias}.state, count(*) from ${prefix.sql} ${table} ${alias}
       join projects p on p.id = ${alias}.project_id
     where ${where.sql} group by ${alias}.state`,
    [...prefix.values, ...where.values],
  );
  return new Map(rows.map(([state, count]) => [String(state), Number(count)]));
}
