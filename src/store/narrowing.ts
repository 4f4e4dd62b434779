import type { Condition } from "./conditions.ts";
import type { Reader, Value } from "./port.ts";

/** How a list is narrowed down to the rows that an index finds for one of its filters. */
export interface Narrowing {
  /** Precedes the table of the list in a `from` clause. */
  prefix: Condition;
  /** A further condition. */
  condition: Condition | undefined;
  /** A query for the ids of the rows that the index finds; `undefined` if nothing is known. */
  ids: Condition | undefined;
  /** Whether they are so few that they are better sorted than come across in the order of the list. */
  rare: boolean;
}

/** Nothing is known about a list's filters. */
export const NOT_NARROWED: Narrowing = {
  prefix: { sql: "", values: [] },
  condition: undefined,
  ids: undefined,
  rare: false,
};

/** Maximum rows that are sorted: counting comes across as many. */
const MAX_RARE = 10_000;

/**
 * Narrows a list down to the rows with some ids.
 *
 * @param alias of the list's table
 * @param ids a query for different numbers, as `id`
 */
export async function startingFrom(db: Reader, alias: string, ids: Condition): Promise<Narrowing> {
  const few = await fewOf(db, ids);
  return joining(alias, few ?? ids, few !== undefined);
}

/** Narrows a list down to the rows that a query for different ids finds. */
export function joining(alias: string, ids: Condition, rare: boolean): Narrowing {
  return {
    prefix: { sql: `(${ids.sql}) as found cross join`, values: ids.values },
    condition: { sql: `${alias}.id = found.id`, values: [] },
    ids,
    rare,
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
 * A query for the same ids as another one, which is not run again, if it finds at most {@link MAX_RARE}.
 *
 * @param ids a query for different numbers, as `id`
 */
export async function fewOf(
  db: Reader,
  { sql, values }: Condition,
): Promise<Condition | undefined> {
  const { collected, each } = LISTED[db.dialect];
  // Without the ids of many, which nobody needs, the row is small enough to be cached.
  const found = await db.one<{ ids: string | null }>(
    `select count(*) as found, case when count(*) <= ${MAX_RARE} then ${collected} end as ids from (
      ${sql} limit ${MAX_RARE + 1}) as found`,
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
export async function firstOf(
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
 * Narrows a list down by the first of its filters that few rows match. If there is none, rows are come across soon in the
 * order of the list.
 *
 * @param starts the filters that have an index, each as a query for ids
 */
export async function firstRare(
  db: Reader,
  alias: string,
  starts: readonly Condition[],
): Promise<Narrowing> {
  for (const ids of starts) {
    const found = await startingFrom(db, alias, ids);
    if (found.rare) return found;
  }
  return NOT_NARROWED;
}

/** A query for the ids of a table's rows. @param table with its alias */
export function idsOf(table: string, { sql, values }: Condition): Condition {
  return {
    sql: `select ${table.slice(table.indexOf(" ") + 1)}.id from ${table} where ${sql}`,
    values,
  };
}

/**
 * A condition on numbers that rows are looked at for, instead of its index: SQLite would sort all that it finds there.
 */
export function inspected({ sql, values }: Condition): Condition {
  return { sql: sql.replace(/\b\w+\.\w+ [=<>]/g, "+$&"), values };
}

/** Counts rows. @param from everything after `from` */
export async function countOf(db: Reader, from: string, values: readonly Value[]): Promise<number> {
  const counted = await db.one<{ found: number }>(`select count(*) as found from ${from}`, values);
  return (counted as { found: number }).found;
}
