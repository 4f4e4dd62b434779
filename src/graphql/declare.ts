import type { Caller } from "../core/access/caller.ts";
import type { Viewer } from "../core/access/visibility.ts";
import type { Field, View } from "../core/field.ts";
import * as field from "../core/field.ts";
import { escaped, paragraphs } from "../core/markup.ts";
import type { RequestInfo, Resource, Route, Tier } from "../core/resource.ts";
import { isoInstant } from "../core/time.ts";
import type { Edition } from "../core/version.ts";
import type { Condition } from "../store/conditions.ts";
import type { Awaitable, Reader, Store, Value } from "../store/port.ts";
import type { Budget } from "../turns/budget.ts";

/** The GraphQL side of a resource: its types, and what it adds to the types of others. */
export interface Face {
  readonly types?: readonly NamedType[];
  /** Fields that it adds to types of others, or to `Query`, by the type's name. */
  readonly extend?: Readonly<Record<string, OutputFields>>;
  /** Its mutations by name. */
  readonly mutations?: Readonly<Record<string, Mutation>>;
}

/** What fields and mutations know about the request. */
export interface GraphContext {
  /** Sees what earlier mutations of the document have changed. */
  readonly db: Reader;
  /** For objects of repositories, which never change. */
  readonly store: Store;
  readonly caller: Caller | undefined;
  readonly viewer: Viewer;
  readonly view: View;
  /** Epoch milliseconds. */
  readonly now: number;
  /** What the request's work may use. */
  readonly budget: Budget;
  readonly tier: Tier;
  readonly edition: Edition;
  readonly request: RequestInfo;
  /** The complexity of the request's documents, and the most they may have. */
  readonly complexity: { readonly score: number; readonly limit: number };
}

// ---------------------------------------------------------------- arguments

/**
 * An argument or an input field. `type` is written as in GraphQL's schema language; `T` is what handlers get. Optional
 * ones are `undefined` if they were not sent; `null` clears an attribute where an input says so.
 */
export interface Arg<T> {
  readonly type: string;
  readonly about?: string;
  readonly defaultValue?: unknown;
  /** The enumeration, input or scalar of its type, if it is not built in. */
  readonly declares?: NamedType;
  /** Never set: it carries the type. */
  readonly of?: T;
}

export type Args = Readonly<Record<string, Arg<unknown>>>;

/** What a handler gets for arguments: required ones and those with a default are never `undefined`. */
export type Values<A extends Args> = {
  readonly [Name in keyof A]: A[Name] extends Arg<infer T> ? T : never;
};

/** A record of one of several types, named by its global id. */
export interface GlobalId {
  readonly type: string;
  readonly id: number;
}

const optional = <T>(type: string, declares?: NamedType): Arg<T | undefined> => ({
  type,
  ...(declares && { declares }),
});

/** Arguments of the built-in and general scalars. */
export const arg = {
  string: optional<string>("String"),
  int: optional<number>("Int"),
  boolean: optional<boolean>("Boolean"),
  /** An `ID`, such as a full path. */
  id: optional<string>("ID"),
  /** An instant, in epoch milliseconds. */
  time: optional<number>("Time"),
  /** A day, `YYYY-MM-DD`. */
  date: optional<string>("ISO8601Date"),
  /** A day, too: GitLab has two names for them. */
  plainDate: optional<string>("Date"),
  /**
   * The id of a record, sent as a global id of this type.
   *
   * @param classes the names it may have in global ids. Default: the type's
   */
  gid: (type: string, classes: readonly string[] = [type]): Arg<number | undefined> =>
    optional(`${type}ID`, gidScalar(type, classes)),
  /**
   * The global id of a record of one of several types.
   *
   * @param name the scalar, such as `NoteableID`
   */
  gidOf: (name: string, types: readonly string[]): Arg<GlobalId | undefined> =>
    optional(name, gidScalar(name.replace(/ID$/, ""), types, true)),
  /** The id of a record whose id is a text, sent as a global id of this type. */
  textGid: (type: string, classes: readonly string[] = [type]): Arg<string | undefined> =>
    optional(`${type}ID`, { ...gidScalar(type, classes), isText: true }),
  /** One of an enumeration's values. */
  choice: <T>(type: EnumType<T>): Arg<T | undefined> => optional(type.name, type),
  /** An object of arguments. */
  input: <A extends Args>(type: InputType<A>): Arg<Values<A> | undefined> =>
    optional(type.name, type),
  /** A list without nulls. */
  list: <T>(of: Arg<T>): Arg<NonNullable<T>[] | undefined> =>
    ({
      ...of,
      type: `[${of.type}!]`,
    }) as Arg<NonNullable<T>[] | undefined>,
  /** A list that may have nulls, which are left out: some of GitLab's are declared so, and clients' variables with them. */
  listWithNulls: <T>(of: Arg<T>): Arg<NonNullable<T>[] | undefined> =>
    ({
      ...of,
      type: `[${of.type}]`,
    }) as Arg<NonNullable<T>[] | undefined>,
  required: <T>(of: Arg<T>): Arg<NonNullable<T>> =>
    ({ ...of, type: `${of.type}!` }) as Arg<NonNullable<T>>,
  withDefault: <T>(of: Arg<T>, defaultValue: unknown): Arg<NonNullable<T>> =>
    ({ ...of, defaultValue }) as Arg<NonNullable<T>>,
  /** For inputs whose `null` clears an attribute. */
  clearable: <T>(of: Arg<T>): Arg<T | null> => of as Arg<T | null>,
  /** With a description for the reference. */
  about: <T>(about: string, of: Arg<T>): Arg<T> => ({ ...of, about }),
};

/** An enumeration; handlers get the values. */
export interface EnumType<T = unknown> {
  readonly kind: "enum";
  readonly name: string;
  readonly about: string;
  readonly values: Readonly<Record<string, T>>;
}

/** Declares an enumeration whose names are its values, or a record from names to values. */
export function enumeration<const N extends string>(
  name: string,
  about: string,
  values: readonly N[],
): EnumType<N>;
export function enumeration<T>(
  name: string,
  about: string,
  values: Readonly<Record<string, T>>,
): EnumType<T>;
export function enumeration(
  name: string,
  about: string,
  values: readonly string[] | Readonly<Record<string, unknown>>,
): EnumType {
  const named = Array.isArray(values)
    ? Object.fromEntries(values.map((value) => [value, value]))
    : (values as Readonly<Record<string, unknown>>);
  return { kind: "enum", name, about, values: named };
}

/**
 * An enumeration of orders: each column in both directions, such as `CREATED_ASC` and `CREATED_DESC`.
 *
 * @param key the unique column, which comes last
 * @param sorted an order, or one for each direction, by name. The lower-case names `created_asc` … are those of older
 * clients, as in GitLab
 * @param more orders that have one direction
 */
export function sortEnum(
  name: string,
  about: string,
  key: string,
  sorted: Readonly<Record<string, Order | readonly [ascending: Order, descending: Order]>>,
  more: Readonly<Record<string, readonly Order[]>> = {},
): EnumType<readonly Order[]> {
  const values: Record<string, readonly Order[]> = { ...more };
  for (const [word, order] of Object.entries(sorted)) {
    const [ascending, descending] =
      "sql" in order ? [order, { ...order, descending: true }] : order;
    const isKey = ascending.sql === key;
    values[`${word}_ASC`] = [ascending, ...(isKey ? [] : [{ sql: key }])];
    values[`${word}_DESC`] = [descending, ...(isKey ? [] : [{ sql: key, descending: true }])];
  }
  for (const word of ["CREATED", "UPDATED"]) {
    for (const direction of ["ASC", "DESC"]) {
      const order = values[`${word}_${direction}`];
      if (order) values[`${word}_${direction}`.toLowerCase()] = order;
    }
  }
  return enumeration(name, about, values);
}

/** An input object. */
export interface InputType<A extends Args = Args> {
  readonly kind: "input";
  readonly name: string;
  readonly about: string;
  readonly fields: A;
}

/** Declares an input object. */
export function inputType<const A extends Args>(
  name: string,
  about: string,
  fields: A,
): InputType<A> {
  return { kind: "input", name, about, fields };
}

/**
 * The number of a record, sent as an `ID`: GitLab's clients write numbers or global ids.
 *
 * @param type the record's, in errors
 * @param classes the names it may have in global ids. Default: the type's
 * @throws GraphError for anything else
 */
export function recordId(sent: string, type: string, classes: readonly string[] = [type]): number {
  const [, name, digits] = /^(?:gid:\/\/gitlab\/([A-Za-z:]+)\/)?(\d{1,15})$/.exec(sent) ?? [];
  if (digits === undefined)
    throw new GraphError(`"${sent.slice(0, 100)}" is not a valid Global ID`);
  if (name !== undefined && !classes.includes(name)) {
    throw new GraphError(`"${sent}" does not represent an instance of ${type}`);
  }
  return Number(digits);
}

/** A scalar of global ids. */
export interface GidScalar {
  readonly kind: "gid";
  readonly name: string;
  readonly types: readonly string[];
  /** Whether handlers get the type beside the id. */
  readonly isTyped: boolean;
  /** Whether ids are texts, not numbers. */
  readonly isText?: boolean;
}

function gidScalar(name: string, types: readonly string[], isTyped = false): GidScalar {
  return { kind: "gid", name: `${name}ID`, types, isTyped };
}

// ---------------------------------------------------------------- types

/** A number of all rows of a connection. */
export interface Total {
  /** Over the rows, such as `count(*)`. */
  readonly sql: string;
  readonly type: "Int" | "BigInt";
}

/**
 * A type whose objects are rows: the tables they come from, and the condition under which a caller may see one, so that
 * no field can forget it.
 */
export interface RowType {
  readonly kind: "row";
  readonly name: string;
  readonly about: string;
  /** Tables and joins, with the aliases that columns and conditions use. */
  readonly from: string;
  /** The column that identifies a row. */
  readonly key: string;
  /** Default: everybody may see every row. */
  readonly visible?: (viewer: Viewer) => Condition;
  readonly implements?: readonly string[];
  /** What connections have besides `count`: whole numbers of all rows, by name. */
  readonly totals?: Readonly<Record<string, Total>>;
  readonly fields: OutputFields;
}

/** A type whose objects are values of the program. */
export interface ValueType {
  readonly kind: "value";
  readonly name: string;
  readonly about: string;
  readonly implements?: readonly string[];
  readonly fields: OutputFields;
}

/**
 * An interface: the types that implement it have its fields without repeating them. If it has rows, fields may give
 * rows of any of these types, which `typeName` tells apart.
 */
export interface InterfaceType {
  readonly kind: "interface";
  readonly name: string;
  readonly about: string;
  readonly fields: OutputFields;
  readonly rows?: Pick<RowType, "from" | "key" | "visible"> & {
    readonly typeName: {
      readonly columns: readonly string[];
      of(values: readonly Value[]): string;
    };
  };
}

/** A union. */
export interface UnionType {
  readonly kind: "union";
  readonly name: string;
  readonly about: string;
  readonly types: readonly string[];
}

export type NamedType =
  | RowType
  | ValueType
  | InterfaceType
  | UnionType
  | EnumType
  | InputType
  | GidScalar;

/** Declares a type of rows. */
export const rowType = (name: string, type: Omit<RowType, "kind" | "name">): RowType => ({
  kind: "row",
  name,
  ...type,
});

/** Declares a type of values. */
export const valueType = (
  name: string,
  about: string,
  fields: OutputFields,
  more: Pick<ValueType, "implements"> = {},
): ValueType => ({ kind: "value", name, about, fields, ...more });

/** Declares an interface. */
export const interfaceType = (
  name: string,
  about: string,
  fields: OutputFields,
  rows?: InterfaceType["rows"],
): InterfaceType => ({ kind: "interface", name, about, fields, ...(rows && { rows }) });

/** Declares a union. */
export const unionType = (name: string, about: string, types: readonly string[]): UnionType => ({
  kind: "union",
  name,
  about,
  types,
});

// ---------------------------------------------------------------- fields

interface FieldCommon {
  /** In GraphQL's schema language, such as `[String!]!`. */
  readonly type: string;
  readonly about?: string;
  readonly args?: Args;
  /** Why clients should not use it. */
  readonly deprecated?: string;
  /** What it costs beside its children. Default: 1. */
  readonly complexity?: number;
  /** The enumeration or value type it gives, declared with it. */
  readonly declares?: NamedType;
}

/** A scalar that columns of a row give. */
export interface LeafField extends FieldCommon {
  readonly kind: "leaf";
  readonly field: Field;
}

/** A value computed from columns of a row: a scalar, an object of a {@link ValueType}, the key of a row, or lists. */
export interface ComputedField extends FieldCommon {
  readonly kind: "computed";
  readonly columns: readonly string[];
  read(values: readonly Value[], context: GraphContext, args: Values<Args>): unknown;
}

/** A value that a value's property has, or that is computed from the value; else like {@link ComputedField}. */
export interface PropertyField extends FieldCommon {
  readonly kind: "property";
  read(value: never, context: GraphContext, args: Values<Args>): unknown;
}

/** A value loaded for many rows at once, by their keys. */
export interface LoadedField extends FieldCommon {
  readonly kind: "loaded";
  /** The column whose values are the keys; default: the type's key. */
  readonly key: string | undefined;
  /** Values by key; those that are missing are `null`, or `empty`. */
  load(
    keys: readonly Value[],
    context: GraphContext,
    args: Values<Args>,
    given: Values<Args>,
  ): Awaitable<ReadonlyMap<Value, unknown>>;
  readonly empty?: unknown;
}

/** A column or expression to sort by. It must not be null. */
export interface Order {
  readonly sql: string;
  /** The values of its placeholders. Default: none. */
  readonly values?: readonly Value[];
  readonly descending?: boolean;
  /** Whether its values are texts; otherwise they are whole numbers. */
  readonly isText?: boolean;
}

/** The part of a list that a page shows, in its order. */
export interface PageRange {
  /** Maximum rows. */
  readonly size: number;
  /** Whether they are the last ones of the range, not the first. */
  readonly isBackward: boolean;
  /** The values that the row before the range has in the columns of the order. */
  readonly start: readonly (string | number)[] | undefined;
  /** Those of the row behind it. */
  readonly end: readonly (string | number)[] | undefined;
}

/** Which rows a field gives for its parent. */
export interface ChildQuery {
  /** Joins to add to the type's tables. */
  readonly join?: string;
  /** The column that equals the parent's key. None at the root. */
  readonly parent?: string;
  readonly where?: Condition | undefined;
  /** A condition that holds for the rows of a page and is faster than `where`, which it replaces. */
  readonly page?: (range: PageRange) => Condition;
  /** Ends in a unique column. Default: the type's key. It may differ between parents. */
  readonly order?: readonly Order[];
}

/** Rows that belong to their parent: a connection with pages, a list, or the first one. */
export interface ChildrenField extends FieldCommon {
  readonly kind: "children";
  /** The type of the rows. */
  readonly of: string;
  readonly shape: "connection" | "list" | "first";
  /** The parent's column with the key; default: its type's key. */
  readonly key?: string | undefined;
  /** Further columns of the parent, which `query` gets. Of a parent that is a value, it gets the value. */
  readonly needs?: readonly string[];
  /** Whether few rows belong to each parent, so that all are read to find the first ones of each. */
  readonly areFew?: boolean;
  /** Maximum rows of a page. Default 100. */
  readonly maxPage?: number;
  query(args: never, context: GraphContext, needed: readonly Value[]): Awaitable<ChildQuery>;
}

export type OutputField = LeafField | ComputedField | PropertyField | LoadedField | ChildrenField;
export type OutputFields = Readonly<Record<string, OutputField>>;

const leaf = (type: string, of: Field): LeafField => ({ kind: "leaf", type, field: of });
const columnOr = (of: string | Field, make: (column: string) => Field) =>
  typeof of === "string" ? make(of) : of;

/** A text. */
export const string = (of: string | Field) => leaf("String", columnOr(of, field.text));
/** A number as a text, as GitLab's `iid`. */
export const digits = (column: string) =>
  leaf(
    "String",
    field.derived([column], "string", ([value]) => (value === null ? null : String(value))),
  );
/** A text as HTML: nothing in it is markup, blank lines divide paragraphs. */
export const html = (column: string) =>
  leaf(
    "String",
    field.derived([column], "string", ([text]) =>
      text === null ? null : paragraphs(String(text)),
    ),
  );
/** A line of text as HTML: nothing in it is markup. */
export const htmlLine = (column: string) =>
  leaf(
    "String",
    field.derived([column], "string", ([text]) => (text === null ? null : escaped(String(text)))),
  );
/** A whole number. */
export const int = (of: string | Field) => leaf("Int", columnOr(of, field.integer));
/** 0 or 1 as a boolean. */
export const boolean = (of: string | Field) => leaf("Boolean", columnOr(of, field.flag));
/** An `ID` that is a text, such as a full path. */
export const id = (of: string | Field) => leaf("ID", columnOr(of, field.text));
/** Epoch milliseconds as an instant without milliseconds, as in GitLab. */
export const time = (column: string) =>
  leaf(
    "Time",
    field.derived([column], "timestamp", ([value]) =>
      value === null ? null : `${isoInstant(value as number).slice(0, 19)}Z`,
    ),
  );
/** A day, `YYYY-MM-DD`, as it is. */
export const date = (column: string, type: "Time" | "Date" = "Date") =>
  leaf(type, field.date(column));
/** A global id. */
export const gid = (type: string, column: string) =>
  required({
    ...leaf(
      `${type}ID`,
      field.derived([column], "string", ([value]) =>
        value === null ? null : `gid://gitlab/${type}/${value}`,
      ),
    ),
    declares: gidScalar(type, [type]),
  });
/** A global id of type `ID`, as those of issues. */
export const plainGid = (type: string, column: string) => ({ ...gid(type, column), type: "ID!" });
/** A value that every row shares. */
export const constant = (type: string, value: unknown) => leaf(type, field.constant(value));
/** Any leaf: a type in GraphQL's schema language with a presenter's field. */
export { leaf };

/** A word of an enumeration; `of` gives the names of its values. */
export const word = (type: EnumType, of: string | Field) => ({
  ...leaf(type.name, columnOr(of, field.text)),
  declares: type,
});

/** The arguments that every connection has. */
export const PAGE_ARGS = {
  first: arg.about("Rows from the beginning.", arg.int),
  last: arg.about("Rows from the end.", arg.int),
  after: arg.about("Only rows after this cursor.", arg.string),
  before: arg.about("Only rows before this cursor.", arg.string),
} satisfies Args;

/** A page without rows. */
export const NO_ROWS = {
  nodes: [],
  edges: [],
  pageInfo: { hasNextPage: false, hasPreviousPage: false },
  count: 0,
};

const edgeOf = (of: ValueType): ValueType =>
  valueType(`${of.name}Edge`, "A value of a page with its cursor.", {
    cursor: required(property("String")),
    node: property(of),
  });

/** The type of pages of values. */
export const pagesOf = (of: ValueType, about: string): ValueType =>
  valueType(`${of.name}Connection`, about, {
    nodes: { ...property(`[${of.name}]`), declares: of },
    edges: { ...property(`[${of.name}Edge]`), declares: edgeOf(of) },
    pageInfo: required(property("PageInfo")),
    count: required(property("Int")),
  });

/** A connection to what there is none of here, for clients that ask for it. */
export const emptyConnection = (of: ValueType, args: Args = {}): PropertyField => ({
  ...property(pagesOf(of, `Pages of ${of.name}; there are none.`), () => NO_ROWS),
  args: { ...args, ...PAGE_ARGS },
});

/** An object of a type that there is none of here, for clients that ask for it. */
export const absent = (of: ValueType): PropertyField => property(of, () => null);

/** The same field, never null. */
export const required = <F extends OutputField>(of: F): F => ({ ...of, type: `${of.type}!` });
/** The same field with a description for the reference. */
export const about = <F extends OutputField>(text: string, of: F): F => ({ ...of, about: text });
/** The same field, which clients should not use any more. */
export const deprecated = <F extends OutputField>(reason: string, of: F): F => ({
  ...of,
  deprecated: reason,
});
/** The same field at another cost. A connection then costs the same for pages of any length, as some do in GitLab. */
export const costing = <F extends OutputField>(complexity: number, of: F): F => ({
  ...of,
  complexity,
});

/** A value computed from columns of the row. */
export function computed<const A extends Args = Record<never, never>>(
  type: string | ValueType,
  columns: readonly string[],
  read: (values: readonly Value[], context: GraphContext, args: Values<A>) => unknown,
  args?: A,
): ComputedField {
  return {
    kind: "computed",
    ...typed(type),
    columns,
    read: read as ComputedField["read"],
    ...(args && { args }),
  };
}

const typed = (type: string | ValueType) =>
  typeof type === "string" ? { type } : { type: type.name, declares: type };

/** The row of another type whose key is in a column; null if the caller may not see it. */
export const one = (type: string, column: string): ComputedField =>
  computed(type, [column], ([key]) => key);

/** The row whose key is in the column of its type, of several types of which one is not null. */
export const oneOf = (type: string, columns: Readonly<Record<string, string>>): ComputedField => {
  const names = Object.keys(columns);
  return computed(type, Object.values(columns), (values) => {
    const at = values.findIndex((value) => value !== null);
    return at < 0 ? null : { type: names[at], key: values[at] };
  });
};

/** A property of a value; by default the one of the field's name. */
export function property<T, const A extends Args = Record<never, never>>(
  type: string | ValueType,
  read?: (value: T, context: GraphContext, args: Values<A>) => unknown,
  args?: A,
): PropertyField {
  return {
    kind: "property",
    ...typed(type),
    // Replaced by the reader of the field's own name when the schema is built.
    read: (read ?? OWN_NAME) as PropertyField["read"],
    ...(args && { args }),
  };
}

/** Stands for reading the property of the field's name. */
export const OWN_NAME = () => undefined;

/**
 * A value loaded for all rows of a level in a bounded number of statements.
 *
 * @param load gets the rows' keys, the context, its own arguments and those of the field that gave the rows
 */
export function loaded<const A extends Args = Record<never, never>>(
  type: string | ValueType,
  load: (
    keys: readonly Value[],
    context: GraphContext,
    args: Values<A>,
    given: Values<Args>,
  ) => Awaitable<ReadonlyMap<Value, unknown>>,
  options: { key?: string; args?: A; empty?: unknown } = {},
): LoadedField {
  const { key, args, empty } = options;
  return {
    kind: "loaded",
    ...typed(type),
    key,
    load: load as LoadedField["load"],
    ...(args && { args }),
    ...(empty !== undefined && { empty }),
  };
}

type ChildrenOptions<A extends Args> = Pick<
  ChildrenField,
  "key" | "needs" | "areFew" | "maxPage"
> & {
  args?: A;
  query: (
    args: Values<A>,
    context: GraphContext,
    needed: readonly Value[],
  ) => Awaitable<ChildQuery>;
};

const children =
  (shape: ChildrenField["shape"], typeOf: (of: string) => string) =>
  <const A extends Args = Record<never, never>>(
    of: string,
    { query, ...options }: ChildrenOptions<A>,
  ): ChildrenField => ({
    kind: "children",
    shape,
    of,
    type: typeOf(of),
    query: query as ChildrenField["query"],
    ...options,
  });

/** Rows that belong to their parent, in pages: a Relay connection. */
export const connection = children("connection", (of) => `${of}Connection`);
/** Rows that belong to their parent, at most a hundred, as a list. */
export const list = children("list", (of) => `[${of}!]`);
/** The first of the rows that belong to their parent. */
export const first = children("first", (of) => of);

// ---------------------------------------------------------------- mutations

/** What a mutation can do besides reading. */
export interface MutationContext extends GraphContext {
  readonly caller: Caller;
  /** Performs a REST route, with its validation, authorization and transaction. */
  call(route: Route, parameters: object): Promise<Record<string, unknown>>;
}

/** A change. Its payload has `clientMutationId` and `errors` besides its own fields. */
export interface Mutation {
  readonly about: string;
  readonly input: Args;
  /** The payload's fields: properties of what `run` returns. */
  readonly payload: OutputFields;
  readonly declares?: NamedType;
  /**
   * Makes the change; its own transaction is that of the route it calls.
   *
   * @throws ApiError 400, 409, 412 or 422 for what becomes `errors`; others mean that the record can't be found or
   * changed; GraphError for arguments that contradict each other
   */
  run(input: never, context: MutationContext): Promise<object>;
}

/** Declares a mutation. */
export function mutation<const A extends Args>(declared: {
  about: string;
  input: A;
  payload: OutputFields;
  run: (input: Values<A>, context: MutationContext) => Promise<object>;
}): Mutation {
  return declared as Mutation;
}

/**
 * A route of a resource, for mutations that perform it.
 *
 * @param name method and path, such as `"POST /projects/:id/issues"`
 * @throws TypeError if the resource has no such route
 */
export function routeOf({ name: resource, routes }: Resource, name: string): Route {
  const found = routes.find(({ method, path }) => `${method} ${path}` === name);
  if (!found) throw new TypeError(`${resource} has no route ${name}`);
  return found;
}

/** An error that a client sees as it is, at the field. */
export class GraphError extends Error {
  override get name() {
    return "GraphError" as const;
  }
}

/** What anything answers that the caller may not see or change, or that is not there. */
export const NOT_AVAILABLE =
  "The resource that you are attempting to access does not exist or you don't have permission to perform this action";

/** The error with {@link NOT_AVAILABLE}. */
export const notAvailable = () => new GraphError(NOT_AVAILABLE);
