import type { Field } from "../../core/field.ts";
import * as field from "../../core/field.ts";
import { escaped, paragraphs } from "../../core/markup.ts";
import { isoInstant } from "../../core/time.ts";
import type { Awaitable, Value } from "../../store/port.ts";
import { arg, gidScalar } from "./args.ts";
import type {
  Args,
  ChildQuery,
  ChildrenField,
  ComputedField,
  EnumType,
  GraphContext,
  LeafField,
  LoadedField,
  OutputField,
  PropertyField,
  Values,
  ValueType,
} from "./declarations.ts";
import { valueType } from "./types.ts";

/** Any leaf: a type in GraphQL's schema language with a presenter's field. */
export const leaf = (type: string, of: Field): LeafField => ({ kind: "leaf", type, field: of });
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
/** A global id. @param className what it names, if that is not the name of its scalar */
export const gid = (type: string, column: string, className = type) =>
  required({
    ...leaf(
      `${type}ID`,
      field.derived([column], "string", ([value]) =>
        value === null ? null : `gid://gitlab/${className}/${value}`,
      ),
    ),
    declares: gidScalar(type, [className]),
  });
/** A global id of type `ID`, as those of issues. */
export const plainGid = (type: string, column: string) => ({ ...gid(type, column), type: "ID!" });
/** A value that every row shares. */
export const constant = (type: string, value: unknown) => leaf(type, field.constant(value));

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
  "key" | "needs" | "isSmall" | "maxPage"
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
