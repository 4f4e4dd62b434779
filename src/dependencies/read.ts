/** A package as a dependency file names it. */
export interface Package {
  name: string;
  /** As the file has it; a requirement where nothing is pinned, `""` where the file doesn't say. */
  version: string;
}

/** Makes packages of a file's text. Throws an Error that says what is wrong with the text. */
export type Parse = (text: string) => Package[] | Promise<Package[]>;

/** Whether a value is an object that keys lead into. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** @throws Error where the text is no JSON object */
export function parseObject(text: string): Record<string, unknown> {
  const parsed: unknown = JSON.parse(text);
  if (!isObject(parsed)) throw new Error("is no JSON object");
  return parsed;
}

/**
 * The objects under an object's own keys; none where there is no object.
 *
 * @param what how an error names it
 * @throws Error where it or one of them is something else
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
 * The objects in an array; none where there is no array.
 *
 * @throws Error where it is something else, or holds something else
 */
export function objectsIn(value: unknown, what: string): Record<string, unknown>[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new Error(`${what} is no array`);
  for (const [index, entry] of value.entries()) {
    if (!isObject(entry)) throw new Error(`${what}[${index}] is no object`);
  }
  return value;
}

/** A value that is text, or `""`. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Lines of a text, whatever ends them. */
export function linesOf(text: string): string[] {
  return text.split(/\r?\n/);
}
