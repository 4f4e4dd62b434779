import {
  type FieldNode,
  GraphQLError,
  type GraphQLInterfaceType,
  type GraphQLObjectType,
  getArgumentValues,
  Kind,
  type SelectionSetNode,
} from "graphql";
import { ApiError } from "../core/errors.ts";
import type { Value } from "../store/port.ts";
import { after, cursorOf, placeOf, reversed } from "./cursor.ts";
import {
  type Args,
  type ChildQuery,
  type ChildrenField,
  type ComputedField,
  type GraphContext,
  GraphError,
  type LoadedField,
  type Order,
  type OutputField,
  type PageRange,
  type PropertyField,
  type Total,
  type Values,
} from "./declare.ts";
import { messageOf } from "./errors.ts";
import { introspected } from "./introspection.ts";
import { type RuntimeType, type Schema, type TypeRef, typeRef } from "./schema.ts";
import { fragmentOf, isIncluded, type Selecting } from "./selections.ts";
import {
  fewRowsOfParents,
  type Part,
  type RowReader,
  rowsByKey,
  rowsOfParents,
  totalsOfParents,
} from "./statements.ts";

/** Objects that the answer to one document may have. */
const MAX_OBJECTS = 20_000;
/** How many objects a list counts as for each parent: finding its rows costs more than reading them. */
const COST_OF_LIST = 10;
/** Characters that the answer may have, and those that the rows read for it may have. */
const MAX_CHARACTERS = 16 * 1024 * 1024;
/** Errors of one answer: a wrong argument would otherwise be reported for each of thousands of objects. */
const MAX_ERRORS = 100;
/** Maximum rows of a page. */
const MAX_PAGE = 100;
/** Maximum values of a list in an argument. */
const MAX_VALUES = 500;

/** A document to execute: an operation with its fragments and variables, all valid. */
export interface Executable extends Selecting {
  /** The variables as they were sent. */
  readonly sent: Readonly<Record<string, unknown>>;
}

/** The steps from the root to a value, backwards. */
interface Path {
  readonly before: Path | undefined;
  readonly at: string | number;
}

/** An object of the answer: a row, or a value. */
interface Node {
  readonly value: unknown;
  readonly path: Path | undefined;
  /** The arguments of the field that gave it, if it is a row that belongs to a parent. */
  readonly given?: Values<Args>;
}

/** Stands for a null in a place that must not be null: the object around it becomes null. */
const REFUSED = Symbol("refused");
/** JSON text. */
type Text = string | typeof REFUSED;

/** The fields with one name in the answer. */
interface Selected {
  readonly key: string;
  readonly name: string;
  readonly nodes: readonly FieldNode[];
}

/** Where the columns are in rows. */
type Layout = ReadonlyMap<string, number>;

/** A document asks for more than {@link MAX_OBJECTS} or {@link MAX_CHARACTERS}: it ends the execution. */
export class TooMuch extends Error {
  override get name() {
    return "TooMuch" as const;
  }
  constructor() {
    super(`The answer has more than ${MAX_OBJECTS} objects or 16 MiB: ask for smaller pages`);
  }
}

/**
 * Executes queries level by level: each field is resolved for all objects of a level at once, so that the number of
 * statements grows with the document, not with the rows. It writes JSON text, as presenters do.
 */
export class Execution {
  readonly errors: GraphQLError[] = [];
  readonly #schema: Schema;
  readonly #document: Executable;
  readonly #context: GraphContext;
  #objectsLeft = MAX_OBJECTS;
  #charactersToRead = MAX_CHARACTERS;
  #charactersToWrite = MAX_CHARACTERS;

  constructor(schema: Schema, document: Executable, context: GraphContext) {
    this.#schema = schema;
    this.#document = document;
    this.#context = context;
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
      this.#report(error, field, [path]);
      return "null";
    }
  }

  /** The fields of an operation's root, in order. */
  rootFields(typeName: "Query" | "Mutation"): Selected[] {
    return this.#collect(this.#type(typeName), [this.#document.operation.selectionSet]);
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

  /** Numbers that no column can have, such as those of texts that are none, are compared as null. */
  readonly #rows: RowReader = async (sql, lists) => {
    const usable = lists.map((values) =>
      values.map((value) =>
        typeof value === "number" && !Number.isSafeInteger(value) ? null : value,
      ),
    );
    const slices = await this.#context.db.each(sql, usable, this.#charactersToRead);
    for (const { rows, more } of slices) {
      this.#take(rows.length);
      for (const row of rows) {
        for (const value of row) {
          if (typeof value === "string") this.#charactersToRead -= value.length;
        }
      }
      if (more || this.#charactersToRead < 0) throw new TooMuch();
    }
    return slices.map(({ rows }) => rows);
  };

  /** Counts objects before they are read. */
  #take(objects: number): void {
    this.#objectsLeft -= objects;
    if (this.#objectsLeft < 0) throw new TooMuch();
  }

  /** Counts characters before they are put together. */
  #spend(characters: number): void {
    this.#charactersToWrite -= characters;
    if (this.#charactersToWrite < 0) throw new TooMuch();
  }

  #spent<T extends Text>(texts: T[]): T[] {
    this.#spend(lengthOf(texts));
    return texts;
  }

  /** Writes the texts of a field one by one, so that no more are made than the answer may have. */
  #written(nodes: readonly Node[], write: (node: Node) => string): string[] {
    this.#spend(0);
    return nodes.map((node) => {
      const text = write(node);
      this.#spend(text.length);
      return text;
    });
  }

  /** The objects of one type as JSON texts. */
  async #objects(
    type: RuntimeType,
    sets: readonly SelectionSetNode[],
    nodes: readonly Node[],
    layout: Layout,
  ): Promise<Text[]> {
    if (nodes.length === 0) return [];
    const fields = this.#collect(type, sets);
    const texts = await Promise.all(fields.map((field) => this.#field(type, field, nodes, layout)));
    const keys = fields.map(({ key }, index) => `${index > 0 ? "," : ""}${JSON.stringify(key)}:`);
    this.#spend(nodes.length * lengthOf(keys));
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
      return this.#spent(nodes.map(() => JSON.stringify(type.name)));
    }
    if (field.name.startsWith("__")) {
      const { graphql } = this.#schema;
      return this.#spent([introspected(graphql, this.#document, field.nodes, this.errors)]);
    }
    const declared = type.fields.get(field.name) as OutputField;
    try {
      return await this.#resolved(type, declared, field, nodes, layout);
    } catch (error) {
      this.#report(error, field, pathsOf(nodes, field));
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
      const texts = this.#written(nodes, ({ value }) => write(value as Value[], view));
      return ref.isRequired ? this.#required(texts, field, pathsOf(nodes, field)) : texts;
    }
    const args = declared.args ? this.#argumentsOf(type, declared, field) : NO_ARGS;
    if (declared.kind === "children") {
      return this.#children(type, declared, field, nodes, layout);
    }
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
      this.#report(error, field, [paths[index]]),
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
    const keyAt = layout.get(declared.key ?? (type.rows?.key as string)) as number;
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
    return this.#required(texts, field, paths);
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
    if (!type) return this.#spent(values.map((value) => JSON.stringify(value ?? null)));
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
    const columns = this.#columns(type, sets);
    const unique = [...new Set(keys)];
    const rows = await rowsByKey(this.#rows, rowsOf, columns, unique, this.#context.viewer);
    const nodes: Node[] = [];
    const at = new Map<Value, number>();
    for (const [index, key] of keys.entries()) {
      const value = rows.get(key);
      if (!value || at.has(key)) continue;
      at.set(key, nodes.push({ value, path: paths[index] }) - 1);
    }
    const texts = await this.#rowObjects(type, sets, nodes, columns);
    return this.#repeated(
      texts,
      keys.map((key) => at.get(key)),
    );
  }

  /** The texts at indexes, with `null` where there is none; those written more than once are counted again. */
  #repeated(texts: readonly Text[], indexes: readonly (number | undefined)[]): Text[] {
    const all = indexes.map((index) => (index === undefined ? "null" : (texts[index] as Text)));
    this.#spend(Math.max(0, lengthOf(all) - lengthOf(texts)));
    return all;
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

  /** Rows that belong to the objects of a level. */
  async #children(
    type: RuntimeType,
    declared: ChildrenField,
    field: Selected,
    nodes: readonly Node[],
    layout: Layout,
  ): Promise<Text[]> {
    const of = this.#type(declared.of);
    const rowsOf = of.rows as NonNullable<RuntimeType["rows"]>;
    const args = this.#argumentsOf(type, declared, field);
    const sets = setsOf(field.nodes);
    const isConnection = declared.shape === "connection";
    const connection = isConnection ? this.#connection(declared.of, sets) : undefined;
    const rowSets = connection ? connection.flatMap(({ rowSets }) => rowSets) : sets;

    const parents = parentsOf(type, declared, nodes, layout);
    const query = (needed: readonly Value[]): Promise<ChildQuery> =>
      Promise.resolve(declared.query(args as never, this.#context, needed));
    const shared = declared.needs ? undefined : await query([]);
    const arms = await Promise.all(
      parents.unique.map(async ({ key, needed }) => ({
        key,
        query: shared ?? (await query(needed)),
      })),
    );
    const windowFor = ({ order = [{ sql: rowsOf.key }] }: ChildQuery) =>
      windowOf(declared, args, order);
    const sharedWindow = shared && windowFor(shared);
    const windows = arms.map(({ query }) => sharedWindow ?? windowFor(query));
    const columns = this.#columns(of, rowSets);
    const parts = windows.map((window) => partOf(columns, window));
    const { viewer } = this.#context;
    const totalOf: Readonly<Record<string, Total>> = { count: COUNT, ...of.totals };
    const totals = [...new Set(connection?.map(({ name }) => name))].filter(
      (name) => totalOf[name],
    );
    const wantsRows = !connection || connection.some(({ name }) => !totals.includes(name));
    const isFew = declared.areFew === true && shared !== undefined && type.rows !== undefined;
    if (!isFew) this.#take(arms.length * COST_OF_LIST);
    const found = !wantsRows
      ? arms.map(() => [])
      : isFew
        ? await fewRowsOfParents(
            this.#rows,
            rowsOf,
            { keys: arms.map(({ key }) => key as Value), query: shared },
            parts[0] as Part,
            viewer,
          )
        : await rowsOfParents(this.#rows, rowsOf, arms, parts, viewer);
    const pages = found.map((rows, at) => pageOf(rows, windows[at] as Window));
    const firstOf = new Map<number, Path | undefined>();
    for (const [index, at] of parents.at.entries()) {
      if (!firstOf.has(at)) firstOf.set(at, { before: nodes[index]?.path, at: field.key });
    }
    if (!connection) {
      const children = pages.map(({ rows }, at) =>
        rows.map((value, index) => ({
          value,
          given: args,
          path:
            declared.shape === "list" ? { before: firstOf.get(at), at: index } : firstOf.get(at),
        })),
      );
      const rows = children.flat();
      const all = await this.#rowObjects(of, sets, rows, columns);
      const paths = rows.map(({ path }) => path);
      const texts = declared.shape === "list" ? this.#required(all, field, paths) : all;
      const written = regrouped(texts, children).map((some) => {
        if (declared.shape === "first") return some[0] ?? "null";
        return some.includes(REFUSED) ? REFUSED : `[${some.join(",")}]`;
      });
      const own = this.#repeated(written, parents.at);
      if (typeRef(declared.type).isRequired) {
        return this.#required(own, field, pathsOf(nodes, field));
      }
      return own.map(nullable);
    }
    const numbers =
      totals.length > 0
        ? await totalsOfParents(
            this.#rows,
            rowsOf,
            arms,
            totals.map((name) => (totalOf[name] as Total).sql),
            viewer,
          )
        : [];
    const totalsOf = (name: string) =>
      totals.includes(name)
        ? numbers.map((row) => {
            const total = row[totals.indexOf(name)];
            return JSON.stringify(totalOf[name]?.type === "Int" ? total : String(total));
          })
        : undefined;
    const written = await this.#connections(
      of,
      connection,
      pages,
      totalsOf,
      columns,
      firstOf,
      args,
    );
    return this.#repeated(written, parents.at);
  }

  /** The fields of a connection, with the selections that each makes on its rows. */
  #connection(of: string, sets: readonly SelectionSetNode[]): ConnectionField[] {
    return this.#collect(this.#type(`${of}Connection`), sets).map((field) => {
      const below = setsOf(field.nodes);
      if (field.name === "nodes") return { ...field, edges: [], rowSets: below };
      if (field.name !== "edges") return { ...field, edges: [], rowSets: [] };
      const edges = this.#collect(this.#type(`${of}Edge`), below);
      const rowSets = edges
        .filter(({ name }) => name === "node")
        .flatMap(({ nodes }) => setsOf(nodes));
      return { ...field, edges, rowSets };
    });
  }

  async #connections(
    of: RuntimeType,
    fields: readonly ConnectionField[],
    pages: readonly RowsPage[],
    totalsOf: (name: string) => readonly string[] | undefined,
    columns: readonly string[],
    paths: ReadonlyMap<number, Path | undefined>,
    given: Values<Args>,
  ): Promise<Text[]> {
    const width = columns.length;
    const nodesOf = (field: Selected) =>
      pages.map(({ rows }, at) =>
        rows.map((value, index) => ({
          value,
          given,
          path: { before: { before: paths.get(at), at: field.key }, at: index },
        })),
      );
    const rowTexts = async (field: Selected, sets: readonly SelectionSetNode[]) => {
      const nodes = nodesOf(field);
      return regrouped(await this.#rowObjects(of, sets, nodes.flat(), columns), nodes).map(
        (texts) => texts.map(nullable),
      );
    };
    const written = await Promise.all(
      fields.map(async (field): Promise<string[]> => {
        switch (field.name) {
          case "nodes":
            return (await rowTexts(field, field.rowSets)).map((texts) => `[${texts.join(",")}]`);
          case "edges": {
            const parts = await Promise.all(
              field.edges.map(async ({ key, name, nodes }) => {
                const texts =
                  name === "node"
                    ? await rowTexts(field, setsOf(nodes))
                    : pages.map(({ rows }) =>
                        rows.map((row) =>
                          JSON.stringify(
                            name === "cursor" ? cursorOf(row.slice(width)) : `${of.name}Edge`,
                          ),
                        ),
                      );
                return { key: JSON.stringify(key), texts };
              }),
            );
            return pages.map(({ rows }, at) => {
              const edges = rows.map(
                (_, index) =>
                  `{${parts.map(({ key, texts }) => `${key}:${texts[at]?.[index]}`).join(",")}}`,
              );
              return `[${edges.join(",")}]`;
            });
          }
          case "pageInfo": {
            const values = pages.map((page) => pageInfoOf(page, width));
            const places = pages.map((_, at) => ({ before: paths.get(at), at: field.key }));
            return (await this.#values(typeRef("PageInfo!"), values, places, field)).map(nullable);
          }
          default:
            return (
              totalsOf(field.name)?.slice() ??
              pages.map(() => JSON.stringify(`${of.name}Connection`))
            );
        }
      }),
    );
    return pages.map(
      (_, at) =>
        `{${fields.map(({ key }, index) => `${JSON.stringify(key)}:${written[index]?.[at]}`).join(",")}}`,
    );
  }

  /** The columns that selections on a type of rows need; its key is the first one. */
  #columns(type: RuntimeType, sets: readonly SelectionSetNode[]): string[] {
    const key = (type.rows as NonNullable<RuntimeType["rows"]>).key;
    const columns = new Set([key, ...(type.typeName?.columns ?? [])]);
    for (const object of type.objects.length > 0 ? type.objects : [type]) {
      for (const { name } of this.#collect(object, sets)) {
        const declared = object.fields.get(name);
        if (declared) for (const column of columnsOf(declared)) columns.add(column);
      }
    }
    return [...columns];
  }

  /** Merges the fields of selections that apply to a type, by their names in the answer. */
  #collect(type: RuntimeType, sets: readonly SelectionSetNode[]): Selected[] {
    const found = new Map<string, { key: string; name: string; nodes: FieldNode[] }>();
    const visited = new Set<object>();
    const visit = (set: SelectionSetNode): void => {
      for (const selection of set.selections) {
        if (!isIncluded(selection, this.#document)) continue;
        if (selection.kind === Kind.FIELD) {
          const name = selection.name.value;
          const key = selection.alias?.value ?? name;
          const known = found.get(key);
          if (known) known.nodes.push(selection);
          else found.set(key, { key, name, nodes: [selection] });
          continue;
        }
        const fragment = fragmentOf(selection, this.#document);
        if (visited.has(fragment)) continue;
        visited.add(fragment);
        const condition = fragment.typeCondition?.name.value;
        if (condition === undefined || type.names.has(condition)) visit(fragment.selectionSet);
      }
    };
    for (const set of sets) visit(set);
    return [...found.values()];
  }

  /** The texts of a field that must not be null. */
  #required(texts: readonly Text[], field: Selected, paths: readonly (Path | undefined)[]): Text[] {
    return texts.map((text, index) => {
      if (text !== "null") return text;
      const problem = `Cannot return null for non-nullable field ${field.name}.`;
      this.#report(new GraphError(problem), field, [paths[index]]);
      return REFUSED;
    });
  }

  /** Adds an error to the answer, for each place. Failures that are not the client's end the request. */
  #report(error: unknown, { nodes }: Selected, places: readonly (Path | undefined)[]): void {
    const isKnown =
      error instanceof GraphError || error instanceof GraphQLError || error instanceof ApiError;
    if (!isKnown || (error instanceof ApiError && error.status >= 500)) throw error;
    const message = error instanceof ApiError ? messageOf(error) : error.message;
    for (const place of places.slice(0, MAX_ERRORS - this.errors.length)) {
      const path: (string | number)[] = [];
      for (let step = place; step; step = step.before) path.unshift(step.at);
      this.errors.push(new GraphQLError(message, { nodes, path }));
    }
  }
}

interface ConnectionField extends Selected {
  readonly edges: readonly Selected[];
  readonly rowSets: readonly SelectionSetNode[];
}

const COUNT: Total = { sql: "count(*)", type: "Int" };
const NO_LAYOUT: Layout = new Map();
const NO_ARGS: Values<Args> = {};

const nullable = (text: Text): string => (text === REFUSED ? "null" : text);

function lengthOf(texts: readonly Text[]): number {
  let length = 0;
  for (const text of texts) if (text !== REFUSED) length += text.length;
  return length;
}

const pathsOf = (nodes: readonly Node[], { key }: Selected): Path[] =>
  nodes.map(({ path }) => ({ before: path, at: key }));

function setsOf(nodes: readonly FieldNode[]): SelectionSetNode[] {
  return nodes.flatMap(({ selectionSet }) => (selectionSet ? [selectionSet] : []));
}

function columnsOf(declared: OutputField): readonly string[] {
  switch (declared.kind) {
    case "leaf":
      return declared.field.columns;
    case "computed":
      return declared.columns;
    case "loaded":
      return declared.key === undefined ? [] : [declared.key];
    case "children":
      return [...(declared.key === undefined ? [] : [declared.key]), ...(declared.needs ?? [])];
    default:
      return [];
  }
}

const layoutOf = (columns: readonly string[]): Layout =>
  new Map(columns.map((column, index) => [column, index]));

/** Explicit nulls in place of arguments that have a default count as not sent. */
export function withDefaults(
  sent: Readonly<Record<string, unknown>>,
  declared: Args,
): Record<string, unknown> {
  const given = Object.entries(sent).map(([name, value]) => [
    name,
    value === null ? (declared[name]?.defaultValue ?? null) : value,
  ]);
  return Object.fromEntries(given);
}

/** Explicit nulls count as not sent. */
function withoutNulls(args: object): Values<Args> {
  const sent = Object.entries(args).filter(([, value]) => value !== null);
  return Object.fromEntries(sent.map(([name, value]) => [name, cleaned(value)]));
}

function cleaned(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((item) => item !== null).map(cleaned);
  return typeof value === "object" && value !== null ? withoutNulls(value) : value;
}

/** @throws GraphError for lists of more than {@link MAX_VALUES} values, and texts that a database can't have */
function requireUsable(values: object): void {
  if (Array.isArray(values) && values.length > MAX_VALUES) {
    throw new GraphError(`A list of an argument has more than ${MAX_VALUES} values`);
  }
  for (const value of Object.values(values)) {
    if (typeof value === "object" && value !== null) requireUsable(value);
    else if (typeof value === "string" && (value.includes("\0") || !value.isWellFormed())) {
      throw new GraphError("A text of an argument is not valid Unicode, or has a null character");
    }
  }
}

/** The parents of children: those with the same key share their children. */
interface Parents {
  readonly unique: { key: Value | undefined; needed: Value[] }[];
  /** For each object the index of its parent in `unique`. */
  readonly at: number[];
}

function parentsOf(
  type: RuntimeType,
  { key, needs = [] }: ChildrenField,
  nodes: readonly Node[],
  layout: Layout,
): Parents {
  if (!type.rows)
    return {
      unique: nodes.map(({ value }) => ({ key: undefined, needed: [value as Value] })),
      at: [...nodes.keys()],
    };
  const keyAt = layout.get(key ?? type.rows.key) as number;
  const needsAt = needs.map((column) => layout.get(column) as number);
  const unique: Parents["unique"] = [];
  const known = new Map<Value, number>();
  const at = nodes.map(({ value }) => {
    const row = value as Value[];
    const own = row[keyAt] as Value;
    const place =
      known.get(own) ??
      unique.push({ key: own, needed: needsAt.map((one) => row[one] as Value) }) - 1;
    known.set(own, place);
    return place;
  });
  return { unique, at };
}

/** Which rows of a list are wanted. */
interface Window extends Pick<PageRange, "start" | "end"> {
  readonly size: number;
  /** The order to read in. */
  readonly order: readonly Order[];
  readonly after: ReturnType<typeof after> | undefined;
  readonly isBackward: boolean;
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

/** The part that a statement reads: a row more than the page has tells whether there are more. */
const partOf = (
  columns: readonly string[],
  { size, order, after, start, end, isBackward }: Window,
): Part => ({
  columns,
  order,
  limit: size + 1,
  after,
  range: { size: size + 1, isBackward, start, end },
});

function windowOf(
  { shape, maxPage = MAX_PAGE }: ChildrenField,
  args: Values<Args>,
  order: readonly Order[],
): Window {
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
interface RowsPage extends Pick<Window, "isBackward" | "hasOthers"> {
  readonly rows: readonly Value[][];
  readonly hasMore: boolean;
}

function pageOf(found: readonly Value[][], { size, isBackward, hasOthers }: Window): RowsPage {
  const rows = found.slice(0, size);
  if (isBackward) rows.reverse();
  return { rows, hasMore: found.length > size, isBackward, hasOthers };
}

function pageInfoOf({ rows, hasMore, isBackward, hasOthers }: RowsPage, width: number) {
  const cursor = (row: readonly Value[] | undefined) => row && cursorOf(row.slice(width));
  return {
    hasNextPage: isBackward ? hasOthers : hasMore,
    hasPreviousPage: isBackward ? hasMore : hasOthers,
    startCursor: cursor(rows[0]),
    endCursor: cursor(rows.at(-1)),
  };
}

/** Texts of all children as those of each parent. */
function regrouped<T>(texts: readonly T[], children: readonly (readonly unknown[])[]): T[][] {
  let taken = 0;
  return children.map(({ length }) => {
    taken += length;
    return texts.slice(taken - length, taken);
  });
}
