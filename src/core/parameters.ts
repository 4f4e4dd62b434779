import { type ApiError, unreadable } from "./errors.ts";

/** What a client sent under a name: text, or what JSON can hold. Objects have no prototype. */
export type Parameter =
  | string
  | number
  | boolean
  | null
  | Parameter[]
  | { [key: string]: Parameter };

/** Parameters by name. Without a prototype, so `__proto__` is just a name. */
export type Parameters = { [name: string]: Parameter };

/** How much a client may send. */
export interface ParameterLimits {
  /** Brackets in one name, or levels in a JSON body. Default 32. */
  depth: number;
  /** Names and values in all. Default 4096. */
  count: number;
}

/** Defaults of {@link ParameterLimits}. */
export const PARAMETER_LIMITS: ParameterLimits = { depth: 32, count: 4096 };

/** An object without a prototype. */
export function emptyParameters(): Parameters {
  return Object.create(null) as Parameters;
}

/**
 * Parses a query string or form body as Rack does (contract §8): the last of equal names wins, `a[]` collects,
 * `a[b]` nests, `a[][b]` opens a new element where a key comes again, `+` is a space.
 *
 * @throws ApiError 400 for malformed escapes, names of two kinds, and what exceeds the limits
 */
export function parseQuery(text: string, limits: ParameterLimits): Parameters {
  const parameters = emptyParameters();
  if (text === "") return parameters;
  const pairs = text.split("&");
  if (pairs.length > limits.count) throw tooMany();
  for (const pair of pairs) {
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const name = decode(equals < 0 ? pair : pair.slice(0, equals));
    addParameter(parameters, name, equals < 0 ? null : decode(pair.slice(equals + 1)), limits);
  }
  return parameters;
}

/** Adds one named value, its brackets read as Rack does; see {@link parseQuery}. */
export function addParameter(
  parameters: Parameters,
  name: string,
  value: Parameter,
  limits: ParameterLimits,
): void {
  const bracket = name.indexOf("[", 1);
  if (bracket < 0) {
    if (name !== "") parameters[name] = value;
    return;
  }
  if (name.split("[").length - 1 > limits.depth)
    throw unreadable("parameters are nested too deeply");
  store(parameters, name.slice(0, bracket), name.slice(bracket), value);
}

function store(target: Parameters, key: string, rest: string, value: Parameter): void {
  if (rest === "") {
    target[key] = value;
  } else if (rest === "[]") {
    listAt(target, key).push(value);
  } else if (rest.startsWith("[][") || (rest.startsWith("[]") && rest.length > 2)) {
    storeInElement(listAt(target, key), rest.slice(2), value);
  } else {
    const { inner, after } = nextName(rest);
    store(objectAt(target, key), inner, after, value);
  }
}

function storeInElement(list: Parameter[], rest: string, value: Parameter): void {
  const { inner, after } = nextName(rest);
  const last = list.at(-1);
  if (isParameters(last) && !holds(last, inner, after)) {
    store(last, inner, after, value);
    return;
  }
  const element = emptyParameters();
  store(element, inner, after, value);
  list.push(element);
}

/** Whether an element already has what `inner` + `after` names, so that a new element has to begin. */
function holds(element: Parameters, inner: string, after: string): boolean {
  if (after.startsWith("[]")) return false;
  const present = element[inner];
  if (present === undefined) return false;
  if (after === "" || !isParameters(present)) return true;
  const next = nextName(after);
  return holds(present, next.inner, next.after);
}

/** `[name]rest` → name and rest; what is not closed is taken as it stands. */
function nextName(rest: string): { inner: string; after: string } {
  const close = rest.indexOf("]");
  if (!rest.startsWith("[") || close < 0) return { inner: rest, after: "" };
  return { inner: rest.slice(1, close), after: rest.slice(close + 1) };
}

function listAt(target: Parameters, key: string): Parameter[] {
  const present = target[key];
  if (present === undefined) {
    const list: Parameter[] = [];
    target[key] = list;
    return list;
  }
  if (Array.isArray(present)) return present;
  throw unreadable(`expected an array for parameter '${key}'`);
}

function objectAt(target: Parameters, key: string): Parameters {
  const present = target[key];
  if (present === undefined) {
    const object = emptyParameters();
    target[key] = object;
    return object;
  }
  if (isParameters(present)) return present;
  throw unreadable(`expected a hash for parameter '${key}'`);
}

/** Whether a parameter is an object, as `a[b]=c` or a JSON object makes. */
function isParameters(value: unknown): value is Parameters {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Parses a JSON body. Only an object names parameters, so anything else is refused.
 *
 * @throws ApiError 400 for malformed JSON and what exceeds the limits
 */
export function parseJson(text: string, limits: ParameterLimits): Parameters {
  requireDepth(text, limits.depth);
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw unreadable("message body does not match declared format");
  }
  return fromParsed(parsed, limits);
}

/**
 * Takes over a body a host's parser has already read (`req.body` of express.json or express.urlencoded).
 *
 * @throws ApiError 400 where it is not an object or exceeds the limits
 */
export function fromParsed(parsed: unknown, limits: ParameterLimits): Parameters {
  if (!isParameters(parsed)) throw unreadable("message body does not match declared format");
  let left = limits.count;
  const copy = (value: unknown, depth: number): Parameter => {
    left -= 1;
    if (left < 0) throw tooMany();
    if (depth > limits.depth) throw unreadable("parameters are nested too deeply");
    if (Array.isArray(value)) return value.map((element) => copy(element, depth + 1));
    if (!isParameters(value)) return value as Parameter;
    const object = emptyParameters();
    for (const key of Object.keys(value)) object[key] = copy(value[key], depth + 1);
    return object;
  };
  return copy(parsed, 0) as Parameters;
}

/** Looks at the brackets alone: to parse a megabyte of them takes a hundred times as long. */
function requireDepth(text: string, most: number): void {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (inString) {
      if (code === BACKSLASH) at += 1;
      else if (code === QUOTE) inString = false;
    } else if (code === QUOTE) inString = true;
    else if (code === BRACKET || code === BRACE) {
      depth += 1;
      if (depth > most + 1) throw unreadable("parameters are nested too deeply");
    } else if (code === CLOSING_BRACKET || code === CLOSING_BRACE) depth -= 1;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;

/** 400 of more parameters than allowed. */
export function tooMany(): ApiError {
  return unreadable("too many parameters");
}

/**
 * Decodes a form-encoded name or value, whose `+` is a space.
 *
 * @throws ApiError 400 for a malformed escape
 */
function decode(text: string): string {
  return decodePath(text.includes("+") ? text.replaceAll("+", " ") : text);
}

/**
 * Decodes a path segment.
 *
 * @throws ApiError 400 for a malformed escape
 */
export function decodePath(segment: string): string {
  if (!segment.includes("%")) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    throw unreadable("malformed percent-encoding");
  }
}
