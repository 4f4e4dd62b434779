import type { Viewer } from "../../core/access/visibility.ts";
import { all, type Condition, when } from "../../store/conditions.ts";
import type { Reader } from "../../store/port.ts";
import type { Budget } from "../../turns/budget.ts";
import { conditionsOf, type ListQuery, projectsOf, startOf } from "./list.ts";
import type { IssuableType } from "./type.ts";

/**
 * Rows, or projects, that a statement looks at on SQLite, as many as a list may sort: nobody else is answered meanwhile,
 * which takes some milliseconds.
 */
const AT_ONCE = 10_000;

type Counting = Omit<ListQuery, "orderBy" | "sort">;

/** What a request counts with. */
interface Context {
  readonly db: Reader;
  readonly viewer: Viewer;
  readonly budget: Budget;
}

/** How many of the rows of a list the caller may read, by their state. It ends when the client leaves. */
export async function countByState(
  context: Context,
  type: IssuableType,
  query: Counting,
): Promise<ReadonlyMap<string, number>> {
  const { db, viewer, budget } = context;
  const { table, alias } = type;
  const { projectId, groupId, values } = query;
  const isWithin = projectId !== undefined || groupId !== undefined;
  const filtering = { type, viewer, values, isWithin, column: undefined };
  const start = await startOf(db, filtering, projectId);
  const wanted = all([projectsOf(alias, viewer, query), conditionsOf(filtering, query)]);
  const counts = new Map<string, number>();
  // With the bare column, the rows of a window would be found by their state, among all of a project.
  const state = `${alias}.state || ''`;
  const count = async (prefix: Condition, some: Condition | undefined) => {
    const where = all([some, wanted]);
    const rows = await db.rows(
      `select ${state} as state, count(*) from ${prefix.sql} ${table} ${alias}
         join projects p on p.id = ${alias}.project_id
       where ${where.sql} group by ${state}`,
      [...prefix.values, ...where.values],
    );
    for (const [key, found] of rows) {
      counts.set(String(key), (counts.get(String(key)) ?? 0) + Number(found));
    }
  };
  // PostgreSQL answers others meanwhile.
  if (start.isSelective || db.dialect === "postgres" || (await newest(db, table)) <= AT_ONCE) {
    await count(start.prefix, start.condition);
    return counts;
  }
  for await (const some of windowsOf(context, type, query)) {
    await count({ sql: "", values: [] }, some);
    if (budget.isDue) await budget.pause();
  }
  return counts;
}

/** The highest id in a table: it has no more rows. */
async function newest(db: Reader, table: string): Promise<number> {
  const [row] = await db.rows(`select max(id) from ${table}`);
  return Number(row?.[0] ?? 0);
}

/** Conditions that divide the rows of the projects of a list into those for one statement each. */
async function* windowsOf(
  context: Context,
  { table, alias }: IssuableType,
  query: Counting,
): AsyncGenerator<Condition> {
  const { db } = context;
  const column = `${alias}.project_id`;
  let together: number[] = [];
  let rows = 0;
  for await (const [id, last] of projectsWith(context, table, query)) {
    if (last <= AT_ONCE) {
      together.push(id);
      rows += last;
      if (rows < AT_ONCE) continue;
      yield inProjects(column, together);
      together = [];
      rows = 0;
      continue;
    }
    for (let from: number | undefined = 0; from !== undefined; ) {
      // Numbers may have gaps.
      const [end]: unknown[][] = await db.rows(
        `select iid from ${table} where project_id = ? and iid > ? order by iid limit 1 offset ${AT_ONCE - 1}`,
        [id, from],
      );
      const to = end?.[0] as number | undefined;
      const iid = `${alias}.iid`;
      yield all([when(`${column} = ?`, id), when(`${iid} > ?`, from), when(`${iid} <= ?`, to)]);
      from = to;
    }
  }
  if (together.length > 0) yield inProjects(column, together);
}

/** The condition that a row is in one of some projects, on SQLite: of one text, however many they are. */
const inProjects = (column: string, ids: readonly number[]): Condition => ({
  sql: `${column} in (select value from json_each(?))`,
  values: [JSON.stringify(ids)],
});

/** The projects of a list that have rows, with the highest number of one: there are at most as many. */
async function* projectsWith(
  { db, viewer, budget }: Context,
  table: string,
  query: Counting,
): AsyncGenerator<readonly [id: number, last: number]> {
  const { projectId, groupId } = query;
  // Those of a group are found by it, and all are looked through.
  const isAll = projectId === undefined && groupId === undefined;
  const max = await newest(db, "projects");
  for (let from = 0; from < max; from += isAll ? AT_ONCE : max) {
    const where = all([
      projectId === undefined ? projectsOf("", viewer, query) : when("p.id = ?", projectId),
      isAll ? all([when("p.id > ?", from), when("p.id <= ?", from + AT_ONCE)]) : undefined,
    ]);
    const found = await db.rows(
      `select id, last from (select p.id, (select max(iid) from ${table} where project_id = p.id) as last
         from projects p where ${where.sql}) as numbered where last is not null`,
      where.values,
    );
    yield* found as [number, number][];
    if (budget.isDue) await budget.pause();
  }
}
