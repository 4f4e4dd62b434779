import { jsonOf } from "./entry.ts";
import type { Lookup } from "./types.ts";
import { ConfigurationError, isList, TOO_BIG, type Value } from "./values.ts";
import { expandVariables } from "./variables.ts";

/** Blocks of one file, functions of one block, and characters and names in what a block refers to, at most. */
const MAX_BLOCKS = 10_000;
const MAX_FUNCTIONS = 3;
const MAX_ACCESS = 1024;
const MAX_NAMES = 5;
/** Characters of a file with all blocks replaced, and of all that its functions are called with, at most. */
const MAX_LENGTH = 1024 * 1024;

/** What blocks refer to. */
export interface Interpolated {
  /** By what it is a part of, `inputs` or `component`, and name. */
  readonly values: ReadonlyMap<string, ReadonlyMap<string, Value>>;
  /** What `expand_vars` knows. */
  readonly variables: Lookup;
  /** Whether a variable's value must not be shown. */
  readonly isMasked: (key: string) => boolean;
}

/**
 * Replaces `$[[ inputs.name | function ]]` in the text of a file, before it is read as YAML: as in GitLab, a value may
 * become more than a text. Lists are written as JSON.
 *
 * @throws ConfigurationError if a block refers to nothing, or there are too many
 */
export function interpolate(text: string, interpolated: Interpolated): string {
  let result = "";
  let blocks = 0;
  let length = 0;
  const charge = (text: string) => {
    length += text.length;
    if (length > MAX_LENGTH) throw new ConfigurationError(TOO_BIG);
    return text;
  };
  for (const line of text.split(/(?<=\n)/)) {
    let done = 0;
    for (;;) {
      const start = line.indexOf("$[[", done);
      const end = start < 0 ? -1 : line.indexOf("]]", start);
      if (end < 0) break;
      blocks += 1;
      if (blocks > MAX_BLOCKS) throw new ConfigurationError("too many interpolation blocks");
      const value = evaluate(line.slice(start + 3, end), interpolated, charge);
      result += line.slice(done, start) + charge(value);
      done = end + 2;
    }
    result += line.slice(done);
  }
  return result;
}

function evaluate(
  block: string,
  interpolated: Interpolated,
  charge: (text: string) => string,
): string {
  const [access = "", ...functions] = block.split("|").map((part) => part.trim());
  if (functions.length > MAX_FUNCTIONS) {
    throw new ConfigurationError("too many functions in interpolation block");
  }
  let value = valueAt(access, interpolated);
  for (const called of functions) value = call(called, value, interpolated, charge);
  if (value === null) return "";
  return typeof value === "object" ? JSON.stringify(jsonOf(value)) : String(value);
}

function valueAt(access: string, { values }: Interpolated): Value {
  const names = access.split(".");
  if (access.length > MAX_ACCESS || names.length > MAX_NAMES) {
    throw new ConfigurationError("maximum interpolation expression size exceeded");
  }
  const [part, name] = names;
  if (part === undefined || name === undefined) {
    throw new ConfigurationError("invalid interpolation access pattern");
  }
  const known = values.get(part);
  const [, key = name, place] = /^([^[]+)\[(\d{1,9})\]$/.exec(name) ?? [];
  const whole = known?.get(key);
  const value = place === undefined || !isList(whole) ? whole : whole[Number(place)];
  const isUnknown = value === undefined || (place !== undefined && !isList(whole));
  const unknown = !known ? part : isUnknown ? name : names[2];
  if (unknown !== undefined) {
    throw new ConfigurationError(`unknown interpolation key: \`${unknown}\``);
  }
  return value as Value;
}

/** What a function makes of a text. */
type Made = (text: string, interpolated: Interpolated) => Value;

/** GitLab's functions: how their arguments are written, and what they do. */
const FUNCTIONS: Readonly<
  Record<string, { arguments: RegExp; make: (...args: string[]) => Made }>
> = {
  expand_vars: { arguments: /^$/, make: () => expandPublic },
  truncate: {
    arguments: /^\(\s*(\d{1,9})\s*,\s*(\d{1,9})\s*\)$/,
    make:
      (offset = "", length = "") =>
      (text) =>
        [...text].slice(Number(offset), Number(offset) + Number(length)).join(""),
  },
  posix_escape: {
    arguments: /^$/,
    make: () => (text) =>
      text === ""
        ? "''"
        : text.replace(/[^A-Za-z0-9_\-.,:+/@\n]/g, "\\$&").replaceAll("\n", "'\n'"),
  },
  posix_quote: {
    arguments: /^$/,
    make: () => (text) => `'${text.replaceAll("'", "'\\''")}'`,
  },
  split: {
    arguments: /^\(\s*['"]([^'"]+)['"]\s*\)$/,
    make:
      (separator = "") =>
      (text) =>
        text
          .split(separator)
          .map((part) => part.trim())
          .filter((part) => part !== ""),
  },
};

function call(
  called: string,
  value: Value,
  interpolated: Interpolated,
  charge: (text: string) => string,
): Value {
  const [name = ""] = /^\w*/.exec(called) ?? [];
  const found = Object.hasOwn(FUNCTIONS, name) ? FUNCTIONS[name] : undefined;
  const args = found?.arguments.exec(called.slice(name.length));
  if (!found || !args) {
    throw new ConfigurationError(
      `no function matching \`${called}\`: check that the function name, arguments, and types are correct`,
    );
  }
  if (typeof value !== "string") {
    throw new ConfigurationError(`invalid input type: ${name} can only be used with string inputs`);
  }
  return found.make(...args.slice(1))(charge(value), interpolated);
}

function expandPublic(text: string, { variables, isMasked }: Interpolated): string {
  const get = (key: string) => {
    if (!isMasked(key)) return variables.get(key);
    throw new ConfigurationError("variable expansion error: masked variables cannot be expanded");
  };
  return expandVariables(text, { get }, { keepUnknown: true });
}
