import { readExpression } from "../core/expressions.ts";
import { STEPS, type Steps } from "../turns/pace.ts";
import type { Json } from "./types.ts";
import {
  ConfigurationError,
  isList,
  isMapping,
  type Mapping,
  TOO_BIG,
  type Value,
  valueOfJson,
} from "./values.ts";

/** Values of inputs by name. */
export type Inputs = ReadonlyMap<string, Value>;

const TYPES = ["string", "number", "boolean", "array"] as const;
type Type = (typeof TYPES)[number];

const KEYS = ["default", "description", "options", "regex", "type"];
const MAX_OPTIONS = 50;
/** Characters of all texts of one file's inputs. */
const MAX_LENGTH = 1024 * 1024;
/** Mistakes that are told at once, as in GitLab. */
const MAX_ERRORS = 3;

/** An input that a configuration has, by its `spec`. */
interface Input {
  readonly name: string;
  readonly type: Type;
  /** `undefined` if a value is required. */
  readonly default: Value | undefined;
  readonly options: readonly Value[] | undefined;
  /** A regular expression of RE2, without slashes. */
  readonly regex: string | undefined;
}

/**
 * The values of the inputs that a configuration's header declares (`spec:inputs`): those that are given, and defaults.
 *
 * @param areTexts whether what is given are texts, which stand for numbers, booleans and lists in JSON
 * @throws ConfigurationError naming up to three mistakes of the header, or of what is given
 */
export function* valuesOfInputs(header: Mapping, given: Inputs, areTexts: boolean): Steps<Inputs> {
  const errors: string[] = [];
  const inputs = yield* readHeader(header, errors);
  refuse(errors);
  const known = new Set(inputs.map(({ name }) => name));
  const unknown = [...given.keys()].filter((name) => !known.has(name));
  if (unknown.length > 0) errors.push(`unknown input arguments: ${unknown.join(", ")}`);
  const values = new Map<string, Value>();
  let length = 0;
  for (const input of inputs) {
    yield STEPS;
    const sent = given.get(input.name);
    const value = sent === undefined ? input.default : areTexts ? readAs(input, sent) : sent;
    if (value === undefined) {
      errors.push(`\`${input.name}\` input: required value has not been provided`);
    } else {
      // An alias may stand for the same long text many times.
      if (typeof value === "string") length += value.length;
      if (length > MAX_LENGTH) throw new ConfigurationError(TOO_BIG);
      const problem = problemOf(input, value, given.has(input.name) ? "provided" : "default");
      if (problem !== undefined) errors.push(`\`${input.name}\` input: ${problem}`);
      values.set(input.name, value);
    }
  }
  refuse(errors);
  return values;
}

function refuse(errors: readonly string[]): void {
  if (errors.length > 0) throw new ConfigurationError(errors.slice(0, MAX_ERRORS).join(", "));
}

/** What of a component a configuration may refer to. */
const COMPONENT_KEYS = ["name", "sha", "version", "reference"];

/** The parts of a component that its header asks for, by name. @throws ConfigurationError */
export function askedOfComponent(header: Mapping): readonly string[] {
  const spec = header.get("spec");
  const asked = (isMapping(spec) && spec.get("component")) || [];
  if (isList(asked) && asked.every((key) => COMPONENT_KEYS.includes(String(key)))) {
    return asked.map(String);
  }
  throw new ConfigurationError(
    `header:spec:component config must be an array with any of: ${COMPONENT_KEYS.join(", ")}`,
  );
}

function* readHeader(header: Mapping, errors: string[]): Steps<Input[]> {
  const unknownIn = (mapping: Mapping, known: readonly string[], at: string) => {
    const unknown = [...mapping.keys()].filter((key) => !known.includes(key));
    if (unknown.length === 0) return;
    errors.push(`${at} config contains unknown keys: ${unknown.join(", ")}`);
  };
  unknownIn(header, ["spec"], "header");
  const spec = header.get("spec") ?? new Map();
  if (!isMapping(spec)) {
    errors.push("header:spec config should be a hash");
    return [];
  }
  unknownIn(spec, ["inputs", "component"], "header:spec");
  const inputs = spec.get("inputs") ?? new Map();
  if (!isMapping(inputs)) {
    errors.push("header:spec:inputs config should be a hash");
    return [];
  }
  const read: Input[] = [];
  for (const [name, declared] of inputs) {
    yield STEPS;
    const at = `header:spec:inputs:${name}`;
    const declaration: Mapping = isMapping(declared) ? declared : new Map();
    if (declared !== null && !isMapping(declared)) errors.push(`${at} config should be a hash`);
    unknownIn(declaration, KEYS, at);
    read.push(readInput(name, declaration, errors));
  }
  return read;
}

function readInput(name: string, declaration: Mapping, errors: string[]): Input {
  const error = (problem: string) => errors.push(`\`${name}\` input: ${problem}`);
  const type = (declaration.get("type") ?? "string") as Type;
  if (!TYPES.includes(type)) {
    const types = TYPES.toSorted().join(", ");
    errors.push(`unknown input specification for \`${name}\` (valid types: ${types})`);
  }
  const options = declaration.get("options") ?? undefined;
  if (options !== undefined) {
    if (!isList(options)) error("Options must be an array");
    else if (options.length > MAX_OPTIONS) {
      error(`cannot define more than ${MAX_OPTIONS} options`);
    }
    if (type !== "string" && type !== "number") {
      error("Options can only be used with string and number inputs");
    }
  }
  const regex = declaration.get("regex") ?? undefined;
  if (regex !== undefined) {
    if (type !== "string") error("RegEx validation can only be used with string inputs");
    else if (typeof regex !== "string" || !readExpression(regex, "")) {
      error("invalid regular expression");
    }
  }
  return {
    name,
    type,
    default: declaration.get("default"),
    options: isList(options) ? options : undefined,
    regex: typeof regex === "string" ? regex : undefined,
  };
}

/** What a text stands for as the value of an input. */
function readAs({ type }: Input, text: Value): Value {
  if (type === "string" || typeof text !== "string") return text;
  try {
    return valueOfJson(JSON.parse(text) as Json);
  } catch {
    return text;
  }
}

/** Why an input can't have a value; `undefined` if it can. */
function problemOf({ type, options, regex }: Input, value: Value, which: string) {
  const isOfType = type === "array" ? isList(value) : typeof value === type || value === null;
  if (!isOfType) return `${which} value is not a${type === "array" ? "n" : ""} ${type}`;
  if (options && !options.includes(value)) {
    return `\`${String(value).slice(0, 255)}\` cannot be used because it is not in the list of allowed options`;
  }
  if (regex !== undefined && !readExpression(regex, "")?.fits(String(value ?? ""))) {
    return `${which} value does not match required RegEx pattern`;
  }
  return undefined;
}
