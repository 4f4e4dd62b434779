import {
  type FieldNode,
  GraphQLError,
  type GraphQLInterfaceType,
  type GraphQLObjectType,
  getArgumentValues,
  type SelectionSetNode,
} from "graphql";
import { ApiError } from "../core/errors.ts";
import type { Value } from "../store/port.ts";
import { requireUsable, withDefaults, withoutNulls } from "./arguments.ts";
import { cursorOf } from "./cursor.ts";
import {
  type Args,
  type ChildQuery,
  type ChildrenField,
  type ComputedField,
  type GraphContext,
  GraphError,
  type LoadedField,
  type OutputField,
  type PropertyField,
  type Total,
  type Values,
} from "./declare.ts";
import { messageOf } from "./errors.ts";
import { introspected } from "./introspection.ts";
import { type PageQuery, pageInfoOf, pageOf, pageQueryOf, type RowsPage } from "./page-query.ts";
import { type RuntimeType, type Schema, type TypeRef, typeRef } from "./schema.ts";
import { collect, columnsFor, type Selected, type Selecting, setsOf } from "./selections.ts";
import {
  fewRowsOfParents,
  type ParentQuery,
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
    const fields = collect(type, sets, this.#document);
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
    const columns = columnsFor(type, sets, this.#document);
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
    const args = this.#argumentsOf(type, declared, field);
    const sets = setsOf(field.nodes);
    const connection =
      declared.shape === "connection" ? this.#connection(declared.of, sets) : undefined;
    const rowSets = connection ? connection.flatMap(({ rowSets }) => rowSets) : sets;
    const columns = columnsFor(of, rowSets, this.#document);
    const parents = parentsOf(type, declared, nodes, layout);
    const asked = await this.#asked(declared, parents, args);
    const totals = connection && this.#totalsAmong(of, connection);
    const wantsRows = !connection || connection.some(({ name }) => !totals?.has(name));
    const isFew =
      declared.isSmall === true && asked.shared !== undefined && type.rows !== undefined;
    if (!isFew) this.#take(asked.parents.length * COST_OF_LIST);
    const pages = await this.#pages(declared, of, columns, args, asked, { wantsRows, isFew });
    const paths = new Map<number, Path | undefined>();
    for (const [index, at] of parents.at.entries()) {
      if (!paths.has(at)) paths.set(at, { before: nodes[index]?.path, at: field.key });
    }
    const read = { of, columns, pages, paths, given: args };
    if (connection && totals) {
      const numbers = await this.#totals(of, totals, asked.parents);
      return this.#repeated(await this.#connections(read, connection, numbers), parents.at);
    }
    const own = this.#repeated(await this.#listed(read, declared, field), parents.at);
    if (typeRef(declared.type).isRequired) return this.#required(own, field, pathsOf(nodes, field));
    return own.map(nullable);
  }

  /** What each parent asks for. */
  async #asked(
    { query, needs }: ChildrenField,
    { unique }: Parents,
    args: Values<Args>,
  ): Promise<Asked> {
    const ask = (needed: readonly Value[]): Promise<ChildQuery> =>
      Promise.resolve(query(args as never, this.#context, needed));
    const shared = needs ? undefined : await ask([]);
    const parents = unique.map(async ({ key, needed }) => ({
      key,
      query: shared ?? (await ask(needed)),
    }));
    return { shared, parents: await Promise.all(parents) };
  }

  /**
   * The rows of each parent.
   *
   * @param how whether there are any to read, and whether all rows of all parents are read to find them
   * @throws GraphError if the arguments are wrong, even if there are none to read
   */
  async #pages(
    declared: ChildrenField,
    of: RuntimeType,
    columns: readonly string[],
    args: Values<Args>,
    { shared, parents }: Asked,
    { wantsRows, isFew }: { wantsRows: boolean; isFew: boolean },
  ): Promise<RowsPage[]> {
    const rowsOf = of.rows as NonNullable<RuntimeType["rows"]>;
    const { viewer } = this.#context;
    const pageFor = ({ order = [{ sql: rowsOf.key }] }: ChildQuery) =>
      pageQueryOf(declared, args, order);
    const sharedPage = shared && pageFor(shared);
    const pages = parents.map(({ query }) => sharedPage ?? pageFor(query));
    const found = !wantsRows
      ? parents.map(() => [])
      : isFew && shared && sharedPage
        ? await fewRowsOfParents(
            this.#rows,
            rowsOf,
            columns,
            { keys: parents.map(({ key }) => key as Value), query: shared },
            sharedPage,
            viewer,
          )
        : await rowsOfParents(this.#rows, rowsOf, columns, parents, pages, viewer);
    return found.map((rows, at) => pageOf(rows, pages[at] as PageQuery));
  }

  /** Children that are no connection, as JSON texts. */
  async #listed(
    { of, columns, pages, paths, given }: ReadChildren,
    { shape }: ChildrenField,
    field: Selected,
  ): Promise<Text[]> {
    const isList = shape === "list";
    const children = pages.map(({ rows }, at) =>
      rows.map((value, index) => ({
        value,
        given,
        path: isList ? { before: paths.get(at), at: index } : paths.get(at),
      })),
    );
    const rows = children.flat();
    const all = await this.#rowObjects(of, setsOf(field.nodes), rows, columns);
    const places = rows.map(({ path }) => path);
    const texts = isList ? this.#required(all, field, places) : all;
    return regrouped(texts, children).map((some) => {
      if (!isList) return some[0] ?? "null";
      return some.includes(REFUSED) ? REFUSED : `[${some.join(",")}]`;
    });
  }

  /** The totals that are selected of a connection. */
  #totalsAmong(of: RuntimeType, fields: readonly ConnectionField[]): Map<string, Total> {
    const declared: Readonly<Record<string, Total>> = { count: COUNT, ...of.totals };
    return new Map(
      fields.flatMap(({ name }) => {
        const total = declared[name];
        return total ? [[name, total] as const] : [];
      }),
    );
  }

  /** The totals of each parent as JSON texts, by name. */
  async #totals(
    { rows }: RuntimeType,
    totals: ReadonlyMap<string, Total>,
    parents: Asked["parents"],
  ): Promise<Map<string, string[]>> {
    if (totals.size === 0) return new Map();
    const numbers = await totalsOfParents(
      this.#rows,
      rows as NonNullable<RuntimeType["rows"]>,
      parents,
      [...totals.values()].map(({ sql }) => sql),
      this.#context.viewer,
    );
    return new Map(
      [...totals].map(([name, { type }], at) => [
        name,
        numbers.map((row) => JSON.stringify(type === "Int" ? row[at] : String(row[at]))),
      ]),
    );
  }

  /** The fields of a connection, with the selections that each makes on its rows. */
  #connection(of: string, sets: readonly SelectionSetNode[]): ConnectionField[] {
    return collect(this.#type(`${of}Connection`), sets, this.#document).map((field) => {
      const below = setsOf(field.nodes);
      if (field.name === "nodes") return { ...field, edges: [], rowSets: below };
      if (field.name !== "edges") return { ...field, edges: [], rowSets: [] };
      const edges = collect(this.#type(`${of}Edge`), below, this.#document);
      const rowSets = edges
        .filter(({ name }) => name === "node")
        .flatMap(({ nodes }) => setsOf(nodes));
      return { ...field, edges, rowSets };
    });
  }

  /** The connections of all parents as JSON texts. @param totals texts by the names of fields */
  async #connections(
    { of, columns, pages, paths, given }: ReadChildren,
    fields: readonly ConnectionField[],
    totals: ReadonlyMap<string, readonly string[]>,
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
              totals.get(field.name)?.slice() ??
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

/** What the parents of children ask for. */
interface Asked {
  /** If it is the same for all of them. */
  readonly shared: ChildQuery | undefined;
  readonly parents: readonly ParentQuery[];
}

/** Children that were read. */
interface ReadChildren {
  readonly of: RuntimeType;
  readonly columns: readonly string[];
  /** Those of each parent. */
  readonly pages: readonly RowsPage[];
  /** Where the answer has them, by the parents' indexes. */
  readonly paths: ReadonlyMap<number, Path | undefined>;
  /** The arguments of the field. */
  readonly given: Values<Args>;
}

/** A field of a connection. */
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

const layoutOf = (columns: readonly string[]): Layout =>
  new Map(columns.map((column, index) => [column, index]));

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

/** Texts of all children as those of each parent. */
function regrouped<T>(texts: readonly T[], children: readonly (readonly unknown[])[]): T[][] {
  let taken = 0;
  return children.map(({ length }) => {
    taken += length;
    return texts.slice(taken - length, taken);
  });
}
