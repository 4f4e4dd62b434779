import * as v from "valibot";
import type { Attribute, Attributes, Input } from "./input.ts";

/** A wrong, misspelt or missing option of the library. The message names it and says what is allowed. */
export class OptionError extends TypeError {
  override get name() {
    return "OptionError" as const;
  }
  /**
   * @param where the function that was called, such as `createApp`
   * @param option the option's path, such as `limits.perPage`; `""` if the options as a whole are wrong
   * @param problem what is wrong with it
   */
  constructor(
    where: string,
    readonly option: string,
    readonly problem: string,
  ) {
    super(`${where}: ${option === "" ? "" : `${option} `}${problem}`);
  }
}

/** The schema of an object with only these options. */
export function optionsOf<const E extends v.ObjectEntries>(entries: E) {
  const names = Object.keys(entries);
  return v.strictObject(entries, (issue) => {
    if (issue.path === undefined) return `must be an object with ${names.join(", ")}`;
    if (issue.expected !== "never") return "is missing";
    const close = closest(String(issue.input), names);
    const meant = close === undefined ? "" : ` Did you mean ${close}?`;
    return `is unknown.${meant} There are ${names.join(", ")}`;
  });
}

/** {@link optionsOf} for route attributes, so that the library and the API apply the same rules. */
export function inputOf<const A extends Attributes>(
  attributes: A,
): v.GenericSchema<unknown, Input<A>> {
  const entries = Object.entries(attributes).map(([name, schema]) => {
    const said = attributeOption(schema);
    return [name, schema.notes.optional ? v.optional(said) : said];
  });
  return optionsOf(Object.fromEntries(entries)) as unknown as v.GenericSchema<unknown, Input<A>>;
}

/**
 * Checks the options given to a function of the library.
 *
 * @param where the function's name
 * @returns the schema's output
 * @throws OptionError naming the wrong option
 */
export function readOptions<T>(
  where: string,
  schema: v.GenericSchema<unknown, T>,
  given: unknown,
): T {
  const read = v.safeParse(schema, given);
  if (read.success) return read.output;
  const { path, problem } = problemOf(read.issues);
  throw new OptionError(where, path, problem);
}

/** The path and text of the most telling problem. @param issues of a schema created here */
export function problemOf(issues: readonly [v.BaseIssue<unknown>, ...v.BaseIssue<unknown>[]]): {
  path: string;
  problem: string;
} {
  // A misspelt name often means that a required one is missing, too: report the misspelt one.
  const issue = issues.find(({ expected }) => expected === "never") ?? issues[0];
  return { path: v.getDotPath(issue) ?? "", problem: issue.message };
}

/**
 * Checks one argument of a function of the library.
 *
 * @throws OptionError naming the argument
 */
export function readArgument<T>(
  where: string,
  name: string,
  schema: Attribute<T>,
  given: unknown,
): T {
  const entries = { [name]: attributeOption(schema) };
  const read = readOptions<Record<string, T>>(
    where,
    optionsOf(entries) as unknown as v.GenericSchema<unknown, Record<string, T>>,
    given === undefined ? {} : { [name]: given },
  );
  return read[name] as T;
}

/** A schema for every option of `T`; a missing one is a compiler error. */
export type OptionSchemas<T> = Record<keyof T, v.GenericSchema>;

/** The text of an error for what is not a text. */
export const NOT_TEXT = "must be a text";

/** The schema of an option that is a text and not empty. */
export const textOption = v.pipe(v.string(NOT_TEXT), v.nonEmpty("can't be empty"));

/** The schema of an option that is on or off; it may be left out. */
export const flagOption = v.optional(v.boolean("must be true or false"));

/** The schema of an option that is one of some words. */
export const wordOption = <const W extends readonly string[]>(words: W) =>
  v.picklist(words, `must be ${words.map((word) => `"${word}"`).join(" or ")}`);

/** The schema of an option that is a whole number within bounds. */
export function wholeOption(least: number, most = Number.MAX_SAFE_INTEGER) {
  const range =
    most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
  const problem = `must be a whole number ${range}`;
  return v.pipe(
    v.number(problem),
    v.integer(problem),
    v.minValue(least, problem),
    v.maxValue(most, problem),
  );
}

/** The schema of an option that is a whole number within bounds, or `false` for no limit. */
export const wholeOrFalseOption = (least: number) =>
  v.union(
    [v.literal(false), wholeOption(least)],
    `must be a whole number of at least ${least}, or false`,
  );

/** The schema of an option that is a duration, such as in milliseconds. */
export const durationOption = v.pipe(
  v.number("must be a number"),
  v.minValue(0, "must be at least 0"),
);

/** The schema of an option that is a function. */
export const functionOption = v.custom<(...values: never[]) => unknown>(
  (value) => typeof value === "function",
  "must be a function",
);

const ALLOWED: Readonly<Record<string, string>> = {
  string: "give a text",
  integer: "give a whole number",
  boolean: "give true or false",
  date: "give a day as YYYY-MM-DD",
  timestamp: "give an instant in ISO 8601 format",
};

/**
 * The schema of an option that is read as an attribute. Its errors say what is allowed; they do not repeat the value: it may
 * be a password.
 */
export function attributeOption<T>({ notes, schema }: Attribute<T>): v.GenericSchema<unknown, T> {
  const allowed = notes.values ? `give one of ${notes.values.join(", ")}` : ALLOWED[notes.type];
  return v.pipe(
    v.unknown(),
    v.rawTransform<unknown, T>(({ dataset, addIssue, NEVER }) => {
      const read = v.safeParse(schema(), dataset.value);
      if (read.success) return read.output;
      const [{ message, path }] = read.issues;
      const vague = message === "is invalid" || message === "does not have a valid value";
      const said = vague && allowed ? `${message}: ${allowed}` : message;
      addIssue(path ? { message: said, path } : { message: said });
      return NEVER;
    }),
  );
}

/** Longer names are not compared. */
const MAX_NAME_CHARACTERS = 40;

/** The name that was probably meant: one with a few letters changed, or one that the given name abbreviates. */
export function closest(given: string, names: readonly string[]): string | undefined {
  if (given.length > MAX_NAME_CHARACTERS) return undefined;
  const wanted = given.toLowerCase();
  const ranked = names
    .map((name) => ({ name, distance: distanceOf(wanted, name.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance);
  const [best] = ranked;
  if (best && best.distance <= Math.max(1, Math.floor(best.name.length / 3))) return best.name;
  return names.find((name) => isShortFor(wanted, name.toLowerCase()));
}

/** How many letters have to be added, removed or replaced (Levenshtein). */
function distanceOf(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return row[b.length] as number;
}

/** Whether a text starts with the name's first letter and all its letters occur in the name in order. */
function isShortFor(short: string, name: string): boolean {
  if (short.length < 2 || short[0] !== name[0]) return false;
  let at = 0;
  for (const letter of name) if (letter === short[at]) at += 1;
  return at === short.length;
}
