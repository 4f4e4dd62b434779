import type { Viewer } from "../../core/access/visibility.ts";
import { type Attribute, type Attributes, type Input, object, optional } from "../../core/input.ts";
import type { Arg, Args } from "../../graphql/declare/declarations.ts";
import { GraphError } from "../../graphql/errors.ts";
import { all, type Condition } from "../../store/conditions.ts";
import type { Awaitable, Reader } from "../../store/port.ts";
import type { IssuableType } from "./type.ts";

/** What a list is filtered by: the values of filters, by their names. */
export type FilterValues = Readonly<Record<string, unknown>>;

/** The list that a filter is one of. */
export interface Filtering {
  readonly type: IssuableType;
  readonly viewer: Viewer;
  readonly values: FilterValues;
  /** Whether it is of a single project or group. */
  readonly isWithin: boolean;
  /** The column of its order, if an index has it. */
  readonly column: string | undefined;
}

/** Where a list may start: a query for the different ids of all rows that match a filter, as `id`. */
export interface Start {
  readonly ids: Condition;
  /** Whether most rows may match it: then totals are not counted from there. */
  readonly isBroad?: boolean;
}

/** An argument of GraphQL, and how it is read as the value of a filter. */
export interface FilterArgument<T> {
  readonly type: Arg<unknown>;
  /** @throws GraphError for a value that is not valid */
  read(sent: never): T | undefined;
}

type FilterArguments<T> = Readonly<Record<string, FilterArgument<T>>>;

/** How a filter is asked for: rows must match it, must not, or must match one of several. */
export type Sense = "arguments" | "negatedArguments" | "unionedArguments";

/**
 * A filter of lists of issuables. All that lists do with it follows from here: its name is that of REST's attribute.
 *
 * @typeParam T its value; of a list, rows have to match any entry
 */
export interface IssuableFilter<T = unknown> {
  /** REST's attribute. Without one, only GraphQL has the filter, or lists of other resources. */
  readonly input?: Attribute<T | undefined>;
  /** REST's attribute of `not`, if it can be negated there. */
  readonly negated?: Attribute<T | undefined>;
  /** GraphQL's arguments, those of `not` and those of `or`. */
  readonly arguments?: FilterArguments<T>;
  readonly negatedArguments?: FilterArguments<T>;
  readonly unionedArguments?: FilterArguments<T>;
  /** Whether rows have to match each entry of a list, unless it is negated or one of several. */
  readonly matchesEach?: boolean;
  /** The condition under which a row matches; `undefined` if the caller cannot ask for that. */
  condition(value: T, list: Filtering): Condition | undefined;
  /** Where a list may start, if an index finds what matches. */
  index?(value: T, list: Filtering, db: Reader): Awaitable<readonly Start[]>;
}

/** Filters by name. */
export type Filters = Readonly<Record<string, IssuableFilter>>;

/** Declares a filter. */
export const filter = <T>(declared: IssuableFilter<T>): IssuableFilter<T> => declared;

/** An argument whose values are read as a filter's. Default: as they are. */
export const takes = <S, T = NonNullable<S>>(
  type: Arg<S>,
  read = (sent: NonNullable<S>) => sent as unknown as T | undefined,
): FilterArgument<T> => ({ type, read });

/** The value, or a list of it. */
export const listOf = <T>(sent: T | readonly T[]): readonly T[] =>
  Array.isArray(sent) ? sent : [sent as T];

const entriesOf = (filters: Filters) => Object.entries(filters);

/** The attributes of a REST list, with `not`. */
export function inputOf<F extends Filters>(filters: F) {
  const attributesOf = (of: "input" | "negated"): Attributes =>
    Object.fromEntries(
      entriesOf(filters).flatMap(([name, { [of]: attribute }]) =>
        attribute ? [[name, attribute]] : [],
      ),
    );
  return { ...attributesOf("input"), not: optional(object(attributesOf("negated"))) };
}

/** The values of filters in a request's input. */
export const valuesIn = (filters: Filters, input: Input<Attributes>): FilterValues =>
  Object.fromEntries(Object.entries(input).filter(([name]) => name in filters));

/** The arguments of a GraphQL list, or those of its `not` or `or`. */
export function argumentsOf(filters: Filters, sense: Sense = "arguments"): Args {
  const found = entriesOf(filters).flatMap(([, { [sense]: given = {} }]) =>
    Object.entries(given).map(([name, { type }]) => [name, type] as const),
  );
  return Object.fromEntries(found);
}

/**
 * The values of filters in GraphQL's arguments.
 *
 * @throws GraphError for a value that is not valid, and two arguments that exclude each other
 */
export function valuesOf(
  filters: Filters,
  sent: Readonly<Record<string, unknown>> = {},
  sense: Sense = "arguments",
): FilterValues {
  const values: Record<string, unknown> = {};
  for (const [name, { [sense]: given = {} }] of entriesOf(filters)) {
    const own = Object.keys(given).filter((argument) => sent[argument] !== undefined);
    if (own.length > 1) {
      throw new GraphError(
        `Only one of [${own.join(", ")}] arguments is allowed at the same time.`,
      );
    }
    for (const argument of own) values[name] = given[argument]?.read(sent[argument] as never);
  }
  return values;
}

/** What rows must not match, and what they must match beside the values of a list. */
export interface Besides {
  readonly not?: FilterValues | undefined;
  readonly or?: FilterValues | undefined;
}

/** The condition that each filter of a list holds, none of the negated ones does, and each of those in `or`. */
export function conditionOf(
  filters: Filters,
  list: Filtering,
  { not = {}, or = {} }: Besides,
): Condition {
  const conditions: (Condition | undefined)[] = [];
  eachOf(filters, list.values, (filter, value) => {
    const entries =
      filter.matchesEach && Array.isArray(value) ? value.map((one) => [one]) : [value];
    for (const entry of entries) conditions.push(filter.condition(entry, list));
  });
  eachOf(filters, not, (filter, value) => {
    const condition = filter.condition(value, list);
    if (condition) {
      conditions.push({ sql: `(${condition.sql}) is not true`, values: condition.values });
    }
  });
  eachOf(filters, or, (filter, value) => conditions.push(filter.condition(value, list)));
  return all(conditions);
}

/** Where a list may start, by the order of its filters. */
export async function startsOf(filters: Filters, list: Filtering, db: Reader): Promise<Start[]> {
  const starts: Start[] = [];
  for (const [name, { index }] of entriesOf(filters)) {
    const value = list.values[name];
    if (value !== undefined && index) starts.push(...(await index(value, list, db)));
  }
  return starts;
}

function eachOf(
  filters: Filters,
  values: FilterValues,
  add: (filter: IssuableFilter, value: unknown) => void,
): void {
  for (const [name, value] of Object.entries(values)) {
    const filter = filters[name];
    if (filter && value !== undefined) add(filter, value);
  }
}
