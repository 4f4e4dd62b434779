import { durationOf } from "./durations.ts";
import type { Findings } from "./findings.ts";
import type { Json } from "./types.ts";
import { isList, isMapping, type Mapping, type Value } from "./values.ts";

const MAX_LEVELS = 10;

/** A mapping of a configuration at its place, with what can be read from it. What is wrong goes to the findings. */
export class Entry {
  constructor(
    readonly mapping: Mapping,
    readonly place: string,
    readonly findings: Findings,
  ) {}

  /** The value of a key; `undefined` if it is absent or empty. */
  get(key: string): Value | undefined {
    return this.mapping.get(key) ?? undefined;
  }

  /** The place of a key's value. */
  at(key: string): string {
    return this.place === "" ? key : `${this.place}:${key}`;
  }

  /** Records a mistake in the mapping itself. */
  error(message: string): undefined {
    return this.findings.error(this.place, message);
  }

  /** Records a mistake in the value of a key that has a place of its own. */
  errorIn(key: string, message: string): undefined {
    return this.findings.error(this.at(key), `config ${message}`);
  }

  /** Records a mistake in a key's value. */
  errorOf(key: string, message: string): undefined {
    return this.error(`${key.replaceAll("_", " ")} ${message}`);
  }

  /** Checks that there are no other keys. */
  allow(keys: readonly string[]) {
    const unknown = [...this.mapping.keys()].filter((key) => !keys.includes(key));
    if (unknown.length > 0) this.error(`config contains unknown keys: ${unknown.join(", ")}`);
  }

  /** A mapping below a key. */
  child(key: string): Entry | undefined {
    const value = this.get(key);
    if (value === undefined) return undefined;
    if (!isMapping(value)) return this.errorIn(key, "should be a hash");
    return new Entry(value, this.at(key), this.findings);
  }

  text(key: string): string | undefined {
    const value = this.get(key);
    if (value === undefined || typeof value === "string") return value;
    return this.errorOf(key, "should be a string");
  }

  boolean(key: string): boolean | undefined {
    const value = this.get(key);
    if (value === undefined || typeof value === "boolean") return value;
    return this.errorOf(key, "should be a boolean value");
  }

  /** One of some words. */
  word<W extends string>(key: string, words: readonly W[], message?: string): W | undefined {
    const value = this.get(key);
    if (value === undefined || words.includes(value as W)) return value as W | undefined;
    return this.errorOf(key, message ?? `should be one of: ${words.join(", ")}`);
  }

  strings(key: string): readonly string[] | undefined {
    const value = this.get(key);
    if (value === undefined || areStrings(value)) return value;
    return this.errorOf(key, "should be an array of strings");
  }

  /** A text or a list of texts. */
  oneOrMore(key: string): readonly string[] | undefined {
    const value = this.get(key);
    if (typeof value === "string") return [value];
    if (value === undefined || areStrings(value)) return value;
    return this.errorOf(key, "should be an array of strings or a string");
  }

  /** A whole number or a list of these. */
  integers(key: string): readonly number[] | undefined {
    const value = this.get(key);
    if (value === undefined) return undefined;
    const list = isList(value) ? value : [value];
    if (list.every((one): one is number => Number.isInteger(one))) return list;
    return this.errorOf(key, "should be an array of integers or an integer");
  }

  /** Commands: a text, or lists of texts in each other. */
  script(key: string): readonly string[] | undefined {
    const value = this.get(key);
    if (value === undefined) return undefined;
    const commands = typeof value === "string" ? [value] : flatten(value, isText);
    const message = `should be a string or a nested array of strings up to ${MAX_LEVELS} levels deep`;
    return commands ?? this.errorIn(key, message);
  }

  /** A text that states a time, in seconds. */
  duration(key: string, limit = Number.POSITIVE_INFINITY): number | undefined {
    const value = this.get(key);
    if (value === undefined) return undefined;
    const seconds = typeof value === "string" ? durationOf(value) : undefined;
    if (seconds === undefined) return this.errorOf(key, "should be a duration");
    return seconds > limit ? this.errorOf(key, "should not exceed the limit") : seconds;
  }
}

/** Whether a value is a list of texts only. */
export function areStrings(value: Value | undefined): value is readonly string[] {
  return isList(value) && value.every(isText);
}

function isText(value: Value): value is string {
  return typeof value === "string";
}

/** The items of lists in each other; `undefined` if it is no list, too deep, or has an item of another kind. */
export function flatten<V extends Value>(
  value: Value,
  isItem: (item: Value) => item is V,
  levels = MAX_LEVELS,
): V[] | undefined {
  if (!isList(value)) return undefined;
  const items: V[] = [];
  for (const one of value) {
    if (isItem(one)) items.push(one);
    else {
      const inner = levels > 1 ? flatten(one, isItem, levels - 1) : undefined;
      if (!inner) return undefined;
      for (const item of inner) items.push(item);
    }
  }
  return items;
}

/** What a list consists of, lists in it flattened; a value that is no list alone. `undefined` if they are too deep. */
export function itemsOf(value: Value): Value[] | undefined {
  return isList(value) ? flatten(value, (one): one is Value => !isList(one)) : [value];
}

/** An object without the values that are `undefined`. */
export function given<T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}

/** A value as JSON. */
export function jsonOf(value: Value): Json {
  if (isList(value)) return value.map(jsonOf);
  if (isMapping(value)) {
    return Object.fromEntries([...value].map(([key, one]) => [key, jsonOf(one)]));
  }
  return value as Json;
}
