import {
  GraphQLBoolean,
  GraphQLEnumType,
  GraphQLError,
  type GraphQLFieldConfig,
  type GraphQLFieldConfigArgumentMap,
  GraphQLFloat,
  GraphQLID,
  GraphQLInputObjectType,
  type GraphQLInputType,
  GraphQLInt,
  GraphQLInterfaceType,
  GraphQLList,
  type GraphQLNamedType,
  GraphQLNonNull,
  GraphQLObjectType,
  type GraphQLOutputType,
  GraphQLScalarType,
  GraphQLSchema,
  GraphQLString,
  GraphQLUnionType,
  Kind,
  type ValueNode,
} from "graphql";
import {
  type Args,
  arg,
  type GidScalar,
  type GraphqlModule,
  type InterfaceType,
  type Mutation,
  type NamedType,
  type OutputField,
  type OutputFields,
  OWN_NAME,
  PAGE_ARGS,
  property,
  type RowType,
  required,
  valueType,
} from "./declare.ts";
import { readGlobalId, readTextId } from "./global-id.ts";

/** A composite type at run time: objects, interfaces and unions. */
export interface RuntimeType {
  readonly name: string;
  readonly fields: ReadonlyMap<string, OutputField>;
  /** The names of fragments' types that apply to it: its own, its interfaces' and its unions'. */
  readonly names: ReadonlySet<string>;
  /** Where its rows come from; `undefined` for values. */
  readonly rows: Pick<RowType, "from" | "key" | "visible"> | undefined;
  /** What its connections have besides `count`, as SQL by name. */
  readonly totals: RowType["totals"];
  /** For interfaces whose rows are of several types: how these are told apart. */
  readonly typeName: NonNullable<InterfaceType["rows"]>["typeName"] | undefined;
  /** The objects it may be; itself if it is one. */
  readonly objects: readonly RuntimeType[];
}

/** A type as a field gives it. */
export interface TypeRef {
  readonly isRequired: boolean;
  /** The type of a list's items. */
  readonly items: TypeRef | undefined;
  /** The name at its core. */
  readonly name: string;
}

/** The schema, for graphql-js and for our own execution. */
export interface Schema {
  readonly graphql: GraphQLSchema;
  readonly types: ReadonlyMap<string, RuntimeType>;
  readonly mutations: ReadonlyMap<string, Mutation>;
}

const refs = new Map<string, TypeRef>();

/** Reads a type in GraphQL's schema language. */
export function typeRef(text: string): TypeRef {
  const known = refs.get(text);
  if (known) return known;
  const isRequired = text.endsWith("!");
  const bare = isRequired ? text.slice(0, -1) : text;
  const items = bare.startsWith("[") ? typeRef(bare.slice(1, -1)) : undefined;
  const read = { isRequired, items, name: items?.name ?? bare };
  refs.set(text, read);
  return read;
}

const PAGE_INFO = valueType("PageInfo", "Where a page is in its connection.", {
  hasNextPage: required(property("Boolean")),
  hasPreviousPage: required(property("Boolean")),
  startCursor: property("String"),
  endCursor: property("String"),
});

const upperFirst = (name: string) => `${name[0]?.toUpperCase()}${name.slice(1)}`;

/**
 * Builds the schema from the modules of all resources.
 *
 * @throws TypeError if they contradict each other: an unknown type, two of the same name, a field declared twice
 */
export function buildSchema(modules: readonly GraphqlModule[]): Schema {
  return new Builder(modules).build();
}

class Builder {
  readonly #named = new Map<string, NamedType>();
  readonly #fields = new Map<string, Map<string, OutputField>>();
  readonly #mutations = new Map<string, Mutation>();
  readonly #connections = new Set<string>();
  readonly #built = new Map<string, GraphQLNamedType>();

  constructor(modules: readonly GraphqlModule[]) {
    this.#add(PAGE_INFO);
    for (const name of ["Query", "Mutation"]) {
      this.#add(valueType(name, `The root of ${name === "Query" ? "queries" : "changes"}.`, {}));
    }
    for (const { types = [] } of modules) for (const type of types) this.#add(type);
    for (const { extend = {} } of modules) {
      for (const [name, fields] of Object.entries(extend)) this.#extend(name, fields);
    }
    for (const { mutations = {} } of modules) {
      for (const [name, mutation] of Object.entries(mutations)) this.#addMutation(name, mutation);
    }
    for (const type of [...this.#named.values()]) this.#inherit(type);
  }

  build(): Schema {
    const types = this.#runtimeTypes();
    return { graphql: this.#graphql(), types, mutations: this.#mutations };
  }

  #add(type: NamedType): void {
    const known = this.#named.get(type.name);
    if (known === type) return;
    if (known) {
      if (type.kind === "gid" && isSameScalar(known, type)) return;
      throw new TypeError(`GraphQL has two types named ${type.name}`);
    }
    this.#named.set(type.name, type);
    if (type.kind === "input") this.#addArgs(type.fields);
    if (!("fields" in type) || type.kind === "input") return;
    this.#fields.set(type.name, new Map());
    this.#extend(type.name, type.fields);
  }

  #extend(name: string, fields: OutputFields): void {
    const own = this.#fields.get(name);
    if (!own) throw new TypeError(`GraphQL has no type ${name} to extend`);
    for (const [field, declared] of Object.entries(fields)) {
      if (own.has(field)) throw new TypeError(`GraphQL's ${name}.${field} is declared twice`);
      own.set(field, named(field, declared));
      if (declared.declares) this.#add(declared.declares);
      if (declared.args) this.#addArgs(declared.args);
      if (declared.kind === "children" && declared.shape === "connection") {
        this.#connections.add(declared.of);
      }
    }
  }

  #addArgs(args: Args): void {
    for (const { declares } of Object.values(args)) if (declares) this.#add(declares);
  }

  #addMutation(name: string, mutation: Mutation): void {
    if (this.#mutations.has(name)) throw new TypeError(`GraphQL's mutation ${name} exists twice`);
    this.#mutations.set(name, mutation);
    const upper = upperFirst(name);
    const payload = valueType(`${upper}Payload`, `What \`${name}\` gives.`, {
      clientMutationId: property("String"),
      errors: required(property("[String!]")),
      ...mutation.payload,
    });
    const input: NamedType = {
      kind: "input",
      name: `${upper}Input`,
      about: `What \`${name}\` takes.`,
      fields: {
        clientMutationId: arg.about("Given back as it is.", arg.string),
        ...mutation.input,
      },
    };
    this.#add(payload);
    this.#add(input);
    this.#extend("Mutation", {
      [name]: {
        kind: "property",
        type: payload.name,
        about: mutation.about,
        args: { input: { type: `${input.name}!` } },
        read: OWN_NAME,
      },
    });
  }

  /** Gives a type the fields of its interfaces. */
  #inherit(type: NamedType): void {
    if (!("implements" in type)) return;
    const own = this.#fields.get(type.name) as Map<string, OutputField>;
    for (const above of type.implements ?? []) {
      for (const [name, declared] of this.#fieldsOf(above)) {
        if (!own.has(name)) own.set(name, declared);
      }
    }
  }

  #fieldsOf(name: string): ReadonlyMap<string, OutputField> {
    const found = this.#fields.get(name);
    if (!found) throw new TypeError(`GraphQL has no interface ${name}`);
    return found;
  }

  #runtimeTypes(): ReadonlyMap<string, RuntimeType> {
    const types = new Map<string, RuntimeType & { objects: RuntimeType[] }>();
    const add = (name: string, more: Partial<RuntimeType> = {}) => {
      const isAlso = "names" in more ? more.names : undefined;
      const type = {
        name,
        fields: this.#fields.get(name) ?? new Map(),
        names: new Set([name, ...(isAlso ?? [])]),
        rows: more.rows,
        totals: more.totals,
        typeName: more.typeName,
        objects: [] as RuntimeType[],
      };
      types.set(name, type);
      return type;
    };
    const unions = [...this.#named.values()].filter((type) => type.kind === "union");
    for (const type of this.#named.values()) {
      if (type.kind === "row" || type.kind === "value") {
        const within = unions.filter((union) => union.types.includes(type.name));
        const names = new Set([...(type.implements ?? []), ...within.map(({ name }) => name)]);
        const rows = type.kind === "row" && { rows: type, totals: type.totals };
        const object = add(type.name, { names, ...rows });
        object.objects.push(object);
      } else if (type.kind === "interface" || type.kind === "union") {
        const { rows } = type as InterfaceType;
        add(type.name, { rows, typeName: rows?.typeName });
      }
    }
    for (const type of [...types.values()]) {
      for (const name of type.names) {
        if (name === type.name) continue;
        const above = types.get(name);
        if (!above) throw new TypeError(`GraphQL's ${type.name} implements unknown ${name}`);
        above.objects.push(type);
      }
    }
    for (const of of this.#connections) {
      for (const name of [`${of}Connection`, `${of}Edge`]) {
        const type = add(name);
        type.objects.push(type);
      }
    }
    return types;
  }

  #graphql(): GraphQLSchema {
    for (const type of [GraphQLString, GraphQLInt, GraphQLFloat, GraphQLBoolean, GraphQLID]) {
      this.#built.set(type.name, type);
    }
    for (const scalar of SCALARS) this.#built.set(scalar.name, scalar);
    for (const type of this.#named.values()) this.#built.set(type.name, this.#typeOf(type));
    for (const of of this.#connections) this.#addConnection(of);
    const get = (name: string) => this.#built.get(name) as GraphQLObjectType;
    const hasMutations = this.#mutations.size > 0;
    return new GraphQLSchema({
      query: get("Query"),
      ...(hasMutations && { mutation: get("Mutation") }),
      types: [...this.#built.values()].filter(({ name }) => name !== "Mutation" || hasMutations),
    });
  }

  #typeOf(type: NamedType): GraphQLNamedType {
    const { name } = type;
    const description = "about" in type ? type.about : undefined;
    switch (type.kind) {
      case "enum":
        return new GraphQLEnumType({
          name,
          description,
          values: Object.fromEntries(
            Object.entries(type.values).map(([word, value]) => [word, { value }]),
          ),
        });
      case "gid":
        return gidType(type);
      case "input":
        return new GraphQLInputObjectType({
          name,
          description,
          fields: () => this.#argsOf(type.fields),
        });
      case "union":
        return new GraphQLUnionType({
          name,
          description,
          types: () => type.types.map((member) => this.#get(member) as GraphQLObjectType),
          resolveType: typeNameOf,
        });
      case "interface":
        return new GraphQLInterfaceType({
          name,
          description,
          fields: () => this.#fieldsFor(name),
          resolveType: typeNameOf,
        });
      default:
        return new GraphQLObjectType({
          name,
          description,
          interfaces: () =>
            (type.implements ?? []).map((above) => this.#get(above) as GraphQLInterfaceType),
          fields: () => this.#fieldsFor(name),
        });
    }
  }

  #addConnection(of: string): void {
    const type = this.#named.get(of);
    const totals = Object.entries((type?.kind === "row" && type.totals) || {});
    const edge = new GraphQLObjectType({
      name: `${of}Edge`,
      description: "A row of a connection with its cursor.",
      fields: () => ({
        cursor: { type: this.#wrap("String!") },
        node: { type: this.#wrap(of) },
      }),
    });
    const connection = new GraphQLObjectType({
      name: `${of}Connection`,
      description: `Pages of ${of}.`,
      fields: () => ({
        nodes: { type: this.#wrap(`[${of}]`) },
        edges: { type: this.#wrap(`[${of}Edge]`) },
        pageInfo: { type: this.#wrap("PageInfo!") },
        count: { type: this.#wrap("Int!"), description: "How many rows there are on all pages." },
        ...Object.fromEntries(
          totals.map(([name, { type }]) => [name, { type: this.#wrap(`${type}!`) }]),
        ),
      }),
    });
    this.#built.set(edge.name, edge).set(connection.name, connection);
  }

  #fieldsFor(type: string): Record<string, GraphQLFieldConfig<unknown, unknown>> {
    const fields = [...this.#fieldsOf(type)].map(([name, declared]) => {
      const isConnection = declared.kind === "children" && declared.shape === "connection";
      const args = { ...declared.args, ...(isConnection && PAGE_ARGS) };
      const config = {
        type: this.#wrap(declared.type) as GraphQLOutputType,
        description: declared.about,
        deprecationReason: declared.deprecated,
        args: this.#argsOf(args),
      };
      return [name, config] as const;
    });
    return Object.fromEntries(fields);
  }

  #argsOf(args: Args): GraphQLFieldConfigArgumentMap {
    const read = Object.entries(args).map(([name, { type, about, defaultValue }]) => {
      const config = {
        type: this.#wrap(type) as GraphQLInputType,
        description: about,
        ...(defaultValue !== undefined && { defaultValue }),
      };
      return [name, config] as const;
    });
    return Object.fromEntries(read);
  }

  #wrap(text: string): GraphQLInputType & GraphQLOutputType {
    return this.#wrapped(typeRef(text)) as GraphQLInputType & GraphQLOutputType;
  }

  #wrapped({ isRequired, items, name }: TypeRef): unknown {
    const nullable = items ? new GraphQLList(this.#wrapped(items) as never) : this.#get(name);
    return isRequired ? new GraphQLNonNull(nullable as never) : nullable;
  }

  #get(name: string): GraphQLNamedType {
    const found = this.#built.get(name);
    if (!found) throw new TypeError(`GraphQL has no type ${name}`);
    return found;
  }
}

/** A property field reads the property of its own name unless it says otherwise. */
function named(name: string, declared: OutputField): OutputField {
  if (declared.kind !== "property" || declared.read !== OWN_NAME) return declared;
  return { ...declared, read: (value: Record<string, unknown>) => value[name] };
}

const typeNameOf = (value: unknown) => (value as { __typename: string }).__typename;

function isSameScalar(known: NamedType, other: GidScalar): boolean {
  return (
    known.kind === "gid" &&
    known.isTyped === other.isTyped &&
    known.isText === other.isText &&
    known.types.join() === other.types.join()
  );
}

function gidType({ name, types, isTyped, isText }: GidScalar): GraphQLScalarType {
  const what = name.replace(/ID$/, "");
  const read = (value: unknown) => {
    if (isText) return readTextId(value, what, types).id;
    const found = readGlobalId(value, what, types);
    return isTyped ? found : found.id;
  };
  return scalar(name, `The global id of ${types.join(" or ")}.`, read);
}

/** A scalar that is written as text, and read from a text. */
function scalar(
  name: string,
  description: string,
  read: (value: unknown) => unknown,
): GraphQLScalarType {
  return new GraphQLScalarType({
    name,
    description,
    parseValue: read,
    parseLiteral: (node: ValueNode) => {
      if (node.kind === Kind.STRING || node.kind === Kind.INT) return read(node.value);
      return read(undefined);
    },
  });
}

const DAY = /^\d{4}-\d{2}-\d{2}$/;
const INSTANT = /^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?$/;

function readInstant(value: unknown): number {
  const text = typeof value === "string" ? value : "";
  const zoned =
    text.length === 10 || /(Z|[+-]\d{2}:?\d{2})$/.test(text.slice(10)) ? text : `${text}Z`;
  const at = INSTANT.test(text) ? Date.parse(zoned) : Number.NaN;
  if (Number.isNaN(at)) throw new GraphQLError(`"${text.slice(0, 100)}" is not an instant`);
  return at;
}

function readDay(value: unknown): string {
  const text = typeof value === "string" ? value.slice(0, 10) : "";
  const parsed = DAY.test(text) ? new Date(`${text}T00:00:00Z`) : undefined;
  if (!parsed || Number.isNaN(parsed.getTime()) || !parsed.toISOString().startsWith(text)) {
    throw new GraphQLError(`"${text.slice(0, 100)}" is not a day`);
  }
  return text;
}

const asText = (value: unknown) => {
  if (typeof value === "string") return value;
  throw new GraphQLError("a text is expected");
};

const SCALARS = [
  scalar("Time", "An instant in ISO 8601, such as `2021-03-09T14:58:50Z`.", readInstant),
  scalar("Date", "A day, such as `2021-03-09`.", readDay),
  scalar("ISO8601Date", "A day, such as `2021-03-09`.", readDay),
  scalar("BigInt", "A whole number of any size, as a text.", asText),
  scalar("Color", "A colour, such as `#6699cc`.", asText),
  scalar("UntrustedRegexp", "A regular expression of RE2.", asText),
  scalar("Duration", "A length of time in seconds.", (value) => Number(value)),
  new GraphQLScalarType({ name: "JSON", description: "Any JSON value." }),
] as const;
