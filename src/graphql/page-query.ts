import type { Condition } from "../store/conditions.ts";
import type { Value } from "../store/port.ts";
import { after, cursorOf, placeOf, reversed } from "./cursor.ts";
import {
  type Args,
  type ChildrenField,
  GraphError,
  type Order,
  type PageRange,
  type Values,
} from "./declare.ts";

/** Maximum rows of a page. */
const MAX_PAGE = 100;
/** Which rows of a list a page has. */
export interface PageQuery extends PageRange {
  /** The order to read in. */
  readonly order: readonly Order[];
  /** The rows after a cursor. */
  readonly after: Condition | undefined;
  /** Whether there are rows on the side from which it does not read on. */
  readonly hasOthers: boolean;
}

const WHOLE = {
  start: undefined,
  end: undefined,
  after: undefined,
  isBackward: false,
  hasOthers: false,
};

/** Which rows the arguments of a list want. @throws GraphError if they contradict each other, or a cursor is none */
export function pageQueryOf(
  { shape, maxPage = MAX_PAGE }: ChildrenField,
  args: Values<Args>,
  order: readonly Order[],
): PageQuery {
  if (shape !== "connection") {
    const size = shape === "first" ? 1 : maxPage;
    return { size, order, ...WHOLE };
  }
  const { first, last, ...cursors } = args as Partial<Record<string, number & string>>;
  if (first !== undefined && last !== undefined) {
    throw new GraphError("Can only provide either first or last, not both");
  }
  const asked = first ?? last ?? maxPage;
  if (asked < 0) throw new GraphError("first and last must not be negative");
  const isBackward = last !== undefined;
  const [start, end] = [cursors["after"], cursors["before"]].map((cursor) =>
    cursor === undefined ? undefined : placeOf(cursor, order),
  );
  const places = [start && after(order, start), end && after(reversed(order), end)].filter(
    (place) => place !== undefined,
  );
  return {
    size: Math.min(asked, maxPage),
    order: isBackward ? reversed(order) : order,
    start,
    end,
    after:
      places.length === 0
        ? undefined
        : {
            sql: places.map(({ sql }) => sql).join(" and "),
            values: places.flatMap(({ values }) => values),
          },
    isBackward,
    hasOthers: (isBackward ? end : start) !== undefined,
  };
}

/** A page of rows, in the order of the list. */
export interface RowsPage extends Pick<PageQuery, "isBackward" | "hasOthers"> {
  readonly rows: readonly Value[][];
  readonly hasMore: boolean;
}

/** The page of the rows that were read. */
export function pageOf(
  found: readonly Value[][],
  { size, isBackward, hasOthers }: PageQuery,
): RowsPage {
  const rows = found.slice(0, size);
  if (isBackward) rows.reverse();
  return { rows, hasMore: found.length > size, isBackward, hasOthers };
}

/** Its `pageInfo`. @param width how many columns come before those of the order */
export function pageInfoOf({ rows, hasMore, isBackward, hasOthers }: RowsPage, width: number) {
  const cursor = (row: readonly Value[] | undefined) => row && cursorOf(row.slice(width));
  return {
    hasNextPage: isBackward ? hasOthers : hasMore,
    hasPreviousPage: isBackward ? hasMore : hasOthers,
    startCursor: cursor(rows[0]),
    endCursor: cursor(rows.at(-1)),
  };
}
