import type { Viewer } from "../core/access/visibility.ts";
import { all, type Condition } from "../store/conditions.ts";
import { placeholders } from "../store/placeholders.ts";
import type { Value } from "../store/port.ts";
import { orderSql } from "./cursor.ts";
import type { ChildQuery, Order, RowType } from "./declare.ts";

/** Where a type's rows come from, and who may see them. */
type Rows = Pick<RowType, "from" | "key" | "visible">;

/** Runs a statement, and counts what it gives. @throws TooMuch beyond what a document may read */
export type RowReader = (sql: string, values: readonly Value[]) => Promise<Value[][]>;

/** Maximum keys, or parents, of one statement. */
const MAX_KEYS = 500;
const MAX_PARENTS = 50;
/** Maximum values of one statement; SQLite takes 32,766. */
const MAX_VALUES = 30_000;

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
    const rows = await read(
      `select ${columns.join(", ")} from ${from} where ${where.sql}`,
      where.values,
    );
    for (const row of rows) found.set(row[0] as Value, row);
  }
  return found;
}

/** The rows wanted for one parent; `key` is `undefined` at the root. */
export interface Arm {
  readonly key: Value | undefined;
  readonly query: ChildQuery;
}

/** Which part of the rows of each parent is wanted. */
export interface Part {
  readonly columns: readonly string[];
  readonly order: readonly Order[];
  readonly limit: number;
  /** The rows after a cursor. */
  readonly after: Condition | undefined;
}

/**
 * The first rows of each parent, in order: one statement for up to fifty parents. Their columns are followed by those
 * of the order.
 */
export async function rowsOfParents(
  read: RowReader,
  type: Rows,
  arms: readonly Arm[],
  part: Part,
  viewer: Viewer,
): Promise<Value[][][]> {
  const found: Value[][][] = [];
  const selects = arms.map((arm) => selectOf(type, arm, part, viewer));
  for (const some of together(selects)) {
    const [only] = some;
    if (some.length === 1 && only) {
      found.push(await read(only.sql, only.values));
      continue;
    }
    const sql = some.map((select, index) => `select ${index}, t.* from (${select.sql}) as t`);
    // The first column is the parent's number, the last ones are those of the order.
    const ordinals = part.order.map(
      ({ descending }, index) =>
        `${part.columns.length + 2 + index} ${descending ? "desc" : "asc"}`,
    );
    const rows = await read(
      `${sql.join(" union all ")} order by 1, ${ordinals.join(", ")}`,
      some.flatMap(({ values }) => values),
    );
    found.push(...byParent(rows, some.length));
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
  { keys, query }: { keys: readonly Value[]; query: ChildQuery },
  part: Part,
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
      part.after,
    ]);
    const columns = [...part.columns, ...part.order.map(({ sql }) => sql)];
    const rows = await read(
      `select * from (select ${parent} as parent_key, ${columns.join(", ")},
         row_number() over (partition by ${parent} order by ${orderSql(part.order)}) as row_in_parent
       from ${type.from} ${join} where ${wanted.sql}) as t
       where row_in_parent <= ? order by parent_key, row_in_parent`,
      [...wanted.values, part.limit],
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

/** How many rows each parent has. */
export async function countsOfParents(
  read: RowReader,
  type: Rows,
  arms: readonly Arm[],
  viewer: Viewer,
): Promise<number[]> {
  const counts: number[] = [];
  const selects = arms.map(({ key, query }) => {
    const { sql, values } = wantedBy(type, key, query, viewer);
    return { sql: `count(*) from ${type.from} ${query.join ?? ""} where ${sql}`, values };
  });
  for (const some of together(selects)) {
    const sql = some.map((select, index) => `select ${index}, ${select.sql}`);
    const rows = await read(
      `${sql.join(" union all ")} order by 1`,
      some.flatMap(({ values }) => values),
    );
    counts.push(...rows.map(([, count]) => count as number));
  }
  return counts;
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
    type.visible?.(viewer),
  ]);
}

/** Selects in groups, each for one statement. */
function together(selects: readonly Condition[]): Condition[][] {
  const groups: Condition[][] = [];
  let values = 0;
  for (const select of selects) {
    const group = groups.at(-1);
    values += select.values.length;
    if (group && group.length < MAX_PARENTS && values <= MAX_VALUES) group.push(select);
    else {
      groups.push([select]);
      values = select.values.length;
    }
  }
  return groups;
}

function selectOf(
  type: Rows,
  { key, query }: Arm,
  { columns, order, limit, after }: Part,
  viewer: Viewer,
): Condition {
  const wanted = all([wantedBy(type, key, query, viewer), after]);
  const selected = [...columns, ...order.map(({ sql }) => sql)].join(", ");
  return {
    sql: `select ${selected} from ${type.from} ${query.join ?? ""}
      where ${wanted.sql} order by ${orderSql(order)} limit ?`,
    values: [...wanted.values, limit],
  };
}

/** Rows by the parent's number in their first column, without it. */
function byParent(rows: readonly Value[][], parents: number): Value[][][] {
  const found: Value[][][] = Array.from({ length: parents }, () => []);
  for (const [number, ...row] of rows) found[number as number]?.push(row);
  return found;
}
