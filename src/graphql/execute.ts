import {
  type FieldNode,
  type GraphQLError,
  type GraphQLInterfaceType,
  type GraphQLObjectType,
  getArgumentValues,
  type SelectionSetNode,
} from "graphql";
import type { Value } from "../store/port.ts";
import { requireUsable, withDefaults, withoutNulls } from "./arguments.ts";
import { Children } from "./children.ts";
import type {
  Args,
  ComputedField,
  GraphContext,
  LoadedField,
  OutputField,
  PropertyField,
  Values,
} from "./declare.ts";
import { introspected } from "./introspection.ts";
import { Problems } from "./problems.ts";
import { Quota } from "./quota.ts";
import { type RuntimeType, type Schema, type TypeRef, typeRef } from "./schema.ts";
import { collect, columnsFor, type Selected, type Selecting, setsOf } from "./selections.ts";
import { rowsByKey } from "./statements.ts";
import {
  type Layout,
  layoutOf,
  lengthOf,
  type Node,
  nullable,
  type Path,
  pathsOf,
  REFUSED,
  type Text,
} from "./texts.ts";

/** A document to execute: an operation with its fragments and variables, all valid. */
export interface Executable extends Selecting {
  /** The variables as they were sent. */
  readonly sent: Readonly<Record<string, unknown>>;
}

/**
 * Executes queries level by level: each field is resolved for all objects of a level at once, so that the number of
 * statements grows with the document, not with the rows. It writes JSON text, as presenters do.
 */
export class Execution {
  readonly #schema: Schema;
  readonly #document: Executable;
  readonly #context: GraphContext;
  readonly #quota: Quota;
  readonly #problems = new Problems();
  readonly #children: Children;

  constructor(schema: Schema, document: Executable, context: GraphContext) {
    this.#schema = schema;
    this.#document = document;
    this.#context = context;
    this.#quota = new Quota(context.db);
    this.#children = new Children(document, context, this.#quota, this.#problems, {
      type: (name) => this.#type(name),
      rowObjects: (...given) => this.#rowObjects(...given),
      values: (...given) => this.#values(...given),
    });
  }

  /** The errors so far. */
  get errors(): GraphQLError[] {
    return this.#problems.found;
  }

  /**
   * Resolves the fields of an operation's root.
   *
   * @returns the JSON text of `data`
   * @throws TooMuch for answers beyond the limits
   */
  async data(): Promise<string> {
    const query = this.#type("Query");
    const root = [{ value: {}, path: undefined }];
    const sets = [this.#document.operation.selectionSet];
    const [text] = await this.#objects(query, sets, root, NO_LAYOUT);
    return nullable(text as Text);
  }

  /**
   * Resolves the payload of a mutation.
   *
   * @param field the mutation's field, as selected
   * @param payload what it gave, or the error that it threw
   * @returns its JSON text
   */
  async payload(field: Selected, payload: () => Promise<unknown>): Promise<string> {
    const type = this.#type("Mutation");
    const declared = type.fields.get(field.name) as OutputField;
    const path = { before: undefined, at: field.key };
    try {
      const values = [await payload()];
      const texts = await this.#values(typeRef(declared.type), values, [path], field);
      return nullable(texts[0] as Text);
    } catch (error) {
      this.#problems.report(error, field, [path]);
      return "null";
    }
  }

  /** The fields of an operation's root, in order. */
  rootFields(typeName: "Query" | "Mutation"): Selected[] {
    return collect(this.#type(typeName), [this.#document.operation.selectionSet], this.#document);
  }

  /**
   * The arguments of a selected field.
   *
   * @throws GraphQLError if a variable is missing, GraphError for too long lists and texts that can't be stored
   */
  argumentsOf(type: string, field: Selected): Record<string, unknown> {
    const owner = this.#schema.graphql.getType(type) as GraphQLObjectType | GraphQLInterfaceType;
    const declared = owner.getFields()[field.name];
    if (!declared) throw new TypeError(`${type} has no field ${field.name}`);
    const [node] = field.nodes as readonly [FieldNode];
    const values = getArgumentValues(declared, node, this.#document.variables);
    requireUsable(values);
    return values;
  }

  #argumentsOf(type: RuntimeType, { args = {} }: OutputField, field: Selected): Values<Args> {
    return withoutNulls(withDefaults(this.argumentsOf(type.name, field), args));
  }

  #type(name: string): RuntimeType {
    const found = this.#schema.types.get(name);
    if (!found) throw new TypeError(`GraphQL has no composite type ${name}`);
    return found;
  }

  /** The objects of one type as JSON texts. */
  async #objects(
    type: RuntimeType,
    sets: readonly SelectionSetNode[],
    nodes: readonly Node[],
    layout: Layout,
  ): Promise<Text[]> {
    if (nodes.length === 0) return [];
    const fields = collect(type, sets, this.#document);
    const texts = await Promise.all(fields.map((field) => this.#field(type, field, nodes, layout)));
    const keys = fields.map(({ key }, index) => `${index > 0 ? "," : ""}${JSON.stringify(key)}:`);
    this.#quota.spend(nodes.length * lengthOf(keys));
    return nodes.map((_, node) => {
      let out = "{";
      for (let index = 0; index < keys.length; index += 1) {
        const text = (texts[index] as Text[])[node] as Text;
        if (text === REFUSED) return REFUSED;
        out += keys[index] + text;
      }
      return `${out}}`;
    });
  }

  /** One field of all objects of a level. */
  async #field(
    type: RuntimeType,
    field: Selected,
    nodes: readonly Node[],
    layout: Layout,
  ): Promise<Text[]> {
    if (field.name === "__typename") {
      return this.#quota.spent(nodes.map(() => JSON.stringify(type.name)));
    }
    if (field.name.startsWith("__")) {
      const { graphql } = this.#schema;
      return this.#quota.spent([introspected(graphql, this.#document, field.nodes, this.errors)]);
    }
    const declared = type.fields.get(field.name) as OutputField;
    try {
      return await this.#resolved(type, declared, field, nodes, layout);
    } catch (error) {
      this.#problems.report(error, field, pathsOf(nodes, field));
      const text = typeRef(declared.type).isRequired ? REFUSED : "null";
      return nodes.map(() => text);
    }
  }

  async #resolved(
    type: RuntimeType,
    declared: OutputField,
    field: Selected,
    nodes: readonly Node[],
    layout: Layout,
  ): Promise<Text[]> {
    const ref = typeRef(declared.type);
    if (declared.kind === "leaf") {
      const at = declared.field.columns.map((column) => layout.get(column) as number);
      const { write } = declared.field.bind(at);
      const { view } = this.#context;
      const texts = this.#quota.written(nodes, ({ value }) => write(value as Value[], view));
      return ref.isRequired ? this.#problems.required(texts, field, pathsOf(nodes, field)) : texts;
    }
    if (declared.kind === "children") {
      // Of a connection, also those that no field declares: `first`, `after` …
      const args = this.#argumentsOf(type, declared, field);
      return this.#children.texts(type, declared, field, nodes, layout, args);
    }
    const args = declared.args ? this.#argumentsOf(type, declared, field) : NO_ARGS;
    const paths = pathsOf(nodes, field);
    if (declared.kind === "loaded") {
      return this.#values(
        ref,
        await this.#loaded(type, declared, nodes, layout, args),
        paths,
        field,
      );
    }
    const values = await this.#computed(declared, nodes, layout, args, (error, index) =>
      this.#problems.report(error, field, [paths[index]]),
    );
    const found = [...values.keys()].filter((index) => values[index] !== REFUSED);
    const texts = await this.#values(
      ref,
      found.map((index) => values[index]),
      found.map((index) => paths[index] as Path),
      field,
    );
    if (found.length === values.length) return texts;
    const all: Text[] = values.map(() => (ref.isRequired ? REFUSED : "null"));
    for (const [at, index] of found.entries()) all[index] = texts[at] as Text;
    return all;
  }

  /** What a field computes for each object; {@link REFUSED} where it fails. */
  #computed(
    declared: ComputedField | PropertyField,
    nodes: readonly Node[],
    layout: Layout,
    args: Values<Args>,
    report: (error: unknown, index: number) => void,
  ): Promise<unknown[]> {
    const at =
      declared.kind === "computed" ? declared.columns.map((column) => layout.get(column)) : [];
    const read = async ({ value }: Node, index: number) => {
      try {
        if (declared.kind === "property") {
          return await declared.read(value as never, this.#context, args);
        }
        const values = at.map((place) => (value as Value[])[place as number] as Value);
        return await declared.read(values, this.#context, args);
      } catch (error) {
        report(error, index);
        return REFUSED;
      }
    };
    return Promise.all(nodes.map(read));
  }

  /** What a field loads for each row. */
  async #loaded(
    type: RuntimeType,
    declared: LoadedField,
    nodes: readonly Node[],
    layout: Layout,
    args: Values<Args>,
  ): Promise<unknown[]> {
    const key = declared.key ?? (type.rows?.key as string);
    // Of a value, the key is a property.
    const keyAt = (type.rows ? layout.get(key) : key) as number;
    const keys = nodes.map(({ value }) => (value as Value[])[keyAt] as Value);
    const given = nodes[0]?.given ?? NO_ARGS;
    const found = await declared.load([...new Set(keys)], this.#context, args, given);
    return keys.map((key) => found.get(key) ?? declared.empty ?? null);
  }

  /** Values as JSON texts: scalars, objects, keys of rows, or lists of these. */
  async #values(
    ref: TypeRef,
    values: readonly unknown[],
    paths: readonly Path[],
    field: Selected,
  ): Promise<Text[]> {
    const texts = ref.items
      ? await this.#lists(ref.items, values, paths, field)
      : await this.#items(ref.name, values, paths, field);
    if (!ref.isRequired) return texts.map((text) => (text === REFUSED ? "null" : text));
    return this.#problems.required(texts, field, paths);
  }

  async #lists(
    items: TypeRef,
    values: readonly unknown[],
    paths: readonly Path[],
    field: Selected,
  ): Promise<Text[]> {
    const flat: unknown[] = [];
    const places: Path[] = [];
    for (const [index, value] of values.entries()) {
      for (const [at, item] of ((value ?? []) as unknown[]).entries()) {
        flat.push(item);
        places.push({ before: paths[index], at });
      }
    }
    const texts = await this.#values(items, flat, places, field);
    let taken = 0;
    return values.map((value) => {
      if (value === null || value === undefined) return "null";
      const { length } = value as unknown[];
      const own = texts.slice(taken, taken + length);
      taken += length;
      return own.includes(REFUSED) ? REFUSED : `[${own.join(",")}]`;
    });
  }

  async #items(
    name: string,
    values: readonly unknown[],
    paths: readonly Path[],
    field: Selected,
  ): Promise<Text[]> {
    const type = this.#schema.types.get(name);
    if (!type) return this.#quota.spent(values.map((value) => JSON.stringify(value ?? null)));
    const sets = setsOf(field.nodes);
    const texts: Text[] = values.map(() => "null");
    const byType = new Map<RuntimeType, number[]>();
    for (const [index, value] of values.entries()) {
      if (value === null || value === undefined) continue;
      const own = this.#typeOfValue(type, value);
      byType.set(own, [...(byType.get(own) ?? []), index]);
    }
    for (const [own, indexes] of byType) {
      const given = indexes.map((index) => {
        const value = values[index];
        return own === type ? value : (value as { key: unknown }).key;
      });
      const places = indexes.map((index) => paths[index] as Path);
      const found = own.rows
        ? await this.#rowsWithKeys(own, sets, given as Value[], places)
        : await this.#objects(
            own,
            sets,
            given.map((value, at) => ({ value, path: places[at] })),
            NO_LAYOUT,
          );
      for (const [at, index] of indexes.entries()) texts[index] = found[at] as Text;
    }
    return texts;
  }

  /** The type of a value: of several that a type stands for, the value names one. */
  #typeOfValue(type: RuntimeType, value: unknown): RuntimeType {
    return type.rows || type.objects[0] === type
      ? type
      : this.#type((value as { type: string }).type);
  }

  /** The rows with these keys, each written once. */
  async #rowsWithKeys(
    type: RuntimeType,
    sets: readonly SelectionSetNode[],
    keys: readonly Value[],
    paths: readonly Path[],
  ): Promise<Text[]> {
    const rowsOf = type.rows as NonNullable<RuntimeType["rows"]>;
    const columns = columnsFor(type, sets, this.#document);
    const unique = [...new Set(keys)];
    const rows = await rowsByKey(this.#quota.rows, rowsOf, columns, unique, this.#context.viewer);
    const nodes: Node[] = [];
    const at = new Map<Value, number>();
    for (const [index, key] of keys.entries()) {
      const value = rows.get(key);
      if (!value || at.has(key)) continue;
      at.set(key, nodes.push({ value, path: paths[index] }) - 1);
    }
    const texts = await this.#rowObjects(type, sets, nodes, columns);
    return this.#quota.repeated(
      texts,
      keys.map((key) => at.get(key)),
    );
  }

  /** Rows as JSON texts, of several types if the rows are of an interface. */
  async #rowObjects(
    type: RuntimeType,
    sets: readonly SelectionSetNode[],
    nodes: readonly Node[],
    columns: readonly string[],
  ): Promise<Text[]> {
    const layout = layoutOf(columns);
    const { typeName } = type;
    if (!typeName) return this.#objects(type, sets, nodes, layout);
    const at = typeName.columns.map((column) => layout.get(column) as number);
    const texts: Text[] = nodes.map(() => "null");
    for (const own of type.objects) {
      const indexes = [...nodes.keys()].filter((index) => {
        const row = (nodes[index] as Node).value as Value[];
        return typeName.of(at.map((column) => row[column] as Value)) === own.name;
      });
      const found = await this.#objects(
        own,
        sets,
        indexes.map((index) => nodes[index] as Node),
        layout,
      );
      for (const [place, index] of indexes.entries()) texts[index] = found[place] as Text;
    }
    return texts;
  }
}

const NO_LAYOUT: Layout = new Map();
const NO_ARGS: Values<Args> = {};
