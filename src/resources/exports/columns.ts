import * as v from "valibot";

/** A column of an archive: what its values are, and what they stand for. */
export interface ArchivedColumn {
  /** Accepts the values that the API could have stored. */
  readonly schema: v.GenericSchema<unknown>;
  /** The table of the archive whose rows it names by id, if it does. */
  readonly of?: string;
  /** Whether it names people, and what becomes of those that the importer can't speak for. */
  readonly people?: "author" | "person";
  /** Whether it counts the project's own rows: a row of a group gets the next number. */
  readonly isNumber?: true;
  /** Whether it only says in which order the rows are: here they have other values. */
  readonly isPlace?: true;
  /** Whether a row without it is left out. */
  readonly isNeeded: boolean;
}

const isStorable = (text: string) => text.isWellFormed() && !text.includes("\0");
const storable = v.pipe(v.string(), v.check(isStorable, "has characters that can't be stored"));
const whole = v.pipe(v.number(), v.safeInteger());

const value = (schema: v.GenericSchema<unknown>): ArchivedColumn => ({ schema, isNeeded: true });

/** A text of at most so many UTF-16 code units. */
export const text = (max = 512) => value(v.pipe(storable, v.maxLength(max)));

/** A text of a form. */
export const formed = (form: RegExp, max?: number) =>
  value(v.pipe(storable, v.maxLength(max ?? 512), v.regex(form)));

/** One of some words. */
export const word = (...words: readonly string[]) => value(v.picklist(words));

/** A whole number within bounds. */
export const integer = (min = 0, max = Number.MAX_SAFE_INTEGER) =>
  value(v.pipe(whole, v.minValue(min), v.maxValue(max)));

/** One of some numbers. */
export const oneOf = (...numbers: readonly number[]) => value(v.picklist(numbers));

/** 0 or 1. */
export const flag = oneOf(0, 1);

/** Epoch milliseconds, from 1970 to 9999. */
export const instant = integer(0, 253_402_300_799_999);

/** A calendar day, `2026-11-22`. */
export const day = value(v.pipe(v.string(), v.isoDate()));

/** The name of a Git object, in hex. */
export const oid = value(v.pipe(v.string(), v.regex(/^[0-9a-f]{40}$/)));

/** A JSON text that a schema accepts. */
export const json = (schema: v.GenericSchema<unknown>, max = 65_536) =>
  value(
    v.pipe(
      storable,
      v.maxLength(max),
      v.check((given) => {
        try {
          return v.is(schema, JSON.parse(given));
        } catch {
          return false;
        }
      }, "is not valid"),
    ),
  );

const id = v.pipe(whole, v.minValue(1));

/** The id of a row of another table of the archive, or of an earlier row of the same one. */
export const row = (of: string): ArchivedColumn => ({ schema: id, of, isNeeded: true });

/** Who wrote or did something: the importer, if it was somebody for whom they can't speak. */
export const author: ArchivedColumn = { schema: id, people: "author", isNeeded: true };

/** Somebody who has something, such as a role: left out if the importer can't speak for them. */
export const person: ArchivedColumn = { schema: id, people: "person", isNeeded: true };

/** A column that may be null: a row that names what is not there is left out nevertheless. */
export const orNone = (column: ArchivedColumn): ArchivedColumn => ({
  ...column,
  schema: v.nullable(column.schema),
});

/** {@link person}, or nobody. */
export const anyPerson = orNone(person);

/** A record of this server that archives do not have: a row that names one is left out. */
export const elsewhere: ArchivedColumn = { schema: v.nullable(id), of: "", isNeeded: true };

/** A column that may be null. */
export const maybe = ({ schema, ...column }: ArchivedColumn): ArchivedColumn => ({
  ...column,
  schema: v.nullable(schema),
  isNeeded: false,
});

/** The number of a row within its project. Rows of groups have none. */
export const number: ArchivedColumn = { ...maybe(integer(1)), isNumber: true };

/** Where a row is among the others. */
export const place: ArchivedColumn = { ...maybe(integer()), isPlace: true };
