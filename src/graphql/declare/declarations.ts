import type { Caller } from "../../core/access/caller.ts";
import type { Viewer } from "../../core/access/visibility.ts";
import type { Field } from "../../core/field.ts";
import type { Context, Route } from "../../core/resource.ts";
import type { Condition } from "../../store/conditions.ts";
import type { Awaitable, Reader, Store, Value } from "../../store/port.ts";

/** The GraphQL side of a resource: its types, and what it adds to the types of others. */
export interface GraphqlModule {
  readonly types?: readonly NamedType[];
  /** Fields that it adds to types of others, or to `Query`, by the type's name. */
  readonly extend?: Readonly<Record<string, OutputFields>>;
  /** Its mutations by name. */
  readonly mutations?: Readonly<Record<string, Mutation>>;
}

/** What fields and mutations know about the request. */
export interface GraphContext
  extends Pick<
    Context,
    "caller" | "viewer" | "view" | "now" | "budget" | "tier" | "edition" | "request" | "mayCall"
  > {
  /** Sees what earlier mutations of the document have changed. */
  readonly db: Reader;
  /** For objects of repositories, which never change. */
  readonly store: Store;
  /** The complexity of the request's documents, and the most they may have. */
  readonly complexity: { readonly score: number; readonly limit: number };
  /**
   * Performs a REST route that reads, with its validation and authorization.
   *
   * @throws ApiError what the route answers to a client
   */
  readonly read: (route: Route, parameters: object) => Promise<unknown>;
}

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

/** Arguments, or the fields of an input object, by their names. */
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

/** An enumeration; handlers get the values. */
export interface EnumType<T = unknown> {
  readonly kind: "enum";
  readonly name: string;
  readonly about: string;
  readonly values: Readonly<Record<string, T>>;
}

/** An input object. */
export interface InputType<A extends Args = Args> {
  readonly kind: "input";
  readonly name: string;
  readonly about: string;
  readonly fields: A;
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

/** A type that a module declares. */
export type NamedType =
  | RowType
  | ValueType
  | InterfaceType
  | UnionType
  | EnumType
  | InputType
  | GidScalar;

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
  /** The column, or of a value the property, whose values are the keys; default: the type's key. */
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
  /** What stands for the type's tables. Whether the viewer may see the rows is then part of `where` or of this itself. */
  readonly from?: Condition | undefined;
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
  readonly isSmall?: boolean;
  /** Maximum rows of a page. Default 100. */
  readonly maxPage?: number;
  query(args: never, context: GraphContext, needed: readonly Value[]): Awaitable<ChildQuery>;
}

/** A field of a type of rows or values. */
export type OutputField = LeafField | ComputedField | PropertyField | LoadedField | ChildrenField;
export type OutputFields = Readonly<Record<string, OutputField>>;

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
