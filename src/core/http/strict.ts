import { type AttributeErrors, invalid } from "../errors.ts";
import type { AttributeNotes } from "../input.ts";
import { closest } from "../options.ts";
import { isJsonBody } from "./body.ts";
import type { Endpoint } from "./endpoint.ts";
import type { Exchange } from "./exchange.ts";
import type { Parameters } from "./parameters.ts";

/** What is refused that GitLab ignores or converts: for tests of clients, which would not notice it. */
export interface Strictness {
  /** Attributes that a route does not have. */
  parameters: boolean;
  /** Values in JSON that are of another type than their attribute. */
  types: boolean;
}

/** What every route takes besides its attributes: pages, credentials, whom to act as, the format of the answer. */
const COMMON = [
  "page",
  "per_page",
  "private_token",
  "access_token",
  "bearer_token",
  "job_token",
  "sudo",
  "format",
];

/**
 * Refuses what a strict application does not take.
 *
 * @param query its parameters
 * @param sent those of the body, if it is parsed into attributes
 * @throws ApiError 400 that names each of them
 */
export function requireStrict(
  strict: Strictness,
  { route, mount }: Endpoint,
  { incoming, params }: Exchange,
  query: Parameters,
  sent: Parameters | undefined,
): void {
  if (!mount.declaresParameters || !(strict.parameters || strict.types)) return;
  const errors: AttributeErrors = Object.create(null);
  const attributes: Record<string, AttributeNotes> = {};
  for (const [name, { notes }] of Object.entries(route.input ?? {})) attributes[name] = notes;
  if (strict.parameters) {
    const others = [...COMMON, ...Object.keys(params)];
    noteUnknown(errors, "", query, attributes, others);
    if (sent) noteUnknown(errors, "", sent, attributes, others);
  }
  if (strict.types && sent && isJsonBody(incoming)) {
    for (const [name, value] of Object.entries(sent)) {
      const notes = attributes[name];
      if (notes && !(name in errors)) noteWrong(errors, name, value, notes);
    }
  }
  if (Object.keys(errors).length > 0) throw invalid(errors);
}

/** Names at most that an error lists. */
const LISTED = 20;

function noteUnknown(
  errors: AttributeErrors,
  at: string,
  given: object,
  attributes: Readonly<Record<string, AttributeNotes>>,
  others: readonly string[] = [],
): void {
  const names = Object.keys(attributes);
  for (const [name, value] of Object.entries(given)) {
    const notes = Object.hasOwn(attributes, name) ? attributes[name] : undefined;
    if (notes?.attributes) {
      for (const one of [value].flat()) {
        if (isObject(one)) noteUnknown(errors, `${at}${name}.`, one, notes.attributes);
      }
    }
    if (notes || others.includes(name)) continue;
    const near = closest(name, names);
    const meant = near === undefined ? "" : ` Did you mean ${near}?`;
    const known = names.length > LISTED ? "" : ` There are ${names.join(", ")}`;
    errors[at + name] = [`is unknown.${meant}${names.length === 0 ? "" : known}`];
  }
}

function noteWrong(
  errors: AttributeErrors,
  name: string,
  value: unknown,
  notes: AttributeNotes,
): void {
  const wrong = wrongIn(value, notes);
  if (wrong !== undefined) errors[name] = [`must be of the type ${wrong}`];
}

/** The type that a value of JSON, or a part of it, should have had; `undefined` if it is right. */
function wrongIn(value: unknown, notes: AttributeNotes): string | undefined {
  const { type } = notes;
  if (value === null) return undefined;
  if (type.startsWith("array of ")) {
    if (!Array.isArray(value)) return type;
    const element = { ...notes, type: type.slice("array of ".length) };
    return value.some((one) => wrongIn(one, element) !== undefined) ? type : undefined;
  }
  if (type === "comma-separated string") {
    return [value].flat().every((one) => typeof one === "string") ? undefined : type;
  }
  if (!(TYPES[type]?.(value) ?? true)) return type;
  for (const [name, own] of Object.entries(notes.attributes ?? {})) {
    const wrong = wrongIn((value as Record<string, unknown>)[name] ?? null, own);
    if (wrong !== undefined) return `${wrong} in ${name}`;
  }
  return undefined;
}

const isText = (value: unknown) => typeof value === "string";
const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Whether a value of JSON is of a type; of others, any is. */
const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: isText,
  date: isText,
  timestamp: isText,
  integer: Number.isInteger,
  number: (value) => typeof value === "number",
  boolean: (value) => typeof value === "boolean",
  object: isObject,
};
