// What configurations consist of: apart from document.ts, since YAML's parser is large.

import type { Json } from "./types.ts";

/** What is wrong with a configuration as a whole, so that nothing else of it can be read. */
export class ConfigurationError extends Error {
  override get name() {
    return "ConfigurationError" as const;
  }
}

/** A value of a configuration. Aliases share one value; {@link Sizes} bounds what results if each is a copy. */
export type Value =
  | string
  | number
  | boolean
  | null
  | readonly Value[]
  | ReadonlyMap<string, Value>
  | Reference;

/** A mapping of a configuration, in the order in which it was written. */
export type Mapping = ReadonlyMap<string, Value>;

/** `!reference [job, key, …]`: stands for the value at a path of the configuration. */
export class Reference {
  constructor(readonly path: readonly string[]) {}

  toString() {
    return `!reference ${JSON.stringify(this.path).replaceAll('","', '", "')}`;
  }
}

/** Whether a value is a mapping. */
export function isMapping(value: Value | undefined): value is Mapping {
  return value instanceof Map;
}

/** A value of JSON as one of a configuration. */
export function valueOfJson(json: Json): Value {
  if (typeof json !== "object" || json === null) return json;
  if (Array.isArray(json)) return json.map(valueOfJson);
  return new Map(Object.entries(json).map(([key, value]) => [key, valueOfJson(value)]));
}

/** Whether a value is a list. */
export function isList(value: Value | undefined): value is readonly Value[] {
  return Array.isArray(value);
}

/** Maximum size of a value, in which each alias counts as a copy: characters, and {@link NODE_SIZE} for each value. */
export const MAX_SIZE = 4 * 1024 * 1024;
export const NODE_SIZE = 8;

/** GitLab's error for a configuration that is larger than {@link MAX_SIZE} or too deep. */
export const TOO_BIG = "The parsed YAML is too big";

/** The sizes of values: each is reckoned once, and refused if too big. */
export class Sizes {
  readonly #sizes = new WeakMap<object, number>();

  /**
   * The size of a value if each of its parts were a copy.
   *
   * @throws ConfigurationError if it is too big
   */
  of(value: Value): number {
    if (typeof value === "string") return NODE_SIZE + value.length;
    if (typeof value !== "object" || value === null) return NODE_SIZE;
    const known = this.#sizes.get(value);
    if (known !== undefined) return known;
    let size = NODE_SIZE;
    if (isList(value)) for (const one of value) size = this.#sum(size, one);
    else if (isMapping(value)) {
      for (const [key, one] of value) size = this.#sum(size + key.length, one);
    }
    this.#sizes.set(value, size);
    return size;
  }

  #sum(size: number, value: Value) {
    const sum = size + this.of(value);
    if (sum > MAX_SIZE) throw new ConfigurationError(TOO_BIG);
    return sum;
  }
}
