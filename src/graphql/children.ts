import type { SelectionSetNode } from "graphql";
import type { Value } from "../store/port.ts";
import { cursorOf } from "./cursor.ts";
import type { Args, ChildQuery, ChildrenField, GraphContext, Total, Values } from "./declare.ts";
import { type PageQuery, pageInfoOf, pageOf, pageQueryOf, type RowsPage } from "./page-query.ts";
import type { Problems } from "./problems.ts";
import type { Quota } from "./quota.ts";
import { type RuntimeType, type TypeRef, typeRef } from "./schema.ts";
import { collect, columnsFor, type Selected, type Selecting, setsOf } from "./selections.ts";
import {
  fewRowsOfParents,
  type ParentQuery,
  rowsOfParents,
  totalsOfParents,
} from "./statements.ts";
import {
  type Layout,
  type Node,
  nullable,
  type Path,
  pathsOf,
  REFUSED,
  regrouped,
  type Text,
} from "./texts.ts";

/** How many objects a list counts as for each parent: finding its rows costs more than reading them. */
const COST_OF_LIST = 10;
const COUNT: Total = { sql: "count(*)", type: "Int" };
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

/** What writes the objects and values of an answer. */
export interface Writer {
  type(name: string): RuntimeType;
  /** Rows as JSON texts. */
  rowObjects(
    type: RuntimeType,
    sets: readonly SelectionSetNode[],
    nodes: readonly Node[],
    columns: readonly string[],
  ): Promise<Text[]>;
  /** Values as JSON texts. */
  values(
    ref: TypeRef,
    values: readonly unknown[],
    paths: readonly Path[],
    field: Selected,
  ): Promise<Text[]>;
}

/** Reads the rows that belong to objects, in lists and connections, and has them written. */
export class Children {
  readonly #document: Selecting;
  readonly #context: GraphContext;
  readonly #quota: Quota;
  readonly #problems: Problems;
  readonly #write: Writer;

  constructor(
    document: Selecting,
    context: GraphContext,
    quota: Quota,
    problems: Problems,
    write: Writer,
  ) {
    this.#document = document;
    this.#context = context;
    this.#quota = quota;
    this.#problems = problems;
    this.#write = write;
  }

  /** Rows that belong to the objects of a level. */
  async texts(
    type: RuntimeType,
    declared: ChildrenField,
    field: Selected,
    nodes: readonly Node[],
    layout: Layout,
    args: Values<Args>,
  ): Promise<Text[]> {
    const of = this.#write.type(declared.of);
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
    if (!isFew) this.#quota.take(asked.parents.length * COST_OF_LIST);
    const pages = await this.#pages(declared, of, columns, args, asked, { wantsRows, isFew });
    const paths = new Map<number, Path | undefined>();
    for (const [index, at] of parents.at.entries()) {
      if (!paths.has(at)) paths.set(at, { before: nodes[index]?.path, at: field.key });
    }
    const read = { of, columns, pages, paths, given: args };
    if (connection && totals) {
      const numbers = await this.#totals(of, totals, asked.parents);
      return this.#quota.repeated(await this.#connections(read, connection, numbers), parents.at);
    }
    const own = this.#quota.repeated(await this.#listed(read, declared, field), parents.at);
    if (typeRef(declared.type).isRequired)
      return this.#problems.required(own, field, pathsOf(nodes, field));
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
            this.#quota.rows,
            rowsOf,
            columns,
            { keys: parents.map(({ key }) => key as Value), query: shared },
            sharedPage,
            viewer,
          )
        : await rowsOfParents(this.#quota.rows, rowsOf, columns, parents, pages, viewer);
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
    const all = await this.#write.rowObjects(of, setsOf(field.nodes), rows, columns);
    const places = rows.map(({ path }) => path);
    const texts = isList ? this.#problems.required(all, field, places) : all;
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
      this.#quota.rows,
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
    return collect(this.#write.type(`${of}Connection`), sets, this.#document).map((field) => {
      const below = setsOf(field.nodes);
      if (field.name === "nodes") return { ...field, edges: [], rowSets: below };
      if (field.name !== "edges") return { ...field, edges: [], rowSets: [] };
      const edges = collect(this.#write.type(`${of}Edge`), below, this.#document);
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
      return regrouped(await this.#write.rowObjects(of, sets, nodes.flat(), columns), nodes).map(
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
            return (await this.#write.values(typeRef("PageInfo!"), values, places, field)).map(
              nullable,
            );
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
}
