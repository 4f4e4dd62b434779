// JSON schemas of requests and answers.

import type { Field, Fields } from "../../src/core/field.ts";
import type { AttributeNotes } from "../../src/core/input.ts";
import { isFilled } from "./columns.ts";

export type Json = Record<string, unknown>;

/** The schema of an attribute. */
export function attributeSchema({ type, values, maxLength, maxItems }: AttributeNotes): Json {
  const longest = maxLength === undefined ? {} : { maxLength };
  if (type.startsWith("array of ")) {
    const items = attributeSchema({ type: type.slice("array of ".length), ...longest });
    return { type: "array", items, maxItems };
  }
  if (type === "comma-separated string") return { type: "string" };
  if (type === "object") return { type };
  if (type === "integer" && values) return { type, enum: values.map(Number) };
  if (type === "boolean or null") return { type: "boolean" };
  if (type === "integer" || type === "boolean") return { type };
  if (type === "date") return { type: "string", format: "date" };
  if (type.startsWith("timestamp")) return { type: "string", format: "date-time" };
  return { type: "string", ...longest, ...(values ? { enum: values } : {}) };
}

/** The schema of an object with these fields. */
export function objectSchema(fields: Fields): Json {
  const entries = Object.entries(fields);
  const own = aliasOf(entries[0]?.[1]);
  return {
    type: "object",
    properties: Object.fromEntries(entries.map(([name, field]) => [name, fieldSchema(field, own)])),
    required: entries.filter(([, field]) => !field.omitted).map(([name]) => name),
  };
}

/** The query's alias for the table of a field's first column. */
const aliasOf = (field: Field | undefined) => /^(\w+)\.\w+$/.exec(field?.columns[0] ?? "")?.[1];

/** @param own the query's alias of the object's own table; columns of outer-joined tables may be null */
function fieldSchema(field: Field, own: string | undefined): Json {
  const { type, columns, constant } = field;
  if (constant !== undefined) return { const: JSON.parse(constant) };
  const schema = valueSchema(field);
  const isOwn = columns.every((column) => !column.includes(".") || column.startsWith(`${own}.`));
  const filled =
    type === "boolean" ||
    (type.startsWith("array") && !type.endsWith("null")) ||
    (isOwn && columns.every(isFilled));
  return filled ? schema : nullable(schema);
}

function valueSchema({ type: shown, fields, items, either }: Field): Json {
  const type = shown.replace(/ or null$/, "");
  if (fields) return objectSchema(fields);
  if (either) return { anyOf: either.map(objectSchema) };
  if (items) return { type: "array", items: objectSchema(items) };
  if (type === "array of string") return { type: "array", items: { type: "string" } };
  if (type.startsWith("array")) return { type: "array" };
  if (["integer", "number", "boolean", "object"].includes(type)) return { type };
  if (type.startsWith("timestamp")) return { type: "string", format: "date-time" };
  if (type === "date") return { type: "string", format: "date" };
  if (type === "URL") return { type: "string", format: "uri" };
  if (type.includes(", ")) return { enum: type.split(", ") };
  return { type: "string" };
}

function nullable(schema: Json): Json {
  if (schema["properties"]) return { anyOf: [schema, { type: "null" }] };
  if (schema["anyOf"]) return { anyOf: [...(schema["anyOf"] as Json[]), { type: "null" }] };
  if (schema["enum"]) return { enum: [...(schema["enum"] as unknown[]), null] };
  return { ...schema, type: [schema["type"], "null"] };
}

/** The schema common to all these examples; properties missing in some are optional. */
export function exampleSchema(examples: readonly unknown[]): Json {
  const kinds = [...new Set(examples.map(kindOf))];
  if (kinds.length > 1 || (kinds[0] !== "object" && kinds[0] !== "array")) {
    return { type: kinds.length === 1 ? kinds[0] : kinds };
  }
  if (kinds[0] === "array") return { type: "array", items: exampleSchema(examples.flat()) };
  const objects = examples as Json[];
  const names = [...new Set(objects.flatMap((one) => Object.keys(one)))];
  const having = (name: string) => objects.filter((one) => name in one).map((one) => one[name]);
  return {
    type: "object",
    properties: Object.fromEntries(names.map((name) => [name, exampleSchema(having(name))])),
    required: names.filter((name) => having(name).length === objects.length),
  };
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return typeof value === "number" ? "integer" : typeof value;
}
