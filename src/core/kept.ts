import * as v from "valibot";
import type { Reader, Value } from "../store/port.ts";
import { derived, type Field } from "./field.ts";
import {
  type Attribute,
  type AttributeNotes,
  boolean,
  checked,
  clearable,
  noted,
  optional,
  unlessBlank,
} from "./input.ts";

/** A setting that is kept and shown as it was sent. */
export interface KeptSetting<T> {
  readonly attribute: Attribute<T | null | undefined>;
  /** What is shown until it is set. */
  readonly initial: T | null;
}

type KeptSettings = Readonly<Record<string, KeptSetting<unknown>>>;

/** The values of settings. */
type KeptValues<S> = {
  [Name in keyof S]: S[Name] extends KeptSetting<infer T> ? T | null : never;
};

/** An attribute that is kept and shown, but changes nothing else. */
export const withoutEffect = <T>(attribute: Attribute<T>): Attribute<T> =>
  noted(attribute, { without: "effect" });

/** A setting that always has a value, without an effect. */
export const kept = <T>(attribute: Attribute<T>, initial: NoInfer<T>): KeptSetting<T> => ({
  attribute: withoutEffect(optional(attribute)),
  initial,
});

/** A setting that may be cleared, and is null until it is set, without an effect. */
export const keptOrNone = <T>(attribute: Attribute<T>): KeptSetting<T> => ({
  attribute: withoutEffect(clearable(attribute)),
  initial: null,
});

/** A setting with an effect. */
export function effective<T>({ attribute, initial }: KeptSetting<T>): KeptSetting<T> {
  const { without: _, ...notes } = attribute.notes;
  return { attribute: { ...attribute, notes }, initial };
}

const UNSUPPORTED = { without: "support" } satisfies Partial<AttributeNotes>;

const only = <T>(
  attribute: Attribute<T>,
  isInForce: (value: T) => boolean,
  problem = "is not supported on this server",
) => noted(checked(attribute, isInForce, problem), UNSUPPORTED);

/** A setting of which only one value has an effect here: others are refused, so that nobody relies on them. */
export function fixed<T>(
  attribute: Attribute<T>,
  value: NoInfer<T>,
  isInForce = (sent: T) => sent === value,
  problem?: string,
): KeptSetting<T> {
  const inForce = only(attribute, isInForce, problem);
  // A blank text counts as sent if it is that value.
  return { attribute: value === "" ? optional(inForce) : unlessBlank(inForce), initial: value };
}

/** A list that can only be empty: its entries would have no effect here. */
export const empty = <T>(list: Attribute<T[]>): KeptSetting<T[]> =>
  fixed(list, [], (sent) => sent.length === 0);

/** An attribute that asks for what there is not: every value is refused, unless it is blank or the one that asks for nothing. */
export const unsupported = <T>(
  attribute: Attribute<T>,
  nothing?: NoInfer<T>,
): Attribute<T | undefined> => unlessBlank(only(attribute, (sent) => sent === nothing));

/** A flag that asks for what there is not: only false is taken. */
export const unsupportedFlag = (): Attribute<boolean | undefined> => unsupported(boolean(), false);

/** A flag that changes nothing: what it asks for, or leaves out, is the case anyway. */
export const flagWithoutEffect = (): Attribute<boolean | undefined> =>
  withoutEffect(optional(boolean()));

/** Settings kept together in one column, as JSON: null while all have what they begin with. */
export interface Kept<S extends KeptSettings> {
  readonly attributes: { readonly [Name in keyof S]: S[Name]["attribute"] };
  readonly fields: { readonly [Name in keyof S]: Field };
  /** The schema of what is stored, for archives from elsewhere. */
  readonly schema: v.GenericSchema;
  /** All settings, of a stored text. */
  read(stored: Value | undefined): KeptValues<S>;
  /**
   * What to store once the given settings are changed; `undefined` if none is.
   *
   * @param before what is stored
   */
  changed(
    input: Readonly<Record<string, unknown>>,
    before: () => Promise<Value | undefined>,
  ): Promise<string | undefined>;
}

/** The settings of a table's rows. @param column where they are kept, such as `p.kept_settings` */
export function keptIn<const S extends KeptSettings>(column: string, settings: S): Kept<S> {
  const names = Object.keys(settings);
  const initial = Object.fromEntries(names.map((name) => [name, settings[name]?.initial]));
  // Its fields are read one after the other of the same row.
  let last: { stored: Value; values: Record<string, unknown> } | undefined;
  const read = (stored: Value | undefined): Record<string, unknown> => {
    if (stored === null || stored === undefined) return initial;
    if (last?.stored !== stored) {
      last = { stored, values: { ...initial, ...JSON.parse(String(stored)) } };
    }
    return last.values;
  };
  const fieldOf = (name: string, { attribute, initial }: KeptSetting<unknown>): Field => {
    const { values, type } = attribute.notes;
    const shown = values && type === "string" ? values.join(", ") : type;
    const nullable = initial === null && type === "boolean" ? `${shown} or null` : shown;
    return derived([column], nullable, ([stored]) => read(stored)[name]);
  };
  const eachOf = <T>(make: (name: string, setting: KeptSetting<unknown>) => T) =>
    Object.fromEntries(names.map((name) => [name, make(name, settings[name] as never)]));
  return {
    attributes: eachOf((_, { attribute }) => attribute) as Kept<S>["attributes"],
    // Read when a value is checked: most processes read no archive.
    schema: v.lazy(() =>
      v.strictObject(eachOf((_, { attribute }) => v.optional(attribute.schema()))),
    ),
    fields: eachOf(fieldOf) as Kept<S>["fields"],
    read: read as Kept<S>["read"],
    changed: async (input, before) => {
      const given = names.filter((name) => input[name] !== undefined);
      if (given.length === 0) return undefined;
      const stored = await before();
      const own = stored ? JSON.parse(String(stored)) : {};
      for (const name of given) own[name] = input[name];
      return JSON.stringify(own);
    },
  };
}

/** What a row has stored in its column of kept settings. @param table a name from the program */
export async function storedIn(db: Reader, table: string, id: number): Promise<Value | undefined> {
  const [row] = await db.rows(`select kept_settings from ${table} where id = ?`, [id]);
  return row?.[0];
}
