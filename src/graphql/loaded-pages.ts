import type { Awaitable, Value } from "../store/port.ts";
import { cursorOf, placeOf } from "./cursor.ts";
import {
  type Args,
  type GraphContext,
  GraphError,
  type LoadedField,
  loaded,
  NO_ROWS,
  PAGE_ARGS,
  type PropertyField,
  pagesOf,
  property,
  type Values,
  type ValueType,
} from "./declare.ts";

/** Maximum values of a page. */
const MAX_PAGE = 100;

/** What a list of values that is not in the database has. */
export interface LoadedList<T = unknown> {
  readonly count: number;
  /** Reads the values from one place, counted from 0, up to another. */
  readonly read: (from: number, to: number) => Awaitable<readonly T[]>;
}

/** The page of a list that arguments ask for, as an object of {@link pagesOf}. */
export async function pageOfList<T>(list: LoadedList<T>, args: Values<typeof PAGE_ARGS>) {
  const { from, to } = windowOf(list.count, args);
  const nodes = await list.read(from, to);
  return {
    nodes,
    edges: nodes.map((node, index) => ({ cursor: cursorOf([from + index]), node })),
    pageInfo: {
      hasNextPage: to < list.count,
      hasPreviousPage: from > 0,
      startCursor: from < to ? cursorOf([from]) : null,
      endCursor: from < to ? cursorOf([to - 1]) : null,
    },
    count: list.count,
  };
}

/** A list of values that are there already. */
export const listOf = (values: readonly unknown[]): LoadedList => ({
  count: values.length,
  read: (from, to) => values.slice(from, to),
});

/**
 * Pages of values that are loaded for all rows of a level: at most a hundred values each.
 *
 * @param load gets the rows' keys, the context and the arguments; the pages of keys without a list are empty
 * @param args besides those of pages
 */
export const loadedConnection = <A extends Args>(
  of: ValueType,
  load: (
    keys: readonly Value[],
    context: GraphContext,
    args: Values<A>,
  ) => Awaitable<ReadonlyMap<Value, LoadedList>>,
  args: A = {} as A,
): LoadedField =>
  loaded(
    pagesOf(of, `Pages of ${of.name}.`),
    async (keys, context, given) => {
      const pages = new Map<Value, unknown>();
      for (const [key, list] of await load(keys, context, given as Values<A>)) {
        pages.set(key, await pageOfList(list, given as Values<typeof PAGE_ARGS>));
      }
      return pages;
    },
    { args: { ...args, ...PAGE_ARGS }, empty: NO_ROWS },
  );

/** Pages of a list that a value has. */
export const listed = <T>(of: ValueType, read: (value: T) => LoadedList): PropertyField => ({
  ...property(pagesOf(of, `Pages of ${of.name}.`), (value: T, _, args: Values<typeof PAGE_ARGS>) =>
    pageOfList(read(value), args),
  ),
  args: PAGE_ARGS,
});

/** The places of a list that a page shows. A cursor is the place of a value. */
function windowOf(
  count: number,
  { first, last, after, before }: Values<typeof PAGE_ARGS>,
): { from: number; to: number } {
  if (first !== undefined && last !== undefined) {
    throw new GraphError("Can only provide either first or last, not both");
  }
  const asked = first ?? last ?? MAX_PAGE;
  if (asked < 0) throw new GraphError("first and last must not be negative");
  const size = Math.min(asked, MAX_PAGE);
  const start = after === undefined ? 0 : Math.min(placeIn(after) + 1, count);
  const end = before === undefined ? count : Math.min(placeIn(before), count);
  const length = Math.max(0, Math.min(size, end - start));
  const from = last === undefined ? start : Math.max(start, end - length);
  return { from, to: from + length };
}

/** The place in a list that a cursor is for. @throws GraphError if it is none */
function placeIn(cursor: string): number {
  const [place] = placeOf(cursor, [{ sql: "" }]);
  if ((place as number) < 0) throw new GraphError("Please provide a valid cursor");
  return place as number;
}
