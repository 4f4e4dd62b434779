import * as v from "valibot";
import { ROLES, type Role, roleOf } from "./access/roles.ts";
import { type AttributeErrors, atLeastOne, invalid, missing } from "./errors.ts";
import type { Parameter, Parameters } from "./http/parameters.ts";

/** What the generated reference says about an attribute. */
export interface AttributeNotes {
  type: string;
  values?: readonly string[];
  about?: string;
  /** Minimum characters of a text, or of each text in a list. */
  minLength?: number;
  /** Maximum characters of a text, or of each text in a list. */
  maxLength?: number;
  /** The smallest and the largest of a number, or of each number in a list. */
  minimum?: number;
  maximum?: number;
  /** Minimum and maximum entries of a list. */
  minItems?: number;
  maxItems?: number;
  /** The name in errors other than type errors, if GitLab's model has another name for the attribute. */
  reportedAs?: string;
  /** Whether it may be left out. */
  optional?: boolean;
  /** Whether the handler refuses to do without it nevertheless, with an error of its own. */
  demanded?: true;
  /** Whether `null` clears it. */
  clearable?: true;
  /** Of what has no effect here: whether any value is kept and shown, or those are refused that ask for an effect. */
  without?: "effect" | "support";
  /** The attributes of an object, or of each object in a list. */
  attributes?: Readonly<Record<string, AttributeNotes>>;
}

/** What a function that reads a value returns if it is not valid. */
export const REFUSED = Symbol("refused");

/**
 * One attribute. Optional ones count as not sent if they are `null` or, except for text, `""`, as in GitLab. The routes have
 * thousands, so its schema is made when a request first needs it (decision 83).
 */
export interface Attribute<T> {
  readonly notes: AttributeNotes;
  readonly schema: () => v.GenericSchema<unknown, T>;
}

/** A route's attributes by name. */
export type Attributes = Record<string, Attribute<unknown>>;

/** What the handler of a route with attributes `A` gets. */
export type Input<A extends Attributes> = {
  -readonly [Name in keyof A]: A[Name] extends Attribute<infer T> ? T : never;
};

const INVALID = "is invalid";
const NOT_LISTED = "does not have a valid value";

/** An attribute whose schema is made once. */
function declared<T>(notes: AttributeNotes, make: () => v.GenericSchema<unknown, T>): Attribute<T> {
  let made: v.GenericSchema<unknown, T> | undefined;
  return {
    notes,
    schema: () => {
      made ??= make();
      return made;
    },
  };
}

/**
 * An attribute.
 *
 * @param read returns the value as it is used, or `REFUSED`
 * @param refusal what is wrong with a value that is refused
 */
export function attribute<T>(
  notes: AttributeNotes,
  read: (value: unknown) => T | typeof REFUSED,
  refusal: string = INVALID,
): Attribute<T> {
  return readAs({ notes, schema: v.unknown }, read, refusal);
}

/** An attribute whose values have to fit a condition, too. */
export function checked<T>(
  { notes, schema }: Attribute<T>,
  fits: (value: T) => boolean,
  refusal: string = INVALID,
): Attribute<T> {
  return declared(notes, () => v.pipe(schema(), v.check(fits, refusal)));
}

/** An attribute whose value is read further. @param read returns the value as it is used, or `REFUSED` */
export function readAs<T, U>(
  { notes, schema }: Attribute<T>,
  read: (value: T) => U | typeof REFUSED,
  refusal: string = INVALID,
): Attribute<U> {
  return declared(notes, () =>
    v.pipe(
      schema(),
      v.rawTransform<T, U>(({ dataset, addIssue, NEVER }) => {
        const value = read(dataset.value);
        if (value !== REFUSED) return value;
        addIssue({ message: refusal });
        return NEVER;
      }),
    ),
  );
}

/** An attribute of which the handler checks more itself: what the reference says about that. */
export function noted<T>({ notes, schema }: Attribute<T>, more: Partial<AttributeNotes>) {
  return { notes: { ...notes, ...more }, schema } satisfies Attribute<T>;
}

/**
 * Any JSON value, for handlers that read it themselves.
 *
 * @param about what it is, for the reference
 */
export function json(about: string): Attribute<Parameter> {
  return attribute({ type: "JSON", about }, (value) => value as Parameter);
}

/** An object, sent as `name[key]=value` or in JSON, read by the schemas of its own attributes; others are ignored. */
export function object<A extends Attributes>(attributes: A): Attribute<Input<A>> {
  const about = Object.keys(attributes)
    .map((name) => `\`${name}\``)
    .join(", ");
  const notes = Object.fromEntries(
    Object.entries(attributes).map(([name, one]) => [name, one.notes]),
  );
  return attribute({ type: "object", about, attributes: notes }, (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return REFUSED;
    const read: Record<string, unknown> = {};
    for (const [name, { schema }] of Object.entries(attributes)) {
      const result = v.safeParse(schema(), (value as Record<string, unknown>)[name]);
      if (!result.success) return REFUSED;
      if (result.output !== undefined) read[name] = result.output;
    }
    return read as Input<A>;
  });
}

/** A whole number, as digits or a JSON number, within the given bounds. */
export function integer(bounds: { min?: number; max?: number } = {}): Attribute<number> {
  const { min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER } = bounds;
  const bounded = bounds.min !== undefined && bounds.max !== undefined;
  const notes = {
    type: "integer",
    ...(bounds.min !== undefined && { minimum: bounds.min }),
    ...(bounds.max !== undefined && { maximum: bounds.max }),
  };
  const whole = attribute(notes, (value) => {
    if (typeof value !== "number" && typeof value !== "string") return REFUSED;
    if (typeof value === "string" && !/^[+-]?\d{1,16}$/.test(value)) return REFUSED;
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : REFUSED;
  });
  return checked(
    whole,
    (number) => number >= min && number <= max,
    bounded ? `must be between ${min} and ${max}` : INVALID,
  );
}

/** What a number that need not be whole is at most, without its sign. */
const LARGEST_DECIMAL = 1e15;

/** A number that need not be whole, such as `80.5`. */
export function decimal(): Attribute<number> {
  const bounds = { minimum: -LARGEST_DECIMAL, maximum: LARGEST_DECIMAL };
  return attribute({ type: "number", ...bounds }, (value) => {
    if (typeof value === "number") return Math.abs(value) <= LARGEST_DECIMAL ? value : REFUSED;
    if (typeof value !== "string") return REFUSED;
    return /^[+-]?\d{1,15}(\.\d{1,15})?$/.test(value) ? Number(value) : REFUSED;
  });
}

/**
 * A record's id in a path. Text answers 400; a number too large for an id answers 404, as an id that no record has. For
 * ids in queries and bodies use {@link integer}.
 */
export function recordId(): Attribute<number> {
  return attribute({ type: "integer" }, (value) =>
    isScalar(value) && /^[+-]?\d+$/.test(String(value)) ? readId(value) : REFUSED,
  );
}

/**
 * A record's id in a path that GitLab leaves untyped, or in the path of a page: anything that is not an id answers 404,
 * as an id that no record has.
 */
export function untypedId(): Attribute<number> {
  return attribute({ type: "integer" }, readId);
}

function readId(value: unknown): number {
  return isScalar(value) && /^\d{1,15}$/.test(String(value)) ? Number(value) : 0;
}

const TRUE = ["true", "1", "t", "yes", "on"];
const FALSE = ["false", "0", "f", "no", "off"];

/** A boolean in any of the spellings GitLab accepts. */
export function boolean(): Attribute<boolean> {
  return attribute({ type: "boolean" }, (value) => {
    if (typeof value === "boolean") return value;
    if (!isScalar(value)) return REFUSED;
    const spelled = String(value).toLowerCase();
    if (TRUE.includes(spelled)) return true;
    return FALSE.includes(spelled) ? false : REFUSED;
  });
}

/** Default maximum characters of a text, such as a name or title. */
const SHORT_TEXT = 255;
/** Maximum characters of a description or content (GitLab's 1 MiB). */
export const LONG_TEXT = 1_048_576;
/** Default maximum entries of a list. */
const MAX_ENTRIES = 100;

/** Bounds of a text. */
interface TextOptions {
  /** Maximum characters. Default {@link SHORT_TEXT}. */
  max?: number;
  /** The attribute's name in errors. Default: its own. */
  reportedAs?: string;
}

/** Any text PostgreSQL and JSON can hold: no NUL, no lone surrogate. Numbers become their digits. */
export function anyText(options: TextOptions = {}): Attribute<string> {
  return bounded(options, readText);
}

const tooLong = (max: number) => `is too long (maximum is ${max} characters)`;

/** Whether a text has at most `max` characters; those beyond U+FFFF take two code units but count once. */
function isWithin(text: string, max: number): boolean {
  if (text.length <= max) return true;
  if (text.length > 2 * max) return false;
  let characters = text.length;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit >= 0xdc00 && unit <= 0xdfff) characters -= 1;
  }
  return characters <= max;
}

function readText(value: unknown): string | typeof REFUSED {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (typeof value !== "string") return REFUSED;
  return value.includes("\0") || !value.isWellFormed() ? REFUSED : value;
}

/** Like {@link anyText}, without surrounding whitespace, which does not count towards its length. */
export function trimmed(options: TextOptions = {}): Attribute<string> {
  return bounded(options, (value) => {
    const read = readText(value);
    return read === REFUSED ? REFUSED : read.trim();
  });
}

function bounded(
  { max = SHORT_TEXT, ...notes }: TextOptions,
  read: (value: unknown) => string | typeof REFUSED,
): Attribute<string> {
  return checked(
    attribute({ type: "string", maxLength: max, ...notes }, read),
    (value) => isWithin(value, max),
    tooLong(max),
  );
}

/** A title: like {@link text}, without surrounding whitespace. */
export function title(): Attribute<string> {
  return notBlank(trimmed());
}

/** Text that isn't blank, of at most `max` characters ({@link SHORT_TEXT}). */
export function text(options: TextOptions = {}): Attribute<string> {
  return notBlank(anyText(options));
}

function notBlank({ notes, schema }: Attribute<string>): Attribute<string> {
  const filled = { notes: { ...notes, minLength: 1 }, schema };
  return checked(filled, (value) => value.trim() !== "", "can't be blank");
}

/** One of the given words. */
export function choice<const W extends string>(words: readonly W[]): Attribute<W> {
  return attribute(
    { type: "string", values: words },
    (value) => words.find((word) => word === value) ?? REFUSED,
    NOT_LISTED,
  );
}

const TIME = String.raw`[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?`;
const DAY = new RegExp(`^(\\d{4})-(\\d{1,2})-(\\d{1,2})(?:${TIME})?$`);
const INSTANT = new RegExp(`^\\d{4}-\\d{2}-\\d{2}(?:${TIME})?$`);

/**
 * A calendar day as `YYYY-MM-DD`; like GitLab, accepts a month or day of one digit, and of an instant the day that it
 * names.
 */
export function date(): Attribute<string> {
  return attribute({ type: "date" }, (value) => {
    const parts = DAY.exec(typeof value === "string" ? value : "");
    if (!parts) return REFUSED;
    const day = `${parts[1]}-${parts[2]?.padStart(2, "0")}-${parts[3]?.padStart(2, "0")}`;
    const parsed = new Date(`${day}T00:00:00Z`);
    const exists = !Number.isNaN(parsed.getTime()) && parsed.toISOString().startsWith(day);
    return exists ? day : REFUSED;
  });
}

/** An instant in ISO 8601 format, or a day for its start (UTC); read as epoch milliseconds. */
export function instant(): Attribute<number> {
  return attribute({ type: "timestamp" }, (value) => {
    const text = typeof value === "string" ? value : "";
    if (!INSTANT.test(text)) return REFUSED;
    const hasZone = text.length === 10 || /(Z|[+-]\d{2}:?\d{2})$/.test(text.slice(10));
    const at = Date.parse(hasZone ? text : `${text}Z`);
    return Number.isNaN(at) ? REFUSED : at;
  });
}

/** Like {@link instant}, in any of the forms that GitLab accepts of lists and of what is backdated. */
export function looseInstant(): Attribute<number> {
  return attribute({ type: "timestamp" }, (value) => {
    const text = typeof value === "string" && value.length <= SHORT_TEXT ? value.trim() : "";
    const written = text.replace(/^(\d{4}-\d{2}-\d{2}) (\d)/, "$1T$2");
    const zoned = /^\d{4}-\d{2}-\d{2}T[\d:.]+$/.test(written) ? `${written}Z` : written;
    const at = /^\d{4}-\d{2}-\d{2}(T|$)/.test(written) ? Date.parse(zoned) : Number.NaN;
    return Number.isNaN(at) ? REFUSED : at;
  });
}

/** One of the given numbers. */
export function oneOf<const N extends number>(numbers: readonly N[]): Attribute<N> {
  return attribute(
    { type: "integer", values: numbers.map(String) },
    (value) =>
      numbers.find((number) => isScalar(value) && String(value) === String(number)) ?? REFUSED,
    NOT_LISTED,
  );
}

/** An access level as GitLab's number, read as its role. */
export function accessLevel(): Attribute<Role> {
  const { notes, schema } = oneOf(Object.values(ROLES));
  return declared(notes, () =>
    v.pipe(
      schema(),
      v.transform((level) => roleOf(level) as Role),
    ),
  );
}

/**
 * A list, sent as `name[]=a&name[]=b`, as a JSON array, or as one value. A list of numbers may also be separated by
 * commas, and empty entries are left out, as GitLab does: `ids[]=` is how clients send an empty list. A list of objects may
 * be one object, or JSON text, too.
 *
 * @param options `max`: maximum entries. Default 100
 */
export function arrayOf<T>(element: Attribute<T>, options: { max?: number } = {}): Attribute<T[]> {
  const { max = MAX_ENTRIES } = options;
  const { optional, reportedAs, type, ...bounds } = element.notes;
  const notes = { ...bounds, type: `array of ${type}`, maxItems: max };
  const list = attribute<unknown[]>(notes, (value) => {
    if (type === "object") return objectsOf(value);
    if (!Array.isArray(value) && !isScalar(value)) return REFUSED;
    const entries = Array.isArray(value) ? value : [value];
    return type === "integer" ? numbersOf(entries, max) : entries;
  });
  return declared(notes, () =>
    v.pipe(
      list.schema(),
      v.check((given) => given.length <= max, tooManyEntries(max)),
      v.array(element.schema()),
    ),
  );
}

/** The entries of a list of objects. */
function objectsOf(value: unknown): unknown[] | typeof REFUSED {
  if (typeof value !== "string") return Array.isArray(value) ? value : [value];
  try {
    const parsed: unknown = JSON.parse(value);
    return Array.isArray(parsed) ? parsed : [parsed];
  } catch {
    return REFUSED;
  }
}

/** The entries of a list of numbers, of which one more than `max` are enough. */
function numbersOf(entries: readonly unknown[], max: number): unknown[] {
  const numbers: unknown[] = [];
  for (const entry of entries) {
    if (numbers.length > max) break;
    if (typeof entry !== "string") {
      if (entry !== null) numbers.push(entry);
      continue;
    }
    for (const one of entry.split(",", max + 1)) {
      if (one.trim() !== "") numbers.push(one.trim());
    }
  }
  return numbers;
}

const tooManyEntries = (max: number) => `has too many entries (maximum is ${max})`;

/**
 * A list of texts, comma-separated or as an array. Surrounding whitespace, empty entries and duplicates are removed,
 * but count as entries.
 *
 * @param options `max`: maximum entries. Default 100
 */
export function commaSeparated(options: { max?: number } = {}): Attribute<string[]> {
  const { max = MAX_ENTRIES } = options;
  const list = attribute<string[]>(
    { type: "comma-separated string", maxItems: max, maxLength: SHORT_TEXT },
    (value) => {
      const texts: string[] = [];
      for (const one of Array.isArray(value) ? value : [value]) {
        const read = readText(one);
        if (read === REFUSED) return REFUSED;
        for (const entry of read.split(",", max + 1 - texts.length)) texts.push(entry);
        if (texts.length > max) break;
      }
      return texts;
    },
  );
  return declared(list.notes, () =>
    v.pipe(
      list.schema(),
      v.check((texts) => texts.length <= max, tooManyEntries(max)),
      v.transform((texts) => [
        ...new Set(texts.map((one) => one.trim()).filter((one) => one !== "")),
      ]),
      v.check((texts) => texts.every((one) => isWithin(one, SHORT_TEXT)), tooLong(SHORT_TEXT)),
    ),
  );
}

/** A list of only the given words. */
export function among<const W extends string>(
  { notes, schema }: Attribute<string[]>,
  words: readonly W[],
): Attribute<W[]> {
  const listed: ReadonlySet<string> = new Set(words);
  return declared({ ...notes, values: words }, () =>
    v.pipe(
      schema(),
      v.check((given) => given.every((word) => listed.has(word)), NOT_LISTED),
      v.transform((given) => given as W[]),
    ),
  );
}

const BLANK_IS_ABSENT = /^(integer|number|boolean|date|timestamp|object|JSON|array of .+)$/;

/**
 * An optional attribute: `null` counts as not sent, and so does a blank text where no text is expected. GitLab refuses it
 * where one of some words is.
 */
export function optional<T>(attribute: Attribute<T>): Attribute<T | undefined> {
  return absentIf(BLANK_IS_ABSENT.test(attribute.notes.type) ? ["", null] : [null], attribute);
}

/**
 * An optional text that counts as not sent if it is blank, too: one that names something to find, or that has a default.
 */
export function unlessBlank<T>({ notes, schema }: Attribute<T>): Attribute<T | undefined> {
  const { minLength: _, ...others } = notes;
  return absentIf(["", null], { notes: others, schema });
}

/** An optional attribute of which some values count as not sent. */
function absentIf<T>(
  values: readonly unknown[],
  { notes, schema }: Attribute<T>,
): Attribute<T | undefined> {
  return declared({ ...notes, optional: true }, () =>
    v.pipe(
      v.unknown(),
      v.transform((value) => (values.includes(value) ? undefined : value)),
      v.optional(schema()),
    ),
  ) as Attribute<T | undefined>;
}

/** An optional attribute that `null` or an empty value clears: `undefined` leaves it unchanged, `null` clears it. */
export function clearable<T>({ notes, schema }: Attribute<T>): Attribute<T | null | undefined> {
  return declared({ ...notes, optional: true, clearable: true }, () =>
    v.pipe(
      v.unknown(),
      v.transform((value) => (value === "" ? null : value)),
      v.optional(v.nullable(schema())),
    ),
  ) as Attribute<T | null | undefined>;
}

/** An attribute that must be sent, though it may be `null`, as Grape's `requires` has it. */
export function orNull<T>({ notes, schema }: Attribute<T>): Attribute<T | null> {
  return declared({ ...notes, clearable: true }, () => v.nullable(schema()));
}

function isScalar(value: unknown): boolean {
  return ["string", "number", "boolean"].includes(typeof value);
}

/** A route's attributes, compiled by the first request. */
export type InputReader<A extends Attributes> = (parameters: Parameters) => Input<A>;

/**
 * Creates the reader of a route's attributes.
 *
 * The reader throws ApiError 400, which names the first missing required attribute or else lists what is wrong with
 * each. It ignores attributes the route does not have.
 *
 * @param atLeast names, at least one of which must be sent; values that count as not sent, such as `null`, do not count
 */
export function inputReader<A extends Attributes>(
  attributes: A,
  atLeast?: readonly string[],
): InputReader<A> {
  const compile = () =>
    Object.entries(attributes).map(([name, { notes, schema }]) => ({
      name,
      schema: schema(),
      required: !notes.optional,
      reportedAs: notes.reportedAs ?? name,
    }));
  let entries: ReturnType<typeof compile> | undefined;
  return (parameters) => {
    entries ??= compile();
    const input: Record<string, unknown> = {};
    let errors: AttributeErrors | undefined;
    for (const { name, required } of entries) {
      if (required && !(name in parameters)) throw missing(name);
    }
    for (const { name, schema, required, reportedAs } of entries) {
      const value = parameters[name];
      if (value === undefined && !required) continue;
      const result = v.safeParse(schema, value);
      if (result.success) {
        if (result.output !== undefined) input[name] = result.output;
      } else {
        errors ??= {};
        const messages = [...new Set(result.issues.map((issue) => issue.message))];
        errors[messages.includes(INVALID) ? name : reportedAs] = messages;
      }
    }
    if (errors) throw invalid(errors);
    if (atLeast && !atLeast.some((name) => name in input)) throw atLeastOne(atLeast);
    return input as Input<A>;
  };
}
