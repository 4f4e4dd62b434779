import { ROLES, type Role, roleOf } from "./access/roles.ts";
import { type AttributeErrors, atLeastOne, invalid, missing } from "./errors.ts";
import type { Parameter, Parameters } from "./http/parameters.ts";

/** What the generated reference says about an attribute. */
export interface AttributeNotes {
  type: string;
  values?: readonly string[];
  about?: string;
  /** Maximum characters of a text, or of each text in a list. */
  maxLength?: number;
  /** Maximum entries of a list. */
  maxItems?: number;
  /** The name in errors other than type errors, if GitLab's model has another name for the attribute. */
  reportedAs?: string;
  /** Whether it may be left out. */
  optional?: boolean;
}

/** What is wrong with a value, and with which of its entries if it is a list. */
export interface Problem {
  readonly message: string;
  readonly entries: readonly number[];
}

/** What reading returns instead of a value that is none. */
export const REFUSED = Symbol("refused");

/**
 * A schema of one attribute. `null` and, except for text, `""` count as not sent, as in GitLab. The routes have thousands,
 * made when the program starts, so one consists of as little as possible.
 */
export interface Attribute<T> {
  readonly notes: AttributeNotes;
  /** Reads a value and adds what is wrong with it to the problems. With any, what it returns is not to be used. */
  readonly read: (value: unknown, problems: Problem[]) => T | typeof REFUSED;
}

/** A route's attributes: schemas by name. */
export type Attributes = Record<string, Attribute<unknown>>;

/** What the handler of a route with attributes `A` gets. */
export type Input<A extends Attributes> = {
  -readonly [Name in keyof A]: A[Name] extends Attribute<infer T> ? T : never;
};

const INVALID = "is invalid";
const NOT_LISTED = "does not have a valid value";

/**
 * The schema of an attribute.
 *
 * @param read returns the value as it is used, or `REFUSED`
 * @param refusal what is wrong with a value that is refused
 */
export function attribute<T>(
  notes: AttributeNotes,
  read: (value: unknown) => T | typeof REFUSED,
  refusal: string = INVALID,
): Attribute<T> {
  return {
    notes,
    read: (value, problems) => {
      const result = read(value);
      if (result === REFUSED) problems.push({ message: refusal, entries: [] });
      return result;
    },
  };
}

/** An attribute whose values have to fit a condition, too. */
export function checked<T>(
  { notes, read }: Attribute<T>,
  fits: (value: T) => boolean,
  refusal: string = INVALID,
): Attribute<T> {
  return {
    notes,
    read: (value, problems) => {
      const result = read(value, problems);
      if (result !== REFUSED && !fits(result)) problems.push({ message: refusal, entries: [] });
      return result;
    },
  };
}

/** An attribute whose values, if nothing is wrong with them, are made into others. */
function converted<T, U>(
  { notes, read }: Attribute<T>,
  convert: (value: T, problems: Problem[]) => U | typeof REFUSED,
): Attribute<U> {
  return {
    notes,
    read: (value, problems) => {
      const before = problems.length;
      const result = read(value, problems);
      return result === REFUSED || problems.length > before ? REFUSED : convert(result, problems);
    },
  };
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
  return attribute({ type: "object", about }, (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return REFUSED;
    const read: Record<string, unknown> = {};
    const problems: Problem[] = [];
    for (const [name, one] of Object.entries(attributes)) {
      const result = one.read((value as Record<string, unknown>)[name], problems);
      if (problems.length > 0) return REFUSED;
      if (result !== undefined) read[name] = result;
    }
    return read as Input<A>;
  });
}

/** A whole number, as digits or a JSON number, within the given bounds. */
export function integer(bounds: { min?: number; max?: number } = {}): Attribute<number> {
  const { min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER } = bounds;
  const bounded = bounds.min !== undefined && bounds.max !== undefined;
  const whole = attribute({ type: "integer" }, (value) => {
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

/** A number that need not be whole, such as `80.5`. */
export function decimal(): Attribute<number> {
  return attribute({ type: "number" }, (value) => {
    if (typeof value !== "number" && typeof value !== "string") return REFUSED;
    return /^[+-]?\d{1,15}(\.\d{1,15})?$/.test(String(value)) ? Number(value) : REFUSED;
  });
}

/**
 * A record's id in a path. Text answers 400; a number too large for an id answers 404, as an id that no record has. For
 * ids in queries and bodies use {@link integer}.
 */
export function recordId(): Attribute<number> {
  return attribute({ type: "integer" }, (value) =>
    /^[+-]?\d+$/.test(String(value)) ? readId(value) : REFUSED,
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
  return /^\d{1,15}$/.test(String(value)) ? Number(value) : 0;
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

function notBlank(schema: Attribute<string>): Attribute<string> {
  return checked(schema, (value) => value.trim() !== "", "can't be blank");
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
  return converted(oneOf(Object.values(ROLES)), (level) => roleOf(level) as Role);
}

/**
 * A list, sent as `name[]=a&name[]=b`, as a JSON array, or as one value.
 *
 * @param options `max`: maximum entries. Default 100
 */
export function arrayOf<T>(element: Attribute<T>, options: { max?: number } = {}): Attribute<T[]> {
  const { max = MAX_ENTRIES } = options;
  const { type, values, maxLength } = element.notes;
  const list = attribute<unknown[]>(
    {
      type: `array of ${type}`,
      maxItems: max,
      ...(maxLength && { maxLength }),
      ...(values && { values }),
    },
    (value) => (Array.isArray(value) ? value : isScalar(value) ? [value] : REFUSED),
  );
  return converted(
    checked(list, (given) => given.length <= max, tooManyEntries(max)),
    (given, problems) =>
      Array.from(given, (one, entry) => {
        const own: Problem[] = [];
        const result = element.read(one, own);
        for (const { message, entries } of own) {
          problems.push({ message, entries: [entry, ...entries] });
        }
        return result as T;
      }),
  );
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
  const entries = converted(
    checked(list, (texts) => texts.length <= max, tooManyEntries(max)),
    (texts) => [...new Set(texts.map((one) => one.trim()).filter((one) => one !== ""))],
  );
  return checked(
    entries,
    (texts) => texts.every((one) => isWithin(one, SHORT_TEXT)),
    tooLong(SHORT_TEXT),
  );
}

/** A list of only the given words. */
export function among<const W extends string>(
  { notes, read }: Attribute<string[]>,
  words: readonly W[],
): Attribute<W[]> {
  return checked(
    { notes: { ...notes, values: words }, read } as Attribute<W[]>,
    (given) => given.every((word) => words.includes(word)),
    NOT_LISTED,
  );
}

const EMPTY_IS_ABSENT = /^(integer|number|boolean|date|timestamp|array of .+)$/;

/** An optional attribute. */
export function optional<T>({ notes, read }: Attribute<T>): Attribute<T | undefined> {
  const emptyIsAbsent = EMPTY_IS_ABSENT.test(notes.type);
  const isAbsent = (value: unknown) =>
    value === undefined || value === null || (emptyIsAbsent && value === "");
  return {
    notes: { ...notes, optional: true },
    read: (value, problems) => (isAbsent(value) ? undefined : read(value, problems)),
  };
}

/** An optional attribute that `null` or an empty value clears: `undefined` leaves it unchanged, `null` clears it. */
export function clearable<T>({ notes, read }: Attribute<T>): Attribute<T | null | undefined> {
  return {
    notes: { ...notes, optional: true },
    read: (value, problems) => {
      if (value === undefined) return undefined;
      return value === null || value === "" ? null : read(value, problems);
    },
  };
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
    Object.entries(attributes).map(([name, { notes, read }]) => ({
      name,
      read,
      required: !notes.optional,
      reportedAs: notes.reportedAs ?? name,
    }));
  let entries: ReturnType<typeof compile> | undefined;
  return (parameters) => {
    entries ??= compile();
    const input: Record<string, unknown> = {};
    let errors: AttributeErrors | undefined;
    let problems: Problem[] = [];
    for (const { name, required } of entries) {
      if (required && !(name in parameters)) throw missing(name);
    }
    for (const { name, read, required, reportedAs } of entries) {
      const value = parameters[name];
      if (value === undefined && !required) continue;
      const result = read(value, problems);
      if (problems.length > 0) {
        errors ??= {};
        const messages = [...new Set(problems.map(({ message }) => message))];
        errors[messages.includes(INVALID) ? name : reportedAs] = messages;
        problems = [];
      } else if (result !== undefined) input[name] = result;
    }
    if (errors) throw invalid(errors);
    if (atLeast && !atLeast.some((name) => name in input)) throw atLeastOne(atLeast);
    return input as Input<A>;
  };
}
