import type { Condition } from "../../store/conditions.ts";
import type { Reader, Value } from "../../store/port.ts";

/** Where a list starts: the rows that an index finds for one of its filters. See README.md beside this file. */
export interface IndexStart {
  /** Precedes the table of the list in a `from` clause. */
  prefix: Condition;
  /** A further condition. */
  condition: Condition | undefined;
  /** A query for the ids of the rows that the index finds; `undefined` if nothing is known. */
  ids: Condition | undefined;
  /** Whether they are so few that sorting them is faster than reading rows in the order of the list. */
  isSelective: boolean;
}

/** Nothing is known about a list's filters. */
export const NO_START: IndexStart = {
  prefix: { sql: "", values: [] },
  condition: undefined,
  ids: undefined,
  isSelective: false,
};

/** Maximum rows that are sorted: totals count as many. */
const MAX_SELECTIVE = 10_000;

/**
 * Starts a list at the rows with some ids.
 *
 * @param alias of the list's table
 * @param ids a query for different numbers, as `id`
 */
export async function startFrom(db: Reader, alias: string, ids: Condition): Promise<IndexStart> {
  const few = await idsIfFew(db, ids);
  return startAt(alias, few ?? ids, few !== undefined);
}

/** Starts a list at the rows that a query for different ids finds. */
export function startAt(alias: string, ids: Condition, isSelective: boolean): IndexStart {
  return {
    prefix: { sql: `(${ids.sql}) as found cross join`, values: ids.values },
    condition: { sql: `${alias}.id = found.id`, values: [] },
    ids,
    isSelective,
  };
}

/** How an engine makes one text of ids, and ids of such a text. */
const LISTED = {
  sqlite: { collected: "json_group_array(id)", each: "select value as id from json_each(?)" },
  postgres: {
    collected: "cast(coalesce(array_agg(id), '{}') as text)",
    each: "select unnest(cast(? as bigint[])) as id",
  },
} as const;

/**
 * A query for the same ids as another one, which is not run again, if it finds at most {@link MAX_SELECTIVE}.
 *
 * @param ids a query for different numbers, as `id`
 */
export async function idsIfFew(
  db: Reader,
  { sql, values }: Condition,
): Promise<Condition | undefined> {
  const { collected, each } = LISTED[db.dialect];
  // Without the ids of many, which nobody needs, the row is small enough to be cached.
  const found = await db.one<{ ids: string | null }>(
    `select count(*) as found, case when count(*) <= ${MAX_SELECTIVE} then ${collected} end as ids from (
      ${sql} limit ${MAX_SELECTIVE + 1}) as found`,
    values,
  );
  const { ids } = found as { ids: string | null };
  return ids === null ? undefined : { sql: each, values: [ids] };
}

/**
 * The ids of the first rows of a query, which is not run again, and how many rows it finds in all.
 *
 * @param id of its rows
 * @param from everything after `from`
 */
export async function firstIdsOf(
  db: Reader,
  id: string,
  { sql, values }: Condition,
  order: string,
  most: number,
): Promise<{ ids: Condition; total: number }> {
  const { collected, each } = LISTED[db.dialect];
  const found = await db.one<{ total: number; ids: string }>(
    `select coalesce(max(total), 0) as total, ${collected} as ids from (
      select ${id} as id, count(*) over () as total from ${sql} order by ${order} limit ?) as first`,
    [...values, most],
  );
  const { total, ids } = found as { total: number; ids: string };
  return { ids: { sql: each, values: [ids] }, total };
}

/**
 * Starts a list at the first of its filters that few rows match. If there is none, a page is soon full in the order of the
 * list.
 *
 * @param starts the filters that have an index, each as a query for ids
 */
export async function firstSelective(
  db: Reader,
  alias: string,
  starts: readonly Condition[],
): Promise<IndexStart> {
  for (const ids of starts) {
    const found = await startFrom(db, alias, ids);
    if (found.isSelective) return found;
  }
  return NO_START;
}

/**
 * Where a list starts whose search has an index, too.
 *
 * @param starts further filters that have one, each as a query for ids
 * @param searched where it starts by its search
 */
export async function startOf(
  db: Reader,
  alias: string,
  starts: readonly Condition[],
  searched: () => Promise<IndexStart>,
): Promise<IndexStart> {
  const start = await searched();
  if (start.isSelective || starts.length === 0) return start;
  const first = await firstSelective(db, alias, starts);
  return first.isSelective ? first : start;
}

/** A query for the ids of a table's rows. @param table with its alias */
export function idsOf(table: string, { sql, values }: Condition): Condition {
  return {
    sql: `select ${table.slice(table.indexOf(" ") + 1)}.id from ${table} where ${sql}`,
    values,
  };
}

/** A column of numbers, written so that no index of it is used: SQLite would sort all that it finds there. */
export const withoutIndex = (column: string): string => `${column} + 0`;

/** Counts rows. @param from everything after `from` */
export async function countOf(db: Reader, from: string, values: readonly Value[]): Promise<number> {
  const counted = await db.one<{ found: number }>(`select count(*) as found from ${from}`, values);
  return (counted as { found: number }).found;
}
