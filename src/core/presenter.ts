import type { Reader, Value } from "../store/port.ts";
import { statement } from "../store/texts.ts";
import { type BoundObject, bindAll, type Field, type Fields } from "./field.ts";

/**
 * A presenter as data: which columns to select and how a row of them becomes JSON text, or a value. Lists never create
 * row objects, which would cost more than everything else (docs/performance.md).
 */
export interface Presenter extends BoundObject {
  /** For the `select` list. */
  readonly columns: string;
  readonly fields: Fields;
  /**
   * The index in a row of a top-level field's first column: for children loaded by a separate query.
   *
   * @throws Error if there is no such field, or it has no column
   */
  at(name: string): number;
  /** The index in a row of the first column of a field, however deep that is nested; `undefined` if it is not there. */
  find(field: Field | undefined): number | undefined;
}

/** Creates a presenter from its fields. A column that several fields show is selected once. */
export function presenter(fields: Fields): Presenter {
  const indexes = new Map<string, number>();
  const indexOf = (column: string) => {
    const known = indexes.get(column) ?? indexes.size;
    indexes.set(column, known);
    return known;
  };
  const at = Object.values(fields).flatMap((field) => field.columns.map(indexOf));
  const places = new Map(
    Object.entries(fields).map(([name, { columns }]) => [
      name,
      indexes.get(columns[0] ?? "") ?? -1,
    ]),
  );
  // Few of all presenters are used soon after the start, which binding them would delay.
  let bound: BoundObject | undefined;
  const object = () => {
    bound ??= bindAll(fields, at);
    return bound;
  };
  return {
    columns: [...indexes.keys()].join(", "),
    fields,
    write: (row, view) => object().write(row, view),
    pieces: (row, view) => object().pieces(row, view),
    value: (row, view) => object().value(row, view),
    at: (name) => {
      const place = places.get(name) ?? -1;
      if (place < 0) throw new Error(`the presenter has no column for ${name}`);
      return place;
    },
    find: (field) => indexes.get(field?.columns[0] ?? ""),
  };
}

/**
 * Creates the function that puts values into the order of a presenter's columns: for rows that no statement selects.
 *
 * @returns a function of values by column; those that are missing are null. What many rows have in common, such as the
 * values of a commit, can be given apart: its part of the row is remembered for as long as that object is
 */
export function rowMaker({
  columns,
}: Presenter): (
  values: Readonly<Record<string, Value>>,
  common?: Readonly<Record<string, Value>>,
) => Value[] {
  const names = columns.split(", ");
  const places = new Map(names.map((name, place) => [name, place]));
  const empty: readonly Value[] = names.map(() => null);
  const known = new WeakMap<object, readonly Value[]>();
  const filled = (row: readonly Value[], values: Readonly<Record<string, Value>>) => {
    const result = row.slice();
    for (const name of Object.keys(values)) {
      const place = places.get(name);
      if (place !== undefined) result[place] = values[name] ?? null;
    }
    return result;
  };
  const rowOf = (common: Readonly<Record<string, Value>>) => {
    const row = known.get(common) ?? filled(empty, common);
    known.set(common, row);
    return row;
  };
  return (values, common) => filled(common ? rowOf(common) : empty, values);
}

/**
 * How a row that exists is read for a presenter.
 *
 * @param from everything after `select … from`, with one `?` for its id
 * @returns reads the row with an id
 */
export function rowReader(from: string) {
  return async (db: Reader, presenter: Presenter, id: number): Promise<Value[]> => {
    const [found] = await db.rows(statement`select ${presenter.columns} from ${from}`, [id]);
    return found as Value[];
  };
}
