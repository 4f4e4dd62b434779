import * as v from "valibot";
import { ROLES, type Role, roleOf } from "./access.ts";
import { type AttributeErrors, atLeastOne, invalid, missing } from "./errors.ts";
import type { Parameters } from "./parameters.ts";

/** What the generated reference says of an attribute, kept in its schema's metadata. */
export interface AttributeNotes {
  type: string;
  values?: readonly string[];
  about?: string;
  /** Of a text, or of each text in a list: the most characters. */
  maxLength?: number;
  /** Of a list: the most entries. */
  maxItems?: number;
  /** What errors but those of its type call it, where GitLab's model has another name for the attribute. */
  reportedAs?: string;
}

/** A schema of one attribute. `null` and, but for text, `""` count as not sent (gitlab-facts §1.4). */
export type Attribute<T> = v.GenericSchema<unknown, T>;

/** Schemas by attribute name: what a route takes. */
export type Attributes = Record<string, v.GenericSchema<unknown, unknown>>;

/** What the handler of a route that takes `A` gets. */
export type Input<A extends Attributes> = v.InferOutput<v.ObjectSchema<A, undefined>>;

const INVALID = "is invalid";

function attribute<T>(
  notes: AttributeNotes,
  read: (value: unknown) => T | typeof REFUSED,
  refusal: string = INVALID,
): Attribute<T> {
  return v.pipe(
    v.unknown(),
    v.metadata({ ...notes }),
    v.rawTransform<unknown, T>(({ dataset, addIssue, NEVER }) => {
      const read_ = read(dataset.value);
      if (read_ !== REFUSED) return read_;
      addIssue({ message: refusal });
      return NEVER;
    }),
  );
}

const REFUSED = Symbol("refused");

/** A whole number, in digits or as JSON has it, within the given bounds. */
export function integer(bounds: { min?: number; max?: number } = {}): Attribute<number> {
  const { min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER } = bounds;
  const bounded = bounds.min !== undefined && bounds.max !== undefined;
  const whole = attribute({ type: "integer" }, (value) => {
    if (typeof value !== "number" && typeof value !== "string") return REFUSED;
    if (typeof value === "string" && !/^[+-]?\d{1,16}$/.test(value)) return REFUSED;
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : REFUSED;
  });
  return v.pipe(
    whole,
    v.check(
      (number) => number >= min && number <= max,
      bounded ? `must be between ${min} and ${max}` : INVALID,
    ),
  );
}

/** A record's id in a path. A number that is too large for one is an id that no record has, and so answers 404. */
export function recordId(): Attribute<number> {
  return attribute({ type: "integer" }, (value) =>
    /^[+-]?\d+$/.test(String(value)) ? readId(value) : REFUSED,
  );
}

/**
 * A record's id in a path, where GitLab leaves it untyped or is a page: whatever is no id answers 404, as an id that
 * no record has.
 */
export function untypedId(): Attribute<number> {
  return attribute({ type: "integer" }, readId);
}

function readId(value: unknown): number {
  return /^\d{1,15}$/.test(String(value)) ? Number(value) : 0;
}

const TRUE = ["true", "1", "t", "yes", "on"];
const FALSE = ["false", "0", "f", "no", "off"];

/** A boolean in any of the spellings GitLab takes (gitlab-facts §11). */
export function boolean(): Attribute<boolean> {
  return attribute({ type: "boolean" }, (value) => {
    if (typeof value === "boolean") return value;
    if (!isScalar(value)) return REFUSED;
    const spelled = String(value).toLowerCase();
    if (TRUE.includes(spelled)) return true;
    return FALSE.includes(spelled) ? false : REFUSED;
  });
}

/** The most characters of a name, a title, and every text of which nothing else is said. */
const SHORT_TEXT = 255;
/** The most characters of a description or a content (GitLab's 1 MiB). */
export const LONG_TEXT = 1_048_576;
/** The most entries of a list of which nothing else is said. */
const ENTRIES = 100;

/** Bounds of a text. */
interface TextOptions {
  /** The most characters. Default {@link SHORT_TEXT}. */
  max?: number;
  /** The attribute's name in errors. Default: its own. */
  reportedAs?: string;
}

/** Any text PostgreSQL and JSON can hold: no NUL, no lone surrogate. Numbers are taken as their digits. */
export function anyText(options: TextOptions = {}): Attribute<string> {
  return bounded(options, readText);
}

const tooLong = (max: number) => `is too long (maximum is ${max} characters)`;

/** Whether a text has at most so many characters, of which those beyond U+FFFF are two units each. */
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

/** As {@link anyText}, without the blanks around it, which don't count towards its length. */
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
  return v.pipe(
    attribute({ type: "string", maxLength: max, ...notes }, read),
    v.check((value) => isWithin(value, max), tooLong(max)),
  );
}

/** A title: as {@link text}, without the blanks around it. */
export function title(): Attribute<string> {
  return notBlank(trimmed());
}

/** Text that isn't blank, of at most `max` characters ({@link SHORT_TEXT}). */
export function text(options: TextOptions = {}): Attribute<string> {
  return notBlank(anyText(options));
}

function notBlank(schema: Attribute<string>): Attribute<string> {
  return v.pipe(
    schema,
    v.check((value) => value.trim() !== "", "can't be blank"),
  );
}

/** One of the given words. */
export function choice<const W extends string>(words: readonly W[]): Attribute<W> {
  return attribute(
    { type: "string", values: words },
    (value) => words.find((word) => word === value) ?? REFUSED,
    "does not have a valid value",
  );
}

/** A day of the calendar as `YYYY-MM-DD`; a month or day of one digit is accepted (gitlab-facts §7.4). */
export function date(): Attribute<string> {
  return attribute({ type: "date" }, (value) => {
    const parts = /^(\d{4})-(\d{1,2})-(\d{1,2})$/.exec(typeof value === "string" ? value : "");
    if (!parts) return REFUSED;
    const day = `${parts[1]}-${parts[2]?.padStart(2, "0")}-${parts[3]?.padStart(2, "0")}`;
    const parsed = new Date(`${day}T00:00:00Z`);
    const exists = !Number.isNaN(parsed.getTime()) && parsed.toISOString().startsWith(day);
    return exists ? day : REFUSED;
  });
}

/** An instant as ISO 8601 has it, or a day for its start (UTC); read as epoch milliseconds. */
export function instant(): Attribute<number> {
  return attribute({ type: "timestamp" }, (value) => {
    const text = typeof value === "string" ? value : "";
    if (
      !/^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?$/.test(text)
    ) {
      return REFUSED;
    }
    const hasZone = text.length === 10 || /(Z|[+-]\d{2}:?\d{2})$/.test(text.slice(10));
    const at = Date.parse(hasZone ? text : `${text}Z`);
    return Number.isNaN(at) ? REFUSED : at;
  });
}

/** An access level as GitLab's number, read as the role it stands for. */
export function accessLevel(): Attribute<Role> {
  return attribute(
    { type: "integer", values: Object.values(ROLES).map(String) },
    (value) => (isScalar(value) && roleOf(Number(value))) || REFUSED,
    "does not have a valid value",
  );
}

/**
 * A list, sent as `name[]=a&name[]=b`, as a JSON array, or as one value (gitlab-facts §11).
 *
 * @param options `max`: the most entries. Default 100
 */
export function arrayOf<T>(element: Attribute<T>, options: { max?: number } = {}): Attribute<T[]> {
  const { max = ENTRIES } = options;
  const { type, values, maxLength } = notesOf(element);
  return v.pipe(
    attribute(
      {
        type: `array of ${type}`,
        maxItems: max,
        ...(maxLength && { maxLength }),
        ...(values && { values }),
      },
      (value) => (Array.isArray(value) ? value : isScalar(value) ? [value] : REFUSED),
    ),
    v.check((values) => values.length <= max, tooManyEntries(max)),
    v.array(element),
  );
}

const tooManyEntries = (max: number) => `has too many entries (maximum is ${max})`;

/**
 * A list of texts, comma-separated or as an array; blanks around them and empty ones fall away, but count as entries.
 *
 * @param options `max`: the most entries. Default 100
 */
export function commaSeparated(options: { max?: number } = {}): Attribute<string[]> {
  const { max = ENTRIES } = options;
  return v.pipe(
    attribute(
      { type: "comma-separated string", maxItems: max, maxLength: SHORT_TEXT },
      (value): string[] | typeof REFUSED => {
        const texts: string[] = [];
        for (const one of Array.isArray(value) ? value : [value]) {
          const read = readText(one);
          if (read === REFUSED) return REFUSED;
          for (const entry of read.split(",", max + 1 - texts.length)) texts.push(entry);
          if (texts.length > max) break;
        }
        return texts;
      },
    ),
    v.check((texts) => texts.length <= max, tooManyEntries(max)),
    v.transform((texts) => [
      ...new Set(texts.map((one) => one.trim()).filter((one) => one !== "")),
    ]),
    v.check((texts) => texts.every((one) => isWithin(one, SHORT_TEXT)), tooLong(SHORT_TEXT)),
  );
}

const EMPTY_IS_ABSENT = /^(integer|boolean|date|timestamp|array of .+)$/;

/** An attribute that need not be sent. */
export function optional<T>(schema: Attribute<T>): v.GenericSchema<unknown, T | undefined> {
  const notes = notesOf(schema);
  const emptyIsAbsent = EMPTY_IS_ABSENT.test(notes.type);
  return v.pipe(
    v.unknown(),
    v.transform((value) => (value === null || (emptyIsAbsent && value === "") ? undefined : value)),
    v.metadata({ ...notes, optional: true }),
    v.optional(schema),
  ) as v.GenericSchema<unknown, T | undefined>;
}

/** An optional attribute that `null` or an empty value clears: `undefined` leaves it alone, `null` empties it. */
export function clearable<T>(schema: Attribute<T>): v.GenericSchema<unknown, T | null | undefined> {
  return v.pipe(
    v.unknown(),
    v.transform((value) => (value === "" ? null : value)),
    v.metadata({ ...notesOf(schema), optional: true }),
    v.optional(v.nullable(schema)),
  ) as v.GenericSchema<unknown, T | null | undefined>;
}

function isScalar(value: unknown): boolean {
  return ["string", "number", "boolean"].includes(typeof value);
}

/** What the reference says of a schema made here. */
export function notesOf(schema: v.GenericSchema): AttributeNotes & { optional?: boolean } {
  return v.getMetadata(schema as never) as unknown as AttributeNotes & { optional?: boolean };
}

/** A route's attributes, compiled once. */
export type InputReader<A extends Attributes> = (parameters: Parameters) => Input<A>;

/**
 * Makes the reader of a route's attributes.
 *
 * The reader throws ApiError 400: naming the first required attribute that was not sent, else listing what is wrong
 * with each. Attributes the route does not have are ignored.
 *
 * @param atLeast names of which at least one must be sent; what counts as not sent, such as `null`, does not count here
 */
export function inputReader<A extends Attributes>(
  attributes: A,
  atLeast?: readonly string[],
): InputReader<A> {
  const entries = Object.entries(attributes).map(([name, schema]) => {
    const notes = notesOf(schema);
    return { name, schema, required: !notes.optional, reportedAs: notes.reportedAs ?? name };
  });
  return (parameters) => {
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
