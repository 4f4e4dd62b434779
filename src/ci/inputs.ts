import { readExpression } from "../core/expressions.ts";
import { STEPS, type Steps } from "../turns/pace.ts";
import { isTrue, readInputCondition } from "./expressions.ts";
import { KEYWORDS } from "./keywords.ts";
import type { Expression, Json } from "./types.ts";
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

const MAX_OPTIONS = 50;
const MAX_RULES = 500;
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
  /** What options and default follow from, of which the first that fits counts. */
  readonly rules: readonly InputRule[] | undefined;
}

/** Which values an input may have if those of others are so. */
interface InputRule extends Pick<Input, "default" | "options"> {
  readonly if: Expression | undefined;
}

/**
 * The values of the inputs that a configuration's header declares (`spec:inputs`): those that are given, and defaults.
 *
 * @param areTexts whether what is given are texts, which stand for numbers, booleans and lists in JSON
 * @throws ConfigurationError naming up to three mistakes of the header, or of what is given
 */
export function* valuesOfInputs(header: Mapping, given: Inputs, areTexts: boolean): Steps<Inputs> {
  const errors: string[] = [];
  const inputs = inOrder(yield* readHeader(header, errors), errors);
  refuse(errors);
  const known = new Set(inputs.map(({ name }) => name));
  const unknown = [...given.keys()].filter((name) => !known.has(name));
  if (unknown.length > 0) errors.push(`unknown input arguments: ${unknown.join(", ")}`);
  const values = new Map<string, Value>();
  let length = 0;
  for (const declared of inputs) {
    yield STEPS;
    const input = chosen(declared, values);
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

/** An input as the first of its rules that fits has it. */
function chosen(input: Input, values: Inputs): Input {
  const comparable = {
    get: (name: string) => {
      const value = values.get(name) ?? undefined;
      return typeof value === "number" ? String(value) : (value as string | boolean | undefined);
    },
  };
  const rule = input.rules?.find((one) => !one.if || isTrue(one.if, comparable));
  return rule ? { ...input, default: rule.default, options: rule.options } : input;
}

/** Inputs in an order in which each comes after those that its rules ask for. */
function inOrder(inputs: readonly Input[], errors: string[]): readonly Input[] {
  if (!inputs.some(({ rules }) => rules)) return inputs;
  const asked = new Map(
    inputs.map(({ name, rules }) => [
      name,
      [...new Set((rules ?? []).flatMap((rule) => (rule.if ? namesIn(rule.if) : [])))],
    ]),
  );
  const unknown = [...asked.values()].flat().find((name) => !asked.has(name));
  if (unknown !== undefined) errors.push(`unknown input in rules: ${unknown}`);
  const left = new Map([...asked].map(([name, names]) => [name, names.length]));
  const askers = new Map<string, string[]>();
  for (const [name, names] of asked) {
    for (const one of names) {
      const known = askers.get(one);
      if (known) known.push(name);
      else askers.set(one, [name]);
    }
  }
  const free = [...left].flatMap(([name, count]) => (count === 0 ? [name] : []));
  for (const name of free) {
    for (const asker of askers.get(name) ?? []) {
      const count = (left.get(asker) as number) - 1;
      left.set(asker, count);
      if (count === 0) free.push(asker);
    }
  }
  if (unknown === undefined && free.length < inputs.length) {
    const circle = inputs.filter(({ name }) => left.get(name) !== 0).map(({ name }) => name);
    errors.push(`circular dependency detected in rules of inputs: ${circle.join(", ")}`);
  }
  const byName = new Map(inputs.map((input) => [input.name, input]));
  return free.map((name) => byName.get(name) as Input);
}

/** The inputs that an expression asks for. */
function namesIn(expression: Expression): readonly string[] {
  switch (expression.kind) {
    case "variable":
      return [expression.name];
    case "not":
      return namesIn(expression.operand);
    case "operation":
      return [...namesIn(expression.left), ...namesIn(expression.right)];
    default:
      return [];
  }
}

function refuse(errors: readonly string[]): void {
  if (errors.length > 0) throw new ConfigurationError(errors.slice(0, MAX_ERRORS).join(", "));
}

/** What the header of a file includes. @throws ConfigurationError */
export function includedByHeader(header: Mapping): readonly Value[] {
  const spec = header.get("spec");
  const included = (isMapping(spec) && spec.get("include")) || [];
  return isList(included) ? included : [included];
}

/** The inputs that a file has which a header includes. @throws ConfigurationError if it is not made of these alone */
export function inputsOfFile(file: Mapping): Mapping {
  const errors: string[] = [];
  unknownIn(file, ["inputs"], "header:spec:include", errors);
  refuse(errors);
  const inputs = file.get("inputs") ?? new Map();
  if (isMapping(inputs)) return inputs;
  throw new ConfigurationError("header:spec:include:inputs config should be a hash");
}

/** A header whose inputs are those of other files, and its own before them. */
export function withInputs(header: Mapping, others: Mapping): Mapping {
  const spec = header.get("spec");
  if (!isMapping(spec)) return header;
  const own = spec.get("inputs") ?? new Map();
  if (!isMapping(own)) return header;
  return new Map(header).set("spec", new Map(spec).set("inputs", new Map([...others, ...own])));
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

function unknownIn(mapping: Mapping, known: readonly string[], at: string, errors: string[]) {
  const unknown = [...mapping.keys()].filter((key) => !known.includes(key));
  if (unknown.length === 0) return;
  errors.push(`${at} config contains unknown keys: ${unknown.join(", ")}`);
}

function* readHeader(header: Mapping, errors: string[]): Steps<Input[]> {
  unknownIn(header, ["spec"], "header", errors);
  const spec = header.get("spec") ?? new Map();
  if (!isMapping(spec)) {
    errors.push("header:spec config should be a hash");
    return [];
  }
  unknownIn(spec, KEYWORDS.spec, "header:spec", errors);
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
    unknownIn(declaration, KEYWORDS["spec:inputs"], at, errors);
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
  const options = readChoice(declaration, type, error);
  const rules = declaration.get("rules") ?? undefined;
  const isTwice = ["options", "default"].some((key) => declaration.has(key));
  if (rules !== undefined && isTwice) error("rules can't be used with options or default");
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
    options,
    regex: typeof regex === "string" ? regex : undefined,
    rules: rules === undefined ? undefined : readInputRules(name, type, rules, errors),
  };
}

function readChoice(of: Mapping, type: Type, error: (problem: string) => void): Input["options"] {
  const options = of.get("options") ?? undefined;
  if (options === undefined) return undefined;
  if (!isList(options)) error("Options must be an array");
  else if (options.length > MAX_OPTIONS) error(`cannot define more than ${MAX_OPTIONS} options`);
  if (type !== "string" && type !== "number") {
    error("Options can only be used with string and number inputs");
  }
  return isList(options) ? options : undefined;
}

function readInputRules(
  name: string,
  type: Type,
  rules: Value,
  errors: string[],
): readonly InputRule[] {
  const at = `header:spec:inputs:${name}:rules`;
  if (!isList(rules) || !rules.every(isMapping)) {
    errors.push(`${at} config should be an array of hashes`);
    return [];
  }
  if (rules.length > MAX_RULES) errors.push(`${at} config is too long (maximum is ${MAX_RULES})`);
  return rules.map((rule) => {
    unknownIn(rule, KEYWORDS["spec:inputs:rules"], `${at}:rule`, errors);
    const error = (problem: string) => errors.push(`\`${name}\` input: ${problem}`);
    const options = readChoice(rule, type, error);
    if (!options && !rule.has("default")) error("a rule must define options or default");
    const text = rule.get("if") ?? undefined;
    if (text === undefined) return { if: undefined, options, default: rule.get("default") };
    const condition = typeof text === "string" ? readInputCondition(text) : undefined;
    if (!condition) errors.push(`${at}:rule if invalid expression syntax`);
    return { if: condition, options, default: rule.get("default") };
  });
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
