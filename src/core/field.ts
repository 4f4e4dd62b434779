import type { Value } from "../store/port.ts";
import { slicesOf } from "./slices.ts";
import { isoInstant } from "./time.ts";

/** What a presenter gets besides its row. */
export interface View {
  /** The public address, without a trailing slash: `https://pm.example.com/prefix`. */
  base: string;
  /** The host name within the base, without a port: for Git's SSH URLs. */
  host: string;
  /** The instant of the request, in epoch milliseconds. */
  now: number;
}

/** Turns a row into JSON text. */
export type Writer = (row: readonly Value[], view: View) => string;

/** One value of a JSON object: its columns in SQL and how they become JSON text. */
export interface Field {
  readonly columns: readonly string[];
  /** Its type in the reference: `"integer"`, `"timestamp"`, … */
  readonly type: string;
  /** Creates the writer, given the index of each of its columns in a row. */
  bind(at: readonly number[]): Writer;
  /** The fields of a nested object, for the reference. */
  readonly fields?: Fields;
  /** The fields of each object of an array. */
  readonly items?: Fields;
  /** The fields of each kind of object it may be. */
  readonly either?: readonly Fields[];
  /** Whether the field is left out if it is null. */
  readonly omitted?: true;
  /** Whether its column is a text as it is, which may be long. */
  readonly isText?: true;
}

/** Fields by name, in the order of the JSON. */
export type Fields = Readonly<Record<string, Field>>;

const UNESCAPED = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/;

/** Characters of a text from which on it is written in pieces. */
const LONG = 1024;

function quote(text: string): string {
  return text.length < 100 && UNESCAPED.test(text) ? `"${text}"` : JSON.stringify(text);
}

function* quoteInPieces(text: string): Generator<string> {
  yield '"';
  for (const slice of slicesOf(text)) yield JSON.stringify(slice).slice(1, -1);
  yield '"';
}

function scalar(column: string, type: string, write: (value: NonNullable<Value>) => string): Field {
  return {
    columns: [column],
    type,
    bind:
      ([at]) =>
      (row) => {
        const value = row[at as number] as Value;
        return value === null ? "null" : write(value);
      },
  };
}

/** A number as it is. */
export const integer = (column: string): Field => scalar(column, "integer", String);

/** Text as it is. */
export const text = (column: string): Field => ({
  ...scalar(column, "string", (value) => quote(value as string)),
  isText: true,
});

/** 0 or 1 as a boolean. */
export const flag = (column: string): Field =>
  scalar(column, "boolean", (value) => (value ? "true" : "false"));

/** Epoch milliseconds as `2016-01-04T15:31:39.996Z`. */
export const instant = (column: string): Field =>
  scalar(column, "timestamp", (value) => `"${isoInstant(value as number)}"`);

/** A day, stored as `YYYY-MM-DD`. */
export const date = (column: string): Field =>
  scalar(column, "date", (value) => `"${value as string}"`);

/** A word stored as a number, such as a visibility. */
export const word = (column: string, words: Readonly<Record<number, string>>): Field =>
  scalar(column, Object.values(words).join(", "), (value) => `"${words[value as number]}"`);

/** The content of JSON text from elsewhere, for the reference. */
type Content = Pick<Field, "fields" | "items" | "either">;

/** JSON text as it is: stored as such, or put into the row by a handler (see {@link Presenter.at}). */
export const json = (column: string, type: string, content: Content = {}): Field => ({
  ...scalar(column, type, (value) => value as string),
  ...content,
});

/**
 * JSON text loaded by a separate query for all rows of a page, and put into the column {@link Presenter.at} returns.
 *
 * @param name unique among the columns of one presenter
 * @param empty JSON text if nothing was loaded
 */
export const embedded = (
  name: string,
  type: string,
  empty: "[]" | "null",
  content?: Content,
): Field => json(`'${empty}' as ${name}`, type, content);

/** The same value in every row. */
export const constant = (value: unknown): Field => {
  const written = JSON.stringify(value);
  return { columns: [], type: written, bind: () => () => written };
};

/**
 * An absolute URL: `path` gets the columns' values and returns what follows the base. The columns hold ids and paths,
 * which have no characters that JSON escapes.
 */
export const url = (
  columns: string | readonly [string, string],
  path: (first: string, second: string) => string,
): Field => ({
  columns: typeof columns === "string" ? [columns] : columns,
  type: "URL",
  bind: (at) => {
    const [first, second] = at as [number, number?];
    return (row, view) => {
      if (row[first] === null) return "null";
      const followed =
        second === undefined
          ? path(String(row[first]), "")
          : path(String(row[first]), String(row[second]));
      return `"${view.base}${followed}"`;
    };
  },
});

/** Any value computed from columns. */
export const derived = (
  columns: readonly string[],
  type: string,
  make: (values: readonly Value[], view: View) => unknown,
): Field => ({
  columns,
  type,
  bind: (at) => (row, view) =>
    JSON.stringify(
      make(
        at.map((index) => row[index] as Value),
        view,
      ),
    ),
});

/** An object within the object; `null` if its first column is, as after a left join. */
export const nested = (fields: Fields): Field => ({
  columns: Object.values(fields).flatMap((field) => field.columns),
  type: "object",
  fields,
  bind: (at) => {
    const { write } = bindAll(fields, at);
    const first = at[0];
    return first === undefined
      ? write
      : (row, view) => (row[first] === null ? "null" : write(row, view));
  },
});

/** A field that is left out of the object if it is null. */
export const omittedIfNull = (field: Field): Field => ({ ...field, omitted: true });

/** Turns a row into JSON text, at once or in pieces. */
export interface Writers {
  readonly write: Writer;
  /** The same in pieces, for rows with long texts: their JSON can be six times as long. */
  pieces(row: readonly Value[], view: View): Iterable<string>;
}

/**
 * Creates the writers of an object. Keys and constants between two values are joined beforehand, since a list writes
 * them thousands of times.
 *
 * @param at the row index of each column of each field, in their order
 */
export function bindAll(fields: Fields, at: readonly number[]): Writers {
  const parts: { before: string; key: string; write: Writer; omitted: boolean }[] = [];
  const texts: { part: number; column: number }[] = [];
  let taken = 0;
  let before = "{";
  for (const [name, field] of Object.entries(fields)) {
    const own = at.slice(taken, taken + field.columns.length);
    taken += own.length;
    const key = `${before === "{" && parts.length === 0 ? "" : ","}${JSON.stringify(name)}:`;
    const omitted = field.omitted === true;
    if (field.columns.length === 0 && !omitted) {
      before += key + field.type;
      continue;
    }
    if (field.isText) texts.push({ part: parts.length, column: own[0] as number });
    parts.push({
      before: omitted ? before : before + key,
      key: omitted ? key : "",
      write: field.bind(own),
      omitted,
    });
    before = "";
  }
  const after = `${before}}`;
  const between = (row: readonly Value[], view: View, start: number, end: number) => {
    let out = "";
    for (let index = start; index < end; index += 1) {
      const part = parts[index] as (typeof parts)[number];
      const value = part.write(row, view);
      out += part.before;
      if (!part.omitted) out += value;
      else if (value !== "null") out += part.key + value;
    }
    return out;
  };
  return {
    write: (row, view) => between(row, view, 0, parts.length) + after,
    *pieces(row, view) {
      let written = 0;
      for (const { part, column } of texts) {
        const text = row[column];
        if (typeof text !== "string" || text.length < LONG) continue;
        const { before, key } = parts[part] as (typeof parts)[number];
        yield between(row, view, written, part) + before + key;
        yield* quoteInPieces(text);
        written = part + 1;
      }
      yield between(row, view, written, parts.length) + after;
    },
  };
}
