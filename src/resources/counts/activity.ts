import type { Source } from "../../core/access/source.ts";
import { NOT_DELETED_USER, visibleGroups, visibleProjects } from "../../core/access/visibility.ts";
import type { Context } from "../../core/resource.ts";
import { all, among, belowGroup } from "../../store/conditions.ts";
import type { IssuableType } from "../issuables/type.ts";

/** What counts as recent, in milliseconds, as in GitLab. */
const RECENT = 90 * 86_400_000;
/** As in GitLab, more are not counted. */
const MOST = 1000;
/** Projects whose rows a statement counts: SQLite answers nobody else meanwhile. */
const AT_ONCE = 100;

type Counting = Pick<Context, "db" | "viewer" | "budget" | "now">;

/**
 * How many issues or merge requests that the caller may read were created in a group and its subgroups in the last 90 days,
 * at most 1,000. Old ones and those of others are not looked at; it ends when the client leaves.
 */
export async function recentIssuables(
  { db, viewer, budget, now }: Counting,
  group: Source,
  { table, alias, visible }: IssuableType,
): Promise<number> {
  const within = all([visibleProjects(viewer), belowGroup("p.namespace_id", group.id)]);
  const found = await db.rows(`select p.id from projects p where ${within.sql}`, within.values);
  const ids = found.map(([id]) => id as number);
  const seen = visible(viewer);
  let count = 0;
  for (let from = 0; from < ids.length && count < MOST; from += AT_ONCE) {
    const some = among("p.id", ids.slice(from, from + AT_ONCE));
    const [row] = await db.rows(
      `select sum((select count(*) from (select 1 from ${table} ${alias} where ${alias}.project_id = p.id
         and ${alias}.created_at > ? and ${seen.sql} limit ${MOST}) as recent)) from projects p where ${some.sql}`,
      [now - RECENT, ...seen.values, ...some.values],
    );
    count += Number(row?.[0] ?? 0);
    if (budget.isDue) await budget.pause();
  }
  return Math.min(count, MOST);
}

/** How many people became members of a group or of its subgroups that the caller sees in the last 90 days, at most 1,000. */
export async function recentMembers({ db, viewer, now }: Counting, group: Source): Promise<number> {
  const groups = all([visibleGroups(viewer), belowGroup("n.id", group.id)]);
  const [row] = await db.rows(
    `select count(*) from (select distinct m.user_id from namespaces n
       join members m on m.namespace_id = n.id and m.created_at > ? and coalesce(m.expires_at > ?, true)
       join users u on u.id = m.user_id and ${NOT_DELETED_USER} where ${groups.sql} limit ${MOST}) as recent`,
    [now - RECENT, viewer.today, ...groups.values],
  );
  return Number(row?.[0]);
}
