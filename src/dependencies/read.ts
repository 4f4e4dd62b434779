/** A package as a dependency file names it. */
export interface Package {
  name: string;
  /** As written in the file; a requirement if nothing is pinned, `""` if the file doesn't state one. */
  version: string;
}

/** Reads packages from a file's text. Throws an Error that says what is wrong with the text. */
export type Parse = (text: string) => Package[] | Promise<Package[]>;

/** Whether a value is an object with keys, not an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** @throws Error if the text is not a JSON object */
export function parseObject(text: string): Record<string, unknown> {
  const parsed: unknown = JSON.parse(text);
  if (!isObject(parsed)) throw new Error("is no JSON object");
  return parsed;
}

/**
 * The objects under an object's own keys; none without an object.
 *
 * @param what how an error names it
 * @throws Error if the value or one of its values is something else
 */
export function entriesOf(value: unknown, what: string): [string, Record<string, unknown>][] {
  if (value === undefined || value === null) return [];
  // PHP writes an empty object as [].
  if (Array.isArray(value) && value.length === 0) return [];
  if (!isObject(value)) throw new Error(`${what} is no object`);
  return Object.entries(value).map(([key, entry]) => {
    if (!isObject(entry)) throw new Error(`${what}.${key} is no object`);
    return [key, entry];
  });
}

/**
 * The objects in an array; none without an array.
 *
 * @throws Error if it is, or holds, something else
 */
export function objectsIn(value: unknown, what: string): Record<string, unknown>[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new Error(`${what} is no array`);
  for (const [index, entry] of value.entries()) {
    if (!isObject(entry)) throw new Error(`${what}[${index}] is no object`);
  }
  return value;
}

/** A value if it is text, otherwise `""`. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Lines of a text, with any kind of line ending. */
export function linesOf(text: string): string[] {
  return text.split(/\r?\n/);
}
