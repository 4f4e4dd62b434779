import type { Args, Values } from "./declare.ts";
import type { Selected } from "./selections.ts";

/** The steps from the root to a value, backwards. */
export interface Path {
  readonly before: Path | undefined;
  readonly at: string | number;
}

/** An object of the answer: a row, or a value. */
export interface Node {
  readonly value: unknown;
  readonly path: Path | undefined;
  /** The arguments of the field that gave it, if it is a row that belongs to a parent. */
  readonly given?: Values<Args>;
}

/** Stands for a null in a place that must not be null: the object around it becomes null. */
export const REFUSED = Symbol("refused");
/** JSON text. */
export type Text = string | typeof REFUSED;

/** Where the columns are in rows. */
export type Layout = ReadonlyMap<string, number>;

/** The text of what may be null, for the object around it. */
export const nullable = (text: Text): string => (text === REFUSED ? "null" : text);

/** The characters of texts together. */
export function lengthOf(texts: readonly Text[]): number {
  let length = 0;
  for (const text of texts) if (text !== REFUSED) length += text.length;
  return length;
}

/** Where the answer has a field of each object. */
export const pathsOf = (nodes: readonly Node[], { key }: Selected): Path[] =>
  nodes.map(({ path }) => ({ before: path, at: key }));

/** Where rows with these columns have each of them. */
export const layoutOf = (columns: readonly string[]): Layout =>
  new Map(columns.map((column, index) => [column, index]));

/** Texts of all children as those of each parent. */
export function regrouped<T>(
  texts: readonly T[],
  children: readonly (readonly unknown[])[],
): T[][] {
  let taken = 0;
  return children.map(({ length }) => {
    taken += length;
    return texts.slice(taken - length, taken);
  });
}
