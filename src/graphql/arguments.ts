import { type Args, GraphError, type Values } from "./declare.ts";

/** Maximum values of a list in an argument. */
const MAX_VALUES = 500;

/** Explicit nulls in place of arguments that have a default count as not sent. */
export function withDefaults(
  sent: Readonly<Record<string, unknown>>,
  declared: Args,
): Record<string, unknown> {
  const given = Object.entries(sent).map(([name, value]) => [
    name,
    value === null ? (declared[name]?.defaultValue ?? null) : value,
  ]);
  return Object.fromEntries(given);
}

/** Explicit nulls count as not sent. */
export function withoutNulls(args: object): Values<Args> {
  const sent = Object.entries(args).filter(([, value]) => value !== null);
  return Object.fromEntries(sent.map(([name, value]) => [name, cleaned(value)]));
}

function cleaned(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((item) => item !== null).map(cleaned);
  return typeof value === "object" && value !== null ? withoutNulls(value) : value;
}

/** @throws GraphError for lists of more than {@link MAX_VALUES} values, and texts that a database can't have */
export function requireUsable(values: object): void {
  if (Array.isArray(values) && values.length > MAX_VALUES) {
    throw new GraphError(`A list of an argument has more than ${MAX_VALUES} values`);
  }
  for (const value of Object.values(values)) {
    if (typeof value === "object" && value !== null) requireUsable(value);
    else if (typeof value === "string" && (value.includes("\0") || !value.isWellFormed())) {
      throw new GraphError("A text of an argument is not valid Unicode, or has a null character");
    }
  }
}
