import { GraphError } from "../errors.ts";
import type {
  Arg,
  Args,
  EnumType,
  GidScalar,
  GlobalId,
  InputType,
  NamedType,
  Order,
  Values,
} from "./declarations.ts";

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
  /** A regular expression of RE2, which is not read yet. */
  expression: optional<string>("UntrustedRegexp"),
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

/** Declares a scalar of global ids. */
export function gidScalar(name: string, types: readonly string[], isTyped = false): GidScalar {
  return { kind: "gid", name: `${name}ID`, types, isTyped };
}
