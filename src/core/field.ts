import type { Value } from "../store/port.ts";
import type { Secrets } from "./secrets.ts";
import { slicesOf } from "./slices.ts";
import { isoInstant } from "./time.ts";

/** What a presenter gets besides its row. */
export interface View {
  /** The public address, without a trailing slash: `https://pm.example.com/prefix`. */
  base: string;
  /** The host name within the base, without a port: for Git's SSH URLs. */
  host: string;
  /** The address of a repository for Git over SSH, by the full path of its project. */
  sshUrl(path: string): string;
  /** Whether Git is served there. */
  servesSsh: boolean;
  /** Where sites are served. @see Edition.sites */
  sites?: string | undefined;
  /** The instant of the request, in epoch milliseconds. */
  now: number;
  /** Decrypts a secret. @see Secrets.open */
  open: Secrets["open"];
}

/** A field, or an object of fields, that knows where in a row its columns are. */
interface Bound {
  /** Its JSON text. */
  readonly write: (row: readonly Value[], view: View) => string;
  /** Its value, for readers that need no text: what `JSON.parse` would return for the text. Must not be changed. */
  readonly value: (row: readonly Value[], view: View) => unknown;
}

/** One value of a JSON object: its columns in SQL, and how they become JSON text or a value. */
export interface Field {
  readonly columns: readonly string[];
  /** Its type in the reference: `"integer"`, `"timestamp"`, … */
  readonly type: string;
  /** Binds it to the index of each of its columns in a row. */
  bind(at: readonly number[]): Bound;
  /** The fields of a nested object, for the reference. */
  readonly fields?: Fields;
  /** The fields of each object of an array. */
  readonly items?: Fields;
  /** The fields of each kind of object it may be. */
  readonly either?: readonly Fields[];
  /** Its JSON text, if it is the same in every row. */
  readonly constant?: string;
  /** Whether an object leaves it out, given the value of its first column. Default: never. */
  readonly omitted?: (value: Value) => boolean;
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

/**
 * A field of one column, `null` if that is.
 *
 * @param write returns the JSON text of `convert`'s result
 */
function scalar(
  column: string,
  type: string,
  write: (value: NonNullable<Value>) => string,
  convert: (value: NonNullable<Value>) => unknown,
): Field {
  return {
    columns: [column],
    type,
    bind: ([first]) => {
      const at = first as number;
      return {
        write: (row) => {
          const value = row[at] as Value;
          return value === null ? "null" : write(value);
        },
        value: (row) => {
          const value = row[at] as Value;
          return value === null ? null : convert(value);
        },
      };
    },
  };
}

/** A number as it is. */
export const integer = (column: string): Field => scalar(column, "integer", String, Number);

/** Text as it is. */
export const text = (column: string): Field => ({
  ...scalar(column, "string", (value) => quote(value as string), String),
  isText: true,
});

/** 0 or 1 as a boolean. */
export const flag = (column: string): Field =>
  scalar(column, "boolean", (value) => (value ? "true" : "false"), Boolean);

/** {@link flag}, if it may also be neither. */
export const optionalFlag = (column: string): Field => ({
  ...flag(column),
  type: "boolean or null",
});

/** Epoch milliseconds as `2016-01-04T15:31:39.996Z`. */
export const instant = (column: string): Field =>
  scalar(
    column,
    "timestamp",
    (value) => `"${isoInstant(value as number)}"`,
    (value) => isoInstant(value as number),
  );

/** A time as text with its zone, such as `2014-02-27T10:14:56.000+02:00`. */
export const zoned = (column: string): Field => ({ ...text(column), type: "timestamp with zone" });

/** A day, stored as `YYYY-MM-DD`. */
export const date = (column: string): Field =>
  scalar(column, "date", (value) => `"${value as string}"`, String);

/** A word stored as a number, such as a visibility. */
export const word = (column: string, words: Readonly<Record<number, string>>): Field =>
  scalar(
    column,
    Object.values(words).join(", "),
    (value) => `"${words[value as number]}"`,
    (value) => words[value as number],
  );

/** The content of JSON text from elsewhere, for the reference. */
type Content = Pick<Field, "fields" | "items" | "either">;

/** JSON text as it is: stored as such, or put into the row by a handler (see {@link Presenter.at}). */
export const json = (column: string, type: string, content: Content = {}): Field => ({
  ...scalar(
    column,
    type,
    (value) => value as string,
    (value) => JSON.parse(value as string),
  ),
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
): Field => json(`${empty === "null" ? "null" : `'${empty}'`} as ${name}`, type, content);

/** The same value in every row. */
export const constant = (value: unknown): Field => {
  const written = JSON.stringify(value);
  const bound: Bound = { write: () => written, value: () => value };
  return { columns: [], type: written, constant: written, bind: () => bound };
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
    const follow = (row: readonly Value[]) =>
      second === undefined
        ? path(String(row[first]), "")
        : path(String(row[first]), String(row[second]));
    return {
      write: (row, view) => (row[first] === null ? "null" : `"${view.base}${follow(row)}"`),
      value: (row, view) => (row[first] === null ? null : view.base + follow(row)),
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
  bind: (at) => {
    const value: Bound["value"] = (row, view) =>
      make(
        at.map((index) => row[index] as Value),
        view,
      );
    const write: Bound["write"] = (row, view) => {
      const made = value(row, view);
      return typeof made === "string" ? quote(made) : JSON.stringify(made);
    };
    return { write, value };
  },
});

/** An encrypted text. @param purpose an SQL expression, see `SealedColumn` */
export const secret = (column: string, purpose: string): Field =>
  derived([column, purpose], "string", ([sealed, of], { open }) =>
    sealed === null ? null : open(String(sealed), String(of)),
  );

/** An object within the object; `null` if its first column is, as after a left join. */
export const nested = (fields: Fields): Field => ({
  columns: Object.values(fields).flatMap((field) => field.columns),
  type: "object",
  fields,
  bind: (at) => {
    const { write, value } = bindAll(fields, at);
    const first = at[0];
    if (first === undefined) return { write, value };
    return {
      write: (row, view) => (row[first] === null ? "null" : write(row, view)),
      value: (row, view) => (row[first] === null ? null : value(row, view)),
    };
  },
});

/** A field that objects leave out if a condition on its first column holds. */
export const omittedIf = (omitted: (value: Value) => boolean, field: Field): Field => ({
  ...field,
  omitted,
});

/** A field that is left out of the object if it is null. */
export const omittedIfNull = (field: Field): Field => omittedIf((value) => value === null, field);

/** A field that objects leave out unless a column, or expression, is 1. */
export const onlyIf = (column: string, { columns, bind, type, fields }: Field): Field => ({
  columns: [column, ...columns],
  bind: ([, ...at]) => bind(at),
  type,
  ...(fields && { fields }),
  omitted: (value) => value !== 1,
});

/** An object that knows where in a row its columns are. */
export interface BoundObject extends Bound {
  /** Its JSON text in pieces, for rows with long texts: it can be six times as long as they are. */
  pieces(row: readonly Value[], view: View): Iterable<string>;
}

/**
 * Binds an object. Keys and constants between two values are joined beforehand, since a list writes them thousands of
 * times.
 *
 * @param at the row index of each column of each field, in their order
 */
export function bindAll(fields: Fields, at: readonly number[]): BoundObject {
  const parts: Part[] = [];
  const members: Member[] = [];
  const texts: { part: number; column: number }[] = [];
  let taken = 0;
  let before = "{";
  for (const [name, field] of Object.entries(fields)) {
    const own = at.slice(taken, taken + field.columns.length);
    taken += own.length;
    const key = `${before === "{" && parts.length === 0 ? "" : ","}${JSON.stringify(name)}:`;
    const { constant, omitted } = field;
    const { write, value } = field.bind(own);
    const first = own[0] ?? 0;
    members.push({ name, value, first, omitted });
    if (constant !== undefined) {
      before += key + constant;
      continue;
    }
    if (field.isText) texts.push({ part: parts.length, column: own[0] as number });
    parts.push({
      before: omitted ? before : before + key,
      key: omitted ? key : "",
      write,
      first,
      omitted,
    });
    before = "";
  }
  const after = `${before}}`;
  const between = (row: readonly Value[], view: View, start: number, end: number) => {
    let out = "";
    for (let index = start; index < end; index += 1) {
      const part = parts[index] as Part;
      out += part.before;
      if (part.omitted === undefined) out += part.write(row, view);
      else if (!part.omitted(row[part.first] as Value)) out += part.key + part.write(row, view);
    }
    return out;
  };
  return {
    write: (row, view) => between(row, view, 0, parts.length) + after,
    *pieces(row, view) {
      let written = 0;
      for (const { part, column } of texts) {
        const text = row[column];
        const { before, key, omitted } = parts[part] as Part;
        if (typeof text !== "string" || text.length < LONG || omitted?.(text)) continue;
        yield between(row, view, written, part) + before + key;
        yield* quoteInPieces(text);
        written = part + 1;
      }
      yield between(row, view, written, parts.length) + after;
    },
    value: (row, view) => {
      const object: Record<string, unknown> = {};
      for (const { name, value, first, omitted } of members) {
        if (!omitted?.(row[first] as Value)) object[name] = value(row, view);
      }
      return object;
    },
  };
}

/** A field as an object writes it. */
interface Part extends Pick<Bound, "write"> {
  /** The text before its value or, if it can be left out, before its key. */
  before: string;
  key: string;
  /** The index of its first column. */
  first: number;
  omitted: Field["omitted"];
}

/** A field as an object's value has it. */
interface Member extends Pick<Bound, "value"> {
  name: string;
  first: number;
  omitted: Field["omitted"];
}
