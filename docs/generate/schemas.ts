// JSON schemas (2020-12) of requests and answers.

import type { Field, Fields } from "../../src/core/field.ts";
import type { AttributeNotes } from "../../src/core/input.ts";
import { isFilled } from "./columns.ts";

export type Json = Record<string, unknown>;

/** Formats of values by their types. A day may also be sent with a time. */
const FORMATS: Readonly<Record<string, string>> = {
  date: "date",
  timestamp: "date-time",
  URL: "uri",
};

/** Generators of clients don't take the type `null` alone. */
const ALWAYS_NULL: Json = { description: "Always null." };

/** The schema of an attribute, with what it means. */
export function attributeSchema(notes: AttributeNotes): Json {
  const { about, clearable, minItems, maxItems, ...of } = notes;
  const items = /^array of (.+)$/.exec(of.type)?.[1];
  const schema = items
    ? {
        type: "array",
        items: typedSchema({ ...of, type: items }),
        ...(minItems && { minItems }),
        ...(maxItems && { maxItems }),
      }
    : typedSchema(of);
  return {
    ...(about === undefined ? {} : { description: about }),
    ...(clearable ? nullable(schema) : schema),
  };
}

/** The schema of an object with these attributes. */
export function attributesSchema(attributes: readonly (readonly [string, AttributeNotes])[]): Json {
  const required = attributes.filter(([, notes]) => isRequired(notes)).map(([name]) => name);
  return {
    type: "object",
    properties: Object.fromEntries(
      attributes.map(([name, notes]) => [name, attributeSchema(notes)]),
    ),
    ...(required.length > 0 && { required }),
  };
}

/** Whether requests without it are refused. */
export const isRequired = ({ optional, demanded }: AttributeNotes): boolean =>
  !optional || demanded === true;

function typedSchema({ type, values, attributes, ...bounds }: AttributeNotes): Json {
  const { minLength, maxLength, minimum, maximum } = bounds;
  const lengths = { ...(minLength && { minLength }), ...(maxLength && { maxLength }) };
  switch (type) {
    case "JSON":
      return {};
    case "object":
      return attributesSchema(Object.entries(attributes ?? {}));
    case "file":
      return { type: "string", format: "binary" };
    case "integer":
      if (values) return { type, enum: values.map(Number) };
      return {
        type,
        minimum: minimum ?? Number.MIN_SAFE_INTEGER,
        maximum: maximum ?? Number.MAX_SAFE_INTEGER,
      };
    case "number":
      return {
        type,
        ...(minimum === undefined ? {} : { minimum }),
        ...(maximum === undefined ? {} : { maximum }),
      };
    case "boolean":
      return { type };
    case "comma-separated string":
      return { type: "string", ...(minLength && { minLength }) };
    case "date":
    case "timestamp":
      return { type: "string", format: FORMATS[type] };
    default:
      return { type: "string", ...(values ? { enum: values } : lengths) };
  }
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
  if (constant !== undefined) return exampleSchema([JSON.parse(constant)]);
  const schema = valueSchema(field);
  const isOwn = columns.every((column) => !column.includes(".") || column.startsWith(`${own}.`));
  const filled =
    type === "boolean" ||
    (type.startsWith("array") && !type.endsWith("null")) ||
    (isOwn && columns.every(isFilled));
  return filled ? schema : nullable(schema);
}

function valueSchema({ type: shown, fields, items, either }: Field): Json {
  const type = shown.replace(/ or null$/, "").replace(/^timestamp with zone$/, "timestamp");
  if (fields) return objectSchema(fields);
  if (either) return { anyOf: either.map(objectSchema) };
  if (items) return { type: "array", items: objectSchema(items) };
  if (type === "array of string") return { type: "array", items: { type: "string" } };
  if (type === "array of integer") return { type: "array", items: { type: "integer" } };
  if (type.startsWith("array")) return { type: "array", items: {} };
  if (["integer", "number", "boolean", "object"].includes(type)) return { type };
  if (type in FORMATS) return { type: "string", format: FORMATS[type] };
  if (type.includes(", ")) return { type: "string", enum: type.split(", ") };
  return { type: "string" };
}

/** A schema that `null` fits, too. */
function nullable(schema: Json): Json {
  if (schema["properties"]) return { anyOf: [schema, { type: "null" }] };
  if (schema["anyOf"]) return { anyOf: [...(schema["anyOf"] as Json[]), { type: "null" }] };
  if (schema["type"] === undefined) return schema;
  const values = schema["enum"] as unknown[] | undefined;
  return { ...schema, type: [schema["type"], "null"], ...(values && { enum: [...values, null] }) };
}

/** The schema common to all these examples; properties missing in some are optional. */
export function exampleSchema(examples: readonly unknown[]): Json {
  const kinds = [...new Set(examples.map(kindOf))].filter((kind) => kind !== "null");
  const schema = ofKinds(
    kinds,
    examples.filter((one) => one !== null),
  );
  if (!examples.includes(null)) return schema;
  return kinds.length === 0 ? ALWAYS_NULL : nullable(schema);
}

/** @param kinds of the examples; none if there is no example of a value, which then may be any */
function ofKinds(kinds: readonly string[], examples: readonly unknown[]): Json {
  const [kind] = kinds;
  if (kind === undefined) return {};
  if (kinds.length > 1)
    return {
      anyOf: kinds.map((one) =>
        ofKinds(
          [one],
          examples.filter((example) => kindOf(example) === one),
        ),
      ),
    };
  if (kind === "array") return { type: kind, items: exampleSchema(examples.flat()) };
  if (kind !== "object") return { type: kind };
  const objects = examples as Json[];
  const names = [...new Set(objects.flatMap((one) => Object.keys(one)))];
  if (names.length === 0) return { type: kind };
  // Names that are no words, such as addresses of mails, stand for any.
  if (names.some((name) => !/^[\w-]+$/.test(name))) {
    const values = objects.flatMap((one) => Object.values(one));
    return { type: "object", additionalProperties: exampleSchema(values) };
  }
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
  if (typeof value !== "number") return typeof value;
  return Number.isInteger(value) ? "integer" : "number";
}
