import { all, type Condition } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader, Value } from "../../store/port.ts";
import { statement } from "../../store/texts.ts";
import { offsetOf, type Page, paginate, type RowPage } from "../pagination.ts";
import type { Presenter } from "../presenter.ts";
import type { IndexStart } from "./index-start.ts";

/** A list of the rows of a table, of which an index may know where to look. */
export interface IndexedQuery {
  /** The alias of the listed table. */
  alias: string;
  /** The listed table with its alias, and what conditions and order need beside it. */
  tables: string;
  /** All tables that presenting needs, with their joins. */
  presented: Condition;
  where: Condition;
  /** The condition that finds the page in the order of the list, if it is not `where`. */
  picked?: Condition | undefined;
  /** How many rows there are, if that is known. */
  total?: number | undefined;
  order: string;
  /** The values of the order. Default: none. */
  orderValues?: readonly Value[];
  /** The order, written so that no index has it: for tables on which PostgreSQL may expect too few or many rows. */
  sorted?: string;
  /** A query for how many rows there are, if that is stored; where it finds `null`, they are counted. */
  stored?: Condition | undefined;
}

/**
 * Runs a list query for one page. Few rows are found by the index, and sorted, which also counts them; only the page is
 * presented. Among many, a page is soon full in the order of the list, and only counting starts from the index.
 */
export async function paginateFrom(
  db: Reader,
  presenter: Presenter,
  page: Page,
  { prefix, condition, isSelective }: IndexStart,
  query: IndexedQuery,
): Promise<RowPage> {
  const { alias, tables, presented, where, picked = where, order, sorted = order } = query;
  const { orderValues = [] } = query;
  const among = all([condition, where]);
  const found: Condition = {
    sql: statement`${prefix.sql} ${tables} where ${among.sql}`,
    values: [...prefix.values, ...among.values],
  };
  if (!isSelective) {
    const { total, stored } = query;
    const listed = await paginate(db, presenter, page, {
      from: statement`${presented.sql} where ${picked.sql}`,
      values: [...presented.values, ...picked.values],
      countFrom: found.sql,
      countValues: found.values,
      order,
      orderValues,
      total,
      stored,
    });
    return { ...listed, total: counted(page, listed.total) };
  }
  const ids = await db.rows(statement`select ${alias}.id from ${found.sql} order by ${sorted}`, [
    ...found.values,
    ...orderValues,
  ]);
  const start = offsetOf(page);
  const shown = ids.slice(start, start + page.size + 1).map(([id]) => id as Value);
  const { sql, values } = placeholders(shown.length > 0 ? shown : [0]);
  const listed = await paginate(
    db,
    presenter,
    { ...page, number: 1 },
    {
      from: statement`${presented.sql} where ${alias}.id in (${sql})`,
      values: [...presented.values, ...values],
      order: sorted,
      orderValues,
      total: shown.length,
    },
  );
  return { ...listed, total: counted(page, ids.length) };
}

/** A total as answers have it: none above the limit of what is counted. */
function counted({ limits }: Page, total: number | undefined): number | undefined {
  return total === undefined || total > limits.countedTotal ? undefined : total;
}
