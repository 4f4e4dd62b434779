import type { Viewer } from "../core/access/visibility.ts";
import { all, type Condition } from "../store/conditions.ts";
import { placeholders } from "../store/placeholders.ts";
import type { Value } from "../store/port.ts";
import { orderSql, orderValues } from "./cursor.ts";
import type { ChildQuery, RowType } from "./declare.ts";
import type { PageQuery } from "./page-query.ts";

/** Where a type's rows come from, and who may see them. */
type Rows = Pick<RowType, "from" | "key" | "visible">;

/**
 * Runs a statement for each list of values, and counts what it gives.
 *
 * @throws TooMuch beyond what a document may read
 */
export type RowReader = (
  sql: string,
  lists: readonly (readonly Value[])[],
) => Promise<readonly Value[][][]>;

/** Maximum keys of one statement. */
const MAX_KEYS = 500;
/** Maximum parents whose rows are read together. */
const MAX_PARENTS = 50;

/** The rows with these keys that the viewer may see, by key, which is their first column. */
export async function rowsByKey(
  read: RowReader,
  { from, key, visible }: Rows,
  columns: readonly string[],
  keys: readonly Value[],
  viewer: Viewer,
): Promise<Map<Value, Value[]>> {
  const found = new Map<Value, Value[]>();
  for (let start = 0; start < keys.length; start += MAX_KEYS) {
    const among = placeholders(keys.slice(start, start + MAX_KEYS));
    const where = all([
      { sql: `${key} in (${among.sql})`, values: among.values },
      visible?.(viewer),
    ]);
    const sql = `select ${columns.join(", ")} from ${from} where ${where.sql}`;
    const [rows = []] = await read(sql, [where.values]);
    for (const row of rows) found.set(row[0] as Value, row);
  }
  return found;
}

/** Which rows a parent has; `key` is `undefined` at the root. */
export interface ParentQuery {
  readonly key: Value | undefined;
  readonly query: ChildQuery;
}

/** What a page reads: a row more than it has tells whether there are more. */
const limitOf = ({ size }: PageQuery) => size + 1;

/**
 * The first rows of each parent, in order. Their columns are followed by those of the order.
 *
 * @param pages of each parent
 */
export function rowsOfParents(
  read: RowReader,
  type: Rows,
  columns: readonly string[],
  parents: readonly ParentQuery[],
  pages: readonly PageQuery[],
  viewer: Viewer,
): Promise<Value[][][]> {
  return forEach(
    read,
    parents.map((parent, at) => selectOf(type, columns, parent, pages[at] as PageQuery, viewer)),
  );
}

/** The rows of selects: those with the same text are one statement, which is prepared once. */
async function forEach(read: RowReader, selects: readonly Condition[]): Promise<Value[][][]> {
  const found: Value[][][] = [];
  const byText = new Map<string, number[]>();
  for (const [index, { sql }] of selects.entries()) {
    const indexes = byText.get(sql);
    if (indexes) indexes.push(index);
    else byText.set(sql, [index]);
  }
  for (const [sql, indexes] of byText) {
    for (let start = 0; start < indexes.length; start += MAX_PARENTS) {
      const some = indexes.slice(start, start + MAX_PARENTS);
      const lists = some.map((index) => (selects[index] as Condition).values);
      const rows = await read(sql, lists);
      for (const [at, index] of some.entries()) found[index] = rows[at] as Value[][];
    }
  }
  return found;
}

/**
 * {@link rowsOfParents} for relations of which each parent has few rows: all of them are read.
 *
 * @param query its `parent` must be set
 */
export async function fewRowsOfParents(
  read: RowReader,
  type: Rows,
  columns: readonly string[],
  { keys, query }: { keys: readonly Value[]; query: ChildQuery },
  page: PageQuery,
  viewer: Viewer,
): Promise<Value[][][]> {
  const found: Value[][][] = [];
  for (let start = 0; start < keys.length; start += MAX_KEYS) {
    const some = keys.slice(start, start + MAX_KEYS);
    const among = placeholders(some);
    const { parent, join = "", where } = query;
    const wanted = all([
      { sql: `${parent} in (${among.sql})`, values: among.values },
      where,
      type.visible?.(viewer),
      page.after,
    ]);
    const selected = [...columns, ...page.order.map(({ sql }) => sql)].join(", ");
    const sorting = orderValues(page.order);
    const [rows = []] = await read(
      `select * from (select ${parent} as parent_key, ${selected},
         row_number() over (partition by ${parent} order by ${orderSql(page.order)}) as row_in_parent
       from ${type.from} ${join} where ${wanted.sql}) as t
       where row_in_parent <= ? order by parent_key, row_in_parent`,
      [[...sorting, ...sorting, ...wanted.values, limitOf(page)]],
    );
    const byKey = new Map<Value, Value[][]>(some.map((key) => [key, []]));
    for (const [key, ...row] of rows) {
      row.pop();
      byKey.get(key as Value)?.push(row);
    }
    found.push(...some.map((key) => byKey.get(key) as Value[][]));
  }
  return found;
}

/**
 * Totals of all rows of each parent.
 *
 * @param totals SQL over the rows, such as `count(*)`
 */
export async function totalsOfParents(
  read: RowReader,
  type: Rows,
  parents: readonly ParentQuery[],
  totals: readonly string[],
  viewer: Viewer,
): Promise<number[][]> {
  const selects = parents.map(({ key, query }) => {
    const { sql, values } = wantedBy(type, key, query, viewer);
    const from = query.from ?? { sql: type.from, values: [] };
    return {
      sql: `select ${totals.join(", ")} from ${from.sql} ${query.join ?? ""} where ${sql}`,
      values: [...from.values, ...values],
    };
  });
  const found = await forEach(read, selects);
  return found.map(([row]) => (row as Value[]).map(Number));
}

function wantedBy(
  type: Rows,
  key: Value | undefined,
  query: ChildQuery,
  viewer: Viewer,
): Condition {
  return all([
    query.parent === undefined ? undefined : { sql: `${query.parent} = ?`, values: [key ?? null] },
    query.where,
    query.from ? undefined : type.visible?.(viewer),
  ]);
}

function selectOf(
  type: Rows,
  columns: readonly string[],
  { key, query }: ParentQuery,
  page: PageQuery,
  viewer: Viewer,
): Condition {
  const { order } = page;
  const limit = limitOf(page);
  const where = query.page ? query.page({ ...page, size: limit }) : query.where;
  const wanted = all([wantedBy(type, key, { ...query, where }, viewer), page.after]);
  const selected = [...columns, ...order.map(({ sql }) => sql)].join(", ");
  const sorting = orderValues(order);
  const from = query.from ?? { sql: type.from, values: [] };
  return {
    sql: `select ${selected} from ${from.sql} ${query.join ?? ""}
      where ${wanted.sql} order by ${orderSql(order)} limit ?`,
    values: [...sorting, ...from.values, ...wanted.values, ...sorting, limit],
  };
}
